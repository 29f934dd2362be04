//! The bootstrap over tasks: what the mean would be if the tasks were drawn again, with replacement, from themselves.
//!
//! The law of such means depends on the multiset of values alone, so [`Units`] are put into one order first; replicates
//! are then the same for any order of tasks, any split and any number of threads. Few distinct values are counted by
//! [`binomial`]s, many by [`poisson`] counts. Columns of equally many tasks share their random numbers: each column's
//! replicates are what they would be alone.

mod band;
mod binomial;
mod means;
mod poisson;
mod units;

use std::ops::Range;

pub use band::{Band, band};
pub use means::{Mean, means};
pub use units::Units;

use super::intervals::NoInterval;
use super::special::{normal_cdf, normal_quantile};
use super::{Interval, Method, Moments, Sample, mean_interval};
use crate::arch;
use crate::threads;

/// Replicates of every bootstrap.
pub const REPLICATES: u32 = 10_000;
/// A binomial takes as long as that many Poisson counts.
const BINOMIAL: u64 = 40;
/// Counts that a part of the work takes at least: some milliseconds.
const PART: u64 = 1 << 22;

/// Which interval replicates become.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ends {
    /// Quantiles of the replicates.
    Percentile,
    /// Quantiles moved for bias and skewness (Efron 1987: bias-corrected and accelerated).
    Bca,
}

impl Ends {
    /// How an interval of these ends came about.
    #[must_use]
    pub const fn method(self) -> Method {
        match self {
            Self::Percentile => Method::Percentile,
            Self::Bca => Method::Bca,
        }
    }
}

/// The interval of each sample's mean, at `confidence`; samples without spread get what [`mean_interval`] gives.
#[must_use]
pub fn intervals(
    samples: &[(Sample<'_>, Moments)],
    confidence: f64,
    ends: Ends,
    seed: u64,
) -> Vec<Result<Interval, NoInterval>> {
    let spread = |(_, moments): &&(Sample<'_>, Moments)| moments.units > 1 && moments.standard_error > 0.0;
    let units: Vec<Units> = samples.iter().filter(spread).map(|(sample, moments)| Units::of(sample, moments)).collect();
    let mut found = units.iter().zip(replicates(&units, seed));
    let plain =
        |(sample, moments): &(Sample<'_>, Moments)| mean_interval(moments, confidence, sample.clusters.is_some());
    let mut interval = |each: &(Sample<'_>, Moments)| {
        if !spread(&each) {
            return plain(each);
        }
        let Some((units, mut means)) = found.next() else { return plain(each) };
        let levels = levels(&means, units, &each.1, confidence, ends);
        let [low, high] = levels.map(|level| units.back(quantile(&mut means, level)));
        // So little of the confidence, or of the tasks, that both ends are one value: no interval at all.
        if low < high { Ok(Interval { low, high, method: ends.method() }) } else { plain(each) }
    };
    samples.iter().map(&mut interval).collect()
}

/// The means of all replicates of each, in the order of the replicates and as [`Units::back`] takes them.
#[must_use]
pub fn replicates(units: &[Units], seed: u64) -> Vec<Vec<f64>> {
    let mut found: Vec<Vec<f64>> = units.iter().map(|_| Vec::new()).collect();
    let mut shared: Vec<(u64, Vec<usize>)> = Vec::new();
    for (at, each) in units.iter().enumerate() {
        // Columns without sizes can share counts: what each is multiplied with is in its own order.
        let partner = shared.iter_mut().find(|(total, _)| *total == each.total && each.sizes.is_none());
        match partner {
            _ if is_few(&each.counts) || each.sizes.is_some() => {
                let columns: Vec<&[f64]> = [&each.sums].into_iter().chain(&each.sizes).map(Vec::as_slice).collect();
                let sums = joined(&each_part(&columns, &each.counts, seed, |sums| sums), columns.len());
                found[at] = match (&sums[..], &each.sizes) {
                    ([sums, sizes], Some(_)) => sums.iter().zip(sizes).map(|(sum, size)| sum / size).collect(),
                    _ => sums.into_iter().next().unwrap_or_default(),
                };
            }
            Some((_, members)) => members.push(at),
            None => shared.push((each.total, vec![at])),
        }
    }
    for (_, members) in shared {
        let columns: Vec<Vec<f64>> = members.iter().map(|&at| expanded(&units[at].sums, &units[at].counts)).collect();
        let sums = joined(&each_part_of_many(&columns, seed, |sums| sums), columns.len());
        for (at, sums) in members.into_iter().zip(sums) {
            found[at] = sums;
        }
    }
    for (means, each) in found.iter_mut().zip(units).filter(|(_, each)| each.sizes.is_none()) {
        for mean in means {
            *mean /= each.total as f64;
        }
    }
    found
}

/// Whether binomials of the distinct units take less time than a count for each unit.
fn is_few(counts: &[u64]) -> bool {
    (counts.len() as u64).saturating_mul(BINOMIAL) <= counts.iter().sum()
}

/// What `reduce` makes of each part of the replicates: the sums of its first column, then of its second, ...; all columns
/// are drawn together.
fn each_part<R: Send>(columns: &[&[f64]], counts: &[u64], seed: u64, reduce: impl Fn(Vec<f64>) -> R + Sync) -> Vec<R> {
    if is_few(counts) {
        let parts = split((BINOMIAL + columns.len() as u64) * counts.len() as u64);
        return threads::map(parts, |numbers| {
            reduce(arch::run(binomial::Replicates { columns, counts, seed, numbers }))
        });
    }
    let expanded: Vec<Vec<f64>> = columns.iter().map(|column| expanded(column, counts)).collect();
    each_part_of_many(&expanded, seed, reduce)
}

/// The same for columns of equally many units that each stand for themselves.
fn each_part_of_many<R: Send>(columns: &[Vec<f64>], seed: u64, reduce: impl Fn(Vec<f64>) -> R + Sync) -> Vec<R> {
    let of = poisson::Columns::new(columns, seed);
    let work = columns.first().map_or(0, Vec::len) * (8 + columns.len()) / 8;
    threads::map(split(work as u64), |numbers| reduce(arch::run(poisson::Replicates { of: &of, numbers })))
}

/// Each column's sums, from those of the parts.
fn joined(parts: &[Vec<f64>], columns: usize) -> Vec<Vec<f64>> {
    let of = |at: usize| {
        parts.iter().flat_map(move |part| part.chunks_exact((part.len() / columns).max(1)).skip(at).take(1).flatten())
    };
    (0..columns).map(|at| of(at).copied().collect()).collect()
}

/// Each value as often as it occurs.
fn expanded(values: &[f64], counts: &[u64]) -> Vec<f64> {
    let times = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
    values.iter().zip(counts).flat_map(|(&value, &count)| std::iter::repeat_n(value, times(count))).collect()
}

/// The replicates in parts, where each takes as long as `counts` Poisson counts.
fn split(counts: u64) -> Vec<Range<u32>> {
    let size = u32::try_from(PART / counts.max(1)).unwrap_or(u32::MAX).clamp(16, REPLICATES);
    (0..REPLICATES).step_by(size as usize).map(|start| start..REPLICATES.min(start + size)).collect()
}

/// Which quantiles of the replicates are the ends.
fn levels(means: &[f64], units: &Units, moments: &Moments, confidence: f64, ends: Ends) -> [f64; 2] {
    let tail = 0.5 - 0.5 * confidence;
    if ends == Ends::Percentile {
        return [tail, 1.0 - tail];
    }
    let (centre, noise) = (units.mean(moments.mean), units.noise());
    // Replicates below the mean, and half of those at it.
    let below: u32 =
        means.iter().map(|mean| u32::from(*mean < centre - noise) + u32::from(*mean <= centre + noise)).sum();
    let all = means.len() as f64;
    let bias = normal_quantile((0.5 * f64::from(below)).clamp(0.5, all - 0.5) / all);
    let acceleration = moments.skew / 6.0;
    let z = normal_quantile(tail);
    [z, -z].map(|z| {
        let moved = bias + z;
        let rest = 1.0 - acceleration * moved;
        // Beyond the pole the formula turns back; what it tends to is the end of the distribution.
        if rest > 0.0 { normal_cdf(bias + moved / rest) } else { f64::from(u8::from(moved > 0.0)) }
    })
}

/// The quantile at `level` (Hyndman & Fan's type 7); puts the values into another order.
fn quantile(values: &mut [f64], level: f64) -> f64 {
    let Some(last) = values.len().checked_sub(1) else { return f64::NAN };
    let at = last as f64 * level.clamp(0.0, 1.0);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 0 to the last")]
    let (_, &mut low, above) = values.select_nth_unstable_by((at as usize).min(last), f64::total_cmp);
    let high = above.iter().copied().min_by(f64::total_cmp).unwrap_or(low);
    low + (high - low) * at.fract()
}

#[cfg(test)]
mod tests;
