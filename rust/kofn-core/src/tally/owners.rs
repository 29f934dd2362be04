//! Which task each rollout is of.

use std::borrow::Cow;

/// Tasks by number, from 0.
#[derive(Clone, Copy, Debug)]
pub enum Owners<'a> {
    /// The task of each rollout.
    Each(&'a [u32]),
    /// So many rollouts of each task, one task after the other.
    Rows {
        /// How many tasks there are.
        tasks: usize,
        /// How many rollouts each has.
        size: usize,
    },
}

impl Default for Owners<'_> {
    fn default() -> Self {
        Self::Each(&[])
    }
}

impl<'a> From<&'a [u32]> for Owners<'a> {
    fn from(tasks: &'a [u32]) -> Self {
        Self::Each(tasks)
    }
}

impl<'a> Owners<'a> {
    /// How many rollouts there are.
    #[must_use]
    pub const fn len(self) -> usize {
        match self {
            Self::Each(tasks) => tasks.len(),
            Self::Rows { tasks, size } => tasks * size,
        }
    }

    /// Whether there are none.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// The task of each rollout.
    #[must_use]
    pub fn each(self) -> Cow<'a, [u32]> {
        match self {
            Self::Each(tasks) => Cow::Borrowed(tasks),
            Self::Rows { tasks, size } => {
                Cow::Owned((0..).take(tasks).flat_map(|task| std::iter::repeat_n(task, size)).collect())
            }
        }
    }

    /// The same for some rollouts after the other, about `most` at a time: rows stay whole.
    pub(crate) fn parts(self, most: usize) -> impl Iterator<Item = Cow<'a, [u32]>> {
        let rows = |first: usize, tasks: usize, size: usize| {
            let tasks = (0_u32..).skip(first).take(tasks);
            tasks.flat_map(move |task| std::iter::repeat_n(task, size)).collect::<Vec<u32>>()
        };
        let (count, step) = match self {
            Self::Each(tasks) => (tasks.len(), most),
            Self::Rows { tasks, size } => (tasks, (most / size.max(1)).max(1)),
        };
        (0..count).step_by(step).map(move |first| {
            let these = step.min(count - first);
            match self {
                Self::Each(tasks) => Cow::Borrowed(&tasks[first..first + these]),
                Self::Rows { size, .. } => Cow::Owned(rows(first, these, size)),
            }
        })
    }

    /// How many rollouts each of the `tasks` has, if they stand one task after the other and have as many.
    #[must_use]
    pub fn size(self, tasks: usize) -> Option<usize> {
        match self {
            Self::Rows { size, .. } => Some(size),
            Self::Each(each) => {
                let size = each.len() / tasks.max(1);
                let in_rows = size > 0 && size * tasks == each.len();
                let row = |(row, task): (&[u32], u32)| row.iter().all(|owner| *owner == task);
                (in_rows && each.chunks_exact(size).zip(0..).all(row)).then_some(size)
            }
        }
    }
}
