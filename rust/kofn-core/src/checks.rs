//! Grading: the one place where checks become `passed` and `reward` (spec 2).
//!
//! A rollout passes when every required check passed; its reward is checks passed / checks recorded. Single rollouts
//! go through [`grade`], millions through [`grade_csr`] and [`grade_rows`]: the arithmetic is [`Counts`] in all three.

use crate::error::{Error, Result};

/// What the checks of one rollout amount to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Grade {
    /// Every required check passed.
    pub passed: bool,
    /// Checks passed / checks recorded, in [0, 1].
    pub reward: f64,
    /// How many required checks failed.
    pub failed_required: u32,
}

/// What to do with a rollout that has no required check, an empty one included (spec 2.4, 2.7).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnUngradable {
    /// Stop with an error that names it.
    #[default]
    Raise,
    /// Keep it: not passed, no reward, marked indeterminate.
    Indeterminate,
}

/// Sufficient statistics of one rollout's checks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    recorded: u64,
    passed: u64,
    required: u64,
    failed_required: u64,
}

impl Counts {
    #[inline]
    fn grade(self) -> Option<Grade> {
        (self.required > 0).then(|| Grade {
            passed: self.failed_required == 0,
            // Both counts are exact in f64, so this is the correctly rounded quotient.
            reward: self.passed as f64 / self.recorded as f64,
            failed_required: u32::try_from(self.failed_required).unwrap_or(u32::MAX),
        })
    }
}

/// Grade one rollout's checks, each (required, passed); none if no check is required.
#[must_use]
pub fn grade(checks: impl Iterator<Item = (bool, bool)>) -> Option<Grade> {
    let mut counts = Counts::default();
    for (required, passed) in checks {
        counts.recorded += 1;
        counts.passed += u64::from(passed);
        counts.required += u64::from(required);
        counts.failed_required += u64::from(required && !passed);
    }
    counts.grade()
}

/// The error for checks without a required one.
#[must_use]
pub fn ungradable(index: Option<usize>, recorded: u64) -> Error {
    let what = match recorded {
        0 => "no checks were recorded".to_owned(),
        1 => "the only check is optional".to_owned(),
        n => format!("none of the {n} checks is required"),
    };
    let way_on = match index {
        Some(_) => "mark the decisive check as required, or pass on_ungradable=\"indeterminate\"",
        None => "mark the decisive check as required",
    };
    Error::Grading { index, problem: format!("{what}, so it cannot be graded; {way_on}") }
}

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
}

/// An integer type of offsets.
pub trait Offset: Copy + Sync {
    /// As an index; none if negative or beyond the address space.
    fn index(self) -> Option<usize>;
}

macro_rules! offset {
    ($($type:ty),*) => {$(
        impl Offset for $type {
            #[inline]
            fn index(self) -> Option<usize> {
                usize::try_from(self).ok()
            }
        }
    )*};
}
offset!(u32, i32, u64, i64);

const ONES: u64 = 0x0101_0101_0101_0101;

/// Eight bytes from `at`, those at or beyond `end` as 0.
#[inline]
fn word(bytes: &[u8], at: usize, end: usize) -> u64 {
    let live = end - at;
    let Some(eight) = bytes.get(at..).and_then(|rest| rest.first_chunk::<8>()) else {
        // The last few bytes of the column: one by one.
        return bytes[at..end].iter().take(8).rev().fold(0, |word, &byte| word << 8 | u64::from(byte));
    };
    let word = u64::from_le_bytes(*eight);
    if live >= 8 { word } else { word & ((1 << (8 * live)) - 1) }
}

/// The sum of eight bytes that are 0 or 1.
#[inline]
const fn sum(word: u64) -> u64 {
    word.wrapping_mul(ONES) >> 56
}

/// Count the checks `passed[at..end]`, whose required flags start at `required[required_at]`.
///
/// Eight checks a step, whole words instead of bytes: a rollout has few checks, so a loop over bytes would spend its
/// time on mispredicted ends. `seen` collects all bits read.
#[inline]
fn count(passed: &[u8], at: usize, end: usize, required: &[u8], required_at: usize, seen: &mut u64) -> Counts {
    let mut counts = Counts { recorded: (end - at) as u64, ..Counts::default() };
    let mut done = 0;
    while at + done < end {
        let p = word(passed, at + done, end);
        let r = word(required, required_at + done, required_at + (end - at));
        *seen |= p | r;
        counts.passed += sum(p);
        counts.required += sum(r);
        counts.failed_required += sum(r & !p);
        done += 8;
    }
    counts
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
    let mut writer = Writer { passed, required, on_ungradable, out, seen: 0 };
    let mut start = 0;
    for (row, offset) in offsets[1..].iter().enumerate() {
        let end = match offset.index() {
            Some(end) if start <= end && end <= checks => end,
            _ => {
                return Err(Error::argument(
                    "offsets",
                    format!("offset {} falls below the one before or lies beyond the {checks} checks", row + 1),
                ));
            }
        };
        let counts = count(passed, start, end, required, start, &mut writer.seen);
        writer.write(row, counts)?;
        start = end;
    }
    writer.finish()
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
    let step = if required.len() == columns {
        0
    } else if required.len() == passed.len() {
        columns
    } else {
        return Err(Error::argument(
            "required",
            format!("{} entries: neither one a check ({columns}) nor one a rollout and check", required.len()),
        ));
    };
    let mut writer = Writer { passed, required, on_ungradable, out, seen: 0 };
    for row in 0..rows {
        let at = row * columns;
        let counts = count(passed, at, at + columns, required, row * step, &mut writer.seen);
        writer.write(row, counts)?;
    }
    writer.finish()
}

/// Writes grades into columns and keeps what must be looked at when all are written.
struct Writer<'a, 'b> {
    passed: &'a [u8],
    required: &'a [u8],
    on_ungradable: OnUngradable,
    out: &'a mut Columns<'b>,
    seen: u64,
}

impl Writer<'_, '_> {
    #[inline]
    fn write(&mut self, row: usize, counts: Counts) -> Result<()> {
        let grade = counts.grade();
        if grade.is_none() && self.on_ungradable == OnUngradable::Raise {
            self.finish()?;
            return Err(ungradable(Some(row), counts.recorded));
        }
        self.out.indeterminate[row] = u8::from(grade.is_none());
        let grade = grade.unwrap_or(Grade { passed: false, reward: f64::NAN, failed_required: 0 });
        self.out.passed[row] = u8::from(grade.passed);
        self.out.reward[row] = grade.reward;
        self.out.failed_required[row] = grade.failed_required;
        Ok(())
    }

    /// The counts above hold for 0 and 1 alone: refuse the batch if anything else was read.
    fn finish(&self) -> Result<()> {
        if self.seen & !ONES == 0 {
            return Ok(());
        }
        for (name, flags) in [("passed", self.passed), ("required", self.required)] {
            if let Some(at) = flags.iter().position(|&flag| flag > 1) {
                return Err(Error::argument(name, format!("entry {at} is {}; a check is 0 or 1", flags[at])));
            }
        }
        Ok(())
    }
}

/// Whether a recorded score agrees with the reward its checks give: files round to two decimals (spec 3.6). The
/// slack beyond 0.005 is for binary rounding: 0.13 stands for 0.125.
#[must_use]
pub fn agrees(recorded: f64, reward: f64) -> bool {
    (recorded - reward).abs() <= 0.005 + 1e-12
}

/// Positions of the failed required checks among one rollout's checks, in recorded order.
#[must_use]
pub fn failed_required(passed: &[u8], required: &[u8]) -> Vec<usize> {
    let failed = |(&passed, &required): (&u8, &u8)| required != 0 && passed == 0;
    passed.iter().zip(required).enumerate().filter(|(_, flags)| failed(*flags)).map(|(at, _)| at).collect()
}
