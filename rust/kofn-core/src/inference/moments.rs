//! Mean, spread and skewness of a sample, of tasks or of clusters of tasks.

use super::{ALONE, Sample};
use crate::exact::{Exact, power_of_two};

/// What intervals are made of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moments {
    /// Tasks with a value.
    pub tasks: u64,
    /// Clusters among them; the tasks themselves where there are none.
    pub units: u64,
    /// The mean of the tasks' values, rounded once.
    pub mean: f64,
    /// Σ (value - mean)² / (tasks - 1); NaN for one task.
    pub variance: f64,
    /// Standard error of the mean: s / sqrt(T), or with clusters sqrt(G / (G-1) Σ (Σ in g of (value - mean))²) / T
    /// (estimators, 3.3). NaN for one unit.
    pub standard_error: f64,
    /// Skewness of the units' sums over the square root of their number: what an interval of the mean is shifted by.
    pub skew: f64,
    /// Whether every value is 0 or 1.
    pub binary: bool,
}

impl Moments {
    /// The moments of a sample; none where no task has a value.
    #[must_use]
    pub fn of(sample: &Sample<'_>) -> Option<Self> {
        let (mut sum, mut tasks, mut binary) = (Exact::default(), 0, true);
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        sample.for_each(|value, count| {
            sum.add_times(value, count);
            tasks += count;
            binary &= value == 0.0 || value == 1.0;
            low = low.min(value);
            high = high.max(value);
        });
        if tasks == 0 {
            return None;
        }
        let mean = sum.mean(tasks);
        // Deviations are scaled to at most 1, so that neither their squares nor their cubes leave the range of floats.
        let scale = scale(low, high, mean);
        let deviation = |value: f64| (value * scale.down - mean * scale.down) * scale.rest;
        // What the roundings of the mean and of a deviation can make of nothing.
        let rounding = 2.0 * f64::EPSILON * (low.abs().max(high.abs()) * scale.down * scale.rest);
        let mut of_tasks = Powers::default();
        sample.for_each(|value, count| of_tasks.add(deviation(value), count));
        let of_units = match sample.clusters {
            None => of_tasks.clone(),
            Some(clusters) => by_cluster(sample, clusters, deviation, rounding),
        };
        let back = |x: f64| x / scale.rest / scale.down;
        let units = of_units.count;
        let squares = of_units.squares();
        let spread = (squares / (units as f64 - 1.0) * units as f64).sqrt() / tasks as f64;
        let (several, apart) = (units > 1, squares > 0.0);
        Some(Self {
            tasks,
            units,
            mean,
            variance: if tasks > 1 { back(back(of_tasks.squares() / (tasks as f64 - 1.0))) } else { f64::NAN },
            standard_error: if several { back(spread) } else { f64::NAN },
            skew: if several && apart { of_units.cubes.sum() / (squares * squares.sqrt()) } else { 0.0 },
            binary,
        })
    }
}

/// Powers of two that bring deviations to at most 1 in size.
struct Scale {
    down: f64,
    rest: f64,
}

fn scale(low: f64, high: f64, mean: f64) -> Scale {
    // Halved first: the range of large values may exceed a float.
    let widest = (high / 2.0 - mean / 2.0).max(mean / 2.0 - low / 2.0);
    // The usual case needs no scaling, and none of its roundings.
    if (power_of_two(-300)..power_of_two(300)).contains(&widest) || widest == 0.0 {
        return Scale { down: 1.0, rest: 1.0 };
    }
    let exponent = libm::ilogb(widest) + 2;
    Scale { down: power_of_two((-exponent).clamp(-1000, 500)), rest: power_of_two((-exponent - 500).clamp(0, 600)) }
}

/// Exact sums of the squares and cubes of deviations, each rounded once.
#[derive(Clone, Default)]
struct Powers {
    count: u64,
    squares: Exact,
    cubes: Exact,
}

impl Powers {
    fn add(&mut self, deviation: f64, count: u64) {
        self.count += count;
        self.squares.add_times(deviation * deviation, count);
        self.cubes.add_times(deviation * deviation * deviation, count);
    }

    fn squares(&self) -> f64 {
        self.squares.sum()
    }
}

/// The powers of the clusters' sums of deviations; none at all where every sum is no more than `rounding` for each task,
/// which would make clusters of one mean look all but certain.
fn by_cluster(sample: &Sample<'_>, clusters: &[u32], deviation: impl Fn(f64) -> f64, rounding: f64) -> Powers {
    let mut powers = Powers::default();
    let mut apart = false;
    let present = |at: usize| Some(sample.at(at)).filter(|value| !value.is_nan()).map(&deviation);
    let cluster = |at: usize| clusters[sample.task(at)];
    let last = (0..sample.tasks()).map(cluster).filter(|&cluster| cluster != ALONE).max();
    // Deviations in the order of their clusters: starts of each, then each in its place.
    let mut starts = vec![0usize; last.map_or(1, |last| last as usize + 2)];
    for at in 0..sample.tasks() {
        match (present(at), cluster(at)) {
            (None, _) => {}
            (Some(deviation), ALONE) => {
                powers.add(deviation, 1);
                apart |= deviation.abs() > rounding;
            }
            (Some(_), cluster) => starts[cluster as usize + 1] += 1,
        }
    }
    for i in 1..starts.len() {
        starts[i] += starts[i - 1];
    }
    let mut placed = vec![0.0; starts.last().copied().unwrap_or(0)];
    for at in 0..sample.tasks() {
        if let (Some(deviation), cluster) = (present(at), cluster(at))
            && cluster != ALONE
        {
            let next = &mut starts[cluster as usize];
            placed[*next] = deviation;
            *next += 1;
        }
    }
    // Each start has moved to its cluster's end.
    let mut start = 0;
    for &end in &starts {
        if end > start {
            let sum = exact_sum(&placed[start..end]);
            powers.add(sum, 1);
            apart |= sum.abs() > rounding * (end - start) as f64;
            start = end;
        }
    }
    if apart { powers } else { Powers { count: powers.count, ..Powers::default() } }
}

/// The exact sum, rounded once.
fn exact_sum(values: &[f64]) -> f64 {
    match values {
        [one] => *one,
        [one, other] => one + other,
        many => {
            let mut sum = Exact::default();
            for &value in many {
                sum.add(value);
            }
            sum.sum()
        }
    }
}
