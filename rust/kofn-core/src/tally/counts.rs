//! What is counted of each task.

use crate::error::{Error, Result};
use crate::policies::flags;

/// Counts over the recorded rollouts of one task, or of several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// By [`crate::batch::Status`].
    pub status: [u32; 4],
    /// Successes under the policy.
    pub successes: u32,
    /// Rollouts that the policy can decide.
    pub scorable: u32,
    /// Rollouts with a score.
    pub scored: u32,
    /// Rollouts with an indeterminate verdict.
    pub indeterminate: u32,
    /// Rollouts with a verdict.
    pub verdicts: u32,
    /// Rollouts with a score or a determinate verdict.
    pub judged: u32,
    /// Registry outcomes: passed, failed, unscorable.
    pub registry: [u32; 3],
    /// Successes of a user's policy that are none, since the rollout did not succeed.
    pub overruled: u32,
}

impl Counts {
    /// Count one rollout by its word of flags.
    pub fn add(&mut self, word: u16) {
        let bit = |flag: u16| u32::from(word & flag != 0);
        self.status[usize::from(word & flags::STATUS)] += 1;
        self.successes += bit(flags::SUCCESS);
        self.scorable += bit(flags::SCORABLE);
        self.scored += bit(flags::SCORED);
        self.indeterminate += bit(flags::INDETERMINATE);
        self.verdicts += bit(flags::VERDICT);
        self.judged += bit(flags::JUDGED);
        self.registry[0] += bit(flags::PASSED);
        self.registry[1] += bit(flags::FAILED);
        self.registry[2] += bit(flags::UNSCORABLE);
        self.overruled += bit(flags::OVERRULED);
    }

    /// Recorded rollouts of any status.
    #[must_use]
    pub fn recorded(&self) -> u32 {
        self.status.iter().sum()
    }

    /// Every count in a fixed order, for encoding.
    #[must_use]
    pub fn to_array(&self) -> [u32; 14] {
        let [s0, s1, s2, s3] = self.status;
        let [r0, r1, r2] = self.registry;
        [
            s0,
            s1,
            s2,
            s3,
            self.successes,
            self.scorable,
            self.scored,
            self.indeterminate,
            self.verdicts,
            self.judged,
            r0,
            r1,
            r2,
            self.overruled,
        ]
    }

    /// The inverse of [`Self::to_array`]; none where the numbers contradict each other.
    #[must_use]
    pub fn from_array(a: [u32; 14]) -> Option<Self> {
        let counts = Self {
            status: [a[0], a[1], a[2], a[3]],
            successes: a[4],
            scorable: a[5],
            scored: a[6],
            indeterminate: a[7],
            verdicts: a[8],
            judged: a[9],
            registry: [a[10], a[11], a[12]],
            overruled: a[13],
        };
        let recorded = a[..4].iter().try_fold(0u32, |sum, &n| sum.checked_add(n))?;
        let registry = a[10..13].iter().try_fold(0u32, |sum, &n| sum.checked_add(n))?;
        let sound = a[4..].iter().all(|&n| n <= recorded)
            && counts.successes <= counts.scorable
            && counts.scorable <= counts.status[0]
            && counts.indeterminate <= counts.verdicts
            && registry == recorded - counts.status[3];
        sound.then_some(counts)
    }

    /// Add the counts of other rollouts; more than 2^32 rollouts in all is an error.
    pub fn merge(&mut self, other: &Self) -> Result<()> {
        self.recorded()
            .checked_add(other.recorded())
            .ok_or_else(|| Error::merge("more than 4,294,967,295 rollouts of one task cannot be counted together"))?;
        let mut sum = self.to_array();
        for (mine, theirs) in sum.iter_mut().zip(other.to_array()) {
            // No count exceeds the recorded ones, whose sum was just checked.
            *mine += theirs;
        }
        if let Some(sum) = Self::from_array(sum) {
            *self = sum;
        }
        Ok(())
    }
}
