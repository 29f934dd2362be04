use proptest::prelude::*;

use super::*;
use crate::inference::Range as Bounds;
use crate::inference::moments::Moments;

/// Column i is 1 for unit i alone: its sums are that unit's counts.
pub(super) fn indicators(units: usize) -> Vec<Vec<f64>> {
    (0..units).map(|at| (0..units).map(|unit| f64::from(u8::from(unit == at))).collect()).collect()
}

pub(super) fn ln_choose(n: f64, k: f64) -> f64 {
    libm::lgamma(n + 1.0) - libm::lgamma(k + 1.0) - libm::lgamma(n - k + 1.0)
}

/// Pearson's statistic of observed and expected numbers lies where one in some 10^4 does not, either way (Wilson and
/// Hilferty's approximation). Seeds are fixed, so that it holds for ever or never.
pub(super) fn chi_square_is_plausible(cells: impl IntoIterator<Item = (f64, f64)>) {
    let terms: Vec<f64> = cells.into_iter().map(|(seen, expected)| (seen - expected).powi(2) / expected).collect();
    let freedom = terms.len() as f64 - 1.0;
    let part = 2.0 / (9.0 * freedom);
    let z = ((terms.iter().sum::<f64>() / freedom).cbrt() - (1.0 - part)) / part.sqrt();
    assert!(freedom > 0.0 && z.abs() < 3.7, "z {z} of {freedom} degrees of freedom");
}

fn moments(sample: &Sample<'_>) -> Moments {
    Moments::of(sample).expect("values")
}

fn drawn(sample: &Sample<'_>, seed: u64) -> Vec<f64> {
    let units = Units::of(sample, &moments(sample));
    let means = replicates(std::slice::from_ref(&units), seed).remove(0);
    means.into_iter().map(|mean| units.back(mean)).collect()
}

fn interval(sample: &Sample<'_>, confidence: f64, ends: Ends, seed: u64) -> Result<Interval, NoInterval> {
    intervals(&[(*sample, moments(sample))], confidence, ends, seed).remove(0)
}

/// Values without ties that are skewed.
fn skewed(tasks: u32) -> Vec<f64> {
    (0..tasks).map(|i| (f64::from(i * 7919 % tasks) / f64::from(tasks) * 3.0).exp()).collect()
}

/// Few distinct values.
fn shares(tasks: u32) -> Vec<f64> {
    (0..tasks).map(|i| f64::from(i * i % 17 % 9) / 8.0).collect()
}

#[test]
fn replicates_have_the_variance_of_the_plug_in_law() {
    for values in [skewed(40), skewed(1000), shares(40), shares(5000), vec![0.0, 1.0], vec![1.0, 2.0, 4.5]] {
        let sample = Sample::of(&values);
        let (means, it) = (drawn(&sample, 1), moments(&sample));
        let all = means.len() as f64;
        let right = it.variance * (it.tasks as f64 - 1.0) / (it.tasks as f64).powi(2);
        let mean = means.iter().sum::<f64>() / all;
        let found = means.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / all;
        assert!((mean - it.mean).abs() < 4.0 * (right / all).sqrt(), "{mean} {}", it.mean);
        assert!((found / right - 1.0).abs() < 4.5 * (2.0 / all).sqrt(), "{found} {right}");
    }
}

#[test]
fn both_ways_have_one_law() {
    // 700 tasks of 9 values are few; with noise that changes nothing they are many.
    let values = shares(700);
    let noisy: Vec<f64> = values.iter().zip(0..).map(|(x, i)| x + 1e-9 * f64::from(i)).collect();
    let [mut few, mut many] = [&values, &noisy].map(|values| drawn(&Sample::of(values), 3));
    let error = moments(&Sample::of(&values)).standard_error;
    for level in [0.025, 0.25, 0.5, 0.75, 0.975] {
        let (a, b) = (quantile(&mut few, level), quantile(&mut many, level));
        assert!((a - b).abs() < 0.15 * error, "{level}: {a} {b}");
    }
}

#[test]
fn the_ends_are_those_of_the_formula() {
    for values in [skewed(30), shares(700), vec![0.0, 0.0, 1.0, 0.5]] {
        let sample = Sample::of(&values);
        let mut means = drawn(&sample, 9);
        means.sort_by(f64::total_cmp);
        let m = moments(&sample).mean;
        let d: Vec<f64> = values.iter().map(|x| x - m).collect();
        let sum = |power: i32| d.iter().map(|d| d.powi(power)).sum::<f64>();
        let a = sum(3) / (6.0 * sum(2).powf(1.5));
        let count = |test: fn(f64, f64) -> bool| means.iter().filter(|&&x| test(x, m)).count() as f64;
        let (below, at) = (count(|x, m| x < m - 1e-12), count(|x, m| (x - m).abs() <= 1e-12));
        let bias = normal_quantile((below + 0.5 * at) / 10_000.0);
        for (confidence, z) in [(0.9, 1.644_853_626_951_472_7), (0.99, 2.575_829_303_548_900_4)] {
            let level = |z: f64| normal_cdf(bias + (bias + z) / (1.0 - a * (bias + z)));
            let at = |level: f64| {
                let place = 9999.0 * level;
                #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a position")]
                let low = place as usize;
                means[low] + (means[(low + 1).min(9999)] - means[low]) * place.fract()
            };
            for (ends, levels) in [
                (Ends::Bca, [level(-z), level(z)]),
                (Ends::Percentile, [0.5 - 0.5 * confidence, 0.5 + 0.5 * confidence]),
            ] {
                let found = interval(&sample, confidence, ends, 9).expect("spread");
                assert!((found.low - at(levels[0])).abs() < 1e-9 && (found.high - at(levels[1])).abs() < 1e-9);
                assert_eq!(found.method, ends.method());
            }
        }
    }
}

#[test]
fn without_spread_the_usual_interval_stands() {
    for values in [&[0.0; 50][..], &[1.0; 50], &[0.5; 50], &[0.3], &[0.0], &[f64::NAN, 2.0]] {
        let sample = Sample::of(values);
        for ends in [Ends::Percentile, Ends::Bca] {
            assert_eq!(interval(&sample, 0.95, ends, 0), mean_interval(&moments(&sample), 0.95, false));
        }
    }
    // One task of a million differs: at so low a confidence both quantiles are equal.
    let mut values = vec![0.0; 1000];
    values[5] = 1.0;
    let found = interval(&Sample::of(&values), 0.01, Ends::Percentile, 0).expect("Wilson's");
    assert!(found.low < found.high && found.method == Method::Wilson);
}

#[test]
fn clusters_are_drawn_whole() {
    // Each cluster twice its own tasks: as if the clusters' means were the tasks.
    let values = skewed(60);
    let doubled: Vec<f64> = values.iter().flat_map(|&x| [x - 0.5, x + 0.5]).collect();
    let clusters: Vec<u32> = (0..60).flat_map(|i| [i, i]).collect();
    let whole = interval(&Sample::of(&doubled).clustered(Some(&clusters)), 0.95, Ends::Bca, 4).expect("spread");
    let alone = interval(&Sample::of(&values), 0.95, Ends::Bca, 4).expect("spread");
    assert!((whole.low - alone.low).abs() < 1e-12 && (whole.high - alone.high).abs() < 1e-12);
    // Of unlike sizes: ratios of sums, with the variance of the linearised ratio.
    let sizes: Vec<u32> = (0..80).flat_map(|i| vec![i; i as usize % 5 + 1]).collect();
    let values: Vec<f64> = sizes.iter().zip(0..).map(|(g, i)| f64::from(g * 37 % 11 + i % 3)).collect();
    let sample = Sample::of(&values).clustered(Some(&sizes));
    let (means, it) = (drawn(&sample, 2), moments(&sample));
    let found = means.iter().map(|x| (x - it.mean).powi(2)).sum::<f64>() / means.len() as f64;
    let right = it.standard_error.powi(2) * 79.0 / 80.0;
    assert!((found / right - 1.0).abs() < 0.1, "{found} {right}");
    // A task that stands alone is a cluster.
    let named: Vec<u32> = (0..60).collect();
    let mut alone = named.clone();
    alone[7..40].fill(crate::inference::ALONE);
    let of = |clusters: &[u32]| interval(&Sample::of(&skewed(60)).clustered(Some(clusters)), 0.95, Ends::Bca, 4);
    assert_eq!(of(&named), of(&alone));
    assert_eq!(of(&[3; 60]), Err(NoInterval::OneCluster));
}

#[test]
fn the_ends_of_floats_are_no_trouble() {
    let plain = interval(&Sample::of(&skewed(50)), 0.95, Ends::Bca, 0).expect("spread");
    for factor in [2f64.powi(1019), 2f64.powi(-1040), -(2f64.powi(1000))] {
        let values: Vec<f64> = skewed(50).iter().map(|x| x * factor).collect();
        let found = interval(&Sample::of(&values), 0.95, Ends::Bca, 0).expect("spread");
        let (low, high) = (found.low / factor, found.high / factor);
        if factor > 1.0 {
            assert_eq!((low, high), (plain.low, plain.high));
        } else if factor > 0.0 {
            assert!((low / plain.low - 1.0).abs() < 1e-6 && (high / plain.high - 1.0).abs() < 1e-6);
        } else {
            // Another order, so other draws.
            assert!((high / plain.low - 1.0).abs() < 0.05 && (low / plain.high - 1.0).abs() < 0.05);
        }
    }
    let values = [f64::MAX, -f64::MAX, 1e308, 0.0, -0.0, 5e-324];
    let found = interval(&Sample::of(&values), 0.95, Ends::Bca, 0).expect("spread");
    assert!(found.low < found.high && found.low.is_finite() && found.high.is_finite());
    // A small spread on a large value.
    let raised: Vec<f64> = shares(64).iter().map(|x| x + 1e12).collect();
    let found = interval(&Sample::of(&raised), 0.95, Ends::Percentile, 0).expect("spread");
    let plain = interval(&Sample::of(&shares(64)), 0.95, Ends::Percentile, 0).expect("spread");
    assert!((found.low - 1e12 - plain.low).abs() < 1e-3 && (found.high - 1e12 - plain.high).abs() < 1e-3);
}

#[test]
fn a_band_holds_all_means_at_once() {
    let shares: Vec<f64> = (0..400).map(|i| f64::from(i * i % 101) / 100.0).collect();
    let pass = |k: i32| -> Vec<f64> { shares.iter().map(|p| 1.0 - (1.0 - p).powi(k)).collect() };
    let columns: Vec<Vec<f64>> = (1..=8).map(pass).collect();
    let columns: Vec<&[f64]> = columns.iter().map(Vec::as_slice).collect();
    let ones = vec![1; 400];
    let all = band(&columns, &ones, Bounds::SHARE, 0.95, 0);
    let one = band(&columns[..1], &ones, Bounds::SHARE, 0.95, 0);
    let it = moments(&Sample::of(columns[0]));
    let errors = |band: &Band| (band.high[0] - it.mean) / it.standard_error;
    // One column: the normal quantile; more of them, which hang together: more, and less than Bonferroni's.
    assert!((errors(&one) - 1.96).abs() < 0.05, "{}", errors(&one));
    assert!(errors(&all) > errors(&one) + 0.05 && errors(&all) < -normal_quantile(0.025 / 8.0), "{}", errors(&all));
    // The share of resampled tasks whose means all lie within.
    let units: Vec<Vec<f64>> = columns.iter().map(|column| column.to_vec()).collect();
    let sums = joined(&each_part_of_many(&units, 77, |sums| sums), 8);
    let (low, high) = (&all.low, &all.high);
    let held = (0..10_000).filter(|&r| (0..8).all(|k| (low[k]..=high[k]).contains(&(sums[k][r] / 400.0)))).count();
    assert!((9400..9600).contains(&held), "{held}");
    // Any order, and rows that are given as often as they occur.
    let turned: Vec<Vec<f64>> = columns.iter().map(|column| column.iter().rev().copied().collect()).collect();
    let turned: Vec<&[f64]> = turned.iter().map(Vec::as_slice).collect();
    assert_eq!(band(&turned, &ones, Bounds::SHARE, 0.95, 0), all);
}

#[test]
fn a_band_is_nowhere_empty() {
    let halves = vec![0.5; 30];
    let mixed: Vec<f64> = (0..30).map(|i| f64::from(i % 2)).collect();
    let found = band(&[&mixed, &[1.0; 30], &[0.0; 30], &halves], &[1; 30], Bounds::SHARE, 0.95, 0);
    assert!(found.low[0] < 0.5 && found.high[0] > 0.5);
    assert!(found.low[1] < 0.95 && found.high[1] == 1.0 && found.low[2] == 0.0 && found.high[2] > 0.05);
    assert!(found.low[3].is_nan() && found.high[3].is_nan());
    let alone = band(&[&[1.0]], &[1], Bounds::SHARE, 0.95, 0);
    assert!(alone.low[0].is_nan());
    let (low, high) = crate::inference::counts::wilson(30.0, 30.0, 0.95);
    let found = band(&[&[1.0]], &[30], Bounds::SHARE, 0.95, 0);
    assert!((found.low[0] - low).abs() < 1e-9 && found.high[0] == high);
    assert_eq!(band(&[], &[], Bounds::SHARE, 0.95, 0), Band::default());
}

proptest! {
    // A case draws 80,000 replicates.
    #![proptest_config(ProptestConfig::with_cases(5))]

    #[test]
    fn order_and_company_change_nothing(
        values in prop::collection::vec(prop_oneof![(0u8..5).prop_map(|i| f64::from(i) / 4.0), -3.0..3.0f64], 2..90),
        other in prop::collection::vec(-3.0..3.0f64, 2..90),
        seed in any::<u64>(),
        turn in 0usize..90,
    ) {
        let mut turned = values.clone();
        turned.rotate_left(turn % values.len());
        turned.reverse();
        let samples = [&values, &other, &turned].map(|values| Sample::of(values));
        let given: Vec<_> = samples.iter().map(|sample| (*sample, moments(sample))).collect();
        for ends in [Ends::Bca, Ends::Percentile] {
            let together = intervals(&given, 0.9, ends, seed);
            prop_assert_eq!(together[0], together[2]);
            prop_assert_eq!(together[1], interval(&samples[1], 0.9, ends, seed));
            if let Ok(it) = together[0] {
                prop_assert!(it.low < it.high);
                let (low, high) = values.iter().fold((f64::MAX, f64::MIN), |(a, b), x| (a.min(*x), b.max(*x)));
                prop_assert!(it.method == Method::Wilson || (it.low >= low - 1e-9 && it.high <= high + 1e-9));
            }
        }
    }
}
