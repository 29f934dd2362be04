//! Grading millions of rollouts given as arrays.

use super::count::{SHORT, Segment, are_flags, count, count_short};
use super::{Counts, OnUngradable, share, ungradable};
use crate::error::{Error, Result};

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

    /// The first `rows` entries: that all columns are equally long is plain to see, for the compiler too.
    #[inline]
    fn first(&mut self, rows: usize) -> Columns<'_> {
        Columns {
            passed: &mut self.passed[..rows],
            reward: &mut self.reward[..rows],
            failed_required: &mut self.failed_required[..rows],
            indeterminate: &mut self.indeterminate[..rows],
        }
    }

    /// Write a grade, or that there is none, without a branch.
    #[inline]
    fn write(&mut self, row: usize, counts: Counts) {
        let gradable = counts.required != 0;
        self.passed[row] = u8::from(gradable && counts.failed_required == 0);
        self.reward[row] = share(counts.passed, if gradable { counts.recorded } else { 0 });
        self.failed_required[row] = u32::try_from(counts.failed_required).unwrap_or(u32::MAX);
        self.indeterminate[row] = u8::from(!gradable);
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
    let bad = fill(passed, required, on_ungradable, out, |row| {
        let start = offsets.get(row)?.index()?;
        let end = offsets.get(row + 1)?.index()?;
        Some(Segment { start, end, required_start: start })
    })?;
    match bad {
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
    let segment = |row: usize, step: usize| {
        let start = row * columns;
        Some(Segment { start, end: start + columns, required_start: row * step })
    };
    if required.len() == columns {
        // Padded, so that the few flags of all rollouts are read like those amid a long column.
        let padded = [required, &[0; SHORT]].concat();
        fill(passed, &padded, on_ungradable, out, |row| segment(row, 0))?;
    } else if required.len() == passed.len() {
        fill(passed, required, on_ungradable, out, |row| segment(row, columns))?;
    } else {
        return Err(Error::argument(
            "required",
            format!("{} entries: neither one a check ({columns}) nor one a rollout and check", required.len()),
        ));
    }
    Ok(())
}

/// Grade every row of `out`; the first row whose segment does not lie in the columns, if there is one.
fn fill(
    passed: &[u8],
    required: &[u8],
    on_ungradable: OnUngradable,
    out: &mut Columns<'_>,
    segment: impl Fn(usize) -> Option<Segment>,
) -> Result<Option<usize>> {
    let rows = out.passed.len();
    let (mut row, mut seen) = (0, 0);
    while row < rows {
        row = fill_short(passed, required, on_ungradable, out, &segment, row, &mut seen);
        while row < rows {
            let Some((p, r)) = segment(row).and_then(|segment| segment.of(passed, required)) else {
                return Ok(Some(row));
            };
            let counts = count(p, r, &mut seen);
            if counts.required == 0 && on_ungradable == OnUngradable::Raise {
                refuse_other_bytes(seen, passed, required)?;
                return Err(ungradable(Some(row), counts.recorded));
            }
            out.write(row, counts);
            row += 1;
            if p.len() <= SHORT {
                break; // More of its kind may follow.
            }
        }
    }
    refuse_other_bytes(seen, passed, required)?;
    Ok(None)
}

/// Grade short rollouts from `row` up to the first that is unusual: the row of that one.
///
/// A loop of its own, without a call or an error in it, because registers are what it is short of.
#[inline(never)]
fn fill_short(
    passed: &[u8],
    required: &[u8],
    on_ungradable: OnUngradable,
    out: &mut Columns<'_>,
    segment: impl Fn(usize) -> Option<Segment>,
    mut row: usize,
    seen: &mut u64,
) -> usize {
    let rows = out.passed.len();
    let mut out = out.first(rows);
    let raise = on_ungradable == OnUngradable::Raise;
    let mut bits = 0;
    while row < rows {
        let Some(counts) = segment(row).and_then(|segment| count_short(passed, required, &segment, &mut bits)) else {
            break;
        };
        if raise && counts.required == 0 {
            break;
        }
        out.write(row, counts);
        row += 1;
    }
    *seen |= bits;
    row
}

/// Refuse the batch if anything but 0 and 1 was read.
fn refuse_other_bytes(seen: u64, passed: &[u8], required: &[u8]) -> Result<()> {
    if are_flags(seen) {
        return Ok(());
    }
    for (name, flags) in [("passed", passed), ("required", required)] {
        if let Some(at) = flags.iter().position(|&flag| flag > 1) {
            return Err(Error::argument(name, format!("entry {at} is {}; a check is 0 or 1", flags[at])));
        }
    }
    Ok(())
}
