//! Grading millions of rollouts given as arrays.

use std::ops::Range;

use super::block::{self, Usual};
use super::count::{are_flags, count};
use super::{Counts, OnUngradable, share, ungradable};
use crate::error::{Error, Result};
use crate::{arch, threads};

/// Rollouts that one thread grades at a time: some megabytes. What is less is not worth a second thread.
const PART: usize = 1 << 18;

/// Columns that a batch of grades is written to, one entry a rollout each.
#[derive(Debug)]
pub struct Columns<'a> {
    /// Every required check passed: 0 or 1.
    pub passed: &'a mut [u8],
    /// Checks passed / checks recorded; NaN where indeterminate.
    pub reward: &'a mut [f64],
    /// How many required checks failed.
    pub failed_required: &'a mut [u32],
    /// No check is required (0 or 1).
    pub indeterminate: &'a mut [u8],
}

impl Columns<'_> {
    fn check_rows(&self, rows: usize) -> Result<()> {
        let lengths = [
            ("passed", self.passed.len()),
            ("reward", self.reward.len()),
            ("n_failed_required", self.failed_required.len()),
            ("indeterminate", self.indeterminate.len()),
        ];
        for (name, length) in lengths {
            if length != rows {
                return Err(Error::argument("out", format!("{name} has {length} entries for {rows} rollouts")));
            }
        }
        Ok(())
    }

    /// Some of the rows, which all columns have.
    #[inline]
    pub(super) fn rows(&mut self, rows: Range<usize>) -> Columns<'_> {
        Columns {
            passed: &mut self.passed[rows.clone()],
            reward: &mut self.reward[rows.clone()],
            failed_required: &mut self.failed_required[rows.clone()],
            indeterminate: &mut self.indeterminate[rows],
        }
    }

    /// All rows in parts of [`PART`], each with its first row.
    fn parts(&mut self) -> Vec<(usize, Columns<'_>)> {
        let columns = (self.passed.chunks_mut(PART).zip(self.reward.chunks_mut(PART)))
            .zip(self.failed_required.chunks_mut(PART).zip(self.indeterminate.chunks_mut(PART)));
        let part = |((passed, reward), (failed_required, indeterminate))| Columns {
            passed,
            reward,
            failed_required,
            indeterminate,
        };
        columns.map(part).enumerate().map(|(at, part)| (at * PART, part)).collect()
    }

    /// Write a grade, or that there is none.
    fn write(&mut self, row: usize, counts: Counts) {
        let gradable = counts.required != 0;
        self.passed[row] = u8::from(gradable && counts.failed_required == 0);
        self.reward[row] = if gradable { share(counts.passed, counts.recorded) } else { f64::NAN };
        self.failed_required[row] = u32::try_from(counts.failed_required).unwrap_or(u32::MAX);
        self.indeterminate[row] = u8::from(!gradable);
    }
}

/// An integer type of offsets.
pub trait Offset: Copy + Sync {
    /// As an index; none if negative or beyond the address space.
    fn index(self) -> Option<usize>;
    /// As a number that is the larger for being negative.
    fn word(self) -> u64;
}

macro_rules! offset {
    ($($type:ty: $word:expr),*) => {$(
        impl Offset for $type {
            #[inline]
            fn index(self) -> Option<usize> {
                usize::try_from(self).ok()
            }

            #[inline(always)]
            fn word(self) -> u64 {
                $word(self)
            }
        }
    )*};
}
offset!(u32: u64::from, i32: |offset| i64::from(offset).cast_unsigned(), u64: u64::from, i64: i64::cast_unsigned);

/// Where rollouts' checks stand in the columns.
pub(super) trait Segments: Copy + Sync {
    /// The first check of a rollout, and the end of the one before it.
    fn start(self, row: usize) -> u64;

    /// The most checks of a rollout among these; more than there are where offsets fall.
    fn longest(self, rows: Range<usize>) -> u64;
}

impl<O: Offset> Segments for &[O] {
    #[inline(always)]
    fn start(self, row: usize) -> u64 {
        self[row].word()
    }

    #[inline(always)]
    fn longest(self, rows: Range<usize>) -> u64 {
        // Two slices, whose ends are checked once: compilers make vectors of that.
        let ends = self[rows.start + 1..=rows.end].iter();
        let lengths = self[rows].iter().zip(ends).map(|(start, end)| end.word().wrapping_sub(start.word()));
        lengths.fold(0, |longest, length| if length > longest { length } else { longest })
    }
}

/// Rows of so many checks.
#[derive(Clone, Copy)]
struct Rows(u64);

impl Segments for Rows {
    #[inline(always)]
    fn start(self, row: usize) -> u64 {
        self.0 * row as u64
    }

    #[inline(always)]
    fn longest(self, _rows: Range<usize>) -> u64 {
        self.0
    }
}

/// Whether checks are required.
#[derive(Clone, Copy)]
pub(super) enum Required<'a> {
    /// One flag a check.
    Each(&'a [u8]),
    /// One row of flags for all rollouts.
    Shared(&'a [u8]),
}

/// Grade rollouts given as CSR arrays: rollout `i` owns the checks `offsets[i]..offsets[i + 1]`.
///
/// `passed` and `required` hold 0 or 1, one entry a check; anything else is an error, as are offsets that do not
/// rise from 0 to the number of checks.
pub fn grade_csr<O: Offset>(
    passed: &[u8],
    required: &[u8],
    offsets: &[O],
    on_ungradable: OnUngradable,
    out: &mut Columns<'_>,
) -> Result<()> {
    if passed.len() != required.len() {
        return Err(Error::argument(
            "required",
            format!(
                "{} entries for {} checks; with offsets both are 1-D and equally long",
                required.len(),
                passed.len()
            ),
        ));
    }
    let checks = passed.len();
    let (Some(first), Some(last)) = (offsets.first(), offsets.last()) else {
        return Err(Error::argument("offsets", "the array is empty; R rollouts have R + 1 offsets"));
    };
    if first.index() != Some(0) {
        return Err(Error::argument("offsets", "the first offset is not 0"));
    }
    if last.index() != Some(checks) {
        return Err(Error::argument("offsets", format!("the last offset is not {checks}, the number of checks")));
    }
    out.check_rows(offsets.len() - 1)?;
    match fill(passed, Required::Each(required), on_ungradable, out, offsets)? {
        Some(row) => Err(Error::argument(
            "offsets",
            format!("offset {} falls below the one before or lies beyond the {checks} checks", row + 1),
        )),
        None => Ok(()),
    }
}

/// Grade rollouts given as a row-major matrix of `columns` checks each; `required` holds one row for all rollouts,
/// or one a rollout.
pub fn grade_rows(
    passed: &[u8],
    required: &[u8],
    columns: usize,
    on_ungradable: OnUngradable,
    out: &mut Columns<'_>,
) -> Result<()> {
    let rows = out.passed.len();
    out.check_rows(rows)?;
    if rows.checked_mul(columns) != Some(passed.len()) {
        return Err(Error::argument("passed", format!("{} entries are not {rows} rows of {columns}", passed.len())));
    }
    let required = if required.len() == columns {
        Required::Shared(required)
    } else if required.len() == passed.len() {
        Required::Each(required)
    } else {
        return Err(Error::argument(
            "required",
            format!("{} entries: neither one a check ({columns}) nor one a rollout and check", required.len()),
        ));
    };
    fill(passed, required, on_ungradable, out, Rows(columns as u64)).map(drop)
}

/// Why grading stops before the end.
enum Stop {
    /// The segment of the row does not lie in the columns.
    Outside(usize),
    /// The row, which has so many checks, cannot be graded and must not be kept.
    Ungradable(usize, u64),
}

/// Grade every row of `out`; the first row whose segment does not lie in the columns, if there is one.
fn fill(
    passed: &[u8],
    required: Required<'_>,
    on_ungradable: OnUngradable,
    out: &mut Columns<'_>,
    segments: impl Segments,
) -> Result<Option<usize>> {
    let raise = on_ungradable == OnUngradable::Raise;
    let parts = threads::map(out.parts(), |(first, out)| part(passed, required, raise, out, first, segments));
    // What comes first is told first, whichever thread met it when.
    let mut seen = 0;
    for (bytes, stop) in parts {
        seen |= bytes;
        match stop {
            None => {}
            Some(Stop::Outside(row)) => return Ok(Some(row)),
            Some(Stop::Ungradable(row, recorded)) => {
                refuse_other_bytes(seen, passed, required)?;
                return Err(ungradable(Some(row), recorded));
            }
        }
    }
    refuse_other_bytes(seen, passed, required)?;
    Ok(None)
}

/// Grade the rows of `out`, which starts at `offset`: bits of bytes that are no flags, and why it stopped.
fn part<S: Segments>(
    passed: &[u8],
    required: Required<'_>,
    raise: bool,
    mut out: Columns<'_>,
    offset: usize,
    segments: S,
) -> (u64, Option<Stop>) {
    let rows = out.passed.len();
    let (mut row, mut seen) = (0, 0);
    while row < rows {
        row = arch::run(Usual { passed, required, segments, raise, out: &mut out, offset, first: row });
        // A block that is unusual somewhere, row by row.
        for row in row..rows.min(row + block::ROWS) {
            let at = offset + row;
            let Some((p, r)) = checks(passed, required, segments.start(at), segments.start(at + 1)) else {
                return (seen, Some(Stop::Outside(at)));
            };
            let counts = count(p, r, &mut seen);
            if counts.required == 0 && raise {
                return (seen, Some(Stop::Ungradable(at, counts.recorded)));
            }
            out.write(row, counts);
        }
        row += block::ROWS;
    }
    (seen, None)
}

/// The checks of one rollout; none if it lies beyond the columns.
fn checks<'a>(passed: &'a [u8], required: Required<'a>, start: u64, end: u64) -> Option<(&'a [u8], &'a [u8])> {
    let range = usize::try_from(start).ok()?..usize::try_from(end).ok()?;
    let passed = passed.get(range.clone())?;
    match required {
        Required::Each(required) => Some((passed, required.get(range)?)),
        Required::Shared(required) => Some((passed, required.get(..passed.len())?)),
    }
}

/// Refuse the batch if anything but 0 and 1 was read.
fn refuse_other_bytes(seen: u64, passed: &[u8], required: Required<'_>) -> Result<()> {
    if are_flags(seen) {
        return Ok(());
    }
    let (Required::Each(required) | Required::Shared(required)) = required;
    for (name, flags) in [("passed", passed), ("required", required)] {
        if let Some(at) = flags.iter().position(|&flag| flag > 1) {
            return Err(Error::argument(name, format!("entry {at} is {}; a check is 0 or 1", flags[at])));
        }
    }
    Ok(())
}
