//! Products of rationals to 450 bits and more, for the rare value that double-doubles leave too near the midpoint of
//! two floats.

use crate::exact::{divide, round};

/// Limbs kept of a product.
const KEPT: usize = 8;

/// A positive number: limbs · 2^exponent, least significant limb first, the top one not 0.
struct Wide {
    limbs: [u64; KEPT + 1],
    exponent: i32,
}

impl Wide {
    /// The product over i < m of (n - o - i) / (n - i), where n - o >= m.
    fn product(n: u64, o: u64, m: u64) -> Self {
        let mut value = Self { limbs: [0; KEPT + 1], exponent: -64 * 7 };
        value.limbs[7] = 1;
        for i in 0..m {
            value.times_ratio(n - o - i, n - i);
        }
        value
    }

    /// Times a / b <= 1, truncated to at least 449 bits.
    fn times_ratio(&mut self, a: u64, b: u64) {
        let mut carry = 0;
        for limb in &mut self.limbs {
            let product = u128::from(*limb) * u128::from(a) + u128::from(carry);
            (*limb, carry) = (crate::exact::low64(product), crate::exact::low64(product >> 64));
        }
        divide(&mut self.limbs, b);
        while self.limbs[KEPT - 1] == 0 {
            self.limbs.copy_within(0..KEPT - 1, 1);
            self.limbs[0] = 0;
            self.exponent -= 64;
        }
    }
}

/// Round first to 320 bits, where truncation errors vanish, so that a true midpoint is seen as one and goes to even.
fn settle(mut limbs: Vec<u64>, exponent: i32) -> f64 {
    let top = limbs.iter().rposition(|&limb| limb != 0).unwrap_or(0);
    if let Some(cut) = top.checked_sub(5) {
        let mut carry = limbs[cut] >> 63 == 1;
        limbs[..=cut].fill(0);
        for limb in &mut limbs[cut + 1..] {
            (*limb, carry) = limb.overflowing_add(u64::from(carry));
        }
        limbs.push(u64::from(carry));
    }
    round(&limbs, exponent, false)
}

/// The product itself, correctly rounded.
#[cold]
pub(super) fn product(n: u64, o: u64, m: u64) -> f64 {
    let wide = Wide::product(n, o, m);
    settle(wide.limbs.to_vec(), wide.exponent)
}

/// 1 minus the product, correctly rounded; the product must be at least 2^-60.
#[cold]
pub(super) fn one_minus_product(n: u64, o: u64, m: u64) -> f64 {
    let wide = Wide::product(n, o, m);
    let one = usize::try_from(-wide.exponent).unwrap_or(0);
    let mut limbs = vec![0; one / 64 + 1];
    limbs[one / 64] = 1 << (one % 64);
    let mut borrow = false;
    for (i, limb) in limbs.iter_mut().enumerate() {
        (*limb, borrow) = crate::exact::borrowing_sub(*limb, wide.limbs.get(i).copied().unwrap_or(0), borrow);
    }
    settle(limbs, wide.exponent)
}

/// [(n + 1) - (n - k + 1) F] / (c + 1) for the product F, correctly rounded; F must be at least 2^-130.
#[cold]
pub(super) fn attempts(n: u64, c: u64, k: u64, o: u64, m: u64) -> f64 {
    let mut wide = Wide::product(n, o, m);
    let mut carry = 0;
    for limb in &mut wide.limbs {
        let product = u128::from(*limb) * u128::from(n - k + 1) + u128::from(carry);
        (*limb, carry) = (crate::exact::low64(product), crate::exact::low64(product >> 64));
    }
    let at = usize::try_from(-wide.exponent).unwrap_or(0);
    let mut limbs = vec![0; at / 64 + 2];
    let whole = u128::from(n + 1) << (at % 64);
    limbs[at / 64] = crate::exact::low64(whole);
    limbs[at / 64 + 1] = crate::exact::low64(whole >> 64);
    let mut borrow = false;
    for (i, limb) in limbs.iter_mut().enumerate() {
        (*limb, borrow) = crate::exact::borrowing_sub(*limb, wide.limbs.get(i).copied().unwrap_or(0), borrow);
    }
    divide(&mut limbs, c + 1);
    settle(limbs, wide.exponent)
}
