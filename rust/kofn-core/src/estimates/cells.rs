//! What figures need of tasks' counts, and how many tasks have each.

use std::iter::repeat;

use hashbrown::HashMap;

use crate::arch::{self, Kernel};
use crate::policies::{Kinds, flags};
use crate::tally::{Arrays, Floats, Owners, Setup};

/// Counts of one task's rollouts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(align(16))]
pub(super) struct Count {
    pub recorded: u32,
    pub success: u32,
    pub scorable: u32,
    pub scored: u32,
}

impl Count {
    /// Those of one rollout.
    fn of_word(word: u16) -> Self {
        let has = |flag: u16| u32::from(word & flag != 0);
        Self { recorded: 1, success: has(flags::SUCCESS), scorable: has(flags::SCORABLE), scored: has(flags::SCORED) }
    }

    #[inline]
    fn add(&mut self, other: Self) {
        self.recorded += other.recorded;
        self.success += other.success;
        self.scorable += other.scorable;
        self.scored += other.scored;
    }

    const fn times(self, n: u32) -> Self {
        Self {
            recorded: self.recorded * n,
            success: self.success * n,
            scorable: self.scorable * n,
            scored: self.scored * n,
        }
    }

    /// Of each of the `tasks`.
    pub(super) fn of_tasks(setup: &Setup, arrays: &Arrays<'_>, tasks: usize) -> Vec<Self> {
        let kinds = Kinds::new(&setup.policy);
        let each = kinds.words.map(Self::of_word);
        let mut counts = vec![Self::default(); tasks];
        let mut add = |task: u32, kind: usize| {
            if let Some(count) = counts.get_mut(task as usize) {
                count.add(each[kind]);
            }
        };
        let task = arrays.task.each();
        let rows = task.iter();
        match arrays.scores {
            // Most calls have one column.
            Floats::F32(scores) if arrays.passed.is_empty() && arrays.valid.is_empty() => {
                rows.zip(scores).for_each(|(&task, &score)| add(task, kinds.of(-1, score.into())));
            }
            Floats::F64(scores) if arrays.passed.is_empty() && arrays.valid.is_empty() && !scores.is_empty() => {
                rows.zip(scores).for_each(|(&task, &score)| add(task, kinds.of(-1, score)));
            }
            Floats::F64([]) if arrays.valid.is_empty() && !arrays.passed.is_empty() => {
                rows.zip(arrays.passed).for_each(|(&task, &passed)| add(task, kinds.of(passed, f64::NAN)));
            }
            scores => rows.enumerate().for_each(|(row, &task)| {
                let passed = arrays.passed.get(row).copied().unwrap_or(-1);
                let valid = arrays.valid.get(row) != Some(&false);
                let kind = kinds.of(passed, scores.get(row).unwrap_or(f64::NAN));
                add(task, if valid { kind } else { Kinds::NONE });
            }),
        }
        counts
    }
}

/// Distinct counts, and how many tasks have each.
pub(super) type Cells = Vec<(Count, u64)>;

/// Those of columns, if tasks stand in short rows and a rollout is told by one column: no task's count is kept.
pub(super) fn of_rows(setup: &Setup, arrays: &Arrays<'_>) -> Option<Cells> {
    let Owners::Rows { tasks, size } = arrays.task else { return None };
    let width = size + 1;
    if size == 0 || width.checked_mul(width)? > 4 * tasks + 64 || !arrays.valid.is_empty() {
        return None;
    }
    let kinds = Kinds::new(&setup.policy);
    // How often each number of a row's rollouts is of the best kind, and of that or the next.
    let mut cells = vec![0_u64; width * width];
    let (next, best) = match (arrays.passed, arrays.scores) {
        (passed @ [_, ..], scores) if scores.is_empty() => {
            arch::run(Verdicts { passed, size, cells: &mut cells });
            (kinds.of(0, f64::NAN), kinds.of(1, f64::NAN))
        }
        ([], Floats::F32(scores)) => {
            arch::run(Reached { scores, kinds: &kinds, size, cells: &mut cells });
            (kinds.of(-1, f64::MIN), kinds.of(-1, f64::MAX))
        }
        ([], Floats::F64(scores @ [_, ..])) => {
            arch::run(Reached { scores, kinds: &kinds, size, cells: &mut cells });
            (kinds.of(-1, f64::MIN), kinds.of(-1, f64::MAX))
        }
        _ => return None,
    };
    let [none, next, best] = [Kinds::NONE, next, best].map(|kind| Count::of_word(kinds.words[kind]));
    let size = u32::try_from(size).ok()?;
    let pairs = (0..=size).flat_map(|either| repeat(either).zip(0..=size));
    let cell = |((either, top), tasks): ((u32, u32), u64)| {
        let mut count = none.times(size - either);
        count.add(next.times(either.checked_sub(top)?));
        count.add(best.times(top));
        (tasks > 0).then_some((count, tasks))
    };
    Some(pairs.zip(cells).filter_map(cell).collect())
}

/// Those of the counts of each task.
pub(super) fn of_counts(counts: &[Count]) -> Cells {
    let Some(first) = counts.first() else { return Vec::new() };
    let width = first.recorded as usize + 1;
    // Tasks of one size whose scorable rollouts are all scored, or none: a place for each.
    let alike =
        |count: &Count| count.recorded == first.recorded && (count.scored == 0 || count.scored == count.scorable);
    if width.saturating_mul(2 * width) <= 4 * counts.len() + 64 && counts.iter().all(alike) {
        let mut cells = vec![(Count::default(), 0); 2 * width * width];
        for count in counts {
            let at = (count.scorable as usize * width + count.success as usize) * 2 + usize::from(count.scored > 0);
            if let Some((known, tasks)) = cells.get_mut(at) {
                (*known, *tasks) = (*count, *tasks + 1);
            }
        }
        return cells.into_iter().filter(|(_, tasks)| *tasks > 0).collect();
    }
    let mut known: HashMap<Count, u64, foldhash::fast::FixedState> = HashMap::default();
    for count in counts {
        *known.entry(*count).or_default() += 1;
    }
    known.into_iter().collect()
}

/// Rows of verdicts: 1 passed, 0 failed, -1 none.
struct Verdicts<'a> {
    passed: &'a [i8],
    size: usize,
    cells: &'a mut [u64],
}

impl Kernel for Verdicts<'_> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        const LOW: u64 = 0x0101_0101_0101_0101;
        let Self { passed, size, cells } = self;
        for row in passed.chunks_exact(size.max(1)) {
            let (words, rest) = row.as_chunks::<8>();
            let (mut top, mut either) = (0, 0);
            let mut add = |word: u64| {
                let decided = !(word >> 7) & LOW;
                either += decided.count_ones() as usize;
                top += (word & decided).count_ones() as usize;
            };
            for word in words {
                add(u64::from_le_bytes(word.map(i8::cast_unsigned)));
            }
            if !rest.is_empty() {
                let mut last = [u8::MAX; 8];
                last.iter_mut().zip(rest).for_each(|(byte, verdict)| *byte = verdict.cast_unsigned());
                add(u64::from_le_bytes(last));
            }
            if let Some(tasks) = cells.get_mut(either * (size + 1) + top) {
                *tasks += 1;
            }
        }
    }
}

/// Rows of scores.
struct Reached<'a, T> {
    scores: &'a [T],
    kinds: &'a Kinds,
    size: usize,
    cells: &'a mut [u64],
}

impl<T: Copy + Into<f64>> Kernel for Reached<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        let Self { scores, kinds, size, cells } = self;
        for row in scores.chunks_exact(size.max(1)) {
            let (mut top, mut either) = (0, 0);
            for &score in row {
                let score: f64 = score.into();
                top += usize::from(kinds.reached(score));
                either += usize::from(!score.is_nan());
            }
            if let Some(tasks) = cells.get_mut(either * (size + 1) + top) {
                *tasks += 1;
            }
        }
    }
}
