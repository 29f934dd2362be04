//! What is kept of the durations and of the token totals of one task: how many, their sum, and the sum of their squares,
//! from which both their mean and how sure it is follow. All exact.

use crate::exact::{self, Exact};

/// Durations of one task.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Durations {
    /// How many rollouts recorded one.
    pub n: u32,
    /// Their sum.
    pub sum: Exact,
    /// The sum of their squares.
    pub squares: Exact,
}

impl Durations {
    /// Add one, which is finite and not negative.
    pub(super) fn add(&mut self, seconds: f64) {
        self.n += 1;
        self.sum.add(seconds);
        self.squares.add_square(seconds);
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.n += other.n;
        self.sum.merge(&other.sum);
        self.squares.merge(&other.squares);
    }

    /// The mean; NaN for none.
    #[must_use]
    pub fn mean(&self) -> f64 {
        self.sum.mean(u64::from(self.n))
    }

    /// The variance of the mean over repeated runs of the task; see [`exact::mean_variance`].
    #[must_use]
    pub fn mean_variance(&self) -> Option<f64> {
        exact::mean_variance(&self.sum, &self.squares, u64::from(self.n))
    }

    /// Whether n values can have these sums.
    pub(super) fn is_sound(&self) -> bool {
        exact::can_be_squares(&self.sum, &self.squares, u64::from(self.n))
    }
}

/// Token totals of one task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tokens {
    /// How many rollouts recorded one.
    pub n: u32,
    /// Their sum, below 2^95.
    pub sum: u128,
    /// The sum of their squares; `u128::MAX` where it is larger than that, as of totals beyond 2^48.
    pub squares: u128,
}

impl Tokens {
    /// Add a total that is not negative.
    pub(super) fn add(&mut self, tokens: u64) {
        self.n += 1;
        self.sum += u128::from(tokens);
        self.squares = self.squares.saturating_add(u128::from(tokens) * u128::from(tokens));
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.n += other.n;
        self.sum += other.sum;
        self.squares = self.squares.saturating_add(other.squares);
    }

    /// The mean; NaN for none.
    #[must_use]
    pub fn mean(&self) -> f64 {
        exact::ratio(self.sum, u64::from(self.n), 1)
    }

    /// The variance of the mean over repeated runs of the task; see [`exact::mean_variance`].
    #[must_use]
    pub fn mean_variance(&self) -> Option<f64> {
        let variance = exact::mean_variance_of_integers(self.sum, self.squares, u64::from(self.n))?;
        Some(if self.is_beyond() { f64::INFINITY } else { variance })
    }

    /// Whether the squares are more than can be counted.
    const fn is_beyond(&self) -> bool {
        self.squares == u128::MAX
    }

    /// Whether n whole numbers from 0 to `i64::MAX` can have these sums.
    pub(super) fn is_sound(&self) -> bool {
        const MOST: u128 = i64::MAX.cast_unsigned() as u128;
        let (sum, squares) = self.exact();
        // A whole number is at most its square, and a sum of squares at most the square of the sum.
        let bounded = self.sum.checked_mul(self.sum).is_none_or(|most| self.squares <= most);
        self.sum <= u128::from(self.n) * MOST
            && self.sum <= self.squares
            && bounded
            && (self.is_beyond() || exact::can_be_squares(&sum, &squares, u64::from(self.n)))
    }

    fn exact(&self) -> (Exact, Exact) {
        (Exact::of_integer(self.sum), Exact::of_integer(self.squares))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variance_of_a_mean_is_that_of_the_textbook() {
        let mut durations = Durations::default();
        let mut tokens = Tokens::default();
        for (seconds, total) in [(1.0, 10), (2.5, 0), (4.0, 1 << 40)] {
            durations.add(seconds);
            tokens.add(total);
        }
        assert_eq!((durations.mean(), durations.mean_variance()), (2.5, Some(0.75)));
        let big = f64::from(1u32 << 20) * f64::from(1u32 << 20);
        let mean = (big + 10.0) / 3.0;
        let squares: f64 = [10.0, 0.0, big].iter().map(|x| (x - mean) * (x - mean)).sum();
        let found = tokens.mean_variance().expect("three totals");
        assert!((found / (squares / 6.0) - 1.0).abs() < 1e-15, "{found}");
        assert_eq!(Durations::default().mean_variance(), None);
        let mut apart = Durations::default();
        apart.add(0.0);
        assert_eq!(apart.mean_variance(), None);
        apart.add(1e300);
        assert_eq!((apart.mean(), apart.mean_variance()), (5e299, Some(f64::INFINITY)));
        assert!(Tokens::default().mean().is_nan());
        assert!(durations.is_sound() && tokens.is_sound());
    }

    #[test]
    fn totals_beyond_counting_have_a_mean_and_no_variance() {
        let mut tokens = Tokens::default();
        for _ in 0..5 {
            tokens.add(i64::MAX.cast_unsigned());
        }
        assert_eq!(tokens.mean(), i64::MAX as f64);
        assert_eq!((tokens.squares, tokens.mean_variance()), (u128::MAX, Some(f64::INFINITY)));
        assert!(tokens.is_sound());
        let mut twice = tokens;
        twice.merge(&tokens);
        assert_eq!((twice.n, twice.squares), (10, u128::MAX));
    }

    #[test]
    fn sums_that_no_values_have_are_not_sound() {
        let sound = |n, sum, squares| Tokens { n, sum, squares }.is_sound();
        assert!(sound(0, 0, 0) && sound(2, 3, 5) && sound(2, 4, 8));
        // Zero values of some sum; squares below the sum, below its mean's, above its own.
        assert!(!sound(0, 1, 1) && !sound(2, 3, 2) && !sound(2, 4, 7) && !sound(2, 3, 10) && !sound(2, 0, 1));
        let durations = |n, sum: f64, square: f64| {
            let mut it = Durations { n, ..Durations::default() };
            it.sum.add(sum);
            it.squares.add(square);
            it.is_sound()
        };
        assert!(durations(0, 0.0, 0.0) && durations(2, 3.0, 5.0) && durations(2, 0.5, 0.125));
        assert!(
            !durations(0, 0.0, 1.0) && !durations(0, 1.0, 1.0) && !durations(2, 3.0, 4.0) && !durations(2, 3.0, -9.0)
        );
    }
}
