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
    /// Not 0 if any check is required.
    required: u64,
    failed_required: u64,
}

impl Counts {
    #[inline]
    fn grade(self) -> Option<Grade> {
        (self.required > 0).then(|| Grade {
            passed: self.failed_required == 0,
            reward: share(self.passed, self.recorded),
            failed_required: u32::try_from(self.failed_required).unwrap_or(u32::MAX),
        })
    }
}

/// `passed / recorded`; both are exact in f64, so it is the correctly rounded quotient.
#[inline]
fn share(passed: u64, recorded: u64) -> f64 {
    // Converting and dividing takes longer than everything else about a short rollout.
    let small = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
    match SHARES.get(small(recorded)).and_then(|row| row.get(small(passed))) {
        Some(&share) => share,
        None => passed as f64 / recorded as f64,
    }
}

/// The quotients of small counts.
static SHARES: [[f64; 16]; 16] = {
    let mut table = [[0.0; 16]; 16];
    let mut recorded = 0;
    while recorded < 16 {
        let mut passed = 0;
        while passed < 16 {
            table[recorded][passed] = passed as f64 / recorded as f64;
            passed += 1;
        }
        recorded += 1;
    }
    table
};

/// Grade one rollout's checks, each (required, passed); none if no check is required.
#[must_use]
pub fn grade(checks: impl Iterator<Item = (bool, bool)>) -> Option<Grade> {
    let mut counts = Counts::default();
    for (required, passed) in checks {
        counts.recorded += 1;
        counts.passed += u64::from(passed);
        counts.required |= u64::from(required);
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

/// Up to eight bytes from `at`; those at or beyond `end` as 0.
#[inline]
fn word(bytes: &[u8], at: usize, end: usize) -> u64 {
    if let Some(eight) = bytes.get(at..at + 8).and_then(|eight| eight.first_chunk::<8>()) {
        // At least one byte is asked for; shifting the others out at the top leaves those below it.
        let surplus = 8usize.saturating_sub(end - at) & 7;
        let word = u64::from_le_bytes(*eight);
        return (word << (8 * surplus)) >> (8 * surplus);
    }
    // The last few bytes of the column: one by one.
    bytes[at..end].iter().take(8).rev().fold(0, |word, &byte| word << 8 | u64::from(byte))
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
    let recorded = end - at;
    let mut counts = Counts { recorded: recorded as u64, ..Counts::default() };
    let mut done = 0;
    while done < recorded {
        let p = word(passed, at + done, end);
        let r = word(required, required_at + done, required_at + recorded);
        *seen |= p | r;
        counts.passed += sum(p);
        counts.required |= r;
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
    let mut start = 0;
    let bad = fill(passed, required, on_ungradable, out, |row| {
        // Row i ends at offset i + 1, and starts where the one before it ended.
        let end = offsets.get(row + 1)?.index().filter(|&end| start <= end && end <= checks)?;
        let segment = Segment { at: start, end, required_at: start };
        start = end;
        Some(segment)
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
    fill(passed, required, on_ungradable, out, |row| {
        let at = row * columns;
        Some(Segment { at, end: at + columns, required_at: row * step })
    })?;
    Ok(())
}

/// Where one rollout's checks stand in the columns.
struct Segment {
    at: usize,
    end: usize,
    required_at: usize,
}

/// Grade every row of `out`; the first row without a segment, if there is one.
#[inline]
fn fill(
    passed: &[u8],
    required: &[u8],
    on_ungradable: OnUngradable,
    out: &mut Columns<'_>,
    mut segment: impl FnMut(usize) -> Option<Segment>,
) -> Result<Option<usize>> {
    let mut seen = 0;
    let flags = out.passed.iter_mut().zip(out.indeterminate.iter_mut());
    let figures = out.reward.iter_mut().zip(out.failed_required.iter_mut());
    for (row, ((pass, indeterminate), (reward, failed))) in flags.zip(figures).enumerate() {
        let Some(Segment { at, end, required_at }) = segment(row) else { return Ok(Some(row)) };
        let counts = count(passed, at, end, required, required_at, &mut seen);
        let grade = counts.grade();
        if grade.is_none() && on_ungradable == OnUngradable::Raise {
            refuse_other_bytes(seen, passed, required)?;
            return Err(ungradable(Some(row), counts.recorded));
        }
        *indeterminate = u8::from(grade.is_none());
        let grade = grade.unwrap_or(Grade { passed: false, reward: f64::NAN, failed_required: 0 });
        *pass = u8::from(grade.passed);
        *reward = grade.reward;
        *failed = grade.failed_required;
    }
    refuse_other_bytes(seen, passed, required)?;
    Ok(None)
}

/// The counts hold for 0 and 1 alone: refuse the batch if anything else was read.
fn refuse_other_bytes(seen: u64, passed: &[u8], required: &[u8]) -> Result<()> {
    if seen & !ONES == 0 {
        return Ok(());
    }
    for (name, flags) in [("passed", passed), ("required", required)] {
        if let Some(at) = flags.iter().position(|&flag| flag > 1) {
            return Err(Error::argument(name, format!("entry {at} is {}; a check is 0 or 1", flags[at])));
        }
    }
    Ok(())
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[derive(Debug, PartialEq)]
    struct Owned {
        passed: Vec<u8>,
        reward: Vec<u64>,
        failed: Vec<u32>,
        indeterminate: Vec<u8>,
    }

    fn run(rows: usize, work: impl FnOnce(&mut Columns<'_>) -> Result<()>) -> Result<Owned> {
        let (mut passed, mut reward, mut failed, mut indeterminate) =
            (vec![9; rows], vec![9.0; rows], vec![9; rows], vec![9; rows]);
        let mut columns = Columns {
            passed: &mut passed,
            reward: &mut reward,
            failed_required: &mut failed,
            indeterminate: &mut indeterminate,
        };
        work(&mut columns)?;
        Ok(Owned { passed, reward: reward.into_iter().map(f64::to_bits).collect(), failed, indeterminate })
    }

    fn csr(passed: &[u8], required: &[u8], offsets: &[i64], mode: OnUngradable) -> Result<Owned> {
        run(offsets.len().saturating_sub(1), |out| grade_csr(passed, required, offsets, mode, out))
    }

    fn expected(rollouts: &[Vec<(bool, bool)>]) -> Owned {
        let grades: Vec<_> = rollouts.iter().map(|checks| grade(checks.iter().copied())).collect();
        Owned {
            passed: grades.iter().map(|g| u8::from(g.is_some_and(|g| g.passed))).collect(),
            reward: grades.iter().map(|g| g.map_or(f64::NAN, |g| g.reward).to_bits()).collect(),
            failed: grades.iter().map(|g| g.map_or(0, |g| g.failed_required)).collect(),
            indeterminate: grades.iter().map(|g| u8::from(g.is_none())).collect(),
        }
    }

    fn flat(rollouts: &[Vec<(bool, bool)>]) -> (Vec<u8>, Vec<u8>, Vec<i64>) {
        let mut offsets = vec![0];
        let (mut passed, mut required) = (Vec::new(), Vec::new());
        for checks in rollouts {
            required.extend(checks.iter().map(|(r, _)| u8::from(*r)));
            passed.extend(checks.iter().map(|(_, p)| u8::from(*p)));
            offsets.push(i64::try_from(passed.len()).expect("a small test"));
        }
        (passed, required, offsets)
    }

    #[test]
    fn a_grade_is_required_checks_and_a_share() {
        let three_of_five = [(true, true), (true, false), (false, true), (false, true), (false, false)];
        let grade = grade(three_of_five.into_iter());
        assert_eq!(grade, Some(Grade { passed: false, reward: 0.6, failed_required: 1 }));
    }

    #[test]
    fn nothing_required_is_no_grade() {
        assert_eq!(grade(std::iter::empty()), None);
        assert_eq!(grade([(false, true)].into_iter()), None);
    }

    #[test]
    fn an_ungradable_rollout_is_named_or_marked() {
        let (passed, required) = ([1, 1, 1], [1, 0, 0]);
        let error = csr(&passed, &required, &[0, 1, 1, 3], OnUngradable::Raise).expect_err("rollout 1 is empty");
        assert!(matches!(error, Error::Grading { index: Some(1), .. }), "{error}");
        let marked = csr(&passed, &required, &[0, 1, 1, 3], OnUngradable::Indeterminate).expect("marked");
        assert_eq!(marked.indeterminate, [0, 1, 1]);
        assert_eq!(marked.passed, [1, 0, 0]);
        assert!(f64::from_bits(marked.reward[2]).is_nan());
    }

    #[test]
    fn offsets_are_checked() {
        let flags = [1; 4];
        for (offsets, word) in [
            (&[][..], "empty"),
            (&[1, 4], "first offset"),
            (&[0, 3], "last offset"),
            (&[0, 5], "last offset"),
            (&[0, 3, 2, 4], "offset 2 falls"),
            (&[0, 9, 4], "offset 1 falls"),
            (&[0, -1, 4], "offset 1 falls"),
            (&[0, i64::MAX, 4], "offset 1 falls"),
            (&[i64::MIN, 4], "first offset"),
        ] {
            let error = csr(&flags, &flags, offsets, OnUngradable::Raise).expect_err("bad offsets");
            assert!(error.to_string().contains(word), "{offsets:?}: {error}");
        }
    }

    #[test]
    fn lengths_are_checked() {
        assert!(csr(&[1, 1], &[1], &[0, 2], OnUngradable::Raise).is_err());
        assert!(run(3, |out| grade_csr(&[1], &[1], &[0u32, 1], OnUngradable::Raise, out)).is_err());
        assert!(run(2, |out| grade_rows(&[1, 1, 1], &[1], 1, OnUngradable::Raise, out)).is_err());
        assert!(run(2, |out| grade_rows(&[1, 1, 1, 1], &[1; 3], 2, OnUngradable::Raise, out)).is_err());
        assert!(run(2, |out| grade_rows(&[1, 1], &[1], usize::MAX, OnUngradable::Raise, out)).is_err());
    }

    #[test]
    fn bytes_other_than_0_and_1_are_refused_wherever_they_stand() {
        for at in 0..20 {
            for byte in [2, 128, 255] {
                let mut flags = [1u8; 20];
                flags[at] = byte;
                let error = csr(&flags, &[1; 20], &[0, 3, 20], OnUngradable::Raise).expect_err("no flag");
                assert!(error.to_string().contains(&format!("passed: entry {at} is {byte}")), "{error}");
                let error = csr(&[0; 20], &flags, &[0, 3, 20], OnUngradable::Indeterminate).expect_err("no flag");
                assert!(error.to_string().contains("required: entry"), "{error}");
            }
        }
    }

    #[test]
    fn scores_of_files_may_be_rounded() {
        assert!(agrees(0.67, 2.0 / 3.0) && agrees(0.13, 0.125) && agrees(0.12, 0.125));
        assert!(!agrees(0.66, 2.0 / 3.0) && !agrees(f64::NAN, 0.5) && !agrees(f64::INFINITY, 1.0));
    }

    #[test]
    fn positions_of_failed_required_checks() {
        assert_eq!(failed_required(&[0, 1, 0, 0], &[1, 1, 0, 1]), [0, 3]);
    }

    fn rollouts() -> impl Strategy<Value = Vec<Vec<(bool, bool)>>> {
        prop::collection::vec(prop::collection::vec(any::<(bool, bool)>(), 0..40), 0..30)
    }

    proptest! {
        #[test]
        fn csr_is_the_single_form(rollouts in rollouts()) {
            let (passed, required, offsets) = flat(&rollouts);
            let batch = csr(&passed, &required, &offsets, OnUngradable::Indeterminate).expect("valid");
            prop_assert_eq!(batch, expected(&rollouts));
        }

        #[test]
        fn rows_are_the_single_form(columns in 0usize..20, rows in 0usize..20, seed in any::<u64>()) {
            let bit = |i: usize| (seed.rotate_left(u32::try_from(i % 64).expect("small")) ^ i as u64).count_ones().is_multiple_of(2);
            let rollouts: Vec<Vec<_>> =
                (0..rows).map(|r| (0..columns).map(|c| (bit(r + 3 * c), bit(7 * r + c))).collect()).collect();
            let (passed, required, _) = flat(&rollouts);
            let full = run(rows, |out| grade_rows(&passed, &required, columns, OnUngradable::Indeterminate, out));
            prop_assert_eq!(full.expect("valid"), expected(&rollouts));
            // One row of required flags for all.
            let shared: Vec<_> = (0..columns).map(|c| u8::from(bit(c))).collect();
            let with_shared: Vec<Vec<_>> = rollouts
                .iter()
                .map(|checks| checks.iter().zip(&shared).map(|((_, p), r)| (*r == 1, *p)).collect())
                .collect();
            let one = run(rows, |out| grade_rows(&passed, &shared, columns, OnUngradable::Indeterminate, out));
            prop_assert_eq!(one.expect("valid"), expected(&with_shared));
        }

        #[test]
        fn hostile_offsets_never_panic(offsets in prop::collection::vec(any::<i64>(), 0..6), checks in 0usize..30) {
            let flags = vec![1; checks];
            let _ = csr(&flags, &flags, &offsets, OnUngradable::Indeterminate);
        }
    }
}
