//! Expected order statistics of k scores drawn without replacement from a task's n: best, worst, j-th, quantiles.
//!
//! In gap (Abel) form over the distinct scores (estimators, 2.1), with double-double weights and sums: exact for equal
//! scores and for k = n, equivariant under shifts and powers of two, and within an ulp of the largest score. Best and
//! worst of k in the middle of two floats go to the even one.
//! Levels are ascending and distinct, every count at least 1, and 1 <= k <= their sum: callers check k with
//! [`super::check_k`].

use super::hypergeometric::unchecked::below_m_of_k;
use crate::dd::{Double, fast_two_sum, two_product, two_sum};
use crate::error::{Error, Result};
use crate::exact::{Exact, power_of_two};

/// A distinct score and how many rollouts have it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Level {
    /// The score, finite; 0.0 stands for -0.0 too.
    pub value: f64,
    /// How many, at least 1.
    pub count: u64,
}

/// The levels of finite scores, which are sorted in place.
#[must_use]
pub fn levels_from(scores: &mut [f64]) -> Vec<Level> {
    let mut levels = Vec::new();
    levels_into(scores, &mut levels);
    levels
}

/// As [`levels_from`], into a vector that is used again.
pub fn levels_into(scores: &mut [f64], levels: &mut Vec<Level>) {
    levels.clear();
    for score in &mut *scores {
        *score += 0.0;
    }
    scores.sort_unstable_by(f64::total_cmp);
    for &value in &*scores {
        match levels.last_mut() {
            Some(last) if last.value == value => last.count += 1,
            _ => levels.push(Level { value, count: 1 }),
        }
    }
}

/// How many scores the levels hold.
#[must_use]
pub fn scored(levels: &[Level]) -> u64 {
    levels.iter().map(|level| level.count).sum()
}

/// The exact mean, rounded once; NaN for no levels.
#[must_use]
pub fn mean(levels: &[Level]) -> f64 {
    if let [only] = levels {
        return only.value;
    }
    let mut sum = Exact::default();
    for level in levels {
        sum.add_times(level.value, level.count);
    }
    sum.mean(scored(levels))
}

/// Expected maximum of k.
///
/// ```
/// use kofn_core::estimators::order::{best_of_k, levels_from};
/// let levels = levels_from(&mut [3.0, 1.0, 2.0]);
/// assert_eq!(best_of_k(&levels, 3), 3.0);
/// assert_eq!(best_of_k(&levels, 2), 8.0 / 3.0);
/// ```
#[must_use]
pub fn best_of_k(levels: &[Level], k: u64) -> f64 {
    let n = scored(levels);
    best(levels, k, n, &mut Jumps::new(k))
}

/// Expected minimum of k.
#[must_use]
pub fn worst_of_k(levels: &[Level], k: u64) -> f64 {
    let n = scored(levels);
    worst(levels, k, n, &mut Jumps::new(k))
}

/// [`best_of_k`] of the n scores, whose weights `weigh` gives.
pub(super) fn best(levels: &[Level], k: u64, n: u64, weigh: &mut impl Weigh) -> f64 {
    if k == 1 {
        return mean(levels);
    }
    extreme(levels.len(), |i| levels[levels.len() - 1 - i], k, n, weigh)
}

/// [`worst_of_k`] of the n scores, whose weights `weigh` gives.
pub(super) fn worst(levels: &[Level], k: u64, n: u64, weigh: &mut impl Weigh) -> f64 {
    if k == 1 {
        return mean(levels);
    }
    let mirrored = |i: usize| Level { value: -levels[i].value, count: levels[i].count };
    0.0 - extreme(levels.len(), mirrored, k, n, weigh)
}

/// Expected maximum of k over levels given from the top down. Whoever weighs, the bits are the same: either every
/// value within the error rounds to one float, or the weights are taken step by step.
fn extreme<W: Weigh>(len: usize, level: impl Fn(usize) -> Level, k: u64, n: u64, weigh: &mut W) -> f64 {
    let (Some(last), true) = (len.checked_sub(1), k <= n) else { return f64::NAN };
    let (top, bottom) = (level(0).value, level(last).value);
    let scale = Scale::new(top, bottom);
    let total = gaps(last, &level, k, n, &scale, weigh);
    // Relative to the range: the weights' steps, the rounding of each term, and that of the sum's low part.
    let (steps, terms) = (n as f64 + 2.0, len as f64);
    let error = (8.0 * steps + 8.0 * terms + terms * terms) * power_of_two(-104);
    let size = scale.down(top).abs() + scale.down(bottom).abs();
    let by_steps = || if W::STEPS { total } else { gaps(last, &level, k, n, &scale, &mut Steps::new(n, k)) };
    let middle = || {
        let (error, low) = (error * size, total.low);
        let unit = (0..len).map(|i| last_place(scale.down(level(i).value))).fold(f64::INFINITY, f64::min);
        let even = even(total.high + (low - error), total.high + (low + error), error, ways(n, k), unit);
        (!even.is_nan()).then_some(even)
    };
    let value = total.rounded(error * size).or_else(middle).unwrap_or_else(|| by_steps().high);
    scale.up(value).clamp(bottom.min(top), top)
}

/// The even one of two floats in a row when what rounds to either can only be their middle; NaN otherwise.
///
/// A value is known within `error`, so it is at most twice that away from the middle. Both are multiples of the scores'
/// `unit` over C(n, k), or of the middle's own unit if that is finer: when they are less than that apart, they are one.
#[inline(always)]
pub(super) fn even(below: f64, above: f64, error: f64, ways: f64, unit: f64) -> f64 {
    let middle = (above - below) / 2.0;
    let unit = if middle < unit { middle } else { unit };
    let even = if below.to_bits() & 1 == 0 { below } else { above };
    if error * (4.0 * ways) < unit { even } else { f64::NAN }
}

/// C(n, k), or more than what two numbers of 53 bits can tell apart.
pub(super) fn ways(n: u64, k: u64) -> f64 {
    let mut ways = 1.0;
    for i in 0..k.min(n - k) {
        ways *= (n - i) as f64 / (i + 1) as f64;
        if ways > power_of_two(120) {
            break;
        }
    }
    ways
}

/// What the last bit of a number counts; infinity for 0.
fn last_place(x: f64) -> f64 {
    let (size, bits) = (x.abs(), x.abs().to_bits());
    match bits & ((1 << 52) - 1) {
        0 if size == 0.0 => f64::INFINITY,
        0 => size,
        _ => size - f64::from_bits(bits & (bits - 1)),
    }
}

/// `v_0 - Σ (v_i - v_{i+1}) C(N_i, k) / C(n, k)`, where `N_i` scores lie below level i.
fn gaps(last: usize, level: &impl Fn(usize) -> Level, k: u64, n: u64, scale: &Scale, weigh: &mut impl Weigh) -> Double {
    let mut sum = Gaps::new(scale.down(level(0).value));
    let mut left = n;
    for i in 0..last {
        let Level { value, count } = level(i);
        left -= count;
        if left < k {
            break;
        }
        let weight = weigh.down_to(left, count);
        if weight.high < 1e-290 {
            break;
        }
        sum.add(scale.down(level(i + 1).value), scale.down(value), weight);
    }
    sum.total()
}

/// Gives C(left, k) / C(n, k) for falling `left`, within (n + 2) 2^-101 of itself.
pub(super) trait Weigh {
    /// Whether the weights are those of [`Steps`].
    const STEPS: bool = false;
    /// The weight at `left` >= k, which lies `count` below the one before.
    fn down_to(&mut self, left: u64, count: u64) -> Double;
}

/// A running product that takes the shorter way from level to level.
struct Jumps {
    k: u64,
    weight: Double,
}

impl Jumps {
    const fn new(k: u64) -> Self {
        Self { k, weight: Double::ONE }
    }
}

impl Weigh for Jumps {
    fn down_to(&mut self, left: u64, count: u64) -> Double {
        let (factors, offset, from) = (count.min(self.k), count.max(self.k), left + count);
        for j in 0..factors {
            self.weight = self.weight.times_ratio((from - offset - j) as f64, (from - j) as f64);
        }
        self.weight
    }
}

/// A running product over every score: what the weights are when nothing else settles the value.
pub(super) struct Steps {
    k: u64,
    left: u64,
    weight: Double,
}

impl Steps {
    pub(super) const fn new(n: u64, k: u64) -> Self {
        Self { k, left: n, weight: Double::ONE }
    }
}

impl Weigh for Steps {
    const STEPS: bool = true;
    fn down_to(&mut self, left: u64, _count: u64) -> Double {
        while self.left > left {
            self.weight = self.weight.times_ratio((self.left - self.k) as f64, self.left as f64);
            self.left -= 1;
        }
        self.weight
    }
}

/// Expected j-th smallest of k, 1 <= j <= k.
#[must_use]
pub fn order_statistic_of_k(levels: &[Level], j: u64, k: u64) -> f64 {
    if j == 1 {
        return worst_of_k(levels, k);
    }
    if j == k {
        return best_of_k(levels, k);
    }
    let ([first, ..], Some(last)) = (levels, levels.last()) else { return f64::NAN };
    let (n, scale) = (scored(levels), Scale::new(first.value, last.value));
    let mut sum = Gaps::new(scale.down(first.value));
    let mut below = 0;
    for pair in levels.windows(2) {
        below += pair[0].count;
        // The j-th smallest lies above this level if fewer than j of k do not.
        let weight = below_m_of_k(n, below, k, j);
        if weight == 0.0 {
            break;
        }
        sum.add(scale.down(pair[1].value), scale.down(pair[0].value), Double { high: weight, low: 0.0 });
    }
    scale.up(sum.total().high).clamp(first.value, last.value)
}

/// Expected median of k: the middle one, or the mean of the two in the middle.
#[must_use]
pub fn median_of_k(levels: &[Level], k: u64) -> f64 {
    let upper = order_statistic_of_k(levels, k / 2 + 1, k);
    if k % 2 == 1 { upper } else { between(order_statistic_of_k(levels, k / 2, k), upper, 0.5) }
}

/// Expected quantile `q` of k, from 0 to 1, as type 7 (linear between neighbours).
pub fn quantile_of_k(levels: &[Level], q: f64, k: u64) -> Result<f64> {
    if !(0.0..=1.0).contains(&q) {
        return Err(Error::argument("q", format!("q = {q} is not from 0 to 1")));
    }
    let at = (k - 1) as f64 * q;
    let share = at - at.floor();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 0 to k - 1, below 2^53")]
    let j = at.floor() as u64 + 1;
    let lower = order_statistic_of_k(levels, j, k);
    Ok(if share == 0.0 { lower } else { between(lower, order_statistic_of_k(levels, j + 1, k), share) })
}

/// The point that lies `share` of the way from a to b >= a.
fn between(a: f64, b: f64, share: f64) -> f64 {
    let scale = Scale::new(a, b);
    let mut sum = Gaps::new(scale.down(a));
    sum.add(scale.down(b), scale.down(a), Double { high: share, low: 0.0 });
    scale.up(sum.total().high).clamp(a, b)
}

/// A power of two that keeps gaps and their products within the range where they are exact; 1 for usual scores.
struct Scale(i32);

impl Scale {
    fn new(a: f64, b: f64) -> Self {
        let size = a.abs().max(b.abs());
        Self(if size > power_of_two(900) {
            200
        } else if size < power_of_two(-400) {
            -600
        } else {
            0
        })
    }

    fn down(&self, x: f64) -> f64 {
        if self.0 == 0 { x } else { x * power_of_two(-self.0) }
    }

    fn up(&self, x: f64) -> f64 {
        if self.0 == 0 { x } else { x * power_of_two(self.0) }
    }
}

/// A start plus weighted gaps, in double-double.
struct Gaps {
    start: f64,
    high: f64,
    low: f64,
}

impl Gaps {
    const fn new(start: f64) -> Self {
        Self { start, high: 0.0, low: 0.0 }
    }

    /// Add (to - from) · weight.
    #[inline]
    fn add(&mut self, to: f64, from: f64, weight: Double) {
        let (gap, gap_error) = two_sum(to, -from);
        let (product, error) = two_product(gap, weight.high);
        let (high, lost) = two_sum(self.high, product);
        self.high = high;
        self.low += lost + (error + (gap * weight.low + gap_error * weight.high));
    }

    fn total(&self) -> Double {
        let (high, low) = fast_two_sum(self.high, self.low);
        Double { high, low }.plus(self.start)
    }
}
