//! What is drawn with replacement, in the one order that depends on nothing but its values.

use std::cmp::Ordering;

use crate::exact::{Exact, power_of_two};
use crate::inference::{ALONE, Moments, Sample};

/// Units (tasks, or clusters of them): the distinct ones, ascending, and how many there are of each.
#[derive(Clone, Debug, PartialEq)]
pub struct Units {
    /// The sum of a unit's values, each less `centre`, times `scale`.
    pub sums: Vec<f64>,
    /// How many tasks a unit has; none where each has one.
    pub sizes: Option<Vec<f64>>,
    /// How many units are alike.
    pub counts: Vec<u64>,
    /// All units.
    pub total: u64,
    scale: f64,
    centre: f64,
}

impl Units {
    /// The units of a sample.
    #[must_use]
    pub fn of(sample: &Sample<'_>, moments: &Moments) -> Self {
        let mut rows = Vec::new();
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        sample.for_each(|value, count| {
            // One zero, not two.
            rows.push((value + 0.0, 1.0, count));
            low = low.min(value);
            high = high.max(value);
        });
        let (scale, centre) = frame(low, high, moments.mean);
        match sample.clusters {
            Some(clusters) => rows = by_cluster(sample, clusters, scale, centre),
            None => rows.iter_mut().for_each(|row| row.0 = row.0 * scale - centre),
        }
        rows.sort_unstable_by(order);
        rows.dedup_by(|next, row| {
            let same = order(next, row) == Ordering::Equal;
            row.2 += if same { next.2 } else { 0 };
            same
        });
        let sizes = sample.clusters.map(|_| rows.iter().map(|row| row.1).collect());
        Self {
            sums: rows.iter().map(|row| row.0).collect(),
            sizes,
            total: rows.iter().map(|row| row.2).sum(),
            counts: rows.into_iter().map(|row| row.2).collect(),
            scale,
            centre,
        }
    }

    /// A mean of values as they were, from one of these.
    #[must_use]
    pub fn back(&self, mean: f64) -> f64 {
        ((mean + self.centre) / self.scale).clamp(-f64::MAX, f64::MAX)
    }

    /// The mean of all values, as it is here.
    #[must_use]
    pub fn mean(&self, mean: f64) -> f64 {
        mean * self.scale - self.centre
    }

    /// How far a mean that was summed in another order may lie from one that is equal to it.
    #[must_use]
    pub fn noise(&self) -> f64 {
        let size = |at: usize| self.sizes.as_ref().map_or(1.0, |sizes| sizes[at]);
        64.0 * f64::EPSILON * self.sums.iter().enumerate().map(|(at, sum)| (sum / size(at)).abs()).fold(0.0, f64::max)
    }
}

/// Sum, size, and how many.
type Row = (f64, f64, u64);

fn order(a: &Row, b: &Row) -> Ordering {
    a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1))
}

/// A power of two that brings values to a size whose sums are floats, and what to take off them so scaled: the mean, where
/// they differ by so little that sums would lose it.
fn frame(low: f64, high: f64, mean: f64) -> (f64, f64) {
    let largest = low.abs().max(high.abs());
    let scale = if (power_of_two(-300)..power_of_two(300)).contains(&largest) || largest == 0.0 {
        1.0
    } else {
        power_of_two((-libm::ilogb(largest)).clamp(-1000, 1000))
    };
    let centre = mean * scale;
    let widest = (high * scale - centre).max(centre - low * scale);
    (scale, if widest < centre.abs() / 1024.0 { centre } else { 0.0 })
}

/// The sum of each cluster and of each task that stands alone.
fn by_cluster(sample: &Sample<'_>, clusters: &[u32], scale: f64, centre: f64) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut tasks: Vec<(u32, f64)> = Vec::new();
    for at in 0..sample.tasks() {
        let value = sample.at(at) * scale - centre;
        match clusters[sample.task(at)] {
            _ if value.is_nan() => {}
            ALONE => rows.push((value + 0.0, 1.0, 1)),
            cluster => tasks.push((cluster, value)),
        }
    }
    tasks.sort_unstable_by_key(|(cluster, _)| *cluster);
    rows.extend(tasks.chunk_by(|a, b| a.0 == b.0).map(|tasks| {
        let mut sum = Exact::default();
        sum.add_all(tasks.iter().map(|(_, value)| *value));
        (sum.sum() + 0.0, tasks.len() as f64, 1)
    }));
    rows
}
