//! Best and worst of k of many short tasks, eight at a time.
//!
//! Tasks of one length stand side by side, so that one sorting network orders eight of them and every weight serves
//! eight scores. Scores and weights are cut into a high part of 26 bits on a common grid and the rest: products of high
//! parts and their sums are exact, and what the rest adds is so small that its own rounding hardly counts. A value is
//! taken when everything within the error rounds to one float, which then is the value of every other route too (see
//! [`super::order`]); the others go that route.

use super::order::{Level, Steps, Weigh, levels_into};
use super::rows::Order;
use crate::dd::Double;
use crate::error::Result;
use crate::exact::power_of_two;

/// Tasks side by side.
const LANES: usize = 8;
/// The longest tasks taken: the error grows with the square of their length.
pub(super) const LONGEST: usize = 64;
/// Scores all smaller than 2^-400 would lose bits below the range of floats.
const LEAST: f64 = f64::from_bits((1023 - 400) << 52);

type Lanes = [f64; LANES];

/// Tasks that wait for others of their length.
pub(super) struct Blocks<'a> {
    order: Order,
    ks: &'a [u64],
    /// By length.
    waiting: Vec<Option<Waiting>>,
    spare: (Vec<f64>, Vec<Level>),
}

/// Tasks of one length n.
struct Waiting {
    /// `scores[i][lane]` is the i-th score of the task in that lane.
    scores: Vec<Lanes>,
    tasks: [usize; LANES],
    taken: usize,
    /// Made for the first full block: fewer tasks do not pay for it.
    plan: Option<Plan>,
}

impl<'a> Blocks<'a> {
    pub(super) fn new(order: Order, ks: &'a [u64]) -> Self {
        Self { order, ks, waiting: Vec::new(), spare: <_>::default() }
    }

    /// Whether this statistic can be had here.
    pub(super) const fn take(order: Order) -> bool {
        matches!(order, Order::Best | Order::Worst)
    }

    /// Add a task of 1 to [`LONGEST`] finite scores; `out` holds the values of all tasks.
    pub(super) fn add(
        &mut self,
        task: usize,
        scores: impl ExactSizeIterator<Item = f64>,
        out: &mut [f64],
    ) -> Result<()> {
        let n = scores.len();
        if self.waiting.len() <= n {
            self.waiting.resize_with(n + 1, || None);
        }
        let waiting = self.waiting[n].get_or_insert_with(|| Waiting::new(n));
        let lane = waiting.taken;
        for (lanes, score) in waiting.scores.iter_mut().zip(scores) {
            // Adding 0.0 turns -0.0 into 0.0.
            lanes[lane] = score + 0.0;
        }
        waiting.tasks[lane] = task;
        waiting.taken += 1;
        if waiting.taken == LANES { self.empty(n, out) } else { Ok(()) }
    }

    /// Compute whatever still waits.
    pub(super) fn finish(mut self, out: &mut [f64]) -> Result<()> {
        (0..self.waiting.len()).try_for_each(|n| self.empty(n, out))
    }

    fn empty(&mut self, n: usize, out: &mut [f64]) -> Result<()> {
        let Some(Some(waiting)) = self.waiting.get_mut(n) else { return Ok(()) };
        let taken = std::mem::take(&mut waiting.taken);
        let (order, ks, width) = (self.order, self.ks, self.ks.len());
        let mut open = [true; LANES];
        let row = |task: usize| task * width..(task + 1) * width;
        if taken == LANES && waiting.plan.is_none() {
            waiting.plan = Some(Plan::new(order, n, ks));
        }
        for &task in &waiting.tasks[..taken] {
            out[row(task)].fill(f64::NAN);
        }
        if let Some(plan) = &mut waiting.plan {
            plan.sort(&mut waiting.scores);
            open = plan.fill(&waiting.scores, |column, values| {
                for (&task, value) in waiting.tasks[..taken].iter().zip(values) {
                    out[row(task).start + column] = value;
                }
            });
        }
        for (lane, &task) in waiting.tasks[..taken].iter().enumerate().filter(|&(lane, _)| open[lane]) {
            let (scores, levels) = &mut self.spare;
            scores.clear();
            scores.extend(waiting.scores.iter().map(|lanes| lanes[lane]));
            levels_into(scores, levels);
            for (out, &k) in out[row(task)].iter_mut().zip(ks).filter(|(out, _)| out.is_nan()) {
                *out = if k > n as u64 { f64::NAN } else { order.of(levels, k)? };
            }
        }
        Ok(())
    }
}

impl Waiting {
    fn new(n: usize) -> Self {
        Self { scores: vec![[0.0; LANES]; n], tasks: [0; LANES], taken: 0, plan: None }
    }
}

/// What all tasks of one length share.
struct Plan {
    /// The comparisons of a sorting network.
    network: Vec<(usize, usize)>,
    /// One row a k; none where k > n.
    rows: Vec<Option<Weights>>,
    parts: Vec<Parts>,
    /// Of every value, relative to the power of two above the largest score.
    error: f64,
}

/// The weights of the ranks `from..` for one k: the others are 0.
struct Weights {
    from: usize,
    /// (high part, rest).
    weights: Vec<(f64, f64)>,
}

/// Scores of one rank, cut in two.
#[derive(Clone, Copy)]
struct Parts {
    score: Lanes,
    high: Lanes,
    low: Lanes,
}

impl Plan {
    fn new(order: Order, n: usize, ks: &[u64]) -> Self {
        let rows = ks.iter().map(|&k| (k <= n as u64).then(|| Weights::new(order, n as u64, k))).collect();
        let parts = vec![Parts { score: [0.0; LANES], high: [0.0; LANES], low: [0.0; LANES] }; n];
        // Let 2^p be above all scores and u = 2^-53. High parts are multiples of 2^-26 (2^(p-26) for scores), rests at
        // most 2^-27 (2^(p-27)), and weights sum to 1. Sums of products of high parts stay below 2^(p+1) and are
        // multiples of 2^(p-52): exact. The sizes of the 2n other terms sum to at most (n + 2) 2^(p-27), so that
        // adding them errs by at most 2 (n + 1) (n + 2) 2^(p-80), adding or taking off the error itself by (n + 2)
        // 2^(p-80), the weights' rests by n 2^(p-80); what the other routes err by is less than 2^(p-80).
        let error = 2.0 * ((n + 3) * (n + 3)) as f64 * power_of_two(-80);
        Self { network: network(n), rows, parts, error }
    }

    fn sort(&self, scores: &mut [Lanes]) {
        for &(a, b) in &self.network {
            let (x, y) = (scores[a], scores[b]);
            let (mut least, mut most) = (x, y);
            for lane in 0..LANES {
                least[lane] = if y[lane] < x[lane] { y[lane] } else { x[lane] };
                most[lane] = if y[lane] < x[lane] { x[lane] } else { y[lane] };
            }
            (scores[a], scores[b]) = (least, most);
        }
    }

    /// Give the values of sorted scores to `set`, by column, NaN where one is left open; the lanes with such.
    fn fill(&mut self, scores: &[Lanes], mut set: impl FnMut(usize, Lanes)) -> [bool; LANES] {
        let (Some(first), Some(last)) = (scores.first(), scores.last()) else { return [true; LANES] };
        let (mut grid, mut error) = ([0.0; LANES], [0.0; LANES]);
        for lane in 0..LANES {
            let size = if -first[lane] > last[lane] { -first[lane] } else { last[lane] };
            let above = f64::from_bits((size.to_bits() & 0x7ff << 52) + (1 << 52));
            // Adding and taking off this rounds to multiples of 2^-26 of the power above.
            grid[lane] = above * (1.5 * power_of_two(26));
            error[lane] = if size < LEAST && size > 0.0 { f64::INFINITY } else { above * self.error };
        }
        for (parts, score) in self.parts.iter_mut().zip(scores) {
            parts.score = *score;
            for lane in 0..LANES {
                parts.high[lane] = (score[lane] + grid[lane]) - grid[lane];
                parts.low[lane] = score[lane] - parts.high[lane];
            }
        }
        let mut open = [false; LANES];
        for (column, row) in self.rows.iter().enumerate() {
            // Without weights, k > n and the value stays NaN.
            let Some(row) = row else { continue };
            let (sum, rest) = row.sums(&self.parts);
            let mut values = [0.0; LANES];
            for lane in 0..LANES {
                let (below, above) = (sum[lane] + (rest[lane] - error[lane]), sum[lane] + (rest[lane] + error[lane]));
                open[lane] |= below != above;
                values[lane] = if below == above { below } else { f64::NAN };
            }
            set(column, values);
        }
        open
    }
}

impl Weights {
    /// Best of k weighs the score of rank l, from 1, by C(l-1, k-1) / C(n, k) = C(l, k) / C(n, k) · k / l; worst of k
    /// mirrors that.
    fn new(order: Order, n: u64, k: u64) -> Self {
        let mut steps = Steps::new(n, k);
        let cut = |weight: Double| {
            let grid = 1.5 * power_of_two(26);
            let high = (weight.high + grid) - grid;
            (high, (weight.high - high) + weight.low)
        };
        let down = (k..=n).rev().map(|l| cut(steps.down_to(l, 1).times_ratio(k as f64, l as f64)));
        let mut weights: Vec<_> = down.collect();
        let from = if order == Order::Best {
            weights.reverse();
            usize::try_from(k - 1).unwrap_or(usize::MAX)
        } else {
            0
        };
        Self { from, weights }
    }

    /// The sums of products of high parts, and of the others.
    fn sums(&self, parts: &[Parts]) -> (Lanes, Lanes) {
        let (mut sum, mut rest) = ([0.0; LANES], [0.0; LANES]);
        for (&(high, low), parts) in self.weights.iter().zip(&parts[self.from..]) {
            for lane in 0..LANES {
                sum[lane] += high * parts.high[lane];
                rest[lane] += high * parts.low[lane] + low * parts.score[lane];
            }
        }
        (sum, rest)
    }
}

/// Batcher's merge exchange: the comparisons that sort any n values (Knuth, TAOCP 5.2.2 M).
fn network(n: usize) -> Vec<(usize, usize)> {
    let mut pairs = Vec::new();
    let half = n.next_power_of_two() / 2;
    let mut p = half;
    while p > 0 {
        let (mut q, mut r, mut d) = (half, 0, p);
        loop {
            pairs.extend((0..n - d).filter(|i| i & p == r).map(|i| (i, i + d)));
            if q == p {
                break;
            }
            (d, q, r) = (q - p, q / 2, p);
        }
        p /= 2;
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_sort() {
        // A network that sorts every sequence of 0 and 1 sorts everything; long ones are tried with mixed values.
        for n in 1..=LONGEST {
            let tries: u64 = if n <= 12 { 1 << n } else { 200 };
            for case in 0..tries {
                let value = |i: usize| {
                    if n <= 12 { case >> i & 1 } else { (i as u64 + 1) * (2 * case + 1) * 2_654_435_761 % 97 }
                };
                let mut values: Vec<u64> = (0..n).map(value).collect();
                for (a, b) in network(n) {
                    if values[b] < values[a] {
                        values.swap(a, b);
                    }
                }
                assert!(values.is_sorted(), "n = {n}: {values:?}");
            }
        }
    }
}
