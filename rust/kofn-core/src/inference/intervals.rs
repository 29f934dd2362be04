//! Intervals of the mean of task values: the population of tasks is what is estimated (estimators, 3.3).

use std::fmt;

use super::Moments;
use super::bootstrap::REPLICATES;
use super::counts::wilson;
use super::special::student_quantile;

/// Below this many tasks (or clusters) an interval is rough.
pub const FEW: u64 = 30;

/// How far a few values' own skewness is followed, as a share of where the correction turns: one odd task among eight
/// would make the interval three times as long as plain t's, and twice as long is as far as it helps (`docs/coverage.md`).
const FOLLOWED: f64 = 0.8;

/// How an interval came about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Wilson's score interval: every task value is 0 or 1.
    Wilson,
    /// Student's t over tasks or clusters.
    StudentT,
    /// The same, corrected for skewness by Hall's transformation.
    SkewT,
    /// Quantiles of the means of resampled tasks.
    Percentile,
    /// The same, moved for bias and skewness.
    Bca,
}

impl Method {
    /// The word used in reports.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Wilson => "wilson",
            Self::StudentT => "student_t",
            Self::SkewT => "skew_t",
            Self::Percentile => "percentile_bootstrap",
            Self::Bca => "bca_bootstrap",
        }
    }

    /// How many resamples it rests on, where it rests on any.
    #[must_use]
    pub const fn replicates(self) -> Option<u32> {
        match self {
            Self::Percentile | Self::Bca => Some(REPLICATES),
            Self::Wilson | Self::StudentT | Self::SkewT => None,
        }
    }
}

/// The values that a figure can have at all.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    /// Least.
    pub low: f64,
    /// Greatest.
    pub high: f64,
}

impl Range {
    /// A share.
    pub const SHARE: Self = Self { low: 0.0, high: 1.0 };
    /// The difference of two shares.
    pub const DIFFERENCE: Self = Self { low: -1.0, high: 1.0 };
    /// An amount.
    pub const AMOUNT: Self = Self { low: 0.0, high: f64::INFINITY };
    /// Anything.
    pub const ANY: Self = Self { low: f64::NEG_INFINITY, high: f64::INFINITY };
}

/// An interval of a mean.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// How it came about.
    pub method: Method,
}

impl Interval {
    /// The same within the figure's range.
    #[must_use]
    pub fn clipped(self, range: Range) -> Self {
        Self { low: self.low.max(range.low), high: self.high.min(range.high), ..self }
    }
}

/// Why there is no interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoInterval {
    /// There is one task.
    OneTask,
    /// All tasks are in one cluster.
    OneCluster,
    /// All tasks have the same value, and it is not 0 or 1.
    NoSpread,
    /// All clusters have the same mean, and it is not that of tasks that are all 0 or all 1.
    NoSpreadOfClusters,
    /// Its ends are beyond the range of floats.
    TooWide,
}

impl fmt::Display for NoInterval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OneTask => "one task says nothing of others",
            Self::OneCluster => "one cluster says nothing of others",
            Self::NoSpread => "all tasks have the same value, so nothing tells how far others may lie",
            Self::NoSpreadOfClusters => "all clusters have the same value, so nothing tells how far others may lie",
            Self::TooWide => "its ends lie beyond what a float holds",
        })
    }
}

/// The default interval at `confidence`: Wilson's where every value is 0 or 1 and tasks are independent, else Student's
/// t corrected for skewness. It covers 93 to 97 % at 95 where 25 tasks differ from the commonest value.
pub fn mean_interval(moments: &Moments, confidence: f64, clustered: bool) -> Result<Interval, NoInterval> {
    let several = check_units(moments, clustered)?;
    let sure = moments.mean == 0.0 || moments.mean == 1.0;
    if moments.binary && (!clustered || sure) {
        let units = several as f64;
        let (low, high) = wilson(units, (moments.mean * units).round_ties_even(), confidence);
        return Ok(Interval { low, high, method: Method::Wilson });
    }
    if moments.standard_error == 0.0 {
        return Err(no_spread(clustered));
    }
    let t = student_quantile(several as f64 - 1.0, 0.5 - 0.5 * confidence).abs();
    // Skewness is poorly known from few values, and well enough from many.
    let most = FOLLOWED / t * (several as f64 / FEW as f64).max(1.0);
    let skew = moments.skew.clamp(-most, most);
    let bound = |t: f64| moments.mean - moments.standard_error * unskewed(t, skew);
    // At a confidence of less than a third the correction may move both ends past the mean.
    finite(Interval { low: bound(t).min(moments.mean), high: bound(-t).max(moments.mean), method: Method::SkewT })
}

/// Student's interval without correction.
pub fn student_interval(moments: &Moments, confidence: f64, clustered: bool) -> Result<Interval, NoInterval> {
    let several = check_units(moments, clustered)?;
    if moments.standard_error == 0.0 {
        return Err(no_spread(clustered));
    }
    let half = student_quantile(several as f64 - 1.0, 0.5 - 0.5 * confidence).abs() * moments.standard_error;
    finite(Interval { low: moments.mean - half, high: moments.mean + half, method: Method::StudentT })
}

fn finite(interval: Interval) -> Result<Interval, NoInterval> {
    if interval.low.is_finite() && interval.high.is_finite() { Ok(interval) } else { Err(NoInterval::TooWide) }
}

fn no_spread(clustered: bool) -> NoInterval {
    if clustered { NoInterval::NoSpreadOfClusters } else { NoInterval::NoSpread }
}

fn check_units(moments: &Moments, clustered: bool) -> Result<u64, NoInterval> {
    match moments.units {
        0 | 1 if clustered && moments.tasks > 1 => Err(NoInterval::OneCluster),
        0 | 1 => Err(NoInterval::OneTask),
        units => Ok(units),
    }
}

/// The w whose transformation w + a w²/3 + a² w³/27 + a/6 is `t` (Hall 1992): the t statistic of a skewed sample is
/// itself skewed, this takes it back to Student's. `a` is skewness / sqrt(number).
fn unskewed(t: f64, a: f64) -> f64 {
    let x = t - a / 6.0;
    // 3 (cbrt(1 + a x) - 1) / a, without the cancellation where a is small.
    let root = libm::cbrt(1.0 + a * x);
    3.0 * x / (root * root + root + 1.0)
}
