//! Two runs on the same tasks: the column of differences through the inference of one sample.

use std::collections::HashMap;

use super::counts::Kind;
use super::intervals::NoInterval;
use super::tables::Table;
use super::{Interval, Moments, Sample, Wanted};
use crate::error::{Error, Result};
use crate::exact::Exact;
use crate::plan::Statistic;

/// A statistic of two runs over the tasks that have it in both.
#[derive(Clone, Copy, Debug)]
pub struct Paired {
    /// Mean of the first run.
    pub a: f64,
    /// Mean of the second run.
    pub b: f64,
    /// The differences, second minus first.
    pub difference: Moments,
    /// Interval of their mean.
    pub interval: Result<Interval, NoInterval>,
    /// What the standard error would be if the runs had had other tasks each.
    pub unpaired: f64,
}

/// Second minus first, NaN where a task lacks either.
pub fn differences(a: &[f64], b: &[f64]) -> Result<Vec<f64>> {
    let column: Vec<f64> = a.iter().zip(b).map(|(a, b)| b - a).collect();
    match column.iter().position(|d| d.is_infinite()) {
        Some(at) => Err(Error::argument(
            "statistics",
            format!("the values {} and {} of a task differ by more than a float holds", a[at], b[at]),
        )),
        None => Ok(column),
    }
}

/// Compare two columns of task values; none where no task has both.
pub fn paired(
    a: &[f64],
    b: &[f64],
    clusters: Option<&[u32]>,
    confidence: f64,
    wanted: Wanted,
) -> Result<Option<Paired>> {
    let column = differences(a, b)?;
    let sample = Sample::of(&column).clustered(clusters);
    let Some(difference) = Moments::of(&sample) else { return Ok(None) };
    let of = |values: &[f64]| {
        // The tasks that count are the same for both runs.
        let common: Vec<f64> =
            values.iter().zip(&column).map(|(x, d)| if d.is_nan() { f64::NAN } else { *x }).collect();
        Moments::of(&Sample::of(&common).clustered(clusters))
            .map_or((f64::NAN, f64::NAN), |m| (m.mean, m.standard_error))
    };
    let ((a, error_a), (b, error_b)) = (of(a), of(b));
    // Differences of 0 and 1 are no outcomes of independent tries, of which none could have been -1.
    let plain = Moments { binary: false, ..difference };
    Ok(Some(Paired {
        a,
        b,
        difference,
        interval: wanted.interval(&sample, &plain, confidence),
        unpaired: error_a.hypot(error_b),
    }))
}

/// Standard error of a difference over repeated runs of these very tasks; none for what does not count successes.
#[must_use]
pub fn noise(statistic: &Statistic, tables: &[Table]) -> Option<f64> {
    let kind = match statistic {
        Statistic::PassAtK(k) => Kind::AtLeastOne(*k),
        Statistic::PassHatK(k) => Kind::All(*k),
        Statistic::PassRate => Kind::Rate,
        Statistic::Learnability => Kind::Learnability,
        _ => return None,
    };
    let mut known: HashMap<(u64, u64), f64> = HashMap::new();
    let mut sum = Exact::default();
    for &Table { c_a, n_a, c_b, n_b } in tables {
        for (n, c) in [(n_a, c_a), (n_b, c_b)] {
            if n < statistic.k().unwrap_or(1) {
                return None;
            }
            sum.add(*known.entry((n, c)).or_insert_with(|| kind.shrunk_variance(n, c)));
        }
    }
    let tasks = tables.len() as f64;
    (tasks > 0.0).then(|| (sum.mean(tables.len() as u64) / tasks).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_is_that_of_the_common_tasks() {
        let (a, b) = ([0.0, 0.5, f64::NAN, 1.0, 0.25], [0.5, 0.5, 1.0, f64::NAN, 1.0]);
        let found = paired(&a, &b, None, 0.95, Wanted::Student).expect("finite").expect("three tasks");
        assert_eq!((found.a, found.b, found.difference.tasks), (0.25, 2.0 / 3.0, 3));
        assert_eq!(found.difference.mean, 1.25 / 3.0);
        let interval = found.interval.expect("spread");
        let half = found.difference.standard_error * 4.302_652_729_749_464;
        assert!((interval.high - found.difference.mean - half).abs() < 1e-12);
        assert!(found.unpaired > 0.0);
    }

    #[test]
    fn gains_alone_are_no_share() {
        // Wilson's interval of 1 in 50 lies above 0, as if no task could have been lost.
        let mut b = vec![0.0; 50];
        b[7] = 1.0;
        let found = paired(&[0.0; 50], &b, None, 0.95, Wanted::Student).expect("finite").expect("tasks");
        assert!(found.interval.expect("spread").low < 0.0);
        let same = paired(&b, &b, None, 0.95, Wanted::Usual).expect("finite").expect("tasks");
        assert_eq!(same.interval, Err(NoInterval::NoSpread));
        assert!(paired(&[f64::NAN], &[1.0], None, 0.95, Wanted::Usual).expect("finite").is_none());
        assert!(paired(&[-1e308], &[1e308], None, 0.95, Wanted::Usual).is_err());
    }

    #[test]
    fn noise_is_that_of_both_runs() {
        let tables = [Table { c_a: 1, n_a: 4, c_b: 3, n_b: 4 }, Table { c_a: 0, n_a: 4, c_b: 0, n_b: 4 }];
        let kind = Kind::AtLeastOne(2);
        let sum = kind.shrunk_variance(4, 1) + kind.shrunk_variance(4, 3) + 2.0 * kind.shrunk_variance(4, 0);
        let found = noise(&Statistic::PassAtK(2), &tables).expect("counts");
        assert!((found - sum.sqrt() / 2.0).abs() < 1e-15);
        assert_eq!(noise(&Statistic::PassAtK(5), &tables), None);
        assert_eq!(noise(&Statistic::MeanScore, &tables), None);
    }
}
