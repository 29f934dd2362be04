//! Slow and plain: big rationals, binomials by their definition, and what "correctly rounded" means.

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{One, Signed, Zero};

pub fn rational(x: f64) -> BigRational {
    BigRational::from_float(x).unwrap()
}

pub fn fraction(a: impl Into<BigInt>, b: impl Into<BigInt>) -> BigRational {
    BigRational::new(a.into(), b.into())
}

pub fn binomial(n: u64, k: u64) -> BigInt {
    if k > n {
        return BigInt::zero();
    }
    let k = k.min(n - k);
    (0..k).fold(BigInt::one(), |product, i| product * (n - i) / (i + 1))
}

/// Panics unless `got` is the float nearest to `exact`, the even one of two.
pub fn assert_nearest(exact: &BigRational, got: f64) {
    assert!(got.is_finite(), "{got} for {exact}");
    let distance = (exact - rational(got)).abs();
    for neighbour in [got.next_up(), got.next_down()] {
        if neighbour.is_infinite() {
            continue;
        }
        let other = (exact - rational(neighbour)).abs();
        assert!(
            distance < other || distance == other && got.to_bits() & 1 == 0,
            "{got:e} is not nearest to {exact}: {neighbour:e} is as near or nearer"
        );
    }
}

/// Panics unless |got - exact| <= share · size.
pub fn assert_near(exact: &BigRational, got: f64, share: f64, size: f64) {
    assert!(got.is_finite(), "{got} for {exact}");
    let distance = (exact - rational(got)).abs();
    assert!(distance <= rational(share) * rational(size), "{got:e} is too far from {exact}");
}
