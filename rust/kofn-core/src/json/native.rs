//! The recorder: field events of one record in, a row of the batch out, by the rules of spec 1, 3, 4, 6 and 7.

use super::cursor::Text;
use super::fault::{Checked, Fault};
use super::mapping::{Mapping, Required, Target};
use super::verification::Draft;
use crate::batch::{Batch, Origin, PASSED, REQUIRED, Status, Value};
use crate::header::Header;
use crate::names::{Dictionary, IdKind};
use crate::plan::Needs;

/// One check while its fields arrive.
#[derive(Debug, Default)]
pub(super) struct Check {
    pub(super) label: Option<u32>,
    pub(super) required: bool,
    pub(super) passed: Option<bool>,
}

/// One reading while its fields arrive.
#[derive(Debug, Default)]
pub(super) struct Reading {
    pub(super) subject: Option<u32>,
    pub(super) metric: Option<u32>,
    pub(super) value: Option<Value>,
}

/// Fields of the rollout itself.
#[derive(Debug, Default)]
pub(super) struct Rollout {
    pub(super) kind: Option<IdKind>,
    pub(super) index: Option<u64>,
    pub(super) status: Option<Status>,
    pub(super) error: bool,
    pub(super) duration: Option<f64>,
    pub(super) input: Option<i64>,
    pub(super) cached: Option<i64>,
    pub(super) output: Option<i64>,
    pub(super) total: Option<i64>,
    pub(super) tool_calls: Option<i64>,
    pub(super) tool_errors: Option<i64>,
    pub(super) header: Option<Box<Header>>,
    /// Lowest and highest recorded score.
    pub(super) scores: Option<(f64, f64)>,
}

/// A text that comes again and again, with its id in the dictionary of a moment.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Known {
    text: Box<str>,
    id: u32,
    /// The dictionary, by [`Recorder::dictionaries`]; 0 for none.
    dictionary: u64,
}

impl Known {
    pub fn new(text: &str) -> Self {
        Self { text: text.into(), id: 0, dictionary: 0 }
    }
}

/// Where a mapping keeps what messages must name without a value at hand.
#[derive(Debug)]
pub(super) struct Paths {
    pub(super) task: String,
    pub(super) total: String,
}

impl Paths {
    fn new(mapping: &Mapping) -> Self {
        let path = |target: &Target| {
            mapping
                .fields
                .iter()
                .find(|field| field.target == *target)
                .map(|field| field.path.clone())
                .unwrap_or_default()
        };
        Self { task: path(&Target::Task), total: path(&Target::TotalTokens) }
    }
}

/// What a record turned out to be.
#[derive(Debug)]
pub(crate) enum Record {
    Rollout,
    Header(Box<Header>),
}

/// How long the batch's nested columns were before a record.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Mark {
    verifications: usize,
    checks: usize,
    readings: usize,
    tags: usize,
}

/// Builds a batch, record by record; a bad record leaves no trace in it.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "options of the read, and one state")]
pub(crate) struct Recorder {
    pub batch: Batch,
    /// The score range that the source declared.
    pub range: Option<(f64, f64)>,
    /// The lowest and highest recorded score with their places, for a range that another source declares.
    pub extremes: Option<[(f64, Origin); 2]>,
    /// Durations that were clock skew, and usages of which only one half was recorded.
    pub skewed: u64,
    pub halves: u64,
    pub(super) needs: Needs,
    pub(super) keep_ungradable: bool,
    pub(super) error_means_errored: bool,
    pub(super) verifier: String,
    pub(super) rollout: Rollout,
    /// The task's id; decoded.
    pub(super) task: String,
    /// It is that of the record before, and `task` was not touched.
    pub(super) same_task: bool,
    /// The task of the record before: files list rollouts of a task together.
    pub(super) last: Option<(String, IdKind, u32)>,
    /// Paths for messages about what several fields say together.
    pub(super) paths: Paths,
    pub(super) hints: bool,
    pub(super) top: Draft,
    pub(super) nested: Draft,
    pub(super) inside: bool,
    pub(super) check: Check,
    pub(super) reading: Reading,
    pub(super) mark: Mark,
    pub(super) scratch: String,
    /// How many dictionaries there were so far.
    dictionaries: u64,
}

/// An empty batch with the columns that are needed.
fn columns(needs: Needs) -> Batch {
    let mut batch = Batch::default();
    batch.verifications.offsets.push(0);
    for (needed, offsets) in [
        (needs.checks, &mut batch.checks.offsets),
        (needs.readings, &mut batch.readings.offsets),
        (needs.tags, &mut batch.tags.offsets),
    ] {
        if needed {
            offsets.push(0);
        }
    }
    batch
}

impl Recorder {
    pub fn new(mapping: &Mapping, needs: Needs, keep_ungradable: bool) -> Self {
        Self {
            batch: columns(needs),
            range: None,
            extremes: None,
            skewed: 0,
            halves: 0,
            needs,
            keep_ungradable,
            error_means_errored: mapping.error_means_errored,
            verifier: mapping.verifier.clone(),
            rollout: Rollout::default(),
            task: String::new(),
            same_task: false,
            last: None,
            paths: Paths::new(mapping),
            hints: mapping.hints,
            top: Draft::default(),
            nested: Draft::default(),
            inside: false,
            check: Check::default(),
            reading: Reading::default(),
            mark: Mark::default(),
            scratch: String::new(),
            dictionaries: 0,
        }
    }

    /// For records of another dictionary, in a source whose scores lie in `range`; the batch was taken or is dropped.
    pub fn restart(&mut self, range: Option<(f64, f64)>) {
        if !self.batch.is_empty() {
            self.batch = columns(self.needs);
        }
        (self.range, self.extremes, self.last) = (range, None, None);
        (self.skewed, self.halves) = (0, 0);
        self.dictionaries += 1;
    }

    /// The id of a text that comes again and again.
    #[inline]
    pub(super) fn known(&self, text: &mut Known, dictionary: &mut Dictionary) -> u32 {
        if text.dictionary != self.dictionaries {
            (text.id, text.dictionary) = (dictionary.texts.intern(&text.text), self.dictionaries);
        }
        text.id
    }

    /// The id of a label; 0 where there are no columns for them.
    #[inline]
    pub(super) fn label(&self, label: &mut Known, dictionary: &mut Dictionary) -> u32 {
        if self.needs.checks { self.known(label, dictionary) } else { 0 }
    }

    /// The batch so far, leaving an empty one.
    pub fn take(&mut self) -> Batch {
        let mut next = columns(self.needs);
        next.reserve_like(&self.batch);
        std::mem::replace(&mut self.batch, next)
    }

    /// Ready for a record.
    pub fn begin(&mut self) {
        self.rollout = Rollout::default();
        self.task.clear();
        self.same_task = false;
        self.top.clear();
        self.inside = false;
        self.mark = Mark {
            verifications: self.batch.verifications.name.len(),
            checks: self.batch.checks.flags.len(),
            readings: self.batch.readings.metric.len(),
            tags: self.batch.tags.name.len(),
        };
    }

    /// Forget the record begun last.
    pub fn abandon(&mut self) {
        let Self { batch, mark, .. } = self;
        batch.verifications.name.truncate(mark.verifications);
        batch.verifications.score.truncate(mark.verifications);
        batch.verifications.verdict.truncate(mark.verifications);
        batch.checks.offsets.truncate(mark.verifications + 1);
        batch.checks.flags.truncate(mark.checks);
        batch.checks.label.truncate(mark.checks);
        batch.readings.offsets.truncate(mark.verifications + 1);
        batch.readings.subject.truncate(mark.readings);
        batch.readings.metric.truncate(mark.readings);
        batch.readings.value.truncate(mark.readings);
        batch.tags.name.truncate(mark.tags);
        batch.tags.value.truncate(mark.tags);
    }

    /// How many verifications the batch held before this record.
    pub(super) const fn verified(&self) -> usize {
        self.mark.verifications
    }

    /// The verification that fields belong to: the one that is open, or the top level's.
    pub(super) fn draft(&mut self) -> &mut Draft {
        if self.inside { &mut self.nested } else { &mut self.top }
    }

    /// A list of checks stands here, perhaps an empty one.
    pub fn checks(&mut self) {
        self.draft().checks = true;
    }

    /// A header stands here.
    pub fn declare(&mut self, header: Header) {
        self.rollout.header = Some(Box::new(header));
    }

    /// An error is recorded, by the rollout or by the verifier that is open.
    pub fn broke(&mut self, target: &Target) {
        // A verifier's error says nothing by itself (spec 3.8).
        self.rollout.error |= *target == Target::Error;
    }

    /// A verification, check or reading begins; `key` is what a `*` stood for.
    pub fn open(&mut self, target: &Target, key: Option<Text<'_>>, dictionary: &mut Dictionary) -> Checked<()> {
        let name = match key {
            Some(key) => Some(dictionary.texts.intern(key.decode(&mut self.scratch)?)),
            None => None,
        };
        match target {
            Target::Verification { name: fixed, score_stands, verdict_stands } => {
                let name = name.or_else(|| fixed.as_ref().map(|name| dictionary.texts.intern(name)));
                self.verification_opens(name, *score_stands, *verdict_stands);
            }
            Target::Check { label, required } => {
                let label = name.or_else(|| label.as_ref().map(|label| dictionary.texts.intern(label)));
                self.check_opens(label, *required == Required::Always);
            }
            _ => self.reading = Reading { metric: name, ..Reading::default() },
        }
        Ok(())
    }

    /// What was opened last ends.
    pub fn close(&mut self, target: &Target, dictionary: &mut Dictionary) -> Checked<()> {
        match target {
            Target::Verification { .. } => self.close_verification(),
            Target::Check { required, .. } => self.close_check(required),
            _ => self.close_reading(dictionary),
        }
    }

    fn close_verification(&mut self) -> Checked<()> {
        self.inside = false;
        let Some(name) = self.nested.name else {
            return Err(Fault::new("is missing: each verification needs a name").under("name"));
        };
        self.nested.push(name, &mut self.batch, self.keep_ungradable)
    }

    fn close_check(&mut self, required: &Required) -> Checked<()> {
        let Check { label, required: flag, passed } = self.check;
        let Some(label) = label else {
            return Err(Fault::new("is missing: each check needs a label").under("label"));
        };
        let Some(passed) = passed else {
            return Err(Fault::new("is missing: whether the check passed must be true or false").under("passed"));
        };
        let draft = self.draft();
        if let Required::Kind(kind) = required {
            draft.kinds.push((draft.flags.len(), kind.clone()));
        }
        self.keep_check(label, flag, passed);
        Ok(())
    }

    /// A verification begins.
    #[inline]
    pub(super) fn verification_opens(&mut self, name: Option<u32>, score_stands: bool, verdict_stands: bool) {
        self.nested.clear();
        self.inside = true;
        (self.nested.name, self.nested.score_stands, self.nested.verdict_stands) = (name, score_stands, verdict_stands);
    }

    /// A check begins.
    #[inline]
    pub(super) fn check_opens(&mut self, label: Option<u32>, required: bool) {
        self.check = Check { label, required, passed: None };
    }

    /// A check ends that is required if it says so. `None`: something is missing.
    #[inline]
    pub(super) fn check_ends(&mut self) -> Option<()> {
        let Check { label, required, passed } = self.check;
        self.keep_check(label?, required, passed?);
        Some(())
    }

    #[inline]
    fn keep_check(&mut self, label: u32, required: bool, passed: bool) {
        let keep = self.needs.checks;
        let draft = self.draft();
        draft.flags.push(if required { REQUIRED } else { 0 } | if passed { PASSED } else { 0 });
        if keep {
            draft.labels.push(label);
        }
    }

    fn close_reading(&mut self, dictionary: &mut Dictionary) -> Checked<()> {
        let Some(metric) = self.reading.metric else {
            return Err(Fault::new("is missing: each reading needs a metric").under("metric"));
        };
        // A value that is null or NaN is not recorded (spec 6.6).
        let Some(value) = self.reading.value else { return Ok(()) };
        let subject = self.reading.subject.unwrap_or_else(|| dictionary.texts.intern(""));
        self.draft().readings.push((subject, metric, value));
        Ok(())
    }
}
