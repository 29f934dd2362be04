//! Rollouts by task: dense codes for ids, and counts by code.

use std::hash::Hash;

use hashbrown::HashMap;

use crate::error::{Error, Result};

/// "Not met yet" in a table of codes.
const UNMET: u32 = u32::MAX;
/// A table of codes may have this many entries a rollout, and this many in any case: 4 bytes each.
const SPARSE: usize = 4;
const SMALL: usize = 1 << 16;
/// Rollouts counted before 32-bit halves are emptied.
const BLOCK: usize = 1 << 30;

/// An integer id whose distance from another is known.
pub trait Id: Copy + Eq + Ord + Hash {
    /// `self - least`, if it is less than `limit`.
    fn slot(self, least: Self, limit: usize) -> Option<usize>;
}

impl Id for i64 {
    fn slot(self, least: Self, limit: usize) -> Option<usize> {
        usize::try_from(self.wrapping_sub(least).cast_unsigned()).ok().filter(|slot| *slot < limit)
    }
}

impl Id for u64 {
    fn slot(self, least: Self, limit: usize) -> Option<usize> {
        usize::try_from(self - least).ok().filter(|slot| *slot < limit)
    }
}

/// The distinct ids in order of first appearance, and the position there of each rollout's id.
#[must_use]
pub fn index<T: Id>(ids: &[T]) -> (Vec<T>, Vec<u32>) {
    let (Some(&least), Some(&most)) = (ids.iter().min(), ids.iter().max()) else { return (Vec::new(), Vec::new()) };
    match most.slot(least, SMALL.max(SPARSE * ids.len())) {
        Some(last) => by_table(ids, least, last),
        None => by_hash(ids),
    }
}

/// Ids that lie close together: one look-up in a table each.
fn by_table<T: Id>(ids: &[T], least: T, last: usize) -> (Vec<T>, Vec<u32>) {
    let mut table = vec![UNMET; last + 1];
    let mut distinct = Vec::new();
    let mut codes = Vec::with_capacity(ids.len());
    for &id in ids {
        // Every id lies between the least and the most.
        let Some(code) = id.slot(least, table.len()).and_then(|slot| table.get_mut(slot)) else { continue };
        if *code == UNMET {
            *code = length(&distinct);
            distinct.push(id);
        }
        codes.push(*code);
    }
    (distinct, codes)
}

fn by_hash<T: Id>(ids: &[T]) -> (Vec<T>, Vec<u32>) {
    let mut known: HashMap<T, u32> = HashMap::new();
    let mut distinct = Vec::new();
    let mut codes = Vec::with_capacity(ids.len());
    // Rollouts of one task mostly stand together: one look-up a run of equal ids.
    for run in ids.chunk_by(|a, b| a == b) {
        let code = *known.entry(run[0]).or_insert_with(|| {
            distinct.push(run[0]);
            length(&distinct) - 1
        });
        codes.extend(std::iter::repeat_n(code, run.len()));
    }
    (distinct, codes)
}

/// Ids are dense u32: more than 2^32 distinct ones would not fit into memory.
fn length<T>(distinct: &[T]) -> u32 {
    u32::try_from(distinct.len()).unwrap_or(UNMET - 1)
}

/// Count rollouts and passes of each of `tasks` tasks; `passed` is 1, 0 or, which is an error, -1 for no verdict.
pub fn count(codes: &[u32], passed: &[i8], tasks: usize) -> Result<(Vec<i64>, Vec<i64>)> {
    if codes.len() != passed.len() {
        return Err(Error::argument(
            "passed",
            format!("has {} entries, there are {} rollouts", passed.len(), codes.len()),
        ));
    }
    if let Some(at) = passed.iter().position(|&passed| passed < 0) {
        return Err(Error::argument(
            "passed",
            format!("entry {at} has no verdict; select the rollouts that have one first"),
        ));
    }
    // Both counts of a task in one word, so that a rollout is one addition; as many as cannot overflow at a time.
    let (mut n, mut c) = (vec![0i64; tasks], vec![0i64; tasks]);
    let mut both = vec![0u64; tasks];
    for (codes, passed) in codes.chunks(BLOCK).zip(passed.chunks(BLOCK)) {
        for (&code, &passed) in codes.iter().zip(passed) {
            if let Some(both) = both.get_mut(code as usize) {
                *both += 1 | u64::from(passed.unsigned_abs()) << 32;
            }
        }
        for (both, (n, c)) in both.iter_mut().zip(n.iter_mut().zip(&mut c)) {
            let [low, high] = [*both & u64::from(u32::MAX), *both >> 32].map(|half| i64::try_from(half).unwrap_or(0));
            (*n, *c, *both) = (*n + low, *c + high, 0);
        }
    }
    Ok((n, c))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check<T: Id + std::fmt::Debug>(ids: &[T]) {
        let (distinct, codes) = index(ids);
        let back: Vec<T> = codes.iter().map(|&code| distinct[code as usize]).collect();
        assert_eq!(back, ids);
        let mut met = Vec::new();
        for id in ids {
            if !met.contains(id) {
                met.push(*id);
            }
        }
        assert_eq!(distinct, met);
    }

    proptest! {
        #[test]
        fn codes_lead_back_to_the_ids(
            near in prop::collection::vec(-5i64..5, 0..50),
            far in prop::collection::vec(any::<i64>(), 0..50),
            large in prop::collection::vec(prop::sample::select(vec![0, 1, u64::MAX, u64::MAX - 1]), 0..50),
        ) {
            check(&near);
            check(&far);
            check(&large);
            check(&[i64::MIN, i64::MAX, i64::MIN]);
        }

        #[test]
        fn counts_are_those_of_a_slow_loop(rollouts in prop::collection::vec((0u32..4, 0i8..2), 0..60)) {
            let (codes, passed): (Vec<u32>, Vec<i8>) = rollouts.iter().copied().unzip();
            let (n, c) = count(&codes, &passed, 4).expect("verdicts");
            for task in 0..4u32 {
                let mine = || rollouts.iter().filter(|(code, _)| *code == task);
                prop_assert_eq!(n[task as usize], i64::try_from(mine().count()).expect("small"));
                prop_assert_eq!(c[task as usize], mine().map(|(_, passed)| i64::from(*passed)).sum::<i64>());
            }
        }
    }

    #[test]
    fn a_rollout_without_a_verdict_is_named() {
        assert!(matches!(count(&[0, 0], &[1, -1], 1), Err(Error::Argument { .. })));
        assert!(count(&[0], &[1, 1], 1).is_err());
    }
}
