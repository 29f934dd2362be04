use kofn_core::Error;
use kofn_core::estimators::batch::Counts;
use kofn_core::estimators::hypergeometric::*;
use num_rational::BigRational;
use num_traits::{One, Zero};
use proptest::prelude::*;

use crate::oracle::{assert_near, assert_nearest, binomial, fraction};

/// P(J = j) for the number of passes among k.
fn exactly(n: u64, c: u64, k: u64, j: u64) -> BigRational {
    if j > k { BigRational::zero() } else { fraction(binomial(c, j) * binomial(n - c, k - j), binomial(n, k)) }
}

fn at_least(n: u64, c: u64, k: u64, m: u64) -> BigRational {
    (m..=k).fold(BigRational::zero(), |sum, j| sum + exactly(n, c, k, j))
}

/// (n, c, k) with c and k anywhere, their ends included.
fn cell(most: u64) -> impl Strategy<Value = (u64, u64, u64)> {
    (1..=most).prop_flat_map(|n| {
        (Just(n), prop_oneof![0..=n, 0..=n.min(3), n - n.min(3)..=n], prop_oneof![1..=n, 1..=n.min(8)])
    })
}

proptest! {
    #[test]
    fn pass_figures_are_correctly_rounded((n, c, k) in cell(400)) {
        let one = BigRational::one();
        assert_nearest(&(one - exactly(n, c, k, 0)), pass_at_k(n, c, k).unwrap());
        assert_nearest(&exactly(n, c, k, k), pass_hat_k(n, c, k).unwrap());
    }

    #[test]
    fn large_counts_are_correctly_rounded(n in (1u64 << 40)..=(1 << 53), c in 0u64..40, k in 1u64..40, flip in any::<bool>()) {
        // 1 - F is near 1/n here, where a double-double is not enough and the wide product decides.
        assert_nearest(&(BigRational::one() - exactly(n, c, k, 0)), pass_at_k(n, c, k).unwrap());
        let c = if flip { n - c } else { c };
        assert_nearest(&exactly(n, c, k, k), pass_hat_k(n, c, k).unwrap());
    }

    #[test]
    fn small_probabilities_keep_their_last_bit(n in 900u64..1400, c in 500u64..800, k in 400u64..800) {
        prop_assume!(c <= n && k <= n);
        assert_nearest(&exactly(n, c, k, k), pass_hat_k(n, c, k).unwrap());
    }

    #[test]
    fn curves_have_the_bits_of_single_values((n, c, _) in cell(200), mut ks in prop::collection::vec(1u64..220, 1..30), sort in any::<bool>()) {
        if sort {
            ks.sort_unstable();
        }
        let mut out = vec![0.0; ks.len()];
        for (kind, single) in [(Kind::AtLeastOne, pass_at_k as fn(u64, u64, u64) -> _), (Kind::All, pass_hat_k)] {
            kind.curve(n, c, &ks, &mut out);
            for (&k, &value) in ks.iter().zip(&out) {
                let want = single(n, c, k).map_or(f64::NAN.to_bits(), f64::to_bits);
                prop_assert_eq!(value.to_bits(), want, "k = {}", k);
            }
        }
    }

    #[test]
    fn tails_are_near((n, c, k) in cell(150), m in 0u64..150) {
        let m = m.min(k);
        let want = at_least(n, c, k, m);
        assert_relative(&want, at_least_m_of_k(n, c, k, m).unwrap());
        assert_relative(&exactly(n, c, k, m), exactly_m_of_k(n, c, k, m).unwrap());
        assert_relative(&(BigRational::one() - want), unchecked::below_m_of_k(n, c, k, m));
        let half = k.div_ceil(2);
        let excess = (half + 1..=k).fold(BigRational::zero(), |sum, i| sum + at_least(n, c, k, i));
        assert_relative(&(&excess * fraction(2, k)), mg_pass_at_k(n, c, k, false).unwrap());
        if k > 1 {
            assert_relative(&(&excess / fraction(k / 2, 1)), mg_pass_at_k(n, c, k, true).unwrap());
        }
    }

    #[test]
    fn attempts_are_correctly_rounded((n, c, k) in cell(120)) {
        let want = (0..k).fold(BigRational::zero(), |sum, j| sum + fraction(binomial(n - c, j), binomial(n, j)));
        assert_nearest(&want, expected_attempts(n, c, k).unwrap());
    }

    #[test]
    fn attempts_of_large_counts_are_correctly_rounded(n in (1u64 << 30)..=(1 << 53), c in 1u64..20, k in 1u64..20) {
        // The answer is near k, the difference of two numbers near n: only the wide product has bits to spare.
        let fail = (0..k).fold(BigRational::one(), |f, i| f * fraction(n - c - i, n - i));
        let want = (fraction(n + 1, 1) - fraction(n - k + 1, 1) * fail) / fraction(c + 1, 1);
        assert_nearest(&want, expected_attempts(n, c, k).unwrap());
    }

    #[test]
    fn learnability_is_correctly_rounded(n in prop_oneof![2u64..50, 2u64..=1 << 53], share in 0u64..=1000) {
        let c = u64::try_from(u128::from(n) * u128::from(share) / 1000).unwrap();
        assert_nearest(&(fraction(4 * u128::from(c) * u128::from(n - c), n) / fraction(n, 1)), learnability(n, c).unwrap());
        assert_nearest(&(fraction(4 * u128::from(c) * u128::from(n - c), n) / fraction(n - 1, 1)), learnability_unbiased(n, c).unwrap());
    }

    #[test]
    fn identities((n, c, k) in cell(300)) {
        let at = |n, c, k| pass_at_k(n, c, k).unwrap();
        let hat = |n, c, k| pass_hat_k(n, c, k).unwrap();
        prop_assert_eq!(at(n, c, 1), c as f64 / n as f64);
        prop_assert_eq!(at(n, c, n), f64::from(u8::from(c > 0)));
        prop_assert_eq!(at_least_m_of_k(n, c, k, 1).unwrap(), at(n, c, k));
        prop_assert_eq!(at_least_m_of_k(n, c, k, k).unwrap(), hat(n, c, k));
        prop_assert_eq!(at_least_m_of_k(n, c, k, 0).unwrap(), 1.0);
        prop_assert_eq!(exactly_m_of_k(n, c, k, k).unwrap(), hat(n, c, k));
        prop_assert_eq!(exactly_m_of_k(n, c, k, 0).unwrap(), hat(n, n - c, k));
        prop_assert_eq!(unchecked::below_m_of_k(n, c, k, k), at(n, n - c, k));
        prop_assert_eq!(unchecked::below_m_of_k(n, c, k, 1), hat(n, n - c, k));
        prop_assert_eq!(g_pass_at_k(n, c, k, 0.0).unwrap(), at(n, c, k));
        prop_assert_eq!(g_pass_at_k(n, c, k, 1.0).unwrap(), hat(n, c, k));
        if c > 0 {
            // J is symmetric in c and k.
            prop_assert_eq!(at(n, c, k), at(n, k, c));
            prop_assert!(at(n, c - 1, k) <= at(n, c, k));
            prop_assert!(hat(n, c - 1, k) <= hat(n, c, k));
        }
        if k < n {
            prop_assert!(at(n, c, k) <= at(n, c, k + 1));
            prop_assert!(hat(n, c, k) >= hat(n, c, k + 1));
        }
        let mean: f64 = (0..=k).map(|j| j as f64 * exactly_m_of_k(n, c, k, j).unwrap()).sum();
        let want = k as f64 * c as f64 / n as f64;
        prop_assert!((mean - want).abs() <= 1e-13 * want.max(1.0), "{} {}", mean, want);
    }
}

/// Within 1e-14 of a probability, relative to it; what lies below 1e-290 may be 0.
fn assert_relative(want: &BigRational, got: f64) {
    let size = got.abs().max(1e-290);
    assert_near(want, got, 1e-14, size);
}

#[test]
fn every_subset_of_small_tasks() {
    for n in 1..=8u32 {
        for c in 0..=n {
            for k in 1..=n {
                let draws: Vec<u32> = (0u32..1 << n).filter(|set| set.count_ones() == k).collect();
                let passes = |set: &u32| (set & ((1 << c) - 1)).count_ones();
                let share = |test: &dyn Fn(u32) -> bool| {
                    fraction(draws.iter().filter(|set| test(passes(set))).count(), draws.len())
                };
                let [n, c, k] = [n, c, k].map(u64::from);
                assert_nearest(&share(&|j| j > 0), pass_at_k(n, c, k).unwrap());
                assert_nearest(&share(&|j| u64::from(j) == k), pass_hat_k(n, c, k).unwrap());
                for m in 0..=k {
                    assert_relative(&share(&|j| u64::from(j) >= m), at_least_m_of_k(n, c, k, m).unwrap());
                    assert_relative(&share(&|j| u64::from(j) == m), exactly_m_of_k(n, c, k, m).unwrap());
                }
            }
        }
    }
}

/// From a hundred times the smallest normal float down to less than the smallest one, where floats lose bits.
#[test]
fn the_smallest_floats_are_correctly_rounded() {
    let values: Vec<f64> = (510..546).map(|k| pass_hat_k(1200, 550, k).unwrap()).collect();
    for (k, &value) in (510..).zip(&values) {
        assert_nearest(&exactly(1200, 550, k, k), value);
    }
    assert!(values[0] > 100.0 * f64::MIN_POSITIVE);
    assert!(values.iter().filter(|value| value.is_subnormal()).count() > 5);
    assert_eq!(values[values.len() - 1], 0.0);
    // Just below the smallest normal float a second rounding, of 53 bits to fewer, would often show.
    for c in 540..700 {
        let value = |k| pass_hat_k(1200, c, k).unwrap();
        let Some(k) = (300..=c).find(|&k| value(k).is_subnormal()) else { continue };
        for k in k - 1..k + 2 {
            assert_nearest(&exactly(1200, c, k, k), value(k));
        }
    }
}

#[test]
fn shares_are_rounded_up_but_not_by_float_noise() {
    for hundredths in 1..=100u32 {
        for k in [1u64, 2, 3, 5, 8, 10, 16, 20, 32, 50, 64, 100, 128, 200] {
            let want = (u64::from(hundredths) * k).div_ceil(100).max(1);
            assert_eq!(passes_needed(k, f64::from(hundredths) / 100.0).unwrap(), want, "0.{hundredths} of {k}");
        }
    }
    assert_eq!(passes_needed(7, 0.0).unwrap(), 1);
}

#[test]
fn domains() {
    let named = |result: kofn_core::Result<f64>| match result {
        Err(Error::Argument { name, problem }) => format!("{name}: {problem}"),
        other => panic!("{other:?}"),
    };
    assert_eq!(named(pass_at_k(5, 2, 6)), "k: k = 6 is more than n = 5");
    assert_eq!(named(pass_at_k(5, 6, 2)), "c: c = 6 is more than n = 5");
    assert_eq!(named(pass_hat_k(5, 2, 0)), "k: k = 0: at least 1 rollout must be drawn");
    assert_eq!(named(pass_at_k((1 << 53) + 1, 2, 1)), "n: n = 9007199254740993 is more than 2^53");
    assert_eq!(named(learnability(0, 0)), "n: n = 0: at least 1 rollout is needed");
    assert_eq!(named(learnability_unbiased(1, 0)), "n: n = 1: the unbiased form needs at least 2 rollouts");
    assert_eq!(learnability_unbiased(2, 1).unwrap(), 2.0);
    assert_eq!(pass_at_k(1 << 53, 1 << 52, 1).unwrap(), 0.5);
    assert_eq!(named(at_least_m_of_k(5, 2, 3, 4)), "m: m = 4 is more than k = 3");
    assert_eq!(named(g_pass_at_k(5, 2, 3, f64::NAN)), "tau: tau = NaN is not from 0 to 1");
    assert_eq!(
        named(mg_pass_at_k(5, 2, 1, true)),
        "normalize: k = 1 leaves no share above 1/2 to average; it needs k >= 2"
    );
}

/// The four ways through a batch: cells that repeat, tables, a few tasks, counts too large for tables.
#[test]
fn batches_have_the_bits_of_single_values() {
    let mut state = 1u64;
    let mut random = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    for (tasks, least, most) in [(3000, 16, 16), (3000, 8, 400), (10, 8, 400), (300, 8, 5000), (100, 1 << 40, 1 << 41)]
    {
        let n: Vec<i64> = (0..tasks).map(|_| (least + random(most - least + 1)).cast_signed()).collect();
        let c: Vec<i64> = n.iter().map(|n| random(n.cast_unsigned().min(3000) + 1).cast_signed()).collect();
        let ks = [1, 2, 3, 8, 5];
        let mut out = vec![0.0; n.len() * ks.len()];
        for (kind, single) in [(Kind::AtLeastOne, pass_at_k as fn(u64, u64, u64) -> _), (Kind::All, pass_hat_k)] {
            Counts { n: &n, c: &c }.pass(kind, &ks, &mut out).unwrap();
            for (i, row) in out.chunks(ks.len()).enumerate() {
                let [n, c] = [n[i], c[i]].map(i64::cast_unsigned);
                for (&k, value) in ks.iter().zip(row) {
                    assert_eq!(value.to_bits(), single(n, c, k).unwrap().to_bits(), "{n} {c} {k}");
                }
            }
        }
        Counts { n: &n, c: &c }.each(&ks, &mut out, |n, c, k| g_pass_at_k(n, c, k, 0.5)).unwrap();
        let [first, second] = [n[0], c[0]].map(i64::cast_unsigned);
        assert_eq!(out[3], g_pass_at_k(first, second, 8, 0.5).unwrap());
    }
}

/// Rows are written in groups that reach into the next, in parts that threads share.
#[test]
fn rows_of_any_width_in_any_number_of_parts() {
    for (tasks, n) in [(1, 20), (2, 20), (9, 20), (70_000, 20), (65, 300), (66_001, 300)] {
        let c: Vec<i64> = (0..tasks).map(|i| i * i % (n + 1)).collect();
        let various: Vec<i64> = (0..tasks).map(|i| n - i % 2).collect();
        for ks in
            [&[3][..], &[1, 2], &[2, 4, 6], &[1, 2, 3, 4, 5], &[1, 2, 3, 4, 5, 6, 7, 8], &[9, 7, 5, 3, 1, 2, 4, 6, 8]]
        {
            for n in [&[n][..], &various] {
                let c: Vec<i64> =
                    if n.len() == 1 { c.clone() } else { c.iter().zip(n).map(|(&c, &n)| c.min(n)).collect() };
                let mut out = vec![f64::NAN; c.len() * ks.len()];
                Counts { n, c: &c }.pass(Kind::All, ks, &mut out).unwrap();
                let step = (c.len() / 40).max(1);
                for i in (0..c.len()).step_by(step).chain(c.len().saturating_sub(9)..c.len()).chain([32_767, 32_768]) {
                    let Some(row) = out.chunks(ks.len()).nth(i) else { continue };
                    let [n, c] = [n[i.min(n.len() - 1)], c[i]].map(i64::cast_unsigned);
                    for (&k, value) in ks.iter().zip(row) {
                        assert_eq!(value.to_bits(), pass_hat_k(n, c, k).unwrap().to_bits(), "task {i}: {n} {c} {k}");
                    }
                }
            }
        }
    }
}

#[test]
fn one_count_stands_for_every_task() {
    let mut out = [0.0; 3];
    Counts { n: &[4], c: &[0, 1, 4] }.pass(Kind::AtLeastOne, &[2], &mut out).unwrap();
    assert_eq!(out, [0.0, 0.5, 1.0]);
    assert!(Counts { n: &[4], c: &[] }.is_empty() && !Counts { n: &[4, 2], c: &[1] }.is_empty());
    Counts { n: &[4, 2, 1], c: &[1] }.without_k(&mut out, learnability).unwrap();
    assert_eq!(out, [0.75, 1.0, 0.0]);
}

#[test]
fn a_bad_count_is_named_with_its_position() {
    let mut out = [0.0; 6];
    let mut problem =
        |n: &[i64], c: &[i64], ks: &[u64]| Counts { n, c }.pass(Kind::All, ks, &mut out).unwrap_err().to_string();
    assert_eq!(problem(&[5, 5], &[1, 6], &[1]), "c: c = 6 at position 1 is more than n = 5");
    assert_eq!(problem(&[5, -5], &[1, 1], &[1]), "n: n = -5 at position 1 is negative");
    assert_eq!(problem(&[5, 3], &[1, 1], &[1, 4]), "k: k = 4 is more than n = 3 at position 1");
    assert_eq!(problem(&[5], &[6], &[1]), "c: c = 6 is more than n = 5");
    assert_eq!(problem(&[5], &[1], &[0]), "k: k = 0: at least 1 rollout must be drawn");
    assert_eq!(problem(&[5], &[1], &[1, 0]), "k: k = 0: at least 1 rollout must be drawn");
    assert_eq!(problem(&[5, 5, 5], &[1, 1], &[1]), "c: 2 counts beside 3 of n");
}
