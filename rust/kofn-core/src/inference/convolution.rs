//! The law of a sum of independent integers, by convolution.
//!
//! Every term is positive, so a tail keeps its relative accuracy however small it is. What lies so far out that it
//! cannot matter is cut off, which keeps the work near (standard deviation)² rather than (range)².

use crate::arch::{self, Kernel};

/// Probability cut off on each side of a law after a step, unless a tail turns out to be small too.
pub const CUT: f64 = 1e-60;
/// Widths of a law that is cut: standard deviations on each side (the normal law has 1e-60 beyond 16.3).
const REACH: f64 = 17.0;

/// Probabilities of `first`, `first + 1`, …
#[derive(Clone, Debug, PartialEq)]
pub struct Law {
    /// The least value.
    pub first: i64,
    /// The probability of each value from there on.
    pub weights: Vec<f64>,
}

/// How wide a law gets, for an estimate of the work before it is done.
#[derive(Clone, Copy, Debug, Default)]
pub struct Width {
    range: f64,
    variance: f64,
}

impl Width {
    /// That of a law whose values span `range` with this variance.
    #[must_use]
    pub fn new(range: f64, variance: f64) -> Self {
        Self { range, variance }
    }

    /// That of the sum with `times` independent copies of another.
    #[must_use]
    pub fn plus(self, other: Self, times: f64) -> Self {
        Self { range: self.range + times * other.range, variance: self.variance + times * other.variance }
    }

    /// How many values are kept.
    #[must_use]
    pub fn kept(self) -> f64 {
        (self.range + 1.0).min(2.0 * REACH * self.variance.sqrt() + 64.0)
    }
}

impl Law {
    /// The law of a constant.
    #[must_use]
    pub fn constant(value: i64) -> Self {
        Self { first: value, weights: vec![1.0] }
    }

    /// The law of its sum with an independent `step` · `other`, cut to all but `cut` on each side.
    #[must_use]
    pub fn plus(&self, other: &Self, step: i64, cut: f64) -> Self {
        let (long, short, stride) = match usize::try_from(step) {
            Ok(1) if other.weights.len() > self.weights.len() => (&other.weights, &self.weights, 1),
            Ok(stride) => (&self.weights, &other.weights, stride),
            Err(_) => return self.clone(),
        };
        let mut weights = vec![0.0; long.len() + stride * (short.len().max(1) - 1)];
        arch::run(Products { long, short, stride, out: &mut weights });
        Self { first: self.first + step * other.first, weights }.cut(cut)
    }

    /// The law of the sum of `count` independent copies.
    #[must_use]
    pub fn times(&self, count: u64, cut: f64) -> Self {
        let mut sum = Self::constant(0);
        let mut power = self.clone();
        let mut left = count;
        while left > 0 {
            if left & 1 == 1 {
                sum = sum.plus(&power, 1, cut);
            }
            left >>= 1;
            if left > 0 {
                power = power.plus(&power, 1, cut);
            }
        }
        sum
    }

    /// Probability of `value` or less, and of `value` or more.
    #[must_use]
    pub fn tails(&self, value: i64) -> (f64, f64) {
        let at = value.saturating_sub(self.first);
        let within = |at: i64| usize::try_from(at).unwrap_or(0).min(self.weights.len());
        let lower = self.weights[..within(at.saturating_add(1))].iter().sum();
        // From the far end, so that small terms meet each other first.
        let upper = self.weights[within(at)..].iter().rev().sum();
        (lower, upper)
    }

    /// Without outer values whose probabilities sum to at most `share` on each side.
    fn cut(mut self, share: f64) -> Self {
        let beyond = |weights: &mut dyn Iterator<Item = &f64>| {
            let mut sum = 0.0;
            weights.take_while(|&&weight| (sum += weight, sum <= share).1).count()
        };
        let low = beyond(&mut self.weights.iter());
        if low == self.weights.len() {
            return self;
        }
        let high = beyond(&mut self.weights.iter().rev());
        self.weights.truncate(self.weights.len() - high);
        self.weights.drain(..low);
        self.first += i64::try_from(low).unwrap_or(0);
        self
    }
}

/// `out[i + stride · j] += long[i] · short[j]`.
struct Products<'a> {
    long: &'a [f64],
    short: &'a [f64],
    stride: usize,
    out: &'a mut [f64],
}

impl Kernel for Products<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        // Pieces of the long law that stay in the first cache while all of the short one passes over them.
        const PIECE: usize = 1024;
        for (piece, long) in self.long.chunks(PIECE).enumerate() {
            for (j, &weight) in self.short.iter().enumerate() {
                let start = piece * PIECE + j * self.stride;
                for (out, &x) in self.out[start..start + long.len()].iter_mut().zip(long) {
                    *out += x * weight;
                }
            }
        }
    }
}

/// The law of the number of heads in `count` tosses of a fair coin.
#[must_use]
pub fn heads(count: u64) -> Law {
    let mode = count / 2;
    let up = walk(count - mode, |i| (count - mode - i) as f64 / (mode + i + 1) as f64);
    let down = walk(mode, |i| (mode - i) as f64 / (count - mode + i + 1) as f64);
    let first = mode.cast_signed() - i64::try_from(down.len()).unwrap_or(0);
    let mut weights: Vec<f64> = down.into_iter().rev().chain([1.0]).chain(up).collect();
    normalise(&mut weights);
    Law { first, weights }
}

/// Weights relative to the mode, outwards from it, as long as they are floats; `ratio(i)` is that of the next to the
/// i-th from the mode.
fn walk(most: u64, ratio: impl Fn(u64) -> f64) -> Vec<f64> {
    let mut weight = 1.0;
    (0..most)
        .map_while(|i| {
            weight *= ratio(i);
            // Below it rounding would keep a weight from ever reaching 0.
            (weight >= f64::MIN_POSITIVE).then_some(weight)
        })
        .collect()
}

/// Divide by the sum.
pub fn normalise(weights: &mut [f64]) {
    // Outer weights first: they are the small ones.
    let half = weights.len() / 2;
    let sum = weights[..half].iter().sum::<f64>() + weights[half..].iter().rev().sum::<f64>();
    for weight in weights {
        *weight /= sum;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arch::{Level, run_at};
    use proptest::prelude::*;

    #[test]
    fn heads_are_binomials() {
        for (count, expected) in [(0, vec![1.0]), (1, vec![0.5, 0.5]), (4, vec![0.0625, 0.25, 0.375, 0.25, 0.0625])] {
            assert_eq!(heads(count), Law { first: 0, weights: expected });
        }
        let many = heads(1_000_000);
        assert!(many.weights.len() < 80_000 && many.first > 460_000);
        assert!((many.tails(499_999).0 * 2.0 + many.weights[many.weights.len() / 2] - 1.0).abs() < 1e-12);
    }

    #[test]
    fn copies_are_sums_one_by_one() {
        let law = Law { first: -1, weights: vec![0.25, 0.5, 0.0, 0.25] };
        let mut sum = Law::constant(0);
        for count in 0..12 {
            assert_eq!(law.times(count, 0.0), sum);
            sum = sum.plus(&law, 1, 0.0);
        }
        // A cut takes no more than it may.
        let (whole, cut) = (law.times(200, 0.0), law.times(200, 1e-20));
        assert!(cut.weights.len() < whole.weights.len());
        for value in [-60, 0, 40, 90] {
            let ((a, b), (c, d)) = (whole.tails(value), cut.tails(value));
            assert!((a - c).abs() < 1e-18 + 1e-13 * a && (b - d).abs() < 1e-18 + 1e-13 * b, "{value}");
        }
    }

    proptest! {
        #[test]
        fn levels_and_strides_agree_with_a_plain_loop(
            long in prop::collection::vec(0.0..1.0f64, 1..2100), short in prop::collection::vec(0.0..1.0f64, 1..40),
            stride in 1usize..5,
        ) {
            let mut expected = vec![0.0; long.len() + stride * (short.len() - 1)];
            for (j, y) in short.iter().enumerate() {
                for (i, x) in long.iter().enumerate() {
                    expected[i + stride * j] += x * y;
                }
            }
            let mut first = Vec::new();
            for level in [Level::Baseline, Level::V3, Level::V4] {
                let mut out = vec![0.0; expected.len()];
                run_at(level, Products { long: &long, short: &short, stride, out: &mut out });
                prop_assert!(out.iter().zip(&expected).all(|(a, b)| (a - b).abs() <= 1e-13 * b));
                if first.is_empty() {
                    first.clone_from(&out);
                }
                prop_assert_eq!(&first, &out);
            }
        }
    }
}
