//! A band that holds the means of several columns at once: the sup-t band (Montiel Olea & Plagborg-Møller 2019).

use super::{each_part, quantile};
use crate::inference::counts::wilson;
use crate::inference::special::{normal_cdf, normal_quantile};
use crate::inference::{Moments, Range, Sample};

/// Both ends for each column; NaN where nothing tells how far other tasks lie.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Band {
    /// Lower ends.
    pub low: Vec<f64>,
    /// Upper ends.
    pub high: Vec<f64>,
}

/// The band around the means of `columns`, whose row t is what `counts[t]` tasks have: mean ± q standard errors within
/// `range`, where q is the quantile of the largest deviation in any column, in its standard errors, of tasks that are
/// drawn again. Values are shares, or of such a size that sums of their squares are floats.
#[must_use]
pub fn band(columns: &[&[f64]], counts: &[u64], range: Range, confidence: f64, seed: u64) -> Band {
    let (columns, counts) = in_order(columns, counts);
    let moments: Vec<Option<Moments>> =
        columns.iter().map(|column| Moments::of(&Sample::coded(column, &[], &counts))).collect();
    let spread: Vec<(Vec<f64>, f64)> = columns
        .iter()
        .zip(&moments)
        .filter_map(|(column, moments)| {
            let it = moments.filter(|it| it.standard_error > 0.0)?;
            let unit = it.standard_error * it.tasks as f64;
            Some((column.iter().map(|value| (value - it.mean) / unit).collect(), it.standard_error))
        })
        .collect();
    let scaled: Vec<&[f64]> = spread.iter().map(|(column, _)| column.as_slice()).collect();
    let widest = |sums: Vec<f64>| {
        let size = sums.len() / scaled.len();
        let mut widest = vec![0f64; size];
        for sums in sums.chunks_exact(size) {
            widest.iter_mut().zip(sums).for_each(|(widest, sum)| *widest = widest.max(sum.abs()));
        }
        widest
    };
    let errors = if scaled.is_empty() {
        // Columns without spread move together, if at all.
        -normal_quantile(0.5 - 0.5 * confidence)
    } else {
        quantile(&mut each_part(&scaled, &counts, seed, widest).concat(), confidence)
    };
    let ends = |it: Option<Moments>| match it {
        Some(it) if it.standard_error > 0.0 => {
            (it.mean - errors * it.standard_error, it.mean + errors * it.standard_error)
        }
        Some(it) if it.binary && it.units > 1 => {
            let tasks = it.tasks as f64;
            wilson(tasks, it.mean * tasks, 1.0 - 2.0 * normal_cdf(-errors))
        }
        _ => (f64::NAN, f64::NAN),
    };
    let clipped = |(low, high): (f64, f64)| {
        if low.is_nan() { (low, high) } else { (low.max(range.low), high.min(range.high)) }
    };
    let (low, high) = moments.into_iter().map(|it| clipped(ends(it))).unzip();
    Band { low, high }
}

/// Distinct rows, ascending, and how many tasks have each.
fn in_order(columns: &[&[f64]], counts: &[u64]) -> (Vec<Vec<f64>>, Vec<u64>) {
    let order = |&a: &usize, &b: &usize| {
        let differ = columns.iter().map(|column| column[a].total_cmp(&column[b]));
        differ.into_iter().find(|order| order.is_ne()).unwrap_or(std::cmp::Ordering::Equal)
    };
    let mut rows: Vec<usize> = (0..counts.len()).filter(|&row| counts[row] > 0).collect();
    rows.sort_unstable_by(order);
    let groups: Vec<&[usize]> = rows.chunk_by(|a, b| order(a, b).is_eq()).collect();
    let columns = columns.iter().map(|column| groups.iter().map(|rows| column[rows[0]]).collect()).collect();
    (columns, groups.iter().map(|rows| rows.iter().map(|&row| counts[row]).sum()).collect())
}
