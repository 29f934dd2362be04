//! The multiset of scores of every task: ascending distinct values with their counts.
//!
//! New scores wait in one flat list and are sorted in when they outnumber what is already sorted, so memory is the
//! distinct scores and the cost an amortised sort, whatever the number of tasks.

use crate::estimators::order::Level;

/// Scores that wait, at the least, before they are sorted in.
const PENDING: usize = 1 << 16;

/// Per-task multisets of finite scores.
#[derive(Clone, Debug, Default)]
pub struct Scores {
    /// Task `t` owns `levels[offsets[t]..offsets[t + 1]]`; shorter than the tasks where the last have no score.
    offsets: Vec<usize>,
    levels: Vec<Level>,
    pending: Vec<(u32, u32, f64)>,
}

impl Scores {
    /// Add `count` copies of a score. Negative zero counts as zero.
    pub fn add(&mut self, task: u32, value: f64, count: u32) {
        self.pending.push((task, count, value + 0.0));
        if self.pending.len() >= PENDING.max(self.levels.len()) {
            self.compact();
        }
    }

    /// Whether no score was added.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.levels.is_empty() && self.pending.is_empty()
    }

    /// Whether some scores wait to be sorted in.
    #[must_use]
    pub fn is_pending(&self) -> bool {
        !self.pending.is_empty()
    }

    /// Sort in what waits; [`Self::of`] needs it.
    pub fn compact(&mut self) {
        if self.pending.is_empty() {
            return;
        }
        let pending = sorted(std::mem::take(&mut self.pending));
        let tasks = pending.last().map_or(0, |&(task, ..)| task as usize + 1).max(self.offsets.len().saturating_sub(1));
        let mut levels: Vec<Level> = Vec::with_capacity(self.levels.len() + pending.len());
        let mut offsets = Vec::with_capacity(tasks + 1);
        let mut waiting = pending.iter().peekable();
        for task in 0..tasks {
            let start = levels.len();
            offsets.push(start);
            let mut old = self.of(task).iter().peekable();
            loop {
                let new = waiting.peek().filter(|&&&(owner, ..)| owner as usize == task);
                let next = match (old.peek(), new) {
                    (None, None) => break,
                    (Some(&&level), None) => {
                        old.next();
                        level
                    }
                    (Some(&&level), Some(&&(_, _, value))) if level.value <= value => {
                        old.next();
                        level
                    }
                    (_, Some(&&(_, count, value))) => {
                        waiting.next();
                        Level { value, count: u64::from(count) }
                    }
                };
                match levels[start..].last_mut() {
                    Some(last) if last.value == next.value => last.count += next.count,
                    _ => levels.push(next),
                }
            }
        }
        offsets.push(levels.len());
        levels.shrink_to_fit();
        self.levels = levels;
        self.offsets = offsets;
    }

    /// The multiset of one task, as far as it is sorted in.
    #[must_use]
    pub fn of(&self, task: usize) -> &[Level] {
        match (self.offsets.get(task), self.offsets.get(task + 1)) {
            (Some(&start), Some(&end)) => &self.levels[start..end],
            _ => &[],
        }
    }
}

/// Sort by task, then by value: into one bucket a task in two passes, then each by itself, which are short.
fn sorted(mut pending: Vec<(u32, u32, f64)>) -> Vec<(u32, u32, f64)> {
    if pending.is_sorted_by_key(|&(task, ..)| task) {
        // As files list them.
        for bucket in pending.chunk_by_mut(|a, b| a.0 == b.0) {
            bucket.sort_unstable_by_key(|&(.., value)| ascending(value));
        }
        return pending;
    }
    let tasks = pending.iter().map(|&(task, ..)| task as usize + 1).max().unwrap_or(0);
    if tasks > 4 * pending.len() {
        pending.sort_unstable_by_key(|&(task, _, value)| (task, ascending(value)));
        return pending;
    }
    let mut ends = vec![0usize; tasks + 1];
    for &(task, ..) in &pending {
        ends[task as usize + 1] += 1;
    }
    for task in 0..tasks {
        ends[task + 1] += ends[task];
    }
    // While a bucket fills, its entry runs from its start to its end, which is the next one's start.
    let mut buckets = vec![(0, 0, 0.0); pending.len()];
    for &score in &pending {
        let end = &mut ends[score.0 as usize];
        buckets[*end] = score;
        *end += 1;
    }
    for bucket in buckets.chunk_by_mut(|a, b| a.0 == b.0) {
        bucket.sort_unstable_by_key(|&(.., value)| ascending(value));
    }
    buckets
}

/// A key that sorts like the float; values are finite and never -0.0.
fn ascending(value: f64) -> u64 {
    let bits = value.to_bits();
    if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn filled(scores: &[(u32, f64)], step: usize) -> Scores {
        let mut all = Scores::default();
        for (i, &(task, value)) in scores.iter().enumerate() {
            all.add(task, value, 1);
            if i % step == 0 {
                all.compact();
            }
        }
        all.compact();
        all
    }

    proptest! {
        #[test]
        fn any_order_and_any_moment_of_sorting_give_the_same_levels(
            mut scores in prop::collection::vec((0u32..5, prop::sample::select(vec![0.0, -0.0, 1.0, 0.5, -3.0, 1e300, 5e-324, -1e-300])), 0..60),
            step in 1usize..20,
        ) {
            let first = filled(&scores, step);
            scores.reverse();
            let second = filled(&scores, 7);
            for task in 0..5usize {
                prop_assert_eq!(first.of(task), second.of(task));
                prop_assert!(first.of(task).windows(2).all(|pair| pair[0].value < pair[1].value));
                let total: u64 = first.of(task).iter().map(|level| level.count).sum();
                prop_assert_eq!(total, scores.iter().filter(|(owner, _)| *owner as usize == task).count() as u64);
            }
        }
    }
}
