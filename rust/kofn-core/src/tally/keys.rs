//! Which rollout indices of each task were seen: copies, mixed numbering and holes (spec 4.4, 4.6).

use super::Owners;
use crate::batch::NO_INDEX;
use crate::error::{Error, Place};
use crate::names::Names;
use crate::seen::Seen;

/// Why a key cannot be added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clash {
    /// The same (task, index) twice.
    Twice {
        /// Position of the rollout in what is being added, where it has one.
        row: usize,
        /// Task, in the numbering of what is being added.
        task: u32,
        /// Index.
        index: u64,
    },
    /// Some rollouts of the task carry an index, some do not.
    Mixed {
        /// Position of the rollout in what is being added, where it has one.
        row: usize,
        /// Task, in the numbering of what is being added.
        task: u32,
    },
}

impl Clash {
    /// Position of the rollout in what is being added.
    #[must_use]
    pub const fn row(&self) -> usize {
        match self {
            Self::Twice { row, .. } | Self::Mixed { row, .. } => *row,
        }
    }

    /// The error where no place is known.
    #[must_use]
    pub fn error(self, names: &Names) -> Error {
        self.at(names, None)
    }

    /// The error at a place.
    #[must_use]
    pub fn at(self, names: &Names, place: Option<Place>) -> Error {
        match self {
            Self::Twice { task, index, .. } => {
                Error::Duplicate { task: names.get(task).to_owned(), index, first: None, second: place, equal: None }
            }
            Self::Mixed { task, .. } => Error::Task {
                task: names.get(task).to_owned(),
                place,
                problem: "some rollouts carry an index and some do not; number all of a task's rollouts or none"
                    .to_owned(),
            },
        }
    }
}

/// Indices seen, by task.
#[derive(Clone, Debug, Default)]
pub struct Keys {
    seen: Seen,
    /// Rollouts with an index.
    explicit: Vec<u32>,
    /// Rollouts without one.
    implicit: Vec<u32>,
    /// Highest index.
    highest: Vec<u64>,
    /// Lowest index of any task.
    lowest: Option<u64>,
}

impl Keys {
    /// Room for `tasks` tasks.
    pub fn grow(&mut self, tasks: usize) {
        self.seen.ensure(tasks);
        self.explicit.resize(tasks, 0);
        self.implicit.resize(tasks, 0);
        self.highest.resize(tasks, 0);
    }

    /// The indices of a task, ascending.
    pub fn of(&self, task: u32) -> impl Iterator<Item = u64> + '_ {
        self.seen.iter(task)
    }

    /// Rollouts of a task that carry an index.
    #[must_use]
    pub fn explicit(&self, task: u32) -> u32 {
        self.explicit[task as usize]
    }

    /// Whether a task's explicit indices leave a hole, judged from the run's smallest index, 0 or 1.
    #[must_use]
    pub fn has_hole(&self, task: u32) -> bool {
        let explicit = u64::from(self.explicit(task));
        let base = u64::from(self.lowest == Some(1));
        explicit > 0 && (self.highest[task as usize] - base).saturating_add(1) != explicit
    }

    fn add_one(&mut self, row: usize, task: u32, index: u64) -> Result<(), Clash> {
        let (explicit, implicit) = (&mut self.explicit[task as usize], &mut self.implicit[task as usize]);
        if index == NO_INDEX {
            if *explicit > 0 {
                return Err(Clash::Mixed { row, task });
            }
            *implicit += 1;
        } else {
            if *implicit > 0 {
                return Err(Clash::Mixed { row, task });
            }
            if !self.seen.insert(task, index) {
                return Err(Clash::Twice { row, task, index });
            }
            *explicit += 1;
        }
        Ok(())
    }

    /// Add the keys of rollouts, [`NO_INDEX`] for those without; on a clash nothing has changed.
    pub fn add(&mut self, task: &[u32], index: &[u64]) -> Result<(), Clash> {
        for (row, (&owner, &number)) in task.iter().zip(index).enumerate() {
            if let Err(clash) = self.add_one(row, owner, number) {
                for (&owner, &number) in task[..row].iter().zip(index) {
                    if number == NO_INDEX {
                        self.implicit[owner as usize] -= 1;
                    } else {
                        self.seen.remove(owner, number);
                        self.explicit[owner as usize] -= 1;
                    }
                }
                return Err(clash);
            }
        }
        for (&owner, &number) in task.iter().zip(index) {
            if number != NO_INDEX {
                self.note(owner, number);
            }
        }
        Ok(())
    }

    /// Why rollouts without an index cannot be added.
    #[must_use]
    pub fn clash_of_implicit(&self, task: Owners<'_>) -> Option<Clash> {
        let numbered = |&owner: &u32| self.explicit[owner as usize] > 0;
        self.lowest?;
        let task = task.each();
        task.iter().position(numbered).map(|row| Clash::Mixed { row, task: task[row] })
    }

    /// Add rollouts without an index, which do not clash.
    pub fn add_implicit(&mut self, task: &[u32]) {
        for &owner in task {
            self.implicit[owner as usize] += 1;
        }
    }

    /// Add `n` rollouts without an index to a task that has none with one.
    pub(super) fn add_unnumbered(&mut self, task: u32, n: u32) {
        self.implicit[task as usize] += n;
    }

    fn note(&mut self, task: u32, index: u64) {
        let highest = &mut self.highest[task as usize];
        *highest = (*highest).max(index);
        self.lowest = Some(self.lowest.map_or(index, |lowest| lowest.min(index)));
    }

    /// Take in other keys, whose task `t` is `tasks[t]` here; on a clash (with the task in the other's numbering)
    /// nothing has changed.
    pub fn merge(&mut self, other: &Self, tasks: &[u32]) -> Result<(), Clash> {
        for (from, &to) in (0u32..).zip(tasks) {
            let (explicit, implicit) = (other.explicit[from as usize], other.implicit[from as usize]);
            let mixed =
                (explicit > 0 && self.implicit[to as usize] > 0) || (implicit > 0 && self.explicit[to as usize] > 0);
            if mixed {
                return Err(Clash::Mixed { row: 0, task: from });
            }
            if explicit > 0
                && self.explicit[to as usize] > 0
                && let Some(index) = other.of(from).find(|&index| self.seen.contains(to, index))
            {
                return Err(Clash::Twice { row: 0, task: from, index });
            }
        }
        for (from, &to) in (0u32..).zip(tasks) {
            for index in other.of(from) {
                self.seen.insert(to, index);
                self.note(to, index);
            }
            self.explicit[to as usize] += other.explicit[from as usize];
            self.implicit[to as usize] += other.implicit[from as usize];
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(rollouts: &[(u32, u64)]) -> Keys {
        let mut keys = Keys::default();
        keys.grow(3);
        let (task, index): (Vec<u32>, Vec<u64>) = rollouts.iter().copied().unzip();
        keys.add(&task, &index).expect("distinct keys");
        keys
    }

    fn state(keys: &Keys) -> (Vec<u32>, Vec<u32>, Vec<Vec<u64>>) {
        (keys.explicit.clone(), keys.implicit.clone(), (0..3).map(|task| keys.of(task).collect()).collect())
    }

    #[test]
    fn a_clash_changes_nothing_and_says_where() {
        let mut keys = keys(&[(0, 4), (0, 2), (1, NO_INDEX), (1, NO_INDEX)]);
        let before = state(&keys);
        for (task, index, clash) in [
            (&[2, 2, 0][..], &[0, 1, 4][..], Clash::Twice { row: 2, task: 0, index: 4 }),
            (&[1, 0, 0], &[NO_INDEX, 9, NO_INDEX], Clash::Mixed { row: 2, task: 0 }),
            (&[0, 1], &[9, 3], Clash::Mixed { row: 1, task: 1 }),
        ] {
            assert_eq!(keys.add(task, index), Err(clash));
            assert_eq!(clash.row(), task.len() - 1);
            assert_eq!(state(&keys), before);
        }
        assert_eq!(keys.clash_of_implicit(Owners::Each(&[1, 2, 0])), Some(Clash::Mixed { row: 2, task: 0 }));
        assert_eq!(keys.clash_of_implicit(Owners::Each(&[1, 2])), None);
        keys.add_implicit(&[1, 2]);
        assert_eq!(keys.implicit, [0, 3, 1]);
    }

    #[test]
    fn merged_keys_are_those_of_both() {
        let mut left = keys(&[(0, 0), (0, 5), (1, NO_INDEX), (2, 1)]);
        left.merge(&keys(&[(1, 3), (1, 4), (2, NO_INDEX), (2, NO_INDEX)]), &[2, 0, 1]).expect("no clash");
        assert_eq!(state(&left), (vec![4, 0, 1], vec![0, 3, 0], vec![vec![0, 3, 4, 5], vec![], vec![1]]));
        assert!(left.has_hole(0));
    }

    #[test]
    fn keys_that_clash_do_not_merge() {
        let mut left = keys(&[(0, 1), (0, 2), (1, NO_INDEX)]);
        let before = state(&left);
        for (other, clash) in [
            (keys(&[(2, 7), (0, 3), (0, 2)]), Clash::Twice { row: 0, task: 0, index: 2 }),
            (keys(&[(2, 7), (1, 3)]), Clash::Mixed { row: 0, task: 1 }),
            (keys(&[(2, 7), (0, NO_INDEX)]), Clash::Mixed { row: 0, task: 0 }),
        ] {
            assert_eq!(left.merge(&other, &[0, 1, 2]), Err(clash));
            assert_eq!(state(&left), before);
        }
    }

    #[test]
    fn unnumbered_rollouts_stand_against_numbered_ones() {
        let mut keys = keys(&[]);
        keys.add_unnumbered(1, 2);
        keys.add_unnumbered(1, 3);
        assert_eq!(keys.implicit, [0, 5, 0]);
        assert_eq!(keys.add(&[1], &[0]), Err(Clash::Mixed { row: 0, task: 1 }));
    }
}
