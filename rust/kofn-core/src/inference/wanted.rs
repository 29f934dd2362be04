//! Which interval of a mean is asked for.

use super::bootstrap::{self, Ends};
use super::intervals::{Interval, NoInterval, mean_interval, student_interval};
use super::{Moments, Sample};
use crate::error::{Error, Result};

/// Which interval of a mean is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// Wilson's, or Student's t corrected for skewness.
    Usual,
    /// Student's t.
    Student,
    /// Of resampled tasks.
    Bootstrap {
        /// How its ends are taken.
        ends: Ends,
        /// Of the random numbers.
        seed: u64,
    },
}

impl Wanted {
    const WORDS: [&'static str; 4] = ["default", "student", "bootstrap", "percentile"];

    /// What a word means.
    pub fn of(word: &str, seed: u64) -> Result<Self> {
        match word {
            "default" => Ok(Self::Usual),
            "student" => Ok(Self::Student),
            "bootstrap" => Ok(Self::Bootstrap { ends: Ends::Bca, seed }),
            "percentile" => Ok(Self::Bootstrap { ends: Ends::Percentile, seed }),
            _ => {
                let known = Self::WORDS.map(|word| format!("{word:?}")).join(", ");
                Err(Error::argument("interval", format!("{word:?} is not one of {known}")))
            }
        }
    }

    /// The interval of a sample's mean.
    pub fn interval(
        self,
        sample: &Sample<'_>,
        moments: &Moments,
        confidence: f64,
    ) -> std::result::Result<Interval, NoInterval> {
        let clustered = sample.clusters.is_some();
        match self {
            Self::Usual => mean_interval(moments, confidence, clustered),
            Self::Student => student_interval(moments, confidence, clustered),
            Self::Bootstrap { ends, seed } => {
                let found = bootstrap::intervals(&[(*sample, *moments)], confidence, ends, seed);
                found.into_iter().next().unwrap_or(Err(NoInterval::NoSpread))
            }
        }
    }
}
