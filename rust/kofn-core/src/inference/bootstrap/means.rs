//! Means of columns of values as they come, with their bootstrap intervals.

use super::{Ends, intervals};
use crate::arch::{self, Kernel};
use crate::error::{Error, Result};
use crate::inference::intervals::NoInterval;
use crate::inference::{Interval, Moments, Sample};

/// A mean, and the interval around it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mean {
    /// The mean of the values that are there.
    pub value: f64,
    /// Its interval.
    pub interval: std::result::Result<Interval, NoInterval>,
}

/// The means of the `width` columns of a table that stands row by row, a row a task; NaN is no value, and `clusters` says
/// which tasks are drawn together.
pub fn means(
    table: &[f64],
    width: usize,
    clusters: Option<&[u32]>,
    confidence: f64,
    ends: Ends,
    seed: u64,
) -> Result<Vec<Mean>> {
    if width == 1
        && clusters.is_none()
        && let Some(counts) = verdicts(table)
    {
        return of_samples(&[Sample::coded(&VERDICTS, &[], &counts)], confidence, ends, seed);
    }
    if let Some(at) = table.iter().position(|value| value.is_infinite()) {
        let place =
            if width > 1 { format!("row {}, column {}", at / width, at % width) } else { format!("position {at}") };
        return Err(Error::argument("values", format!("{} at {place} has no mean with others", table[at])));
    }
    let columns: Vec<Vec<f64>> = match (width, clusters) {
        // Nothing is copied where only distinct values are looked at.
        (1, None) => Vec::new(),
        _ => (0..width).map(|at| table.iter().skip(at).step_by(width).copied().collect()).collect(),
    };
    let columns: Vec<&[f64]> =
        if columns.is_empty() { vec![table] } else { columns.iter().map(Vec::as_slice).collect() };
    let coded: Vec<(Vec<f64>, Vec<u64>)> =
        if clusters.is_some() { Vec::new() } else { columns.iter().map(|column| distinct(column)).collect() };
    let sample = |at: usize| match coded.get(at) {
        Some((values, counts)) => Sample::coded(values, &[], counts),
        None => Sample::of(columns[at]).clustered(clusters),
    };
    let samples: Vec<Sample<'_>> = (0..columns.len()).map(sample).collect();
    of_samples(&samples, confidence, ends, seed)
}

fn of_samples(samples: &[Sample<'_>], confidence: f64, ends: Ends, seed: u64) -> Result<Vec<Mean>> {
    let given: Vec<(Sample<'_>, Moments)> = samples
        .iter()
        .enumerate()
        .map(|(at, sample)| {
            let none = || {
                let which = if samples.len() > 1 {
                    format!("column {at} has no value")
                } else {
                    "there is no value".to_owned()
                };
                Error::argument("values", which)
            };
            Ok((*sample, Moments::of(sample).ok_or_else(none)?))
        })
        .collect::<Result<_>>()?;
    let found = intervals(&given, confidence, ends, seed);
    Ok(given.iter().zip(found).map(|((_, moments), interval)| Mean { value: moments.mean, interval }).collect())
}

const VERDICTS: [f64; 2] = [0.0, 1.0];

/// How many values are 0 and how many 1, if all are: at the speed of memory.
fn verdicts(values: &[f64]) -> Option<[u64; 2]> {
    struct Count<'a>(&'a [f64]);
    impl Kernel for Count<'_> {
        type Output = [u64; 2];
        #[inline(always)]
        fn run(self) -> [u64; 2] {
            let (mut none, mut one) = (0, 0);
            for value in self.0 {
                none += u64::from(*value == 0.0);
                one += u64::from(*value == 1.0);
            }
            [none, one]
        }
    }
    let mut counts = [0; 2];
    for piece in values.chunks(4096) {
        let [none, one] = arch::run(Count(piece));
        if none + one < piece.len() as u64 {
            return None;
        }
        counts = [counts[0] + none, counts[1] + one];
    }
    Some(counts)
}

/// Slots of the table of few values, of which it may fill half.
const SLOTS: usize = 512;

/// Distinct values, and how often each occurs; those that are NaN left out.
fn distinct(values: &[f64]) -> (Vec<f64>, Vec<u64>) {
    if let Some(counts) = verdicts(values) {
        return (VERDICTS.to_vec(), counts.to_vec());
    }
    if let Some(found) = few(values) {
        return found;
    }
    let mut sorted: Vec<f64> = values.iter().filter(|value| !value.is_nan()).map(|value| value + 0.0).collect();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted.chunk_by(|a, b| a == b).map(|alike| (alike[0], alike.len() as u64)).unzip()
}

/// The same if there are few, without sorting.
fn few(values: &[f64]) -> Option<(Vec<f64>, Vec<u64>)> {
    let mut slots = [(f64::NAN, 0u64); SLOTS];
    let mut used = 0;
    for value in values.iter().filter(|value| !value.is_nan()).map(|value| value + 0.0) {
        let mut at = usize::try_from(value.to_bits().wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 55).unwrap_or(0) % SLOTS;
        while slots[at].1 > 0 && slots[at].0 != value {
            at = (at + 1) % SLOTS;
        }
        used += usize::from(slots[at].1 == 0);
        if 2 * used > SLOTS {
            return None;
        }
        slots[at] = (value, slots[at].1 + 1);
    }
    Some(slots.into_iter().filter(|(_, times)| *times > 0).unzip())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sorted(found: (Vec<f64>, Vec<u64>)) -> Vec<(f64, u64)> {
        let mut pairs: Vec<(f64, u64)> = found.0.into_iter().zip(found.1).filter(|pair| pair.1 > 0).collect();
        pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
        pairs
    }

    #[test]
    fn distinct_values_are_counted_however_many_there_are() {
        for levels in [1u32, 2, 17, 255, 256, 257, 900] {
            let values: Vec<f64> = (0..3000).map(|i| f64::from(i * 7 % levels) / 8.0).chain([f64::NAN, -0.0]).collect();
            let found = sorted(distinct(&values));
            let right =
                |level: u32| (0..3000).filter(|i| i * 7 % levels == level).count() as u64 + u64::from(level == 0);
            let expected: Vec<(f64, u64)> =
                (0..levels).map(|level| (f64::from(level) / 8.0, right(level))).filter(|pair| pair.1 > 0).collect();
            assert_eq!(found, expected);
            assert_eq!(few(&values).is_some(), levels <= 256);
        }
        assert_eq!(sorted(distinct(&[1.0, 0.0, -0.0, 1.0, 1.0])), [(0.0, 2), (1.0, 3)]);
    }

    #[test]
    fn columns_are_what_they_are_alone() {
        let column = |at: u32| (0..70).map(|i| f64::from(i * 31 % (7 + 60 * at)) / 3.0).collect::<Vec<f64>>();
        let table: Vec<f64> = (0..70).flat_map(|i| [column(0)[i], f64::NAN, column(1)[i]]).collect();
        let mut patched = table.clone();
        patched[1] = 1.0;
        let found = means(&patched, 3, None, 0.9, Ends::Bca, 4).expect("values");
        for (at, column) in [(0, column(0)), (1, vec![1.0]), (2, column(1))] {
            assert_eq!(found[at], means(&column, 1, None, 0.9, Ends::Bca, 4).expect("values")[0]);
        }
        // Clusters of one task each change nothing.
        let alone: Vec<u32> = (0..70).collect();
        assert_eq!(means(&patched, 3, Some(&alone), 0.9, Ends::Bca, 4).expect("values")[0], found[0]);
        let message = means(&table, 3, None, 0.9, Ends::Bca, 4).expect_err("an empty column").to_string();
        assert!(message.contains("column 1"), "{message}");
        patched[5] = f64::INFINITY;
        let message = means(&patched, 3, None, 0.9, Ends::Bca, 4).expect_err("infinite").to_string();
        assert!(message.contains("row 1, column 2"), "{message}");
        assert!(means(&[], 1, None, 0.9, Ends::Bca, 4).is_err());
    }
}
