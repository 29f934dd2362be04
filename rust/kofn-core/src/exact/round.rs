//! Arithmetic on unsigned integers of many limbs, least significant first, and the one rounding at its end.

use super::low64;

/// Divide in place; the remainder. `divisor` is not 0.
pub(crate) fn divide(limbs: &mut [u64], divisor: u64) -> u64 {
    let mut remainder = 0;
    if let Ok(short) = u32::try_from(divisor) {
        // Two divisions of 64 bits a limb take a fraction of one of 128.
        let short = u64::from(short);
        for limb in limbs.iter_mut().rev() {
            let high = remainder << 32 | *limb >> 32;
            let low = (high % short) << 32 | *limb & 0xFFFF_FFFF;
            (*limb, remainder) = (((high / short) << 32) | (low / short), low % short);
        }
        return remainder;
    }
    for limb in limbs.iter_mut().rev() {
        let dividend = u128::from(remainder) << 64 | u128::from(*limb);
        *limb = low64(dividend / u128::from(divisor));
        remainder = low64(dividend % u128::from(divisor));
    }
    remainder
}

/// Add a · b to `out`, which is 0 and has at least as many limbs as both.
pub(super) fn multiply(out: &mut [u64], a: &[u64], b: &[u64]) {
    for (i, &x) in a.iter().enumerate() {
        let mut carry = 0;
        for (limb, &y) in out[i..].iter_mut().zip(b.iter().chain(std::iter::once(&0))) {
            let sum = u128::from(x) * u128::from(y) + u128::from(*limb) + u128::from(carry);
            *limb = low64(sum);
            carry = low64(sum >> 64);
        }
    }
}

/// Subtract `b` from `a`, which has at least as many limbs; whether that is negative, as a two's complement then.
pub(super) fn subtract(a: &mut [u64], b: &[u64]) -> bool {
    let mut borrow = false;
    for (limb, &y) in a.iter_mut().zip(b.iter().chain(std::iter::repeat(&0))) {
        (*limb, borrow) = super::borrowing_sub(*limb, y, borrow);
    }
    borrow
}

/// limbs · 2^exponent, and a little more if `sticky`, to the nearest float, ties to even; `f64::MAX` where that is
/// beyond it. A sticky value must have more bits than a float keeps.
pub(crate) fn round(limbs: &[u64], exponent: i32, sticky: bool) -> f64 {
    let Some(top) = limbs.iter().rposition(|&limb| limb != 0) else { return 0.0 };
    let bits = i32::try_from(64 * top).unwrap_or(i32::MAX / 2) + (64 - limbs[top].leading_zeros()).cast_signed();
    // The exponent of the result's last bit: 53 bits, fewer below the normal range.
    let last = (exponent + bits - 53).max(-1074);
    if last > 971 {
        return f64::MAX;
    }
    let dropped = last - exponent;
    debug_assert!(dropped > 0 || !sticky, "a sticky value needs bits to spare");
    let bit = |at: i32| {
        let Ok(at) = usize::try_from(at) else { return false };
        limbs.get(at / 64).is_some_and(|limb| limb >> (at % 64) & 1 == 1)
    };
    let mut mantissa = window(limbs, dropped);
    if dropped > 0 && bit(dropped - 1) {
        let below = usize::try_from(dropped - 1).unwrap_or(0);
        let (whole, part) = (below / 64, below % 64);
        let rest = sticky
            || limbs.iter().take(whole).any(|&limb| limb != 0)
            || limbs.get(whole).is_some_and(|limb| limb & ((1 << part) - 1) != 0);
        if rest || mantissa & 1 == 1 {
            mantissa += 1;
        }
    }
    let value = mantissa as f64 * power_of_two(last);
    value.min(f64::MAX)
}

/// The 64 bits from bit `from` on (which may be negative: zeros shift in).
fn window(limbs: &[u64], from: i32) -> u64 {
    let limb = |at: i32| usize::try_from(at).ok().and_then(|at| limbs.get(at)).copied().unwrap_or(0);
    let (whole, part) = (from.div_euclid(64), from.rem_euclid(64));
    if part == 0 { limb(whole) } else { limb(whole) >> part | limb(whole + 1) << (64 - part) }
}

/// 2^exponent from the least subnormal up to 2^1023.
pub(crate) fn power_of_two(exponent: i32) -> f64 {
    if exponent < -1022 {
        f64::from_bits(1 << (exponent + 1074).clamp(0, 51))
    } else {
        f64::from_bits(u64::from((exponent + 1023).clamp(1, 2046).cast_unsigned()) << 52)
    }
}

/// `numerator / n`, rounded once; NaN for `n` = 0.
///
/// ```
/// assert_eq!(kofn_core::exact::quotient(-(1 << 60) - 1, 1 << 60), -1.0);
/// ```
#[must_use]
pub fn quotient(numerator: i128, n: u64) -> f64 {
    let value = ratio(numerator.unsigned_abs(), n, 1);
    if numerator < 0 { -value } else { value }
}

/// numerator / (a · b), rounded once; NaN if `a` or `b` is 0.
#[must_use]
pub fn ratio(numerator: u128, a: u64, b: u64) -> f64 {
    const EXACT: u64 = 1 << 53;
    if a == 0 || b == 0 {
        return f64::NAN;
    }
    if let (Ok(small), Some(product)) = (u64::try_from(numerator), a.checked_mul(b))
        && small <= EXACT
        && product <= EXACT
    {
        return small as f64 / product as f64;
    }
    // Three limbs below the point: more than 64 bits are left after dividing by two of at most 64 each.
    let mut limbs = [0, 0, 0, low64(numerator), low64(numerator >> 64)];
    let first = divide(&mut limbs, a);
    let second = divide(&mut limbs, b);
    round(&limbs, -192, first != 0 || second != 0)
}
