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

#[cfg(test)]
mod tests {
    use super::*;

    /// Five rollouts: three succeeded, one errored, one unfinished.
    const SOUND: [u32; flags::COUNT] = [3, 1, 0, 1, 1, 2, 1, 3, 2, 3, 1, 1, 2, 1];

    fn lane(flag: u16) -> usize {
        flag.trailing_zeros() as usize
    }

    #[test]
    fn every_count_stands_in_its_lane() {
        let mut counts = Counts::default();
        for lane in 0..flags::COUNT {
            for _ in 0..=lane {
                counts.add(1 << lane);
            }
        }
        assert_eq!(counts.of(flags::STATUS[3]), 4);
        assert_eq!(counts.of(flags::OVERRULED), 14);
        assert_eq!(counts.recorded(), 1 + 2 + 3 + 4);
    }

    #[test]
    fn numbers_that_contradict_each_other_are_none() {
        let sound = Counts::from_lanes(SOUND).expect("sound");
        assert_eq!(sound.lanes(), SOUND);
        for (flag, count) in [
            (flags::STATUS[0], u32::MAX),
            (flags::SUCCESS, 3),
            (flags::SCORABLE, 4),
            (flags::SCORABLE, 0),
            (flags::INDETERMINATE, 4),
            (flags::VERDICT, 0),
            (flags::SCORED, 6),
            (flags::JUDGED, 6),
            (flags::OVERRULED, 6),
            (flags::PASSED, 2),
            (flags::UNSCORABLE, 3),
            (flags::UNSCORABLE, u32::MAX),
        ] {
            let mut lanes = SOUND;
            lanes[lane(flag)] = count;
            assert_eq!(Counts::from_lanes(lanes), None, "{flag:b} = {count}");
        }
    }

    #[test]
    fn more_rollouts_than_a_count_holds_do_not_merge() {
        let mut many = [0; flags::COUNT];
        (many[lane(flags::STATUS[3])], many[lane(flags::VERDICT)]) = (u32::MAX - 1, 7);
        let mut many = Counts::from_lanes(many).expect("sound");
        let mut one = Counts::default();
        one.add(flags::STATUS[0] | flags::UNSCORABLE);
        many.merge(&one).expect("room for one");
        assert_eq!((many.recorded(), many.of(flags::VERDICT)), (u32::MAX, 7));
        assert!(many.merge(&one).is_err());
        assert_eq!(many.recorded(), u32::MAX);
    }
}
