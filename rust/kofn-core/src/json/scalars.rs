//! What each kind of value means, scalar by scalar.

use super::cursor::Text;
use super::fault::{Checked, Fault, nearest, shown};
use super::mapping::Target;
use super::native::Recorder;
use super::number::Scalar;
use crate::batch::{Status, Value, Verdict};
use crate::names::{Dictionary, IdKind};

const STATUSES: [(&str, Status); 6] = [
    ("succeeded", Status::Succeeded),
    ("completed", Status::Succeeded),
    ("errored", Status::Errored),
    ("cancelled", Status::Cancelled),
    ("canceled", Status::Cancelled),
    ("unfinished", Status::Unfinished),
];
const VERDICTS: [(&str, Verdict); 11] = [
    ("pass", Verdict::Pass),
    ("fail", Verdict::Fail),
    ("indeterminate", Verdict::Indeterminate),
    ("passed", Verdict::Pass),
    ("failed", Verdict::Fail),
    ("error", Verdict::Indeterminate),
    ("errored", Verdict::Indeterminate),
    ("timeout", Verdict::Indeterminate),
    ("skipped", Verdict::Indeterminate),
    ("unknown", Verdict::Indeterminate),
    ("inconclusive", Verdict::Indeterminate),
];
/// Indices stay signed 64-bit integers in every table library.
const MAX_INDEX: u64 = i64::MAX as u64;

/// What may stand for a target, for messages.
pub(crate) fn expected(target: &Target) -> &'static str {
    match target {
        Target::Task => "text or an integer",
        Target::Index { .. } => "an integer from 0",
        Target::Error | Target::VerifierError => "text or an object",
        Target::Duration { .. } => "a number of seconds",
        Target::InputTokens
        | Target::CachedTokens
        | Target::OutputTokens
        | Target::TotalTokens
        | Target::ToolCalls
        | Target::ToolErrors => "a whole number",
        Target::Score { .. } => "a number or a bool",
        Target::Passed | Target::Required | Target::CheckPassed { .. } => "true or false (or 1 or 0)",
        Target::Value => "a number, a bool or text",
        _ => "text",
    }
}

/// The meaning of a word of the format; another word is a fault that names the nearest.
fn meaning<'w, T: Copy + 'w>(
    found: &str,
    words: impl Iterator<Item = (&'w str, T)> + Clone,
    kind: &str,
    listed: &str,
) -> Checked<T> {
    if let Some((_, meaning)) = words.clone().find(|(word, _)| *word == found) {
        return Ok(meaning);
    }
    let found_shown = shown(found, 60);
    Err(Fault::new(match nearest(found, words.map(|(word, _)| word)) {
        Some(word) => format!("\"{found_shown}\" is no {kind}; did you mean \"{word}\"? ({listed})"),
        None => format!("\"{found_shown}\" is no {kind} ({listed})"),
    }))
}

fn listed<T>(words: &[(String, T)]) -> String {
    let words: Vec<&str> = words.iter().map(|(word, _)| word.as_str()).collect();
    format!("the words are {}", words.join(", "))
}

fn pairs<T: Copy>(words: &[(String, T)]) -> impl Iterator<Item = (&str, T)> + Clone {
    words.iter().map(|(word, meaning)| (word.as_str(), *meaning))
}

impl Recorder {
    /// A scalar that is not null stands where `target` says what it means.
    pub fn scalar(
        &mut self,
        target: &Target,
        scalar: Scalar<'_>,
        key: Text<'_>,
        dictionary: &mut Dictionary,
    ) -> Checked<()> {
        match target {
            Target::Task => self.task(scalar)?,
            Target::Index { base } => self.rollout.index = Some(index(scalar, *base)?),
            Target::Status { words } => self.rollout.status = Some(status(self.text(target, scalar)?, words)?),
            Target::Error | Target::VerifierError => {
                self.text(target, scalar)?;
                self.broke(target);
            }
            Target::Duration { seconds } => self.duration(scalar, *seconds)?,
            Target::InputTokens => add(&mut self.rollout.input, count(target, scalar)?)?,
            Target::CachedTokens => add(&mut self.rollout.cached, count(target, scalar)?)?,
            Target::OutputTokens => add(&mut self.rollout.output, count(target, scalar)?)?,
            Target::TotalTokens => add(&mut self.rollout.total, count(target, scalar)?)?,
            Target::ToolCalls => same(&mut self.rollout.tool_calls, count(target, scalar)?)?,
            Target::ToolErrors => same(&mut self.rollout.tool_errors, count(target, scalar)?)?,
            Target::Tag => {
                let value = dictionary.texts.intern(self.text(target, scalar)?);
                let name = dictionary.texts.intern(key.decode(&mut self.scratch)?);
                self.batch.tags.name.push(name);
                self.batch.tags.value.push(value);
            }
            Target::Score { words } => self.score(target, scalar, words)?,
            Target::Passed => {
                let passed = scalar.flag().ok_or_else(|| scalar.not(expected(target)))?;
                self.draft().passed = Some(passed);
            }
            Target::Verdict { words } => {
                let verdict = verdict(self.text(target, scalar)?, words)?;
                self.draft().verdict = Some(verdict);
            }
            Target::Name => {
                let name = self.text(target, scalar)?;
                if name.is_empty() {
                    return Err(Fault::new("a verification's name is empty"));
                }
                self.nested.name = Some(dictionary.texts.intern(name));
            }
            Target::Projection | Target::Decision => {
                if self.text(target, scalar)?.is_empty() {
                    return Err(Fault::new("is empty; leave it out for the default rule"));
                }
                let draft = self.draft();
                draft.score_stands |= *target == Target::Projection;
                draft.verdict_stands |= *target == Target::Decision;
            }
            Target::RequiredKind => {
                let kind = self.text(target, scalar)?.to_owned();
                self.draft().required_kinds.push(kind);
            }
            Target::Label => {
                let keep = self.needs.checks;
                let label = self.text(target, scalar)?;
                if label.is_empty() {
                    return Err(Fault::new("a check's label is empty"));
                }
                // Without columns for them, labels are only checked to be text.
                self.check.label = Some(if keep { dictionary.texts.intern(label) } else { 0 });
            }
            Target::Required => self.check.required = scalar.flag().ok_or_else(|| scalar.not(expected(target)))?,
            Target::CheckPassed { words } => self.check.passed = Some(self.check_passed(target, scalar, words)?),
            Target::Subject => self.reading.subject = Some(dictionary.texts.intern(self.text(target, scalar)?)),
            Target::Metric => {
                let metric = self.text(target, scalar)?;
                if metric.is_empty() {
                    return Err(Fault::new("a reading's metric is empty"));
                }
                self.reading.metric = Some(dictionary.texts.intern(metric));
            }
            Target::Value => {
                self.reading.value = match scalar {
                    Scalar::Number(number) => number.finite()?.map(|value| Value::Number(value + 0.0)),
                    Scalar::Bool(value) => Some(Value::Bool(value)),
                    Scalar::Text(_) => Some(Value::Text(dictionary.texts.intern(self.text(target, scalar)?))),
                };
            }
            // What opens a scope or is ignored has no scalar form.
            _ => return Err(scalar.not("an object")),
        }
        Ok(())
    }

    /// The scalar as text.
    fn text<'s>(&'s mut self, target: &Target, scalar: Scalar<'s>) -> Checked<&'s str> {
        match scalar {
            Scalar::Text(text) => text.decode(&mut self.scratch),
            _ => Err(scalar.not(expected(target))),
        }
    }

    /// A task's id (spec 1).
    fn task(&mut self, scalar: Scalar<'_>) -> Checked<()> {
        self.task.clear();
        self.same_task = false;
        let (kind, text) = id(&scalar, &mut self.scratch)?;
        self.task.push_str(text);
        self.rollout.kind = Some(kind);
        Ok(())
    }

    /// A task's id that is text, and not empty.
    #[inline]
    pub(super) fn text_task(&mut self, id: &str) {
        self.rollout.kind = Some(IdKind::Text);
        self.same_task = self.last.as_ref().is_some_and(|(last, kind, _)| *kind == IdKind::Text && last == id);
        if !self.same_task {
            self.task.clear();
            self.task.push_str(id);
        }
    }

    fn duration(&mut self, scalar: Scalar<'_>, seconds: f64) -> Checked<()> {
        let Scalar::Number(number) = scalar else { return Err(scalar.not("a number of seconds")) };
        if let Some(value) = number.finite()?
            && self.lasted(value * seconds).is_none()
        {
            return Err(Fault::new(format!("a duration of {} is negative", scalar.shown())));
        }
        Ok(())
    }

    /// A duration; none that is too negative for clock skew.
    #[inline]
    pub(super) fn lasted(&mut self, seconds: f64) -> Option<()> {
        if seconds < -1.0 {
            return None;
        }
        self.rollout.duration = Some(seconds + 0.0);
        Some(())
    }

    fn score(&mut self, target: &Target, scalar: Scalar<'_>, words: &[(String, f64)]) -> Checked<()> {
        let score = match scalar {
            Scalar::Bool(value) => Some(f64::from(u8::from(value))),
            Scalar::Number(number) => number.finite()?,
            Scalar::Text(_) if words.is_empty() => return Err(scalar.not("a number or a bool: scores are never text")),
            Scalar::Text(_) => Some(meaning(self.text(target, scalar)?, pairs(words), "score", &listed(words))?),
        };
        score.map_or(Ok(()), |score| self.scored(score))
    }

    /// A score of the verification that is open, or of the rollout.
    pub(super) fn scored(&mut self, score: f64) -> Checked<()> {
        let range = self.range;
        self.draft().set_score(score, range)?;
        let (low, high) = self.rollout.scores.unwrap_or((score, score));
        self.rollout.scores = Some((low.min(score), high.max(score)));
        Ok(())
    }

    fn check_passed(&mut self, target: &Target, scalar: Scalar<'_>, words: &[(String, bool)]) -> Checked<bool> {
        match scalar {
            Scalar::Text(_) if !words.is_empty() => {
                meaning(self.text(target, scalar)?, pairs(words), "result of a check", &listed(words))
            }
            _ => scalar.flag().ok_or_else(|| {
                scalar.not("true or false (or 1 or 0): whether a check passed is never guessed from other values")
            }),
        }
    }
}

/// A task's id: text, or an integer as its decimal text.
pub(crate) fn id<'s, 'a: 's>(scalar: &Scalar<'a>, scratch: &'s mut String) -> Checked<(IdKind, &'s str)> {
    match scalar {
        Scalar::Text(text) => {
            let text = text.decode(scratch)?;
            if text.is_empty() { Err(Fault::new("a task's id is empty")) } else { Ok((IdKind::Text, text)) }
        }
        Scalar::Number(number) if number.integer => {
            Ok((IdKind::Integer, if number.raw == "-0" { "0" } else { number.raw }))
        }
        _ => Err(scalar.not("a task's id: that is text or an integer")),
    }
}

fn index(scalar: Scalar<'_>, base: u64) -> Checked<u64> {
    let value = match scalar {
        Scalar::Number(number) if number.integer => number.raw.parse::<u64>().ok(),
        _ => None,
    };
    match value {
        Some(value) if value <= MAX_INDEX && value >= base => Ok(value - base),
        Some(_) => Err(scalar.not(&format!("a rollout's index: that is an integer from {base} to 2^63 - 1"))),
        None => Err(scalar.not(&format!("a rollout's index: that is an integer from {base}"))),
    }
}

pub(super) fn status(found: &str, words: &[(String, Status)]) -> Checked<Status> {
    if !words.is_empty() {
        return meaning(found, pairs(words), "status", &listed(words));
    }
    if found == "failed" {
        return Err(Fault::new(
            "\"failed\" is ambiguous; write \"errored\" if the rollout itself broke, or \"succeeded\" with a verdict \"fail\" if it ran and did not pass",
        ));
    }
    meaning(found, STATUSES.into_iter(), "status", "succeeded, errored, cancelled or unfinished")
}

fn verdict(found: &str, words: &[(String, Verdict)]) -> Checked<Verdict> {
    if words.is_empty() {
        meaning(found, VERDICTS.into_iter(), "verdict", "pass, fail or indeterminate")
    } else {
        meaning(found, pairs(words), "verdict", &listed(words))
    }
}

/// A whole number >= 0; none for NaN.
fn count(target: &Target, scalar: Scalar<'_>) -> Checked<Option<i64>> {
    match scalar {
        Scalar::Number(number) => number.count(),
        _ => Err(scalar.not(expected(target))),
    }
}

/// Token counts of several models add up.
fn add(sum: &mut Option<i64>, more: Option<i64>) -> Checked<()> {
    if let Some(more) = more {
        *sum = Some(sum.unwrap_or(0).checked_add(more).ok_or_else(|| Fault::new("the sum of tokens overflows"))?);
    }
    Ok(())
}

/// Two spellings of one count agree.
fn same(known: &mut Option<i64>, value: Option<i64>) -> Checked<()> {
    match value.and_then(|now| Some((known.replace(now)?, now))) {
        Some((before, now)) if before != now => {
            Err(Fault::new(format!("{now} contradicts {before}, recorded under the other spelling")))
        }
        _ => Ok(()),
    }
}
