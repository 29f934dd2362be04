//! One verification while its fields arrive, and what follows from them (spec 3.2, 3.6 to 3.8, 6.6).

use super::fault::{Checked, Fault};
use crate::batch::{Batch, PASSED, REQUIRED, Value, Verdict};
use crate::checks::{Grade, grade};

/// Recorded scores agree with the reward to this: files round to two digits. The little more is for the rounding of
/// the difference itself.
const AGREEMENT: f64 = 0.005 + 1e-12;

/// What was recorded so far.
#[derive(Debug, Default)]
pub(crate) struct Draft {
    pub name: Option<u32>,
    pub score: Option<f64>,
    pub verdict: Option<Verdict>,
    pub passed: Option<bool>,
    /// A projection is named: the recorded score stands.
    pub score_stands: bool,
    /// A decision rule is named: the recorded verdict stands.
    pub verdict_stands: bool,
    /// A list of checks was recorded, perhaps an empty one.
    pub checks: bool,
    /// Flags of each check, as in `batch::Checks`.
    pub flags: Vec<u8>,
    /// Labels of the checks; empty where the plan does not keep them.
    pub labels: Vec<u32>,
    /// Checks that are required if their kind is.
    pub kinds: Vec<(usize, String)>,
    /// The kinds that are.
    pub required_kinds: Vec<String>,
    /// Subject, metric, value.
    pub readings: Vec<(u32, u32, Value)>,
}

impl Draft {
    /// Forget everything, keep the buffers.
    pub fn clear(&mut self) {
        self.name = None;
        self.score = None;
        self.verdict = None;
        self.passed = None;
        self.score_stands = false;
        self.verdict_stands = false;
        self.checks = false;
        self.flags.clear();
        self.labels.clear();
        self.kinds.clear();
        self.required_kinds.clear();
        self.readings.clear();
    }

    /// The first of its fields that was recorded, if any was.
    pub fn recorded(&self) -> Option<&'static str> {
        if self.checks || !self.flags.is_empty() {
            Some("checks")
        } else if self.score.is_some() {
            Some("score")
        } else if self.verdict.is_some() {
            Some("verdict")
        } else if self.passed.is_some() {
            Some("passed")
        } else if !self.readings.is_empty() {
            Some("readings")
        } else {
            None
        }
    }

    /// Take another score of the same verification (`score` and `reward` are two spellings).
    pub fn set_score(&mut self, score: f64, range: Option<(f64, f64)>) -> Checked<()> {
        if let Some((low, high)) = range
            && !(low..=high).contains(&score)
        {
            return Err(Fault::new(format!("{score} lies outside the run's score_range [{low}, {high}]")));
        }
        if let Some(before) = self.score
            && before != score
        {
            return Err(Fault::new(format!("{score} contradicts the score {before} recorded beside it")));
        }
        self.score = Some(score);
        Ok(())
    }

    /// Settle score and verdict, and append the verification to the batch.
    pub fn push(&mut self, name: u32, batch: &mut Batch, keep_ungradable: bool) -> Checked<()> {
        let recorded = self.verdict()?;
        let (score, verdict) = if self.checks || !self.flags.is_empty() {
            self.require_kinds();
            let checks = self.flags.iter().map(|flags| (flags & REQUIRED != 0, flags & PASSED != 0));
            match grade(checks) {
                Some(grade) => self.graded(grade, recorded)?,
                None if keep_ungradable => (f64::NAN, Verdict::Indeterminate),
                None => return Err(self.ungradable()),
            }
        } else {
            (self.score.unwrap_or(f64::NAN), recorded.unwrap_or(Verdict::Absent))
        };
        let rows = &mut batch.verifications;
        rows.name.push(name);
        // One zero: -0.0 would be a second one for whoever counts distinct scores.
        rows.score.push(score + 0.0);
        rows.verdict.push(verdict);
        if !batch.checks.offsets.is_empty() {
            batch.checks.flags.extend_from_slice(&self.flags);
            batch.checks.label.extend_from_slice(&self.labels);
            batch.checks.offsets.push(length(batch.checks.flags.len())?);
        }
        if !batch.readings.offsets.is_empty() {
            for &(subject, metric, value) in &self.readings {
                batch.readings.subject.push(subject);
                batch.readings.metric.push(metric);
                batch.readings.value.push(value);
            }
            batch.readings.offsets.push(length(batch.readings.metric.len())?);
        }
        Ok(())
    }

    /// The recorded verdict; `passed` is short for one.
    fn verdict(&self) -> Checked<Option<Verdict>> {
        let short = self.passed.map(|passed| if passed { Verdict::Pass } else { Verdict::Fail });
        match (self.verdict, short) {
            (Some(verdict), Some(short)) if verdict != short => Err(Fault::new(format!(
                "passed is {} and contradicts the verdict \"{}\" recorded beside it",
                short == Verdict::Pass,
                verdict.word().unwrap_or_default()
            ))
            .under("passed")),
            (verdict, short) => Ok(verdict.or(short)),
        }
    }

    fn graded(&self, grade: Grade, recorded: Option<Verdict>) -> Checked<(f64, Verdict)> {
        let score = match self.score {
            _ if self.score_stands => self.score.unwrap_or(f64::NAN),
            Some(score) if (score - grade.reward).abs() > AGREEMENT => {
                return Err(Fault::new(format!(
                    "the recorded score {score} contradicts the checks, whose reward is {} ({} of {} passed); correct one of them, or name the projection that made the score",
                    rounded(grade.reward),
                    self.flags.iter().filter(|flags| **flags & PASSED != 0).count(),
                    self.flags.len(),
                ))
                .under("score"));
            }
            _ => grade.reward,
        };
        let derived = if grade.passed { Verdict::Pass } else { Verdict::Fail };
        let verdict = match recorded {
            Some(Verdict::Indeterminate) => Verdict::Indeterminate,
            _ if self.verdict_stands => recorded.unwrap_or(Verdict::Absent),
            Some(verdict) if verdict != derived => {
                return Err(Fault::new(format!(
                    "the recorded verdict \"{}\" contradicts the checks, which say \"{}\" ({} required failed); correct one of them, or name the decision rule that made the verdict",
                    verdict.word().unwrap_or_default(),
                    derived.word().unwrap_or_default(),
                    grade.failed_required,
                ))
                .under("verdict"));
            }
            _ => derived,
        };
        Ok((score, verdict))
    }

    fn require_kinds(&mut self) {
        for (check, kind) in &self.kinds {
            if (self.required_kinds.is_empty() || self.required_kinds.contains(kind))
                && let Some(flags) = self.flags.get_mut(*check)
            {
                *flags |= REQUIRED;
            }
        }
    }

    #[cold]
    fn ungradable(&self) -> Fault {
        let what = match self.flags.len() {
            0 => "the list of checks is empty".to_owned(),
            1 => "the one check is optional".to_owned(),
            n => format!("all {n} checks are optional"),
        };
        Fault::new(format!(
            "{what}, so nothing says whether it passed; mark at least one as required, or read with on_ungradable=\"indeterminate\""
        ))
        .under("checks")
    }
}

/// For messages: short where the value is short.
fn rounded(value: f64) -> f64 {
    (value * 1e4).round() / 1e4
}

/// An offset; a record with 2^32 entries is refused, not wrapped.
pub(crate) fn length(n: usize) -> Checked<u32> {
    u32::try_from(n).map_err(|_| Fault::new("more than 4,294,967,295 entries in one batch"))
}
