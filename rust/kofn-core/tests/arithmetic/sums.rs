use kofn_core::exact::{Exact, mean, quotient, ratio, variance};
use num_rational::BigRational;
use num_traits::{Signed, Zero};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::oracle::{assert_nearest, fraction, rational};

/// Any finite float: every exponent alike, subnormals, zeros of both signs, small decimals, and the ends.
fn finite() -> impl Strategy<Value = f64> {
    prop_oneof![
        any::<u64>().prop_map(f64::from_bits).prop_filter("finite", |x| x.is_finite()),
        (-100_000i32..100_000).prop_map(|x| f64::from(x) / 1000.0),
        prop::sample::select(vec![0.0, -0.0, 5e-324, -5e-324, f64::MIN_POSITIVE, f64::MAX, f64::MIN, 1e308, 1.0, -1.0]),
        (-4i64..4, 0i32..64).prop_map(|(x, e)| x as f64 * 2f64.powi(-e)),
    ]
}

fn total(values: &[f64]) -> BigRational {
    values.iter().fold(BigRational::zero(), |sum, &x| sum + rational(x))
}

fn sum_of(values: &[f64]) -> Exact {
    let mut sum = Exact::default();
    for &x in values {
        sum.add(x);
    }
    sum
}

fn encoded(sum: &Exact) -> Vec<u8> {
    let mut bytes = Vec::new();
    sum.encode(&mut bytes);
    bytes
}

fn assert_rounded(exact: &BigRational, got: f64) {
    if exact.abs() > rational(f64::MAX) {
        assert_eq!(got, if exact.is_negative() { f64::MIN } else { f64::MAX });
    } else {
        assert_nearest(exact, got);
    }
}

proptest! {
    #[test]
    fn sum_and_mean_are_the_rationals_rounded(values in vec(finite(), 1..40)) {
        let (exact, sum) = (total(&values), sum_of(&values));
        assert_rounded(&exact, sum.sum());
        assert_rounded(&(exact.clone() / fraction(values.len(), 1)), sum.mean(values.len() as u64));
        prop_assert_eq!(mean(values.iter().copied()).to_bits(), sum.mean(values.len() as u64).to_bits());
        prop_assert_eq!(sum.is_zero(), exact.is_zero());
        for n in [3, 7, 1 << 53, u64::MAX] {
            assert_rounded(&(exact.clone() / fraction(n, 1)), sum.mean(n));
        }
    }

    #[test]
    fn order_and_splits_leave_the_same_sum(values in vec(finite(), 0..40), cut in 0usize..40, seed in any::<u64>()) {
        let whole = sum_of(&values);
        let cut = cut.min(values.len());
        let (mut left, right) = (sum_of(&values[..cut]), sum_of(&values[cut..]));
        let mut other_way = right.clone();
        other_way.merge(&left);
        left.merge(&right);
        let mut shuffled = values.clone();
        shuffled.sort_by_key(|x| (x.to_bits() ^ seed).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        for same in [left, other_way, sum_of(&shuffled)] {
            prop_assert_eq!(&same, &whole);
            prop_assert_eq!(encoded(&same), encoded(&whole));
        }
        // Taking everything away again leaves nothing, whatever window it left behind.
        let mut none = whole;
        for &x in &values {
            none.add(-x);
        }
        prop_assert_eq!(&none, &Exact::default());
        prop_assert_eq!(encoded(&none), encoded(&Exact::default()));
    }

    #[test]
    fn squares_and_repeats_are_exact(values in vec((finite(), prop_oneof![0u64..5, any::<u64>()]), 0..10)) {
        let (mut squares, mut repeats) = (Exact::default(), Exact::default());
        let (mut square, mut repeat) = (BigRational::zero(), BigRational::zero());
        for &(x, count) in &values {
            squares.add_square(x);
            square += rational(x) * rational(x);
            repeats.add_times(x, count);
            repeat += rational(x) * fraction(count, 1);
        }
        assert_rounded(&square, squares.sum());
        assert_rounded(&repeat, repeats.sum());
        assert_rounded(&(repeat / fraction(u64::MAX, 1)), repeats.mean(u64::MAX));
    }

    #[test]
    fn variance_is_rounded_once(values in vec(finite(), 1..12)) {
        let n = values.len();
        let mut squares = Exact::default();
        for &x in &values {
            squares.add_square(x);
        }
        let average = total(&values) / fraction(n, 1);
        let exact = values.iter().fold(BigRational::zero(), |sum, &x| {
            let distance = rational(x) - &average;
            sum + &distance * &distance
        }) / fraction(n, 1);
        let got = variance(&sum_of(&values), &squares, n as u64);
        prop_assert!(got >= 0.0);
        assert_rounded(&exact, got);
    }

    #[test]
    fn encoding_comes_back(values in vec(finite(), 0..20), tail in vec(any::<u8>(), 0..5)) {
        let mut sum = sum_of(&values);
        for &x in &values {
            sum.add_square(x);
        }
        let mut bytes = encoded(&sum);
        bytes.extend(&tail);
        let mut rest = bytes.as_slice();
        prop_assert_eq!(Exact::decode(&mut rest), Some(sum));
        prop_assert_eq!(rest, tail.as_slice());
    }

    #[test]
    fn hostile_bytes_are_refused_or_canonical(bytes in vec(prop_oneof![Just(0u8), Just(255), 0u8..4, any::<u8>()], 0..64)) {
        let mut rest = bytes.as_slice();
        if let Some(sum) = Exact::decode(&mut rest) {
            prop_assert_eq!(encoded(&sum), bytes[..bytes.len() - rest.len()].to_vec());
            prop_assert!(sum.mean(3).is_finite());
        }
    }

    #[test]
    fn quotients_are_rounded_once(a in any::<i128>(), shift in 0u32..127, n in 1u64.., m in prop_oneof![1u64..9, 1u64..]) {
        let a = a >> shift;
        assert_rounded(&fraction(a, n), quotient(a, n));
        assert_rounded(&(fraction(a.unsigned_abs(), n) / fraction(m, 1)), ratio(a.unsigned_abs(), n, m));
    }
}

#[test]
fn nothing_has_no_mean() {
    assert!(Exact::default().mean(0).is_nan());
    assert!(mean(std::iter::empty()).is_nan());
    assert!(variance(&Exact::default(), &Exact::default(), 0).is_nan());
    assert!(quotient(1, 0).is_nan());
    assert_eq!(Exact::default().mean(5).to_bits(), 0);
    assert_eq!(mean([-0.0].into_iter()).to_bits(), 0);
    assert_eq!(mean([-0.0, -0.0].into_iter()).to_bits(), 0);
}

#[test]
fn a_mean_too_small_for_a_float_is_zero_without_a_sign() {
    let sum = sum_of(&[0.0, -5e-324]);
    assert_eq!(sum.mean(2).to_bits(), 0);
    assert_eq!(mean([0.0, -5e-324].into_iter()).to_bits(), 0);
    assert_eq!(sum.mean(1), -5e-324);
}

#[test]
fn carries_run_through_the_whole_window() {
    let mut sum = Exact::default();
    sum.add(2f64.powi(1000));
    sum.add(-5e-324);
    assert_eq!(sum.sum(), 2f64.powi(1000));
    sum.add(-(2f64.powi(1000)));
    assert_eq!(sum.sum(), -5e-324);
    sum.add(5e-324);
    assert!(sum.is_zero());
}

#[test]
fn sums_that_no_float_holds_have_a_finite_mean() {
    let mut sum = Exact::default();
    sum.add_times(f64::MAX, u64::MAX);
    assert_eq!(sum.mean(u64::MAX), f64::MAX);
    assert_eq!(sum.sum(), f64::MAX);
    let mut squares = Exact::default();
    squares.add_square(f64::MAX);
    squares.add_square(f64::MAX);
    assert_eq!(variance(&sum_of(&[f64::MAX, f64::MIN]), &squares, 2), f64::MAX);
}

#[test]
fn typical_durations_need_no_heap() {
    let mut sum = Exact::default();
    (1..2000).for_each(|i| sum.add(f64::from(i) * 0.0137));
    assert!(encoded(&sum).len() <= 2 + 3 * 8);
}

#[test]
fn padded_windows_are_not_canonical() {
    for bytes in [
        &[0u8, 1, 0, 0, 0, 0, 0, 0, 0, 0][..],
        &[1, 0],
        &[0, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
        &[100, 1, 1, 0, 0, 0, 0, 0, 0, 0],
        &[0, 200, 1, 0, 0, 0, 0, 0, 0, 0],
        &[0],
        &[],
    ] {
        assert_eq!(Exact::decode(&mut &bytes[..]), None, "{bytes:?}");
    }
}
