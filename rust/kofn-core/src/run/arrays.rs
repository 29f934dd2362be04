//! A run made of the arrays of a training loop.

use super::Run;
use crate::batch::{Batch, Checks, NO_COUNT, NO_INDEX, Origin, Readings, Status, Tags, Verdict, Verifications};
use crate::error::{Error, Result};
use crate::names::{Dictionary, IdKind, Names, Tasks};
use crate::tally::Arrays;

/// The verification that a rollout's verdict and score form, as at the top level of the native form.
const VERIFIER: &str = "verifier";

impl Run {
    /// Rollouts without an index, all `succeeded`, each with at most one verification named `verifier`; `arrays.by` is
    /// not looked at.
    pub fn from_arrays(arrays: &Arrays<'_>, names: &Names, kind: IdKind) -> Result<Self> {
        arrays.check()?;
        let tasks = Tasks { names: names.clone(), kind: Some(kind), ..Tasks::default() };
        let mut dictionary = Dictionary { tasks, ..Dictionary::default() };
        let verifier = dictionary.texts.intern(VERIFIER);
        let len = arrays.task.len();
        let mut run = Self::default();
        let mut verifications = Verifications { offsets: vec![0], ..Verifications::default() };
        let mut ends = 0;
        for i in 0..len {
            let valid = arrays.valid.get(i) != Some(&false);
            let verdict = match arrays.passed.get(i) {
                Some(1) => Verdict::Pass,
                Some(0) => Verdict::Fail,
                _ => Verdict::Absent,
            };
            let score = arrays.scores.get(i).unwrap_or(f64::NAN);
            if valid && (verdict != Verdict::Absent || !score.is_nan()) {
                verifications.name.push(verifier);
                verifications.score.push(score);
                verifications.verdict.push(verdict);
                ends += 1;
            }
            verifications.offsets.push(ends);
        }
        let mut duration = arrays.durations.to_vec();
        for seconds in duration.iter_mut().filter(|seconds| **seconds < 0.0) {
            *seconds = f64::NAN;
            run.reading.skewed_durations += 1;
        }
        let none = vec![0; len + 1];
        let nested = vec![0; verifications.name.len() + 1];
        run.batches.push(Batch {
            task: arrays.task.each().into_owned(),
            index: vec![NO_INDEX; len],
            status: vec![Status::Succeeded; len],
            verifications,
            checks: Checks { offsets: nested.clone(), ..Checks::default() },
            readings: Readings { offsets: nested, ..Readings::default() },
            tags: Tags { offsets: none, ..Tags::default() },
            duration: if duration.is_empty() { vec![f64::NAN; len] } else { duration },
            tokens: if arrays.tokens.is_empty() { vec![NO_COUNT; len] } else { arrays.tokens.to_vec() },
            tool_calls: vec![NO_COUNT; len],
            tool_errors: vec![NO_COUNT; len],
            origin: vec![Origin::default(); len],
            hash: Vec::new(),
        });
        run.dictionary = dictionary;
        if len == 0 {
            return Err(Error::NoRollouts { sources: vec!["the arrays".to_owned()], notes: Vec::new() });
        }
        Ok(run)
    }
}
