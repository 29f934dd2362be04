//! What is counted of each task.

use crate::error::{Error, Result};
use crate::policies::flags;

/// One lane a bit of a word of [`flags`]: a cache line a task, and one step for all of them.
const LANES: usize = 16;

/// How many recorded rollouts of one task, or of several, carry each of [`flags`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(align(64))]
pub struct Counts([u32; LANES]);

impl Counts {
    /// Count one rollout by its word of flags.
    #[inline]
    pub fn add(&mut self, word: u16) {
        for (lane, count) in self.0.iter_mut().enumerate() {
            *count += u32::from(word & (1 << lane) != 0);
        }
    }

    /// How many carry `flag`, one of [`flags`].
    #[must_use]
    pub const fn of(&self, flag: u16) -> u32 {
        self.0[flag.trailing_zeros() as usize % LANES]
    }

    /// Recorded rollouts of any status.
    #[must_use]
    pub fn recorded(&self) -> u32 {
        flags::STATUS.iter().map(|&status| self.of(status)).sum()
    }

    /// Every count in the order of its bit, for encoding.
    #[must_use]
    pub fn lanes(&self) -> &[u32] {
        &self.0[..flags::COUNT]
    }

    /// The inverse of [`Self::lanes`]; none where the numbers contradict each other.
    #[must_use]
    pub fn from_lanes(lanes: [u32; flags::COUNT]) -> Option<Self> {
        let mut counts = Self::default();
        counts.0[..flags::COUNT].copy_from_slice(&lanes);
        let sum = |flags: &[u16]| flags.iter().try_fold(0u32, |sum, &flag| sum.checked_add(counts.of(flag)));
        let recorded = sum(&flags::STATUS)?;
        let registry = sum(&[flags::PASSED, flags::FAILED, flags::UNSCORABLE])?;
        let [succeeded, _, _, unfinished] = flags::STATUS.map(|status| counts.of(status));
        let sound = lanes.iter().all(|&n| n <= recorded)
            && counts.of(flags::SUCCESS) <= counts.of(flags::SCORABLE)
            && counts.of(flags::SCORABLE) <= succeeded
            && counts.of(flags::INDETERMINATE) <= counts.of(flags::VERDICT)
            && registry == recorded - unfinished;
        sound.then_some(counts)
    }

    /// Add the counts of other rollouts; more than 2^32 rollouts in all is an error.
    pub fn merge(&mut self, other: &Self) -> Result<()> {
        self.recorded()
            .checked_add(other.recorded())
            .ok_or_else(|| Error::merge("more than 4,294,967,295 rollouts of one task cannot be counted together"))?;
        // No count exceeds the recorded ones, whose sum was just checked.
        for (mine, theirs) in self.0.iter_mut().zip(other.0) {
            *mine += theirs;
        }
        Ok(())
    }
}
