use kofn_core::estimators::hypergeometric::{pass_at_k, pass_hat_k};
use kofn_core::estimators::order::*;
use kofn_core::estimators::rows::Order;
use num_rational::BigRational;
use num_traits::Zero;
use proptest::collection::vec;
use proptest::prelude::*;

use crate::oracle::{assert_near, assert_nearest, binomial, fraction, rational};

/// Scores with ties, negatives and decimals.
fn scores(most: usize) -> impl Strategy<Value = Vec<f64>> {
    vec(prop_oneof![(-4i32..4).prop_map(f64::from), (-1000i32..1000).prop_map(|x| f64::from(x) / 7.0)], 1..most)
}

/// E of the j-th smallest of k by its weights over the sorted scores.
fn order_statistic(scores: &[f64], j: u64, k: u64) -> BigRational {
    let mut sorted = scores.to_vec();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len() as u64;
    (1..=n).zip(&sorted).fold(BigRational::zero(), |sum, (i, &x)| {
        if i < j || n - i < k - j {
            return sum;
        }
        sum + rational(x) * fraction(binomial(i - 1, j - 1) * binomial(n - i, k - j), binomial(n, k))
    })
}

fn size(scores: &[f64]) -> f64 {
    scores.iter().fold(0.0, |size: f64, x| size.max(x.abs()))
}

proptest! {
    #[test]
    fn best_and_worst_are_within_an_ulp(scores in scores(40), k in 1u64..40) {
        let k = k.min(scores.len() as u64);
        let levels = levels_from(&mut scores.clone());
        let ulp = f64::EPSILON;
        assert_near(&order_statistic(&scores, k, k), best_of_k(&levels, k), ulp, size(&scores));
        assert_near(&order_statistic(&scores, 1, k), worst_of_k(&levels, k), ulp, size(&scores));
        assert_nearest(&order_statistic(&scores, 1, 1), mean(&levels));
    }

    #[test]
    fn order_statistics_are_near(scores in scores(25), j in 1u64..25, k in 1u64..25, q in 0.0f64..=1.0) {
        let k = k.min(scores.len() as u64);
        let j = j.min(k);
        let levels = levels_from(&mut scores.clone());
        let near = |want: BigRational, got| assert_near(&want, got, 1e-14, size(&scores));
        near(order_statistic(&scores, j, k), order_statistic_of_k(&levels, j, k));
        let middle = order_statistic(&scores, k.div_ceil(2), k) + order_statistic(&scores, k / 2 + 1, k);
        near(middle / fraction(2, 1), median_of_k(&levels, k));
        let at = rational(q) * fraction(k - 1, 1);
        let floor = u64::try_from(at.floor().to_integer()).unwrap();
        let share = at - fraction(floor, 1);
        let lower = order_statistic(&scores, floor + 1, k);
        let upper = if share.is_zero() { lower.clone() } else { order_statistic(&scores, floor + 2, k) };
        near(&lower + (upper - &lower) * share, quantile_of_k(&levels, q, k).unwrap());
    }

    #[test]
    fn identities(scores in scores(60), k in 1u64..60, e in -300i32..300, shift in -1000i32..1000) {
        let k = k.min(scores.len() as u64);
        let levels = levels_from(&mut scores.clone());
        let map = |f: &dyn Fn(f64) -> f64| levels_from(&mut scores.iter().map(|&x| f(x)).collect::<Vec<_>>());
        let (best, worst) = (best_of_k(&levels, k), worst_of_k(&levels, k));
        prop_assert_eq!(worst, 0.0 - best_of_k(&map(&|x| -x), k));
        prop_assert!(worst <= best);
        let power = 2f64.powi(e);
        prop_assert_eq!(best_of_k(&map(&|x| x * power), k), best * power);
        prop_assert_eq!(order_statistic_of_k(&levels, k, k), best);
        prop_assert_eq!(order_statistic_of_k(&levels, 1, k), worst);
        prop_assert_eq!(quantile_of_k(&levels, 1.0, k).unwrap(), best);
        prop_assert_eq!(quantile_of_k(&levels, 0.0, k).unwrap(), worst);
        if k < scores.len() as u64 {
            prop_assert!(best_of_k(&levels, k + 1) >= best);
        }
        let whole = map(&f64::trunc);
        let moved = map(&|x| x.trunc() + f64::from(shift));
        let want = best_of_k(&whole, k) + f64::from(shift);
        prop_assert!((best_of_k(&moved, k) - want).abs() <= 2.0 * f64::EPSILON * 2000.0);
    }

    #[test]
    fn passes_are_scores_of_0_and_1(n in 1u64..300, c in 0u64..300, k in 1u64..300) {
        let (c, k) = (c.min(n), k.min(n));
        let levels: Vec<_> = [(0.0, n - c), (1.0, c)]
            .into_iter()
            .filter_map(|(value, count)| (count > 0).then_some(Level { value, count }))
            .collect();
        prop_assert_eq!(best_of_k(&levels, k), pass_at_k(n, c, k).unwrap());
        let (worst, hat) = (worst_of_k(&levels, k), pass_hat_k(n, c, k).unwrap());
        prop_assert!((worst - hat).abs() <= f64::EPSILON * hat || hat < 1e-280, "{} {}", worst, hat);
    }

    #[test]
    fn equal_scores_and_k_of_n_are_exact(x in any::<f64>().prop_filter("finite", |x| x.is_finite()), n in 1usize..50, k in 1u64..50, q in 0.0f64..=1.0, other in scores(30)) {
        let k = k.min(n as u64);
        let levels = levels_from(&mut vec![x; n]);
        for value in [best_of_k(&levels, k), worst_of_k(&levels, k), median_of_k(&levels, k), quantile_of_k(&levels, q, k).unwrap(), mean(&levels)] {
            prop_assert_eq!(value, x);
        }
        let mut sorted = other;
        let levels = levels_from(&mut sorted);
        let all = sorted.len() as u64;
        prop_assert_eq!(best_of_k(&levels, all), sorted[sorted.len() - 1]);
        prop_assert_eq!(worst_of_k(&levels, all), sorted[0]);
        for j in 1..=all {
            prop_assert_eq!(order_statistic_of_k(&levels, j, all), sorted[usize::try_from(j - 1).unwrap()]);
        }
    }

    #[test]
    fn huge_and_tiny_scores_stay_between_their_ends(bits in vec(any::<u64>(), 1..20), k in 1u64..20) {
        let mut scores: Vec<_> = bits.into_iter().map(f64::from_bits).filter(|x| x.is_finite()).collect();
        prop_assume!(!scores.is_empty());
        let k = k.min(scores.len() as u64);
        let exact = (order_statistic(&scores, k, k), order_statistic(&scores, k.div_ceil(2), k));
        let size = size(&scores);
        let levels = levels_from(&mut scores);
        for value in [best_of_k(&levels, k), worst_of_k(&levels, k), median_of_k(&levels, k)] {
            prop_assert!((levels[0].value..=levels[levels.len() - 1].value).contains(&value), "{}", value);
        }
        assert_near(&exact.0, best_of_k(&levels, k), 4.0 * f64::EPSILON, size.max(f64::MIN_POSITIVE));
        assert_near(&exact.1, order_statistic_of_k(&levels, k.div_ceil(2), k), 1e-14, size.max(f64::MIN_POSITIVE));
    }
}

#[test]
fn every_subset_of_small_tasks() {
    let scores = [2.0, -1.5, 2.0, 0.25, 7.0, -1.5, 0.0, 3.0];
    for n in 1..=8u32 {
        let scores = &scores[..n as usize];
        let levels = levels_from(&mut scores.to_vec());
        for k in 1..=n {
            let draws: Vec<Vec<f64>> = (0u32..1 << n)
                .filter(|set| set.count_ones() == k)
                .map(|set| {
                    let mut draw: Vec<f64> = (0..n).filter(|i| set >> i & 1 == 1).map(|i| scores[i as usize]).collect();
                    draw.sort_by(f64::total_cmp);
                    draw
                })
                .collect();
            for j in 1..=k {
                let sum = draws.iter().fold(BigRational::zero(), |sum, draw| sum + rational(draw[j as usize - 1]));
                let want = sum / fraction(draws.len(), 1);
                assert_near(&want, order_statistic_of_k(&levels, j.into(), k.into()), 1e-14, 7.0);
            }
        }
    }
}

#[test]
fn gaps_beyond_every_float() {
    let levels = levels_from(&mut [f64::MIN, f64::MAX]);
    assert_eq!(best_of_k(&levels, 1), 0.0);
    assert_eq!(best_of_k(&levels, 2), f64::MAX);
    assert_eq!(median_of_k(&levels, 2), 0.0);
    let levels = levels_from(&mut [f64::MIN, 0.0, f64::MAX]);
    assert!((best_of_k(&levels, 2) / f64::MAX - 2.0 / 3.0).abs() < 1e-15);
}

#[test]
fn minus_zero_is_zero() {
    let levels = levels_from(&mut [-0.0, 0.0, -0.0]);
    assert_eq!(levels, [Level { value: 0.0, count: 3 }]);
    for value in [best_of_k(&levels, 2), worst_of_k(&levels, 2), mean(&levels)] {
        assert_eq!(value.to_bits(), 0);
    }
}

#[test]
fn q_outside_its_range() {
    let levels = levels_from(&mut [1.0, 2.0]);
    for q in [-0.1, 1.1, f64::NAN] {
        assert!(quantile_of_k(&levels, q, 2).is_err());
    }
}

#[test]
fn groups_rows_and_single_tasks_agree() {
    let scores = [0.5, f64::NAN, 1.0, -0.0, 0.25, 2.0];
    let ks = [1, 2, 3];
    for order in [Order::Best, Order::Worst, Order::Median, Order::Nth(1), Order::Quantile(0.3)] {
        let (mut rows, mut groups, mut task) = ([0.0; 6], [0.0; 6], [0.0; 3]);
        order.of_rows(&scores, 3, &ks, &mut rows).unwrap();
        let shuffled = [scores[3], scores[0], scores[1], scores[4], scores[2], scores[5]];
        order.of_groups(&shuffled, &[1, 0, 0, 1, 0, 1], &ks, &mut groups).unwrap();
        order.of_task(&scores[3..], &ks, &mut task).unwrap();
        assert_eq!(rows.map(f64::to_bits), groups.map(f64::to_bits));
        assert_eq!(rows[3..], task);
        assert!(rows[2].is_nan() && !rows[1].is_nan());
    }
}

#[test]
fn bad_scores_and_ks() {
    let problem = |scores: &[f64], ks: &[u64]| Order::Best.of_task(scores, ks, &mut [0.0]).unwrap_err().to_string();
    assert_eq!(problem(&[1.0, f64::NAN], &[2]), "k: k = 2 is more than the 1 scored rollouts");
    assert_eq!(problem(&[1.0], &[0]), "k: k = 0: at least 1 rollout must be drawn");
    assert_eq!(
        problem(&[1.0, f64::NEG_INFINITY], &[1]),
        "scores: -inf at position 1: scores are finite, NaN means not scored"
    );
    let groups = Order::Best.of_groups(&[1.0, f64::INFINITY, 2.0], &[0, 1, 0], &[1], &mut [0.0; 2]);
    assert!(groups.unwrap_err().to_string().contains("inf at position 1"));
    let text = |result: kofn_core::Result<()>| result.unwrap_err().to_string();
    let bad = [0.0, 1.0, 2.0, f64::NAN, f64::INFINITY, 5.0];
    assert!(text(Order::Best.of_rows(&bad, 3, &[1], &mut [0.0; 2])).contains("inf at position 4"));
    let groups = Order::Best.of_groups(&bad, &[1, 0, 1, 0, 1, 0], &[1], &mut [0.0; 2]);
    assert!(text(groups).contains("inf at position 4"));
    // Also where no task has k scores, so that no value would be computed.
    let none = [f64::NAN; 3];
    for j in [0, 3] {
        let problem = text(Order::Nth(j).of_rows(&none, 3, &[3, 2], &mut [0.0; 2]));
        assert!(problem.starts_with(&format!("j: j = {j} is not from 1 to k")), "{problem}");
    }
    assert!(Order::Nth(2).of_rows(&none, 3, &[3, 2], &mut [0.0; 2]).is_ok());
    assert!(text(Order::Quantile(1.5).of_rows(&none, 3, &[2], &mut [0.0])).starts_with("q: "));
    assert!(Order::Best.of_groups(&[1.0], &[0, 1], &[1], &mut [0.0; 2]).is_err());
}

#[test]
fn many_tasks_of_every_length() {
    let mut state = 1u64;
    let mut random = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    // Of usual, vanishing and huge size, of few levels, and all but equal.
    let shapes: [fn(f64) -> f64; 6] = [
        |x| x,
        |x| (x - 0.5) * 1e-310,
        |x| (x - 0.5) * 1.7e308,
        |x| (4.0 * x).floor() - 1.0,
        |x| 1.0 + (4.0 * x).floor() * f64::EPSILON,
        |x| x.powi(40) - 1e-20,
    ];
    for n in (1..=40usize).chain([63, 64, 65, 130]) {
        for shape in shapes {
            let flat: Vec<f64> = (0..20 * n).map(|_| shape(random())).collect();
            let ks = [1, 2, n.div_ceil(2) as u64, n as u64, n as u64 + 1];
            for (order, single) in [(Order::Best, best_of_k as fn(&[Level], u64) -> f64), (Order::Worst, worst_of_k)] {
                let mut out = vec![0.0; 20 * ks.len()];
                order.of_rows(&flat, n, &ks, &mut out).unwrap();
                for (scores, values) in flat.chunks(n).zip(out.chunks(ks.len())) {
                    let levels = levels_from(&mut scores.to_vec());
                    for (&k, value) in ks.iter().zip(values) {
                        let want = if k <= n as u64 { single(&levels, k) } else { f64::NAN };
                        assert_eq!(value.to_bits(), want.to_bits(), "{order:?} of {k} of {scores:?}");
                    }
                }
            }
        }
    }
}

proptest! {
    /// Shared tables of weights, a product over levels and one over scores: the same bits.
    #[test]
    fn rows_have_the_bits_of_single_tasks(tasks in vec(vec(prop_oneof![1 => Just(f64::NAN), 15 => (-3i32..3).prop_map(f64::from), 15 => -1.0f64..1.0], 9), 1..60), base in prop::sample::select(vec![0.0, 1.0, 1e16])) {
        // Scores a unit in the last place apart make midpoints, where only one way of weighing decides.
        let flat: Vec<f64> = tasks.iter().flatten().map(|&x| if base == 0.0 { x } else { base + x.trunc() * base * f64::EPSILON }).collect();
        let ks = [2, 1, 3, 9, 5];
        for (order, single) in [(Order::Best, best_of_k as fn(&[Level], u64) -> f64), (Order::Worst, worst_of_k)] {
            let mut out = vec![0.0; tasks.len() * ks.len()];
            order.of_rows(&flat, 9, &ks, &mut out).unwrap();
            for (scores, values) in flat.chunks(9).zip(out.chunks(ks.len())) {
                let levels = levels_from(&mut scores.iter().copied().filter(|x| !x.is_nan()).collect::<Vec<_>>());
                for (&k, value) in ks.iter().zip(values) {
                    let want = if k <= scored(&levels) { single(&levels, k) } else { f64::NAN };
                    prop_assert_eq!(value.to_bits(), want.to_bits());
                }
            }
        }
    }
}

/// Every route through a batch: blocks of tasks of one length, what a block leaves over, and tables for long tasks.
#[test]
fn many_rows_of_any_length_have_the_bits_of_single_tasks() {
    let mut state = 7u64;
    let mut random = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    };
    for width in [1usize, 2, 5, 16, 33, 64, 65, 100, 300] {
        let rows = if width < 64 { 83 } else { 11 };
        // Now and then a score is missing, so that lengths mix, or stands twice.
        let mut scores: Vec<f64> = (0..rows * width).map(|_| random()).collect();
        for i in (40 * width.min(30)..scores.len()).step_by(37) {
            scores[i] = if i % 2 == 0 { f64::NAN } else { scores[i - 1] };
        }
        let half = width.div_ceil(2) as u64;
        let ks = [2, 1, 3, half, width as u64].map(|k: u64| k.max(1));
        for (order, single) in [(Order::Best, best_of_k as fn(&[Level], u64) -> f64), (Order::Worst, worst_of_k)] {
            let mut out = vec![0.0; rows * ks.len()];
            order.of_rows(&scores, width, &ks, &mut out).unwrap();
            for (row, values) in scores.chunks(width).zip(out.chunks(ks.len())) {
                let levels = levels_from(&mut row.iter().copied().filter(|x| !x.is_nan()).collect::<Vec<_>>());
                for (&k, value) in ks.iter().zip(values) {
                    let want = if k <= scored(&levels) { single(&levels, k) } else { f64::NAN };
                    assert_eq!(value.to_bits(), want.to_bits(), "{order:?} {width} {k}");
                }
            }
        }
    }
}

/// So many rows that threads share them, some with a score missing.
#[test]
fn rows_in_several_parts_have_the_bits_of_single_tasks() {
    let (rows, width, ks) = (9003, 16, [1, 15, 3, 16, 2]);
    let mut scores: Vec<f64> =
        (0..rows * width).map(|i| ((i * i) % 1009) as f64 / 64.0 + 1e-9 * (i % 7) as f64).collect();
    for row in [0, 4095, 4096, 5000, 9002] {
        scores[row * width + row % width] = f64::NAN;
    }
    for order in [Order::Best, Order::Worst] {
        let mut out = vec![0.0; rows * ks.len()];
        order.of_rows(&scores, width, &ks, &mut out).unwrap();
        for (row, (scores, out)) in scores.chunks(width).zip(out.chunks(ks.len())).enumerate() {
            let missing = scores.iter().any(|score| score.is_nan());
            if !missing && row % 41 != 0 {
                continue;
            }
            for (&k, value) in ks.iter().zip(out) {
                let mut single = [f64::NAN];
                let result = order.of_task(scores, &[k], &mut single);
                assert_eq!(result.is_err(), missing && k == 16);
                assert_eq!(value.to_bits(), single[0].to_bits(), "row {row}, k = {k}");
            }
        }
    }
}
