//! Grading: the one place where checks become `passed` and `reward` (spec 2).
//!
//! A rollout passes when every required check passed; its reward is checks passed / checks recorded. Single rollouts
//! go through [`grade`], millions through [`grade_csr`] and [`grade_rows`]: the arithmetic is [`Counts`] in all three.

mod batch;
mod block;
mod count;
#[cfg(test)]
mod tests;

use crate::error::Error;

pub use batch::{Columns, Offset, grade_csr, grade_rows};

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

/// `passed / recorded`, which is not 0; both are exact in f64, so it is the correctly rounded quotient.
#[inline]
fn share(passed: u64, recorded: u64) -> f64 {
    passed as f64 / recorded as f64
}

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
