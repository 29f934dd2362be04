//! Best and worst of k of eight tasks of one length at once: sorted, cut in two, weighed.
//!
//! Tasks stand side by side, so that one sorting network orders eight of them and every weight serves eight scores.
//! Scores and weights are cut into a high part of 26 bits on a common grid and the rest: products of high parts and
//! their sums are exact, and what the rest adds is so small that its own rounding hardly counts. A value is taken when
//! everything within the error rounds to one float, which then is the value of every other route too (see
//! [`super::order`]).

use std::array::from_fn;

use super::network;
use super::order::{Steps, Weigh, even, ways};
use super::rows::Order;
use crate::arch::{self, Kernel, Level};
use crate::dd::Double;
use crate::exact::power_of_two;

/// Tasks side by side: a vector of the widest machines.
pub(super) const LANES: usize = 8;
/// The longest tasks taken: the error grows with the square of their length.
pub(super) const LONGEST: usize = 256;
/// Scores all smaller than 2^-400 would lose bits below the range of floats.
const LEAST: f64 = f64::from_bits((1023 - 400) << 52);
/// Values of k weighed together, so that their scores are loaded once.
const TILE: usize = 4;

pub(super) type Lanes = [f64; LANES];
/// `scores[i][lane]` is the i-th score of the task in that lane.
pub(super) type Scores = [Lanes; LONGEST];

/// What all tasks of one length share.
pub(super) struct Plan {
    n: usize,
    /// Of the k up to n in ascending order.
    tiles: Vec<Tile>,
    /// Which of these each column wants, or one more, which is NaN, where k > n.
    columns: Vec<usize>,
    /// How many these are.
    used: usize,
    /// C(left, k) / C(n, k) for left from 0 to n, a row for each of these.
    gaps: Vec<Double>,
}

/// Weights of a few k; those of the ranks before `from` and after the last are 0.
struct Tile {
    /// How each k may err.
    errors: Vec<Errors>,
    from: usize,
    weights: Vec<[Weight; TILE]>,
}

struct Errors {
    /// Of every value, relative to the power of two above the largest score.
    most: f64,
    /// C(n, k), see [`even`].
    ways: f64,
}

/// A number up to 1 in two parts.
#[derive(Clone, Copy, Default)]
pub(super) struct Weight {
    /// A multiple of 2^-26.
    pub(super) high: f64,
    pub(super) rest: f64,
}

impl Plan {
    pub(super) fn new(order: Order, n: usize, ks: &[u64]) -> Self {
        let mut sorted: Vec<u64> = ks.iter().copied().filter(|&k| k <= n as u64).collect();
        sorted.sort_unstable();
        sorted.dedup();
        let columns = ks.iter().map(|k| sorted.binary_search(k).unwrap_or(sorted.len())).collect();
        let gaps = weights(n as u64, &sorted);
        let tiles = sorted.chunks(TILE).zip(gaps.chunks(TILE * (n + 1)));
        let tiles = tiles.map(|(ks, gaps)| Tile::new(order, n, ks, gaps)).collect();
        Self { n, tiles, columns, used: sorted.len(), gaps }
    }

    /// Values of eight tasks: `values[column][lane]`, NaN where k > n and where one is left open.
    pub(super) fn block(&self, scores: &mut Scores) -> Vec<Lanes> {
        let mut values = vec![[f64::NAN; LANES]; self.used + 1];
        self.settle(scores, &mut values);
        self.columns.iter().map(|&at| values[at]).collect()
    }

    /// The weights of gaps for a column whose k is at most n.
    pub(super) fn gaps(&self, column: usize) -> Gaps<'_> {
        Gaps(&self.gaps[self.columns[column] * (self.n + 1)..][..=self.n])
    }

    /// Values of tasks whose scores stand in rows of n, a multiple of [`LANES`] of them: `out[i * columns + column]`.
    pub(super) fn rows(&self, scores: &[f64], out: &mut [f64]) -> Left {
        arch::run(Rows { plan: self, scores, out })
    }

    /// Sort the scores, and weigh them; whether all values are settled. One copy a level of what each takes serves all.
    fn settle(&self, scores: &mut Scores, values: &mut [Lanes]) -> bool {
        network::sort(&mut scores[..network::rows(self.n)]);
        // Where a product and a sum do not cost one instruction, they are done one after the other; both keep to the
        // error.
        if arch::level() > Level::Baseline {
            arch::run(Weighing::<true> { plan: self, scores, values })
        } else {
            arch::run(Weighing::<false> { plan: self, scores, values })
        }
    }
}

/// Rows that the kernel leaves to others.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Left {
    /// Those with some values to be found otherwise, which are NaN.
    pub(super) open: Vec<usize>,
    /// Those beside a score that is not finite.
    pub(super) unread: Vec<usize>,
}

impl Tile {
    /// Best of k weighs the score of rank l, from 1, by C(l-1, k-1) / C(n, k) = C(l, k) / C(n, k) · k / l; worst of k
    /// mirrors that.
    fn new(order: Order, n: usize, ks: &[u64], gaps: &[Double]) -> Self {
        let at = |k: u64| usize::try_from(k).unwrap_or(n);
        let least = ks.first().copied().unwrap_or(1);
        let mut weights = vec![[Weight::default(); TILE]; n + 1 - at(least)];
        for (column, (&k, gaps)) in ks.iter().zip(gaps.chunks(n + 1)).enumerate() {
            for (l, gap) in gaps.iter().enumerate().skip(at(k)) {
                let place = if order == Order::Best { l - at(least) } else { n - l };
                if let Some(weights) = weights.get_mut(place) {
                    weights[column] = cut(gap.times_ratio(k as f64, l as f64));
                }
            }
        }
        Self {
            errors: ks.iter().map(|&k| Errors::new(n, at(k))).collect(),
            from: if order == Order::Best { at(least - 1) } else { 0 },
            weights,
        }
    }

    /// The sums of products of high parts, and of the others.
    #[inline(always)]
    fn sums<const FUSED: bool>(&self, scores: &[Lanes], grid: &Lanes) -> [(Lanes, Lanes); TILE] {
        let mut sums = [([0.0; LANES], [0.0; LANES]); TILE];
        for (weights, score) in self.weights.iter().zip(scores.iter().skip(self.from)) {
            // Cut anew for each tile: quicker than to keep the parts.
            let high: Lanes = from_fn(|lane| (score[lane] + grid[lane]) - grid[lane]);
            let low: Lanes = from_fn(|lane| score[lane] - high[lane]);
            for (weight, (sum, rest)) in weights.iter().zip(&mut sums) {
                *sum = from_fn(|lane| fma::<FUSED>(weight.high, high[lane], sum[lane]));
                *rest = from_fn(|lane| fma::<FUSED>(weight.high, low[lane], rest[lane]));
                *rest = from_fn(|lane| fma::<FUSED>(weight.rest, score[lane], rest[lane]));
            }
        }
        sums
    }
}

impl Errors {
    fn new(n: usize, k: usize) -> Self {
        // Let 2^p be above all scores, u = 2^-53 and m the number of scores with a weight. High parts are multiples of
        // 2^-26 (2^(p-26) for scores), rests at most 2^-27 (2^(p-27)), and weights sum to 1. Sums of products of high
        // parts stay below 2^(p+1) and are multiples of 2^(p-52): exact. The sizes of the 2m other terms sum to at most
        // (m + 2) 2^(p-27), so that adding them errs by at most 2 (m + 1) (m + 2) 2^(p-80), adding or taking off the
        // error itself by (m + 2) 2^(p-80), the weights' rests by m 2^(p-80); what the other routes err by is less than
        // 2^(p-80).
        let m = n + 1 - k;
        let most = 2.0 * ((m + 3) * (m + 3)) as f64 * power_of_two(-80);
        Self { most, ways: ways(n as u64, k as u64) }
    }
}

/// C(left, k) / C(n, k) for left from 0 to n, step by step; a row a k.
pub(super) fn weights(n: u64, ks: &[u64]) -> Vec<Double> {
    let row = |&k: &u64| {
        let mut steps = Steps::new(n, k);
        let mut row: Vec<Double> = (k..=n).rev().map(|left| steps.down_to(left, 1)).collect();
        row.extend((0..k.min(n + 1)).map(|_| Double::ZERO));
        row.reverse();
        row
    };
    ks.iter().flat_map(row).collect()
}

/// The weights of one k, by `left`.
pub(super) struct Gaps<'a>(pub(super) &'a [Double]);

impl Weigh for Gaps<'_> {
    const STEPS: bool = true;
    fn down_to(&mut self, left: u64, _count: u64) -> Double {
        usize::try_from(left).ok().and_then(|left| self.0.get(left)).copied().unwrap_or(Double::ZERO)
    }
}

pub(super) fn cut(weight: Double) -> Weight {
    let grid = 1.5 * power_of_two(26);
    let high = (weight.high + grid) - grid;
    Weight { high, rest: (weight.high - high) + weight.low }
}

#[inline(always)]
fn fma<const FUSED: bool>(a: f64, b: f64, c: f64) -> f64 {
    if FUSED { a.mul_add(b, c) } else { a * b + c }
}

/// Values of sorted scores; whether all are settled. No branch parts what is read from what is written in the loops
/// over lanes: compilers make vectors of that.
struct Weighing<'a, const FUSED: bool> {
    plan: &'a Plan,
    scores: &'a Scores,
    values: &'a mut [Lanes],
}

impl<const FUSED: bool> Kernel for Weighing<'_, FUSED> {
    type Output = bool;
    #[inline(always)]
    fn run(self) -> bool {
        let Self { plan, scores, values } = self;
        let n = plan.n.clamp(1, LONGEST);
        let (first, last, scores) = (scores[0], scores[n - 1], &scores[..n]);
        let size: Lanes = from_fn(|lane| if -first[lane] > last[lane] { -first[lane] } else { last[lane] });
        let above: Lanes = from_fn(|lane| f64::from_bits((size[lane].to_bits() & 0x7ff << 52) + (1 << 52)));
        // Adding and taking off this rounds to multiples of 2^-26 of the power above.
        let grid: Lanes = from_fn(|lane| above[lane] * (1.5 * power_of_two(26)));
        let unit: Lanes =
            from_fn(|lane| if size[lane] < LEAST && size[lane] > 0.0 { f64::INFINITY } else { above[lane] });
        for (tile, values) in plan.tiles.iter().zip(values[..plan.used].chunks_mut(TILE)) {
            let sums = tile.sums::<FUSED>(scores, &grid);
            for ((errors, (sum, rest)), values) in tile.errors.iter().zip(&sums).zip(&mut *values) {
                let error: Lanes = from_fn(|lane| unit[lane] * errors.most);
                let below: Lanes = from_fn(|lane| sum[lane] + (rest[lane] - error[lane]));
                let above: Lanes = from_fn(|lane| sum[lane] + (rest[lane] + error[lane]));
                *values = from_fn(|lane| if below[lane] == above[lane] { below[lane] } else { f64::NAN });
            }
            if has_nan(values) {
                let finer = finer_than(scores, &grid, &from_fn(|lane| 0.75 * above[lane]));
                for ((errors, sums), values) in tile.errors.iter().zip(&sums).zip(values) {
                    ties(errors, sums, &unit, &finer, values);
                }
            }
        }
        !has_nan(&values[..plan.used])
    }
}

/// Not `any`, which stops at the first: compilers make no vectors of that.
#[inline(always)]
fn has_nan(values: &[Lanes]) -> bool {
    values.as_flattened().iter().fold(false, |any, value| any | value.is_nan())
}

/// What scores have that is no multiple of 2^-53 of the power above: added to `fine`, that is lost.
#[inline(always)]
fn finer_than(scores: &[Lanes], grid: &Lanes, fine: &Lanes) -> Lanes {
    let mut finer = [0.0; LANES];
    for score in scores {
        finer = from_fn(|lane| {
            let low = score[lane] - ((score[lane] + grid[lane]) - grid[lane]);
            finer[lane] + (((low + fine[lane]) - fine[lane]) - low).abs()
        });
    }
    finer
}

/// Settle values in the middle of two floats, see [`even`].
#[inline(always)]
fn ties(errors: &Errors, (sum, rest): &(Lanes, Lanes), unit: &Lanes, finer: &Lanes, values: &mut Lanes) {
    for (lane, value) in values.iter_mut().enumerate() {
        let error = unit[lane] * errors.most;
        let (below, above) = (sum[lane] + (rest[lane] - error), sum[lane] + (rest[lane] + error));
        let even = even(below, above, error, errors.ways, unit[lane] * power_of_two(-53));
        *value = if value.is_nan() && finer[lane] == 0.0 { even } else { *value };
    }
}

/// See [`Plan::rows`].
struct Rows<'a> {
    plan: &'a Plan,
    scores: &'a [f64],
    out: &'a mut [f64],
}

impl Kernel for Rows<'_> {
    type Output = Left;
    #[inline(always)]
    fn run(self) -> Left {
        let Self { plan, scores: all, out } = self;
        let (n, width) = (plan.n.clamp(1, LONGEST), plan.columns.len());
        let mut left = Left::default();
        let mut scores = [[f64::INFINITY; LANES]; LONGEST];
        let mut values = vec![[f64::NAN; LANES]; plan.used + 1];
        let in_order = plan.columns.iter().zip(0..).all(|(&column, at)| column == at);
        let blocks = all.chunks_exact(n * LANES).zip(out.chunks_exact_mut(width * LANES));
        for (block, (rows, out)) in blocks.enumerate() {
            let place = block * LANES..(block + 1) * LANES;
            // Also brings in memory in its own order, which gathering does not.
            if rows.iter().fold(false, |any, score| any | !score.is_finite()) {
                left.unread.extend(place);
                continue;
            }
            let row: [&[f64]; LANES] = from_fn(|lane| &rows[lane * n..][..n]);
            for (i, scores) in scores[..n].iter_mut().enumerate() {
                // Adding 0.0 turns -0.0 into 0.0.
                *scores = from_fn(|lane| row[lane][i] + 0.0);
            }
            let settled = plan.settle(&mut scores, &mut values);
            for (lane, out) in out.chunks_exact_mut(width).enumerate() {
                if in_order {
                    out.iter_mut().zip(&values).for_each(|(out, values)| *out = values[lane]);
                } else {
                    out.iter_mut().zip(&plan.columns).for_each(|(out, &column)| *out = values[column][lane]);
                }
            }
            if !settled {
                let open = |row: &usize| values[..plan.used].iter().any(|values| values[row % LANES].is_nan());
                left.open.extend(place.filter(open));
            }
        }
        left
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arch::run_at;

    #[test]
    fn levels_agree_where_they_settle() {
        // The third lets sums of halves end in the middle of two floats, the last is not finite everywhere.
        for scale in [0.1, 1e-300, power_of_two(-53), f64::MAX] {
            for n in [1, 2, 3, 4, 7, 8, 16, 33, 64] {
                let ks: Vec<u64> = (1..=n as u64).rev().collect();
                let score = |i: usize| ((i * i * 7919 % 10_007) as f64 - 3000.0) * scale;
                for (order, first) in [(Order::Best, 0), (Order::Worst, 0), (Order::Best, 9), (Order::Worst, 9)] {
                    let plan = Plan::new(order, n, &ks);
                    let mut scores = [[f64::INFINITY; LANES]; LONGEST];
                    for (i, row) in scores[..n].iter_mut().enumerate() {
                        *row = from_fn(|lane| score((first * LANES + lane) * n + i));
                    }
                    network::sort(&mut scores[..network::rows(n)]);
                    let run = |level, fused| {
                        let mut values = vec![[f64::NAN; LANES]; n + 1];
                        let settled = if fused {
                            run_at(level, Weighing::<true> { plan: &plan, scores: &scores, values: &mut values })
                        } else {
                            run_at(level, Weighing::<false> { plan: &plan, scores: &scores, values: &mut values })
                        };
                        assert_eq!(settled, !has_nan(&values[..n]));
                        values.into_flattened()
                    };
                    let one = run(Level::Baseline, false);
                    for (level, fused) in [(Level::V3, false), (Level::V4, false), (Level::V3, true), (Level::V4, true)]
                    {
                        let other = run(level, fused);
                        let settled = one.iter().zip(&other).filter(|(a, b)| !a.is_nan() && !b.is_nan());
                        assert!(settled.clone().all(|(a, b)| a.to_bits() == b.to_bits()));
                        assert!(settled.count() >= 2 * n || !(1e-200..1e200).contains(&scale));
                        assert!(fused || one.iter().zip(&other).all(|(a, b)| a.is_nan() == b.is_nan()));
                    }
                }
            }
        }
    }

    #[test]
    fn rows_beside_what_is_not_finite_are_left() {
        let (n, ks) = (16, [1, 4, 17]);
        let mut scores: Vec<f64> = (0..n * 8 * 3).map(|i| f64::from(u8::try_from(i % 251).unwrap_or(0))).collect();
        scores[n * 8 + 5] = f64::NAN;
        scores[n * 16] = f64::INFINITY;
        let mut out = vec![0.0; 8 * 3 * 3];
        let left = Plan::new(Order::Best, n, &ks).rows(&scores, &mut out);
        assert_eq!((left.unread, left.open), ((8..24).collect(), vec![]));
        assert!(out[..24].chunks(3).all(|row| row[0] <= row[1] && row[2].is_nan()));
    }
}
