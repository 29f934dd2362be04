//! Exact sums of floats: added in any order they give the same integer, and it is rounded once.
//!
//! A sum is a two's-complement integer times a power of two, kept only over the window of 64-bit limbs that its terms
//! have touched (a superaccumulator in the sense of Neal, arXiv 1505.05571, without its fixed 67 limbs): typical
//! durations need two or three, which live inline.

mod columns;
mod limbs;
mod round;

use std::borrow::Cow;

use crate::dd::two_sum;
pub use columns::column_sums;
use limbs::Limbs;
pub(crate) use round::{divide, power_of_two, round};
use round::{multiply, subtract};
pub use round::{quotient, ratio};

/// The window never reaches below the square of the least subnormal, 2^-2148.
const LOWEST: i32 = -34;
/// Nor, in a decoded sum, above 2^64 squares of `f64::MAX`, each counted 2^64 times.
const HIGHEST: i32 = 36;

/// An exact sum of finite floats.
///
/// Equal sums are equal and encode to equal bytes, whatever was added in whatever order.
///
/// ```
/// use kofn_core::exact::Exact;
/// let mut sum = Exact::default();
/// for x in [1e100, 1.0, -1e100, 1e-20] {
///     sum.add(x);
/// }
/// assert_eq!(sum.sum(), 1.0);
/// assert_eq!(sum.mean(4), 0.25);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Exact {
    /// Limb `i` weighs 2^(64 (low + i)); the top bit of the last is the sign.
    limbs: Limbs,
    low: i32,
}

impl PartialEq for Exact {
    fn eq(&self, other: &Self) -> bool {
        self.canonical() == other.canonical()
    }
}

impl Eq for Exact {}

impl Exact {
    /// Add `x`, which must be finite.
    pub fn add(&mut self, x: f64) {
        let (mantissa, exponent) = parts(x);
        self.deposit(x < 0.0, u128::from(mantissa), exponent);
    }

    /// Add those that are not NaN, which must be finite; how many these are.
    pub fn add_all(&mut self, values: impl IntoIterator<Item = f64>) -> u64 {
        // Two floats hold most sums exactly, and are quicker than the limbs; what they do not hold goes there.
        let (mut high, mut low, mut n) = (0.0, 0.0, 0);
        for value in values.into_iter().filter(|value| !value.is_nan()) {
            n += 1;
            let (next, error) = two_sum(high, value);
            let (rest, over) = two_sum(low, error);
            // An overflow on the way makes these infinite or no number.
            if over == 0.0 && next.is_finite() {
                (high, low) = (next, rest);
            } else {
                self.add(high);
                self.add(low);
                (high, low) = (value, 0.0);
            }
        }
        self.add(high);
        self.add(low);
        n
    }

    /// Add `x`, which must be finite, `count` times.
    pub fn add_times(&mut self, x: f64, count: u64) {
        let (mantissa, exponent) = parts(x);
        self.deposit(x < 0.0, u128::from(mantissa) * u128::from(count), exponent);
    }

    /// Add x², which is kept exactly for every finite `x`: the window is not limited to the range of floats.
    pub fn add_square(&mut self, x: f64) {
        let (mantissa, exponent) = parts(x);
        self.deposit(false, u128::from(mantissa) * u128::from(mantissa), 2 * exponent);
    }

    /// A whole number.
    #[must_use]
    pub fn of_integer(n: u128) -> Self {
        let mut sum = Self::default();
        sum.deposit(false, n, 0);
        sum
    }

    /// Add another sum.
    pub fn merge(&mut self, other: &Self) {
        let (low, theirs) = other.canonical();
        let Some(&top) = theirs.last() else { return };
        self.cover(low, low + length(theirs));
        let negative = sign(top);
        let start = index(low - self.low);
        let mine = self.limbs.as_mut_slice();
        let signs = i64::from(sign(mine[mine.len() - 1])) + i64::from(negative);
        let fill = if negative { u64::MAX } else { 0 };
        let mut carry = false;
        let terms = theirs.iter().copied().chain(std::iter::repeat(fill));
        for (limb, term) in mine[start..].iter_mut().zip(terms) {
            (*limb, carry) = carrying_add(*limb, term, carry);
        }
        self.extend(i64::from(carry) - signs);
    }

    /// The sum, rounded to the nearest float (ties to even); `f64::MAX` in size where it is larger than that.
    #[must_use]
    pub fn sum(&self) -> f64 {
        self.mean(1)
    }

    /// The sum divided by `n`, rounded once (ties to even). Finite, because the terms are; NaN for `n` = 0.
    #[must_use]
    pub fn mean(&self, n: u64) -> f64 {
        if n == 0 {
            return f64::NAN;
        }
        let (negative, magnitude, low) = self.size();
        if magnitude.is_empty() {
            return 0.0;
        }
        // Two limbs below the point: the quotient then has more than 64 bits, and its remainder only breaks ties.
        let value = zeros(magnitude.len() + 2, |limbs| {
            limbs[2..].copy_from_slice(&magnitude);
            let remainder = divide(limbs, n);
            round(limbs, 64 * (low - 2), remainder != 0)
        });
        // Not -value: what is too small for a float is 0.0, never -0.0.
        if negative { 0.0 - value } else { value }
    }

    /// Whether the sum is 0.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        self.limbs.as_slice().iter().all(|&limb| limb == 0)
    }

    /// Append the sum to `out`: the same bytes for equal sums.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let (low, limbs) = self.canonical();
        // Both fit: a window spans less than LOWEST..=HIGHEST and its growth by carries.
        out.push(low.to_le_bytes()[0]);
        out.push(limbs.len().to_le_bytes()[0]);
        for limb in limbs {
            out.extend_from_slice(&limb.to_le_bytes());
        }
    }

    /// Take a sum from the front of `bytes`; `None`, with `bytes` left anywhere, for bytes that `encode` never writes.
    pub fn decode(bytes: &mut &[u8]) -> Option<Self> {
        let (&[low, len], mut rest) = bytes.split_first_chunk::<2>()?;
        let low = i32::from(i8::from_le_bytes([low]));
        let len = usize::from(len);
        if len > 0 && (low < LOWEST || low + i32::try_from(len).ok()? > HIGHEST) {
            return None;
        }
        let mut limbs = Vec::with_capacity(len);
        for _ in 0..len {
            let (limb, tail) = rest.split_first_chunk::<8>()?;
            limbs.push(u64::from_le_bytes(*limb));
            rest = tail;
        }
        let sum = Self { limbs: Limbs::from_slice(&limbs), low };
        let (canonical_low, canonical) = sum.canonical();
        if canonical_low != low || canonical.len() != len {
            return None;
        }
        *bytes = rest;
        Some(sum)
    }

    /// Add ±magnitude · 2^exponent.
    #[inline]
    fn deposit(&mut self, negative: bool, magnitude: u128, exponent: i32) {
        if magnitude == 0 {
            return;
        }
        // Whole numbers and short fractions need no limb for bits they do not have.
        let zeros = magnitude.trailing_zeros();
        let (magnitude, exponent) = (magnitude >> zeros, exponent + zeros.cast_signed());
        if negative || !self.limbs.add_within(magnitude, exponent - 64 * self.low) {
            self.deposit_anywhere(negative, magnitude, exponent);
        }
    }

    /// The same for a magnitude that is not 0.
    #[inline(never)]
    fn deposit_anywhere(&mut self, negative: bool, magnitude: u128, exponent: i32) {
        let (low, shift) = (exponent.div_euclid(64), exponent.rem_euclid(64));
        let shifted = magnitude << shift;
        let pushed_out = if shift == 0 { 0 } else { low64(magnitude >> (128 - shift)) };
        let term = [low64(shifted), low64(shifted >> 64), pushed_out];
        let used = if term[2] != 0 { 3 } else { 1 + usize::from(term[1] != 0) };
        // Most terms lie within the window.
        let within = usize::try_from(low - self.low).is_ok_and(|start| start + used <= self.limbs.as_slice().len());
        if !within {
            self.cover(low, low + length(&term[..used]));
        }
        let start = index(low - self.low);
        let limbs = self.limbs.as_mut_slice();
        let was_negative = i64::from(sign(limbs[limbs.len() - 1]));
        let mut carry = false;
        let (own, above) = limbs[start..].split_at_mut(used);
        for (limb, add) in own.iter_mut().zip(term) {
            (*limb, carry) = if negative { borrowing_sub(*limb, add, carry) } else { carrying_add(*limb, add, carry) };
        }
        for limb in above {
            if !carry {
                break;
            }
            (*limb, carry) = if negative { limb.overflowing_sub(1) } else { limb.overflowing_add(1) };
        }
        self.extend(if negative { -i64::from(carry) - was_negative } else { i64::from(carry) - was_negative });
    }

    /// Widen the window to hold limbs `low..high`.
    fn cover(&mut self, low: i32, high: i32) {
        if self.limbs.as_slice().is_empty() {
            self.low = low;
        }
        if low < self.low {
            self.limbs.push_low(index(self.low - low));
            self.low = low;
        }
        let missing = high - (self.low + length(self.limbs.as_slice()));
        if missing > 0 {
            let fill = if self.limbs.as_slice().last().is_some_and(|&top| sign(top)) { u64::MAX } else { 0 };
            self.limbs.push_high(index(missing), fill);
        }
    }

    /// After an addition the value is that of the limbs, unsigned, plus `above` times the next limb's weight: add that
    /// limb, unless the sign bit says the same.
    fn extend(&mut self, above: i64) {
        let top = self.limbs.as_slice().last().is_some_and(|&top| sign(top));
        if above != -i64::from(top) {
            self.limbs.push_high(1, above.cast_unsigned());
        }
    }

    /// The window without limbs that say nothing: (low, limbs), and (0, none) for zero.
    fn canonical(&self) -> (i32, &[u64]) {
        let mut limbs = self.limbs.as_slice();
        while let [.., below, top] = limbs
            && (*top == 0 && !sign(*below) || *top == u64::MAX && sign(*below))
        {
            limbs = &limbs[..limbs.len() - 1];
        }
        let zeros = limbs.iter().take_while(|&&limb| limb == 0).count();
        let limbs = &limbs[zeros..];
        if limbs.is_empty() { (0, limbs) } else { (self.low + i32::try_from(zeros).unwrap_or(0), limbs) }
    }

    /// Sign, size and position of the lowest limb; a size may begin with a zero limb.
    fn size(&self) -> (bool, Cow<'_, [u64]>, i32) {
        let (low, limbs) = self.canonical();
        if !limbs.last().is_some_and(|&top| sign(top)) {
            return (false, Cow::Borrowed(limbs), low);
        }
        let mut limbs = limbs.to_vec();
        let mut carry = true;
        for limb in &mut limbs {
            (*limb, carry) = carrying_add(!*limb, 0, carry);
        }
        (true, Cow::Owned(limbs), low)
    }
}

/// Population variance (n Q - S²) / n² of `n` values from their exact sum S and the exact sum Q of their squares,
/// rounded once. Never negative; `f64::MAX` where it is larger than that; NaN for `n` = 0.
#[must_use]
pub fn variance(sum: &Exact, squares: &Exact, n: u64) -> f64 {
    if n == 0 {
        return f64::NAN;
    }
    apart(sum, squares, n, |difference| {
        let Some((difference, low)) = difference else { return 0.0 };
        let first = divide(difference, n);
        let second = divide(difference, n);
        round(difference, low, first != 0 || second != 0)
    })
}

/// n Q - S², and the exponent of its lowest bit, to `read`; none where it is negative. Below it are three limbs of zeros,
/// more than two divisions by n take. `squares` is not negative.
fn apart<T>(sum: &Exact, squares: &Exact, n: u64, read: impl FnOnce(Option<(&mut [u64], i32)>) -> T) -> T {
    const BELOW: u8 = 3;
    let below = usize::from(BELOW);
    let ((_, s, s_low), (_, q, q_low)) = (sum.size(), squares.size());
    let low = q_low.min(2 * s_low);
    let (q_at, s_at) = (below + index(q_low - low), below + index(2 * s_low - low));
    let len = (q_at + q.len() + 1).max(s_at + 2 * s.len());
    zeros(len + 2 * s.len(), |all| {
        let (difference, square) = all.split_at_mut(len);
        multiply(&mut difference[q_at..], &q, &[n]);
        multiply(square, &s, &s);
        let negative = subtract(&mut difference[s_at..], square);
        read((!negative).then_some((difference, 64 * (low - i32::from(BELOW)))))
    })
}

/// So many zeros to work on, on the stack if they are few: this is done for each task of a run.
fn zeros<T>(len: usize, work: impl FnOnce(&mut [u64]) -> T) -> T {
    const FEW: usize = 32;
    if len <= FEW { work(&mut [0; FEW][..len]) } else { work(&mut vec![0; len]) }
}

/// [`variance`] from the sums of whole numbers, none of them negative.
fn variance_of_integers(sum: u128, squares: u128, n: u64) -> f64 {
    let difference = || u128::from(n).checked_mul(squares)?.checked_sub(sum.checked_mul(sum)?);
    // Mostly 128 bits hold n Q and S².
    difference().map_or_else(
        || variance(&Exact::of_integer(sum), &Exact::of_integer(squares), n),
        |difference| ratio(difference, n, n),
    )
}

/// The variance of the mean of `n` values over repetitions, s² / n, without bias: none for fewer than two, infinite
/// where it is beyond a float.
#[must_use]
pub fn mean_variance(sum: &Exact, squares: &Exact, n: u64) -> Option<f64> {
    of_mean(n, |n| variance(sum, squares, n))
}

/// [`mean_variance`] from the sums of whole numbers, none of them negative.
#[must_use]
pub fn mean_variance_of_integers(sum: u128, squares: u128, n: u64) -> Option<f64> {
    of_mean(n, |n| variance_of_integers(sum, squares, n))
}

fn of_mean(n: u64, variance: impl FnOnce(u64) -> f64) -> Option<f64> {
    let variance = (n > 1).then(|| variance(n))?;
    Some(if variance < f64::MAX { variance / (n as f64 - 1.0) } else { f64::INFINITY })
}

/// Whether `n` values that add up to `sum` can have squares that add up to `squares`: n Q >= S², and nothing of none.
#[must_use]
pub fn can_be_squares(sum: &Exact, squares: &Exact, n: u64) -> bool {
    let (negative, ..) = squares.size();
    if n == 0 {
        return sum.is_zero() && squares.is_zero();
    }
    !negative && apart(sum, squares, n, |difference| difference.is_some())
}

/// The exact mean of finite values, rounded once; NaN for none.
///
/// ```
/// assert_eq!(kofn_core::exact::mean([0.1, 0.2, 0.3].into_iter()), 0.2);
/// ```
#[must_use]
pub fn mean(mut values: impl Iterator<Item = f64>) -> f64 {
    let Some(first) = values.next() else { return f64::NAN };
    // Adding 0.0 turns -0.0 into the 0.0 that an exact sum gives.
    let Some(second) = values.next() else { return first + 0.0 };
    let Some(third) = values.next() else {
        let sum = first + second;
        // Halving is exact except for subnormal sums, and those are exact themselves: one rounding either way.
        return if sum.is_finite() { sum / 2.0 + 0.0 } else { first / 2.0 + second / 2.0 };
    };
    let mut sum = Exact::default();
    let mut n = 3;
    sum.add(first);
    sum.add(second);
    sum.add(third);
    for value in values {
        sum.add(value);
        n += 1;
    }
    sum.mean(n)
}

/// |x| as mantissa · 2^exponent.
fn parts(x: f64) -> (u64, i32) {
    debug_assert!(x.is_finite(), "an exact sum takes finite values");
    let bits = x.to_bits();
    let fraction = bits & ((1 << 52) - 1);
    let exponent = i32::try_from(bits >> 52 & 0x7ff).unwrap_or(0);
    if exponent == 0 { (fraction, -1074) } else { (fraction | 1 << 52, exponent - 1075) }
}

const fn sign(limb: u64) -> bool {
    limb >> 63 == 1
}

#[expect(clippy::cast_possible_truncation, reason = "the low half is what is asked for")]
pub(crate) const fn low64(x: u128) -> u64 {
    x as u64
}

/// A window's length or offset: less than a hundred limbs.
fn length(limbs: &[u64]) -> i32 {
    i32::try_from(limbs.len()).unwrap_or(i32::MAX)
}

fn index(offset: i32) -> usize {
    usize::try_from(offset).unwrap_or(0)
}

const fn carrying_add(a: u64, b: u64, carry: bool) -> (u64, bool) {
    let (sum, first) = a.overflowing_add(b);
    let (sum, second) = sum.overflowing_add(carry as u64);
    (sum, first | second)
}

pub(crate) const fn borrowing_sub(a: u64, b: u64, borrow: bool) -> (u64, bool) {
    let (difference, first) = a.overflowing_sub(b);
    let (difference, second) = difference.overflowing_sub(borrow as u64);
    (difference, first | second)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn all_at_once_is_one_by_one(
            values in prop::collection::vec(prop_oneof![
                prop::num::f64::NORMAL | prop::num::f64::SUBNORMAL | prop::num::f64::ZERO,
                Just(f64::MAX), Just(f64::MIN), Just(f64::NAN), Just(5e-324), -1.0..1.0,
            ], 0..40),
        ) {
            let (mut all, mut each) = (Exact::default(), Exact::default());
            let n = all.add_all(values.iter().copied());
            let present: Vec<f64> = values.into_iter().filter(|value| !value.is_nan()).collect();
            for &value in &present {
                each.add(value);
            }
            prop_assert_eq!(n, present.len() as u64);
            prop_assert_eq!(&all, &each);
            if n > 0 {
                prop_assert_eq!(all.mean(n).to_bits(), each.mean(n).to_bits());
            }
        }
    }

    proptest! {
        #[test]
        fn terms_within_the_window_are_added_as_any_others(
            terms in prop::collection::vec((any::<u128>(), 0..128u32, -150..150i32), 1..20),
        ) {
            let (mut quick, mut plain) = (Exact::default(), Exact::default());
            for (magnitude, zeros, exponent) in terms {
                let magnitude = magnitude >> zeros;
                quick.deposit(false, magnitude, exponent);
                // What is taken off is never added the quick way.
                plain.deposit(true, magnitude, exponent);
                prop_assert_eq!(quick.limbs.as_slice().last().is_some_and(|&top| sign(top)), false);
                let mut both = quick.clone();
                both.merge(&plain);
                prop_assert!(both.is_zero(), "{:?} {:?}", quick, plain);
            }
        }

        #[test]
        fn the_variance_of_integers_is_that_of_their_sums(
            values in prop::collection::vec(prop_oneof![0..100u64, 0..100_000u64, any::<u64>()], 2..9),
        ) {
            let (mut sum, mut squares) = (0u128, 0u128);
            for value in values.iter().map(|&value| u128::from(value)) {
                sum += value;
                squares = squares.saturating_add(value * value);
            }
            let n = values.len() as u64;
            let exact = mean_variance(&Exact::of_integer(sum), &Exact::of_integer(squares), n);
            prop_assert_eq!(mean_variance_of_integers(sum, squares, n).map(f64::to_bits), exact.map(f64::to_bits));
        }
    }

    #[test]
    fn sums_whose_parts_overflow_are_exact() {
        // Knuth's sum takes off one operand again, which may be more than a float holds though the sum is not.
        for values in [[4.541_285_063_930_81e307, f64::MIN], [f64::MIN, f64::MAX.next_down()], [f64::MAX, f64::MAX]] {
            let (mut all, mut each) = (Exact::default(), Exact::default());
            assert_eq!(all.add_all(values), 2);
            for value in values {
                each.add(value);
            }
            assert_eq!(all, each);
            assert_eq!(column_sums(&values, 1), [(each, 2)]);
        }
    }
}
