//! The two ways into a tally: batches that a reader made, and arrays of a training loop.

use std::ops::Range;

use hashbrown::HashMap;

use super::{Observations, Observed, Owners, Tally};
use crate::batch::{Batch, NO_COUNT, NO_INDEX, range};
use crate::error::{Error, Result};
use crate::names::{Dictionary, IdKind, Names};
use crate::policies::{Classified, classify, classify_arrays};

/// Rollouts added at a time, so that what is made of them stays in the cache.
const PART: usize = 1 << 14;

/// How a reader's numbers translate into a tally's: kept between the batches of one read.
#[derive(Clone, Debug, Default)]
pub struct Feed {
    tasks: Vec<u32>,
    /// For each series met, its number in the tally and the planned series that mean it.
    series: HashMap<(u32, u32, u32), (u32, Vec<usize>)>,
}

/// A column of floats of either width.
#[derive(Clone, Copy, Debug)]
pub enum Floats<'a> {
    /// 64 bits.
    F64(&'a [f64]),
    /// 32 bits: read in place, for every one of them is a float of 64.
    F32(&'a [f32]),
}

impl Default for Floats<'_> {
    fn default() -> Self {
        Self::F64(&[])
    }
}

impl Floats<'_> {
    /// How many there are.
    #[must_use]
    pub const fn len(&self) -> usize {
        match self {
            Self::F64(values) => values.len(),
            Self::F32(values) => values.len(),
        }
    }

    /// Whether there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The value at a position.
    #[must_use]
    pub fn get(&self, at: usize) -> Option<f64> {
        match self {
            Self::F64(values) => values.get(at).copied(),
            Self::F32(values) => values.get(at).map(|&value| value.into()),
        }
    }

    /// Some rows, if there are any.
    pub(crate) fn part(&self, rows: &Range<usize>) -> Self {
        match self {
            Self::F64(values) => Self::F64(part(values, rows)),
            Self::F32(values) => Self::F32(part(values, rows)),
        }
    }

    fn first_infinite(&self) -> Option<usize> {
        // One pass without a branch first: there hardly ever is one.
        match self {
            Self::F64(values) if !values.iter().fold(false, |any, value| any | value.is_infinite()) => None,
            Self::F64(values) => values.iter().position(|value| value.is_infinite()),
            Self::F32(values) if !values.iter().fold(false, |any, value| any | value.is_infinite()) => None,
            Self::F32(values) => values.iter().position(|value| value.is_infinite()),
        }
    }
}

/// Rollouts of a training loop as columns; what was not recorded is empty.
#[derive(Clone, Copy, Debug, Default)]
pub struct Arrays<'a> {
    /// Task of each rollout, a position in `names`.
    pub task: Owners<'a>,
    /// 1 passed, 0 failed, -1 no verdict.
    pub passed: &'a [i8],
    /// Scores, NaN for none.
    pub scores: Floats<'a>,
    /// False: neither verdict nor score was obtained.
    pub valid: &'a [bool],
    /// Seconds, NaN for none.
    pub durations: &'a [f64],
    /// Token totals, [`NO_COUNT`] for none.
    pub tokens: &'a [i64],
    /// Value of the grouping tag of each rollout, a position in the names beside it.
    pub by: Option<(&'a [u32], &'a Names)>,
}

impl Arrays<'_> {
    /// Whether some rollout has a verdict.
    pub(crate) fn any_verdict(&self) -> bool {
        self.passed.iter().enumerate().any(|(row, &passed)| passed >= 0 && self.valid.get(row) != Some(&false))
    }

    /// What no column may hold (spec 6.6, 6.7).
    pub(crate) fn check(&self) -> Result<()> {
        let len = self.task.len();
        let lengths = [
            ("passed", self.passed.len()),
            ("scores", self.scores.len()),
            ("valid", self.valid.len()),
            ("durations", self.durations.len()),
            ("tokens", self.tokens.len()),
            ("by", self.by.map_or(0, |(values, _)| values.len())),
        ];
        for (name, found) in lengths {
            if found != len && found != 0 {
                return Err(Error::argument(name, format!("has {found} entries, there are {len} rollouts")));
            }
        }
        if let Some(i) = self.scores.first_infinite() {
            let score = self.scores.get(i).unwrap_or(f64::INFINITY);
            return Err(Error::argument(
                "scores",
                format!("entry {i} is {score}; scores are finite, NaN where none was obtained"),
            ));
        }
        if let Some(i) = self.durations.iter().position(|&seconds| seconds.is_infinite() || seconds < -1.0) {
            return Err(Error::argument(
                "durations",
                format!(
                    "entry {i} is {} s; durations are finite and not negative, NaN where none was recorded",
                    self.durations[i]
                ),
            ));
        }
        if let Some(i) = self.tokens.iter().position(|&tokens| tokens < NO_COUNT) {
            return Err(Error::argument("tokens", format!("entry {i} is {}; tokens are not negative", self.tokens[i])));
        }
        Ok(())
    }
}

impl Tally {
    /// Add a batch, classified by the tally's policy; `mask` holds the successes of a custom one. On error nothing
    /// has changed but the numbering of tasks.
    pub fn add_batch(
        &mut self,
        feed: &mut Feed,
        batch: &Batch,
        dictionary: &Dictionary,
        mask: Option<&[bool]>,
    ) -> Result<()> {
        let kind = self.same_kind(dictionary.tasks.kind)?;
        for id in feed.tasks.len()..dictionary.tasks.names.len() {
            // Ids are dense u32 by construction.
            let name = dictionary.tasks.names.get(u32::try_from(id).unwrap_or(u32::MAX));
            feed.tasks.push(self.names.intern(name));
        }
        self.grow();
        let task: Vec<u32> = batch.task.iter().map(|&id| feed.tasks[id as usize]).collect();
        let place = |row: usize| batch.origin.get(row).and_then(|at| dictionary.place(at.source, at.line));
        self.reserve(batch.len())?;
        let added = self.add_keys(&task, &batch.index);
        if let Err(clash) = added {
            self.rows -= batch.len() as u64;
            return Err(clash.at(&self.names, place(clash.row())));
        }
        self.kind = kind;
        self.add_groups(batch, &task, dictionary)?;

        let Classified { flags, score } = classify(batch, &self.setup.policy, mask);
        let readings = self.readings(feed, batch, dictionary);
        let observed = Observations {
            task: &task,
            flags: &flags,
            score: &score,
            duration: &batch.duration,
            tokens: &batch.tokens,
        };
        self.add(&observed, &readings, |id| dictionary.texts.get(id).to_owned());
        Ok(())
    }

    pub(super) fn same_kind(&self, kind: Option<IdKind>) -> Result<Option<IdKind>> {
        match (self.kind, kind) {
            (Some(mine), Some(theirs)) if mine != theirs => Err(Error::argument(
                "groups",
                format!(
                    "task ids are {} here and {} in what was added before; a run uses one of the two",
                    theirs.noun(),
                    mine.noun()
                ),
            )),
            (mine, theirs) => Ok(mine.or(theirs)),
        }
    }

    fn add_keys(&mut self, task: &[u32], index: &[u64]) -> Result<(), super::keys::Clash> {
        if index.iter().all(|&index| index == NO_INDEX) {
            if let Some(clash) = self.keys.clash_of_implicit(task.into()) {
                return Err(clash);
            }
            self.keys.add_implicit(task);
            return Ok(());
        }
        self.keys.add(task, index)
    }

    fn add_groups(&mut self, batch: &Batch, task: &[u32], dictionary: &Dictionary) -> Result<()> {
        for groups in self.groups.iter_mut().chain(&mut self.clusters) {
            let Some(tag) = dictionary.texts.find(&groups.tag) else { continue };
            for (row, &owner) in task.iter().enumerate() {
                for at in range(&batch.tags.offsets, row) {
                    if batch.tags.name[at] == tag {
                        let value = dictionary.texts.get(batch.tags.value[at]);
                        groups.set(owner, value).map_err(|problem| dictionary.task_error(batch.task[row], problem))?;
                    }
                }
            }
        }
        Ok(())
    }

    /// The readings of the planned series, and a note of every series that exists.
    fn readings(&mut self, feed: &mut Feed, batch: &Batch, dictionary: &Dictionary) -> Vec<Observed> {
        let mut found = Vec::new();
        if self.setup.plan.series.is_empty() {
            return found;
        }
        let texts = &dictionary.texts;
        for row in 0..batch.len() {
            for verification in batch.verifications_of(row) {
                let verifier = batch.verifications.name[verification];
                for at in range(&batch.readings.offsets, verification) {
                    let (subject, metric) = (batch.readings.subject[at], batch.readings.metric[at]);
                    let (number, asked) = feed.series.entry((verifier, subject, metric)).or_insert_with(|| {
                        let names = [verifier, subject, metric].map(|id| texts.get(id));
                        let meant = |asked: &&String| super::series_matches(asked, names[0], names[1], names[2]);
                        let plan = &self.setup.plan.series;
                        let asked = (0..plan.len()).filter(|&i| meant(&&plan[i])).collect();
                        let [verifier, subject, metric] = names.map(str::to_owned);
                        (self.series.intern((verifier, subject, metric)), asked)
                    });
                    for &asked in asked.iter() {
                        found.push(Observed { row, asked, series: *number, value: batch.readings.value[at] });
                    }
                }
            }
        }
        found
    }

    /// Add the rollouts of a training loop. `names` are the tasks' ids. On error nothing has changed but the
    /// numbering of tasks.
    pub fn add_arrays(&mut self, arrays: &Arrays<'_>, names: &Names, kind: IdKind) -> Result<()> {
        let kind = self.same_kind(Some(kind))?;
        arrays.check()?;
        let fresh = self.names.is_empty();
        if fresh {
            self.names = names.clone();
        }
        let rename: Vec<u32> =
            if fresh { Vec::new() } else { names.iter().map(|name| self.names.intern(name)).collect() };
        self.grow();
        self.kind = kind;
        if fresh {
            return self.add_columns(arrays, arrays.task);
        }
        let renamed: Vec<u32> = arrays.task.each().iter().map(|&id| rename[id as usize]).collect();
        self.add_columns(arrays, Owners::Each(&renamed))
    }

    /// Add columns of checked values whose tasks are numbered as the tally's.
    fn add_columns(&mut self, arrays: &Arrays<'_>, task: Owners<'_>) -> Result<()> {
        if let Some(clash) = self.keys.clash_of_implicit(task) {
            return Err(clash.error(&self.names));
        }
        self.reserve(task.len())?;
        if let (Some((values, texts)), Some(groups)) = (arrays.by, &mut self.groups) {
            for (&owner, &value) in task.each().iter().zip(values) {
                groups.set(owner, texts.get(value)).map_err(|problem| Error::Task {
                    task: self.names.get(owner).to_owned(),
                    place: None,
                    problem,
                })?;
            }
        }
        let mut start = 0;
        for task in task.parts(PART) {
            let rows = start..start + task.len();
            let mut duration = part(arrays.durations, &rows).to_vec();
            for seconds in &mut duration {
                if *seconds < 0.0 {
                    *seconds = f64::NAN;
                    self.reading.skewed_durations += 1;
                }
            }
            let (passed, valid) = (part(arrays.passed, &rows), part(arrays.valid, &rows));
            let scores = arrays.scores.part(&rows);
            let Classified { flags, score } = classify_arrays(task.len(), passed, scores, valid, &self.setup.policy);
            let score = if scores.is_empty() { &[][..] } else { &score };
            let tokens = part(arrays.tokens, &rows);
            let observed = Observations { task: &task, flags: &flags, score, duration: &duration, tokens };
            self.keys.add_implicit(&task);
            self.add(&observed, &[], |_| String::new());
            start = rows.end;
        }
        Ok(())
    }
}

/// Some rows of a column, which may have none.
fn part<'a, T>(column: &'a [T], rows: &Range<usize>) -> &'a [T] {
    column.get(rows.clone()).unwrap_or_default()
}
