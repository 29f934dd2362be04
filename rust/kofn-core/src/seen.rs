//! Which rollout indices of each task were met: a bitmap while they are dense, an ordered set for stray large ones.

use std::collections::BTreeSet;

/// Sets of indices, one a task.
///
/// A task whose indices stay below 64 costs 16 bytes. A bitmap grows only as far as the indices it holds justify, so
/// one index of 10^18 costs one entry of a set and not a bitmap of 10^18 bits.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    tasks: Vec<Indices>,
}

#[derive(Clone, Debug, Default)]
struct Indices {
    /// Indices 0..64.
    first: u64,
    more: Option<Box<More>>,
}

#[derive(Clone, Debug, Default)]
struct More {
    /// Indices from 64 on, by word.
    words: Vec<u64>,
    /// How many indices `words` and `far` hold.
    count: usize,
    /// Indices that came when `words` would have had to grow too far to hold them.
    far: BTreeSet<u64>,
}

/// Words that a bitmap may always have, and that each index held allows beyond them.
const FREE_WORDS: usize = 8;
const WORDS_PER_INDEX: usize = 2;

/// Word and bit of an index >= 64; none where no bitmap of this machine reaches it.
fn position(index: u64) -> Option<(usize, u64)> {
    Some((usize::try_from(index / 64 - 1).ok()?, 1 << (index % 64)))
}

impl More {
    fn contains(&self, index: u64) -> bool {
        let dense = position(index).and_then(|(word, bit)| Some(self.words.get(word)? & bit != 0));
        dense == Some(true) || (!self.far.is_empty() && self.far.contains(&index))
    }

    fn insert(&mut self, index: u64) -> bool {
        if self.contains(index) {
            return false;
        }
        match position(index) {
            Some((word, bit)) if word < FREE_WORDS + WORDS_PER_INDEX * self.count => {
                if word >= self.words.len() {
                    self.words.resize(word + 1, 0);
                }
                self.words[word] |= bit;
            }
            _ => {
                self.far.insert(index);
            }
        }
        self.count += 1;
        true
    }

    fn remove(&mut self, index: u64) -> bool {
        let mut removed = self.far.remove(&index);
        if let Some((word, bit)) = position(index)
            && let Some(word) = self.words.get_mut(word)
            && *word & bit != 0
        {
            *word &= !bit;
            removed = true;
        }
        self.count -= usize::from(removed);
        removed
    }
}

impl Seen {
    /// Note an index; false if it was there already.
    pub fn insert(&mut self, task: u32, index: u64) -> bool {
        self.ensure(task as usize + 1);
        let indices = &mut self.tasks[task as usize];
        if index >= 64 {
            return indices.more.get_or_insert_default().insert(index);
        }
        let new = indices.first & (1 << index) == 0;
        indices.first |= 1 << index;
        new
    }

    /// Forget an index; false if it was not there.
    pub fn remove(&mut self, task: u32, index: u64) -> bool {
        let Some(indices) = self.tasks.get_mut(task as usize) else { return false };
        if index >= 64 {
            return indices.more.as_mut().is_some_and(|more| more.remove(index));
        }
        let old = indices.first & (1 << index) != 0;
        indices.first &= !(1 << index);
        old
    }

    /// Whether an index was noted.
    #[must_use]
    pub fn contains(&self, task: u32, index: u64) -> bool {
        let Some(indices) = self.tasks.get(task as usize) else { return false };
        if index >= 64 {
            return indices.more.as_ref().is_some_and(|more| more.contains(index));
        }
        indices.first & (1 << index) != 0
    }

    /// Make room for at least this many tasks.
    pub fn ensure(&mut self, tasks: usize) {
        if tasks > self.tasks.len() {
            self.tasks.resize_with(tasks, Indices::default);
        }
    }

    /// How many tasks have room: one more than the largest task noted, or what [`Seen::ensure`] asked for.
    #[must_use]
    pub fn tasks(&self) -> usize {
        self.tasks.len()
    }

    /// How many indices of a task were noted.
    #[must_use]
    pub fn count(&self, task: u32) -> u64 {
        self.tasks.get(task as usize).map_or(0, |indices| {
            u64::from(indices.first.count_ones()) + indices.more.as_ref().map_or(0, |more| more.count as u64)
        })
    }

    /// The indices of a task, ascending.
    pub fn iter(&self, task: u32) -> impl Iterator<Item = u64> {
        let indices = self.tasks.get(task as usize);
        let first = bits(indices.map_or(0, |indices| indices.first), 0);
        let more = indices.and_then(|indices| indices.more.as_deref());
        let words = more.map_or(&[][..], |more| &more.words);
        let dense = words.iter().zip(1_u64..).flat_map(|(&word, at)| bits(word, at * 64));
        // A far index may lie below the bitmap's present end: the two ascending sequences are merged.
        let mut dense = first.chain(dense).peekable();
        let mut far = more.into_iter().flat_map(|more| more.far.iter().copied()).peekable();
        std::iter::from_fn(move || match (dense.peek(), far.peek()) {
            (Some(a), Some(b)) if b < a => far.next(),
            (None, _) => far.next(),
            _ => dense.next(),
        })
    }

    /// The smallest and the largest index of a task.
    #[must_use]
    pub fn span(&self, task: u32) -> Option<(u64, u64)> {
        let mut indices = self.iter(task);
        let first = indices.next()?;
        Some((first, indices.last().unwrap_or(first)))
    }

    /// Take in the indices of another; `map[task]` is this one's number for the other's task. `twice` hears of each
    /// (task, index) that both hold, by this one's numbers.
    ///
    /// # Panics
    /// If `map` is shorter than the other's tasks.
    pub fn merge(&mut self, other: &Self, map: &[u32], mut twice: impl FnMut(u32, u64)) {
        for (task, &mine) in (0..).zip(&map[..other.tasks.len()]) {
            for index in other.iter(task) {
                if !self.insert(mine, index) {
                    twice(mine, index);
                }
            }
        }
    }
}

/// The set bits of a word as `base` + their position, ascending.
fn bits(mut word: u64, base: u64) -> impl Iterator<Item = u64> {
    std::iter::from_fn(move || {
        let bit = (word != 0).then(|| u64::from(word.trailing_zeros()))?;
        word &= word - 1;
        Some(base + bit)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[derive(Clone, Debug)]
    enum Step {
        Insert(u32, u64),
        Remove(u32, u64),
    }

    fn index() -> impl Strategy<Value = u64> {
        prop_oneof![0..70_u64, 60..2000_u64, Just(u64::MAX), Just(u64::MAX - 1), any::<u64>()]
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            4 => (0..3_u32, index()).prop_map(|(task, index)| Step::Insert(task, index)),
            1 => (0..3_u32, index()).prop_map(|(task, index)| Step::Remove(task, index)),
        ]
    }

    proptest! {
        #[test]
        fn behaves_as_a_set_of_pairs(steps in proptest::collection::vec(step(), 0..400)) {
            let mut seen = Seen::default();
            let mut model = BTreeSet::new();
            for step in steps {
                match step {
                    Step::Insert(task, index) => prop_assert_eq!(seen.insert(task, index), model.insert((task, index))),
                    Step::Remove(task, index) => prop_assert_eq!(seen.remove(task, index), model.remove(&(task, index))),
                }
            }
            for task in 0..4 {
                let expected: Vec<u64> = model.iter().filter(|(t, _)| *t == task).map(|(_, index)| *index).collect();
                prop_assert_eq!(seen.count(task), expected.len() as u64);
                prop_assert_eq!(seen.span(task), expected.first().copied().zip(expected.last().copied()));
                prop_assert!(expected.iter().all(|&index| seen.contains(task, index)));
                prop_assert_eq!(seen.iter(task).collect::<Vec<_>>(), expected);
            }
        }
    }

    #[test]
    fn descending_indices_end_in_a_bitmap_and_iterate_ascending() {
        let mut seen = Seen::default();
        for index in (0..20_000).rev() {
            assert!(seen.insert(0, index));
        }
        assert!(!seen.insert(0, 19_999));
        assert!(seen.iter(0).eq(0..20_000));
    }

    #[test]
    fn a_stray_index_takes_no_bitmap() {
        let mut seen = Seen::default();
        assert!(seen.insert(0, 1_000_000_000));
        assert!(seen.tasks[0].more.as_ref().is_some_and(|more| more.words.is_empty()));
    }

    #[test]
    fn merging_tells_of_what_both_hold() {
        let (mut a, mut b) = (Seen::default(), Seen::default());
        for index in [0, 1, 500] {
            a.insert(1, index);
        }
        for index in [1, 2, 500, 7_000_000] {
            b.insert(0, index);
        }
        let mut twice = vec![];
        a.merge(&b, &[1], |task, index| twice.push((task, index)));
        assert_eq!(twice, [(1, 1), (1, 500)]);
        assert_eq!(a.iter(1).collect::<Vec<_>>(), [0, 1, 2, 500, 7_000_000]);
    }
}
