//! Intervals, noise and decomposition, against references and by enumeration.

#![expect(clippy::unwrap_used, reason = "a test fails where a value is missing")]

use kofn_core::estimators::order::levels_from;
use kofn_core::inference::counts::{Kind, clopper_pearson, jeffreys, wilson};
use kofn_core::inference::intervals::{NoInterval, student_interval};
use kofn_core::inference::scores::{Extremes, mean_variance};
use kofn_core::inference::{ALONE, Method, Moments, Sample, mean_interval};
use proptest::prelude::*;

#[track_caller]
fn close(got: f64, expected: f64, relative: f64) {
    assert!((got - expected).abs() <= relative * expected.abs(), "{got:e} instead of {expected:e}");
}

#[track_caller]
fn both((low, high): (f64, f64), expected: (f64, f64)) {
    close(low, expected.0, 1e-13);
    close(high, expected.1, 1e-13);
}

#[test]
fn intervals_of_one_task_agree_with_references() {
    both(wilson(10.0, 3.0, 0.95), (0.107_791_267_406_301_03, 0.603_221_852_538_854_6));
    both(wilson(10.0, 0.0, 0.95), (0.0, 0.277_532_799_862_889_2));
    both(wilson(30.0, 29.0, 0.95), (0.833_296_090_085_908_3, 0.994_091_409_618_387_3));
    both(clopper_pearson(10.0, 3.0, 0.95), (0.066_739_511_177_734_47, 0.652_452_850_059_997_3));
    both(clopper_pearson(10.0, 0.0, 0.95), (0.0, 0.308_497_107_818_760_83));
    both(jeffreys(10.0, 3.0, 0.95), (0.092_694_593_938_153_16, 0.605_818_318_148_671_3));
    both(jeffreys(10.0, 0.0, 0.95), (0.0, 0.217_196_267_509_210_56));
    let (low, high) = Kind::AtLeastOne(4).interval(10, 3, 0.95);
    both((low, high), (0.366_326_014_027_204_5, 0.975_214_882_532_012_2));
    // 4 p (1 - p) is highest in the middle of the interval, lowest at one of its ends.
    let (low, high) = Kind::Learnability.interval(10, 3, 0.95);
    assert_eq!(high, 1.0);
    close(low, 4.0 * 0.107_791_267_406_301_03 * (1.0 - 0.107_791_267_406_301_03), 1e-12);
    assert_eq!(Kind::Learnability.interval(50, 0, 0.95).0, 0.0);
    // 1 - p^3 - (1 - p)^3 = 3 p (1 - p).
    let (low, high) = Kind::Gap(3).interval(10, 3, 0.95);
    assert_eq!(high, 0.75);
    close(low, 3.0 * 0.107_791_267_406_301_03 * (1.0 - 0.107_791_267_406_301_03), 1e-12);
}

#[test]
fn variances_of_one_task_agree_with_references() {
    let unbiased = |kind: Kind, n, c| kind.unbiased_variance(n, c).expect("2 k <= n");
    close(unbiased(Kind::AtLeastOne(2), 10, 3), 23.0 / 450.0, 1e-14);
    close(unbiased(Kind::AtLeastOne(5), 10, 3), 1.0 / 144.0, 1e-14);
    close(unbiased(Kind::All(2), 10, 7), 23.0 / 450.0, 1e-14);
    close(unbiased(Kind::All(4), 8, 5), 1.0 / 196.0, 1e-14);
    assert_eq!(Kind::AtLeastOne(3).unbiased_variance(5, 2), None);
    assert_eq!(Kind::Learnability.unbiased_variance(5, 2), None);
    close(Kind::AtLeastOne(8).shrunk_variance(8, 3), 0.019_073_498_283_104_48, 1e-13);
    close(Kind::AtLeastOne(4).shrunk_variance(8, 0), 0.077_324_979_884_885_26, 1e-13);
    let best = |scores: &mut [f64], k| Extremes::new(k, false).spread(&levels_from(scores)).expect("k < n");
    let spread = best(&mut [3.0, 1.0, 2.0, 5.0, 4.0], 2);
    assert!(spread.unbiased);
    close(spread.variance, 8.0 / 15.0, 1e-14);
    close(best(&mut [1.0, 1.0, 0.0, 1.0, 0.5, 0.5], 3).variance, 1.0 / 1600.0, 1e-12);
    let spread = best(&mut [1.0, 1.0, 0.0, 1.0, 0.5, 0.5], 4);
    assert!(!spread.unbiased && spread.variance == 0.0);
    assert_eq!(Extremes::new(3, true).spread(&levels_from(&mut [1.0, 2.0, 3.0])), None);
}

/// Binomial probabilities, all of them.
fn binomial(n: u64, p: f64) -> Vec<f64> {
    let choose = |c: u64| (0..c).fold(1.0, |product, i| product * (n - i) as f64 / (i + 1) as f64);
    (0..=n)
        .map(|c| choose(c) * p.powi(i32::try_from(c).unwrap()) * (1.0 - p).powi(i32::try_from(n - c).unwrap()))
        .collect()
}

/// The variance of what is estimated from n rollouts that each pass with probability p.
fn exact_variance(kind: Kind, n: u64, p: f64) -> f64 {
    let weights = binomial(n, p);
    let mean = |value: &dyn Fn(u64) -> f64| (0..=n).zip(&weights).map(|(c, weight)| weight * value(c)).sum::<f64>();
    let theta = mean(&|c| kind.estimate(n, c));
    mean(&|c| (kind.estimate(n, c) - theta).powi(2))
}

proptest! {
    #[test]
    fn the_unbiased_variance_is_right_on_average(n in 2u64..24, k in 1u64..12, p in 0.01f64..0.99) {
        prop_assume!(2 * k <= n);
        let weights = binomial(n, p);
        for kind in [Kind::All(k), Kind::AtLeastOne(k), Kind::Gap(k)] {
            let each = |(c, weight): (u64, &f64)| weight * kind.unbiased_variance(n, c).unwrap();
            let (mean, exact) = ((0..=n).zip(&weights).map(each).sum::<f64>(), exact_variance(kind, n, p));
            prop_assert!((mean - exact).abs() <= 1e-11 * exact.max(1e-3), "{kind:?} {mean} {exact}");
        }
    }

    #[test]
    fn the_shrunk_variance_is_that_of_its_rate(n in 1u64..60, c in 0u64..60, k in 1u64..60) {
        prop_assume!(c <= n && k <= n);
        let p = (c as f64 + 0.5) / (n as f64 + 1.0);
        for kind in [Kind::AtLeastOne(k), Kind::All(k), Kind::Rate, Kind::Learnability, Kind::Gap(k)] {
            let (got, exact) = (kind.shrunk_variance(n, c), exact_variance(kind, n, p));
            prop_assert!((got - exact).abs() <= 1e-11 * exact.max(1e-3), "{kind:?} {got} {exact}");
        }
    }

    #[test]
    fn scores_of_0_and_1_have_the_variance_of_their_counts(n in 2u64..20, c in 0u64..20, k in 1u64..10) {
        prop_assume!(c <= n && 2 * k <= n);
        let mut scores: Vec<f64> = (0..n).map(|i| f64::from(u8::from(i < c))).collect();
        let levels = levels_from(&mut scores);
        for (worst, kind) in [(false, Kind::AtLeastOne(k)), (true, Kind::All(k))] {
            let got = Extremes::new(k, worst).spread(&levels).unwrap().variance;
            let expected = kind.unbiased_variance(n, c).unwrap();
            prop_assert!((got - expected).abs() < 1e-12, "{got} {expected}");
        }
        let (mean, rate) = (mean_variance(&levels).unwrap(), Kind::Rate.unbiased_variance(n, c).unwrap());
        prop_assert!((mean - rate).abs() < 1e-14);
    }

    #[test]
    fn moments_are_those_of_the_values_in_any_order(
        mut values in prop::collection::vec(prop::sample::select(vec![0.0, 1.0, 0.5, -3.0, 7.25, f64::NAN]), 2..40),
        seed: u64,
    ) {
        let known: Vec<f64> = values.iter().copied().filter(|value| !value.is_nan()).collect();
        prop_assume!(known.len() > 1);
        let moments = Moments::of(&Sample::of(&values)).unwrap();
        let n = known.len() as f64;
        let mean = known.iter().sum::<f64>() / n;
        let power = |p: i32| known.iter().map(|value| (value - mean).powi(p)).sum::<f64>();
        prop_assert!((moments.variance - power(2) / (n - 1.0)).abs() < 1e-12 * (1.0 + moments.variance));
        prop_assert!((moments.standard_error - (moments.variance / n).sqrt()).abs() < 1e-13);
        if power(2) > 1e-9 {
            prop_assert!((moments.skew - power(3) / power(2).powf(1.5)).abs() < 1e-10);
        }
        // Every task a cluster of its own, named or not, changes nothing; nor do coded values, nor another order.
        let alone = vec![ALONE; values.len()];
        let named: Vec<u32> = (0u32..).take(values.len()).collect();
        for clusters in [&alone, &named] {
            prop_assert_eq!(Moments::of(&Sample::of(&values).clustered(Some(clusters))).unwrap(), moments);
        }
        let distinct = [0.0, 1.0, 0.5, -3.0, 7.25, f64::NAN];
        let code = |value: &f64| distinct.iter().position(|it| it.to_bits() == value.to_bits()).unwrap();
        let codes: Vec<u32> = values.iter().map(|value| u32::try_from(code(value)).unwrap()).collect();
        let mut counts = [0u64; 6];
        for &code in &codes {
            counts[code as usize] += 1;
        }
        prop_assert_eq!(Moments::of(&Sample::coded(&distinct, &codes, &counts)).unwrap(), moments);
        let middle = usize::try_from(seed % values.len() as u64).unwrap();
        values.rotate_left(middle);
        prop_assert_eq!(Moments::of(&Sample::of(&values)).unwrap(), moments);
        let rows: Vec<u32> = (0u32..).take(values.len()).collect();
        prop_assert_eq!(Moments::of(&Sample::of(&values).within(Some(&rows))).unwrap(), moments);
    }

    #[test]
    fn moments_scale(values in prop::collection::vec(-1.0f64..1.0, 2..20), exponent in -900i32..1000) {
        let factor = 2f64.powi(exponent);
        let scaled: Vec<f64> = values.iter().map(|value| value * factor).collect();
        prop_assume!(values.iter().all(|value| value.abs() > 1e-6));
        let (plain, scaled) = (Moments::of(&Sample::of(&values)).unwrap(), Moments::of(&Sample::of(&scaled)).unwrap());
        prop_assert!((scaled.standard_error / factor - plain.standard_error).abs() <= 1e-12 * plain.standard_error);
        prop_assert!((scaled.skew - plain.skew).abs() < 1e-9);
    }
}

#[test]
fn clusters_agree_with_references() {
    let values = [1.0, 0.0, 1.0, 0.5, 0.0, 0.25];
    let error = |clusters: &[u32]| Moments::of(&Sample::of(&values).clustered(Some(clusters))).unwrap().standard_error;
    close(error(&[0, 0, 1, 1, 2, 2]).powi(2), 19.0 / 576.0, 1e-14);
    close(error(&[0, 1, 2, 3, 4, 5]).powi(2), 101.0 / 2880.0, 1e-14);
    close(error(&[7, 7, 2, 2, ALONE, ALONE]).powi(2), error(&[0, 0, 1, 1, 2, 3]).powi(2), 1e-15);
}

#[test]
fn the_default_interval_is_the_one_it_says() {
    let of = |values: &[f64]| Moments::of(&Sample::of(values)).unwrap();
    let binary: Vec<f64> = (0..30).map(|i| f64::from(u8::from(i > 0))).collect();
    let interval = mean_interval(&of(&binary), 0.95, false).unwrap();
    assert_eq!(interval.method, Method::Wilson);
    both((interval.low, interval.high), (0.833_296_090_085_908_3, 0.994_091_409_618_387_3));
    // Symmetric values need no correction: both intervals are Student's, t of 3 degrees of freedom.
    let even = of(&[1.0, 2.0, 3.0, 4.0]);
    let half = 3.182_446_305_283_708 * (5.0f64 / 12.0).sqrt();
    for interval in [mean_interval(&even, 0.95, false), student_interval(&even, 0.95, false)] {
        let interval = interval.unwrap();
        both((interval.low, interval.high), (2.5 - half, 2.5 + half));
    }
    // A long tail above moves the interval up.
    let skewed = of(&[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.5, 0.0, 1.0]);
    let (hall, student) =
        (mean_interval(&skewed, 0.95, false).unwrap(), student_interval(&skewed, 0.95, false).unwrap());
    assert!(hall.low > student.low && hall.high > student.high && hall.method == Method::SkewT);
    // Of few values the correction makes neither side twice as long, whatever they are.
    for tasks in [2usize, 3, 8, 10, 29, 30] {
        let mut odd = vec![0.0; tasks];
        odd[0] = 7.0;
        for confidence in [0.5, 0.95, 0.999_999] {
            let moments = of(&odd);
            let hall = mean_interval(&moments, confidence, false).unwrap();
            let student = student_interval(&moments, confidence, false).unwrap();
            let longer = (hall.high - moments.mean) / (student.high - moments.mean);
            let shorter = (moments.mean - hall.low) / (moments.mean - student.low);
            assert!((1.0..2.0).contains(&longer) && (0.3..=1.0).contains(&shorter), "{tasks} {longer} {shorter}");
        }
    }
    // It holds the mean whatever the confidence, and no end that a float does not hold.
    let skewed = of(&[0.0, 0.0, 0.0, 0.0, 0.0, 3.0]);
    for confidence in [1e-9, 0.01, 0.2, 0.3] {
        let interval = mean_interval(&skewed, confidence, false).unwrap();
        assert!(interval.low <= skewed.mean && skewed.mean <= interval.high, "{confidence}");
    }
    let wide = of(&[1e308, -1e308, 1e308, 0.0]);
    assert_eq!(mean_interval(&wide, 0.999, false), Err(NoInterval::TooWide));
    assert_eq!(student_interval(&wide, 0.999, false), Err(NoInterval::TooWide));
    // Of many it is Hall's.
    let mut many = vec![0.0; 1000];
    many[..9].fill(1.0);
    many[9] = 0.5;
    let moments = of(&many);
    let hall = mean_interval(&moments, 0.95, false).unwrap();
    let turned = |w: f64| w + moments.skew * w * w / 3.0 + moments.skew.powi(2) * w.powi(3) / 27.0 + moments.skew / 6.0;
    close(turned((moments.mean - hall.low) / moments.standard_error), 1.962_341_461_133_449_6, 1e-9);
    assert_eq!(mean_interval(&of(&[0.5]), 0.95, false), Err(NoInterval::OneTask));
    assert_eq!(mean_interval(&of(&[0.5, 0.5]), 0.95, false), Err(NoInterval::NoSpread));
    let one = Moments::of(&Sample::of(&[0.0, 1.0]).clustered(Some(&[3, 3]))).unwrap();
    assert_eq!(mean_interval(&one, 0.95, true), Err(NoInterval::OneCluster));
    assert_eq!(mean_interval(&of(&[1.0, 1.0]), 0.95, false).unwrap().high, 1.0);
    assert!(Moments::of(&Sample::of(&[f64::NAN])).is_none());
}
