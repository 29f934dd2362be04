//! Expected order statistics of k scores drawn without replacement from a task's n: best, worst, j-th, quantiles.
//!
//! In gap (Abel) form over the distinct scores (estimators, 2.1), with double-double weights and sums: exact for equal
//! scores and for k = n, equivariant under shifts and powers of two, and within an ulp of the largest score.
//! Levels are ascending and distinct, every count at least 1, and 1 <= k <= their sum: callers check k with
//! [`super::check_k`].

use super::hypergeometric::unchecked::below_m_of_k;
use crate::dd::{Double, two_product, two_sum};
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
    if k == 1 {
        return mean(levels);
    }
    extreme(levels.len(), |i| levels[levels.len() - 1 - i], k, scored(levels))
}

/// Expected minimum of k.
#[must_use]
pub fn worst_of_k(levels: &[Level], k: u64) -> f64 {
    if k == 1 {
        return mean(levels);
    }
    let mirrored = |i: usize| Level { value: -levels[i].value, count: levels[i].count };
    0.0 - extreme(levels.len(), mirrored, k, scored(levels))
}

/// Expected maximum of k over levels given from the top down: `v_1 - Σ (v_i - v_{i+1}) C(N_i, k) / C(n, k)`, where
/// `N_i` scores lie below level i.
fn extreme(len: usize, level: impl Fn(usize) -> Level, k: u64, n: u64) -> f64 {
    let (Some(last), true) = (len.checked_sub(1), k <= n) else { return f64::NAN };
    let (top, bottom) = (level(0).value, level(last).value);
    let scale = Scale::new(top, bottom);
    let mut sum = Gaps::new(scale.down(top));
    let (mut left, mut weight) = (n, Double::ONE);
    for i in 0..last {
        let Level { value, count } = level(i);
        // From C(left, k) to C(left - count, k): by the shorter of two products.
        if left - count < k {
            break;
        }
        let (factors, offset) = (count.min(k), count.max(k));
        for j in 0..factors {
            weight = weight.times_ratio((left - offset - j) as f64, (left - j) as f64);
        }
        left -= count;
        if weight.high < 1e-290 {
            break;
        }
        sum.add(scale.down(level(i + 1).value), scale.down(value), weight);
    }
    scale.up(sum.total()).clamp(bottom.min(top), top)
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
    scale.up(sum.total()).clamp(first.value, last.value)
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
    scale.up(sum.total()).clamp(a, b)
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
    sum: Double,
}

impl Gaps {
    const fn new(start: f64) -> Self {
        Self { start, sum: Double::ZERO }
    }

    /// Add (to - from) · weight.
    fn add(&mut self, to: f64, from: f64, weight: Double) {
        let (gap, gap_error) = two_sum(to, -from);
        let (product, error) = two_product(gap, weight.high);
        let low = error + (gap * weight.low + gap_error * weight.high);
        self.sum = self.sum.plus_double(Double { high: product, low });
    }

    fn total(&self) -> f64 {
        self.sum.plus(self.start).high
    }
}
