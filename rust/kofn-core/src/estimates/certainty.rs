//! How sure the figures of a report are: intervals over the population of tasks, the noise of these tasks' rollouts,
//! and what of the spread comes from which.

use std::fmt;

use hashbrown::HashMap;

use super::{Column, Estimates, View};
use crate::error::{Error, Result};
use crate::exact;
use crate::inference::counts::Kind;
use crate::inference::intervals::NoInterval;
use crate::inference::scores::{Extremes, mean_variance};
use crate::inference::special::student_quantile;
use crate::inference::{Interval, Moments, Range, Sample, Wanted};
use crate::plan::Statistic;
use crate::policies::flags;
use crate::tally::Tally;

/// How intervals are made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct How {
    /// The share of runs whose interval holds the true figure.
    pub confidence: f64,
    /// Which ones.
    pub wanted: Wanted,
}

impl How {
    /// How; the confidence must lie between 0 and 1.
    pub fn new(confidence: f64, wanted: Wanted) -> Result<Self> {
        if !(confidence > 0.0 && confidence < 1.0) {
            return Err(Error::argument("confidence", format!("{confidence} is not between 0 and 1; 0.95 is usual")));
        }
        Ok(Self { confidence, wanted })
    }
}

/// How sure one figure is.
#[derive(Clone, Copy, Debug)]
pub struct Certainty {
    /// Its interval: the mean over the population that the tasks are a sample of.
    pub interval: Result<Interval, NoInterval>,
    /// The standard error behind it, not cut to the figure's range.
    pub standard_error: Option<f64>,
    /// How many clusters of tasks it rests on; none where tasks are independent.
    pub clusters: Option<u64>,
    /// The standard error over repeated runs of these very tasks.
    pub noise: Result<f64, NoNoise>,
    /// Where the spread of the tasks' values comes from.
    pub decomposition: Option<Decomposition>,
}

/// The variance of the tasks' values, split (estimators, 3.5).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Decomposition {
    /// What stays between tasks however often each is run; negative where chance made it so.
    pub between: f64,
    /// What the rollouts of a task add.
    pub within: f64,
    /// Whether `within` is more than an unbiased estimate can tell (2 k > n).
    pub approximate: bool,
}

/// Why the noise of a figure is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoNoise {
    /// One observation tells no spread.
    Single,
    /// The extreme of all n has nothing to compare with.
    AllOfThem,
    /// Observations so large that their variance is beyond a float.
    TooLarge,
    /// There is no estimator for it.
    NoEstimator,
}

impl fmt::Display for NoNoise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Single => "a task has a single observation, which tells no spread",
            Self::AllOfThem => "a task has k = n scores: the extreme of all has nothing to compare with",
            Self::TooLarge => "observations of a task lie further apart than can be computed with",
            Self::NoEstimator => "no estimator is known for this statistic",
        })
    }
}

/// How sure each task's figure is, as the values of its column: distinct ones where they are coded. NaN for none.
#[derive(Clone, Debug, Default)]
pub struct TaskSpreads {
    /// Lower ends of its interval.
    pub low: Vec<f64>,
    /// Upper ends.
    pub high: Vec<f64>,
    /// The variance of the figure over repeated runs of the task.
    pub noise: Vec<f64>,
}

/// How sure the figures of a run or group are.
#[derive(Clone, Debug, Default)]
pub struct Sure {
    /// Each statistic.
    pub statistics: Vec<Certainty>,
    /// Each gap.
    pub gaps: Vec<Certainty>,
}

/// How sure everything in a report is.
#[derive(Clone, Debug, Default)]
pub struct Certainties {
    /// Over all tasks.
    pub all: Sure,
    /// Over those of each group.
    pub groups: Vec<Sure>,
    /// Of each task, for each column.
    pub tasks: Vec<TaskSpreads>,
}

impl Estimates {
    /// Say how sure the figures are, which `tally` gave.
    #[must_use]
    pub fn certainties(&self, tally: &Tally, how: &How) -> Certainties {
        let spreads: Vec<Spreads> =
            self.columns.iter().map(|column| Spreads::of(self, tally, column, how.confidence)).collect();
        let of_gap = |gap: &Column| {
            let kind = Kind::Gap(gap.statistic.k().unwrap_or(1));
            Spreads::of_counts(gap, kind, &gap.pairs(), how.confidence)
        };
        let gaps: Vec<Spreads> = self.gaps.iter().map(of_gap).collect();
        let clusters = self.clusters.as_ref().map(|clusters| &clusters.of[..]);
        let view = |view: &View| -> Sure {
            let rows = view.rows.as_deref();
            let known = |(statistic, ..): &(Statistic, f64, u64)| {
                let at = self.columns.iter().position(|column| column.statistic == *statistic)?;
                certainty(&self.columns[at], &spreads[at], rows, clusters, how)
            };
            let gap = |(gap, spreads): (&Column, &Spreads)| certainty(gap, spreads, rows, clusters, how);
            Sure {
                statistics: view.statistics.iter().filter_map(known).collect(),
                gaps: self.gaps.iter().zip(&gaps).filter_map(gap).collect(),
            }
        };
        Certainties {
            all: view(&self.all),
            groups: self.groups.iter().flatten().map(|(_, group)| view(group)).collect(),
            tasks: spreads.into_iter().map(Spreads::of_tasks).collect(),
        }
    }
}

/// The values that a statistic can have.
fn range(statistic: &Statistic) -> Range {
    match statistic {
        Statistic::PassAtK(_)
        | Statistic::PassHatK(_)
        | Statistic::PassRate
        | Statistic::Learnability
        | Statistic::Coverage
        | Statistic::Agreement(_) => Range::SHARE,
        Statistic::MeanDuration | Statistic::MeanTotalTokens | Statistic::MetricVariance(_) => Range::AMOUNT,
        Statistic::MeanScore | Statistic::BestOfK(_) | Statistic::WorstOfK(_) | Statistic::MetricMean(_) => Range::ANY,
    }
}

fn certainty(
    column: &Column,
    spreads: &Spreads,
    rows: Option<&[u32]>,
    clusters: Option<&[u32]>,
    how: &How,
) -> Option<Certainty> {
    let sample = column.sample().within(rows).clustered(clusters);
    let moments = Moments::of(&sample)?;
    let total = |variances: &[f64]| column.coded(variances).within(rows).total();
    let (sum, known) = total(&spreads.noise);
    let tasks = moments.tasks as f64;
    let noise = match spreads.unknown {
        Some(why) if known < moments.tasks => Err(why),
        _ => Ok((sum.mean(moments.tasks) / tasks).sqrt()),
    };
    let finite = |value: f64| value.is_finite().then_some(value);
    let within = spreads.within.as_deref().unwrap_or(&spreads.noise);
    let decomposition = noise.ok().filter(|_| moments.variance > 0.0 && moments.variance.is_finite()).and_then(|_| {
        let within = finite(total(within).0.mean(moments.tasks))?.max(0.0);
        Some(Decomposition { between: moments.variance - within, within, approximate: spreads.approximate })
    });
    Some(Certainty {
        interval: how
            .wanted
            .interval(&sample, &moments, how.confidence)
            .map(|interval| interval.clipped(range(&column.statistic))),
        standard_error: finite(moments.standard_error).filter(|&error| error > 0.0),
        clusters: clusters.map(|_| moments.units),
        noise: noise.and_then(|noise| finite(noise).ok_or(NoNoise::TooLarge)),
        decomposition,
    })
}

/// What the rollouts of each task say about the figure of that task; as the values of its column.
struct Spreads {
    /// The variance of the figure over repeated runs of the task; NaN where it is not known.
    noise: Vec<f64>,
    /// The same without bias, where that is another.
    within: Option<Vec<f64>>,
    /// Whether what stands for it has a bias.
    approximate: bool,
    /// Why some variance is not known.
    unknown: Option<NoNoise>,
    low: Vec<f64>,
    high: Vec<f64>,
}

impl Spreads {
    fn of_tasks(self) -> TaskSpreads {
        TaskSpreads { low: self.low, high: self.high, noise: self.noise }
    }

    fn of(estimates: &Estimates, tally: &Tally, column: &Column, confidence: f64) -> Self {
        let ids = &estimates.ids;
        let levels = |id: u32| tally.scores.of(id as usize);
        let scored = |id: u32| u64::from(tally.counts[id as usize].of(flags::SCORED));
        let extremes = |k: u64, worst: bool| {
            let mut extremes = Extremes::new(k, worst);
            let spread = move |id: u32| extremes.spread(levels(id)).map(|it| (it.variance, it.unbiased));
            Self::of_observations(column, ids, confidence, NoNoise::AllOfThem, spread, scored)
        };
        match &column.statistic {
            Statistic::PassAtK(k) => Self::of_counts(column, Kind::AtLeastOne(*k), &column.pairs(), confidence),
            Statistic::PassHatK(k) => Self::of_counts(column, Kind::All(*k), &column.pairs(), confidence),
            Statistic::PassRate => Self::of_counts(column, Kind::Rate, &column.pairs(), confidence),
            Statistic::Learnability => Self::of_counts(column, Kind::Learnability, &column.pairs(), confidence),
            Statistic::Coverage => {
                let requested = estimates.tasks.requested.as_deref().unwrap_or_default();
                let scorable = |id: u32| u64::from(tally.counts[id as usize].of(flags::SCORABLE));
                let pairs: Vec<(u64, u64)> =
                    requested.iter().zip(ids).map(|(&n, id)| (n, id.map_or(0, scorable))).collect();
                Self::of_counts(column, Kind::Rate, &pairs, confidence)
            }
            Statistic::MeanScore => {
                let spread = |id: u32| mean_variance(levels(id)).map(|variance| (variance, true));
                Self::of_observations(column, ids, confidence, NoNoise::Single, spread, scored)
            }
            Statistic::BestOfK(k) => extremes(*k, false),
            Statistic::WorstOfK(k) => extremes(*k, true),
            Statistic::MetricMean(series) => {
                let at = tally.setup.plan.series.iter().position(|name| name == series);
                let states = at.map(|at| &tally.series.states[at]);
                let state = |id: u32| states.and_then(|states| states.get(&id));
                let spread = |id: u32| {
                    let state = state(id)?;
                    Some((exact::mean_variance(&state.sum, &state.squares, state.n)?, true))
                };
                let readings = |id: u32| state(id).map_or(0, |state| state.n);
                Self::of_observations(column, ids, confidence, NoNoise::Single, spread, readings)
            }
            Statistic::MeanDuration => {
                let kept = |id: u32| tally.durations.get(id as usize);
                let spread = |id: u32| Some((kept(id)?.mean_variance()?, true));
                let recorded = |id: u32| kept(id).map_or(0, |it| u64::from(it.n));
                Self::of_observations(column, ids, confidence, NoNoise::Single, spread, recorded)
            }
            Statistic::MeanTotalTokens => {
                let kept = |id: u32| tally.tokens.get(id as usize);
                let spread = |id: u32| Some((kept(id)?.mean_variance()?, true));
                let recorded = |id: u32| kept(id).map_or(0, |it| u64::from(it.n));
                Self::of_observations(column, ids, confidence, NoNoise::Single, spread, recorded)
            }
            Statistic::MetricVariance(_) | Statistic::Agreement(_) => Self::unknown(column, NoNoise::NoEstimator),
        }
    }

    fn unknown(column: &Column, why: NoNoise) -> Self {
        let none = vec![f64::NAN; column.values.len()];
        let (low, high) = (none.clone(), none.clone());
        Self { noise: none, within: None, approximate: true, unknown: Some(why), low, high }
    }

    /// From counts: n and c behind each value.
    fn of_counts(column: &Column, kind: Kind, pairs: &[(u64, u64)], confidence: f64) -> Self {
        let mut known: HashMap<(u64, u64), [f64; 4], foldhash::fast::FixedState> = HashMap::default();
        let [mut noise, mut within, mut low, mut high] = [const { Vec::new() }; 4];
        let mut complete = true;
        for (value, &(n, c)) in column.values.iter().zip(pairs) {
            let found = if value.is_nan() {
                [f64::NAN; 4]
            } else {
                *known.entry((n, c)).or_insert_with(|| {
                    let (low, high) = kind.interval(n, c, confidence);
                    let unbiased = kind.unbiased_variance(n, c);
                    complete &= unbiased.is_some();
                    [kind.shrunk_variance(n, c), unbiased.unwrap_or(f64::NAN), low, high]
                })
            };
            for (column, value) in [&mut noise, &mut within, &mut low, &mut high].into_iter().zip(found) {
                column.push(value);
            }
        }
        Self { noise, within: complete.then_some(within), approximate: !complete, unknown: None, low, high }
    }

    /// From observations of each task: their variance and whether it is unbiased, and how many they are.
    fn of_observations(
        column: &Column,
        ids: &[Option<u32>],
        confidence: f64,
        why: NoNoise,
        mut spread: impl FnMut(u32) -> Option<(f64, bool)>,
        observations: impl Fn(u32) -> u64,
    ) -> Self {
        let mut quantiles: HashMap<u64, f64, foldhash::fast::FixedState> = HashMap::default();
        let (mut approximate, mut too_large) = (false, false);
        let (mut noise, mut low, mut high) = (Vec::new(), Vec::new(), Vec::new());
        for (value, id) in column.values.iter().zip(ids) {
            let found = id.filter(|_| !value.is_nan()).and_then(|id| Some((id, spread(id)?)));
            let (variance, half) = found.map_or((f64::NAN, f64::NAN), |(id, (variance, unbiased))| {
                approximate |= !unbiased;
                too_large |= !variance.is_finite();
                let n = observations(id);
                let quantile = *quantiles
                    .entry(n)
                    .or_insert_with(|| student_quantile(n as f64 - 1.0, 0.5 - 0.5 * confidence).abs());
                (variance, quantile * variance.sqrt())
            });
            let half = if half.is_finite() { half } else { f64::NAN };
            noise.push(if variance.is_finite() { variance } else { f64::NAN });
            low.push(value - half);
            high.push(value + half);
        }
        let why = if too_large { NoNoise::TooLarge } else { why };
        Self { noise, within: None, approximate, unknown: Some(why), low, high }
    }
}

impl Column {
    /// The values as inference takes them.
    #[must_use]
    pub fn sample(&self) -> Sample<'_> {
        self.coded(&self.values)
    }

    /// Other values that are shared as this column's are.
    #[must_use]
    pub fn coded<'a>(&'a self, values: &'a [f64]) -> Sample<'a> {
        match &self.cells {
            Some(cells) => Sample::coded(values, &cells.codes, &cells.counts),
            None => Sample::of(values),
        }
    }

    /// The n and c behind each value, where the column is made of them.
    fn pairs(&self) -> Vec<(u64, u64)> {
        self.cells.as_ref().map(|cells| cells.pairs.clone()).unwrap_or_default()
    }
}
