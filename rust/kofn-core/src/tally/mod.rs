//! Sufficient statistics of every task: what is added, merged, stored, and read by `estimates`.
//!
//! Adding and merging are exact, commutative and associative, so any order of rollouts, any split over tallies and
//! any merge tree end in the same state, and in the same bytes (see `encode`).

mod amounts;
mod counts;
mod encode;
mod groups;
mod keys;
mod multiset;
mod observe;
mod owners;
mod series;
mod stream;

use std::collections::BTreeMap;

use crate::batch::Value;
use crate::error::{Error, Result};
use crate::header::Requested;
use crate::names::{Dictionary, IdKind, Names};
use crate::plan::{Plan, Statistic};
use crate::policies::Policy;
use crate::reading::Reading;

pub use amounts::{Durations, Tokens};
pub use counts::Counts;
pub use groups::Groups;
use groups::UNTAGGED;
pub use keys::Keys;
pub use multiset::Scores;
pub use observe::{Arrays, Feed, Floats};
pub use owners::Owners;
pub use series::{Series, State as SeriesState, Wanted, full as full_series_name, matches as series_matches};

/// Which rollouts n counts (spec 4.5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Denominator {
    /// Those requested, recorded or not.
    #[default]
    Requested,
    /// Those recorded.
    Recorded,
    /// Those the policy can decide.
    Scorable,
}

impl Denominator {
    /// All, with their words.
    pub const WORDS: [(&'static str, Self); 3] =
        [("requested", Self::Requested), ("recorded", Self::Recorded), ("scorable", Self::Scorable)];

    /// The word used in reports.
    #[must_use]
    pub fn word(self) -> &'static str {
        Self::WORDS.iter().find(|(_, it)| *it == self).map_or("", |(word, _)| word)
    }
}

/// What a k label does about a task with n < k (spec 6.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnShort {
    /// Refuse the label.
    #[default]
    Raise,
    /// Leave the task out, and note it.
    Omit,
}

/// What a tally is for. Only equal set-ups merge.
#[derive(Clone, Debug, PartialEq)]
pub struct Setup {
    /// The statistics.
    pub plan: Plan,
    /// The success policy.
    pub policy: Policy,
    /// Whether the policy was chosen, or is the default (spec 5.3).
    pub chosen: bool,
    /// Rollouts requested, as the caller gave them.
    pub requested: Option<Requested>,
    /// What n counts.
    pub denominator: Denominator,
    /// What to do about k > n.
    pub on_short: OnShort,
}

impl Setup {
    /// A set-up with the default policy and options.
    #[must_use]
    pub fn new(plan: Plan) -> Self {
        Self {
            plan,
            policy: Policy::VerifierVerdict,
            chosen: false,
            requested: None,
            denominator: Denominator::default(),
            on_short: OnShort::default(),
        }
    }
}

/// The content of one part of a sharded run, by which a second copy is recognised.
pub type PartHash = u128;

/// Per-task sufficient statistics of a run.
#[derive(Clone, Debug)]
pub struct Tally {
    /// What it is for.
    pub setup: Setup,
    /// Task ids; positions number the tasks everywhere below.
    pub names: Names,
    /// Whether ids are text or integers.
    pub kind: Option<IdKind>,
    /// Counts.
    pub counts: Vec<Counts>,
    /// Which rollout indices were seen.
    pub keys: Keys,
    /// Scores.
    pub scores: Scores,
    /// Durations; empty unless planned.
    pub durations: Vec<Durations>,
    /// Token totals; empty unless planned.
    pub tokens: Vec<Tokens>,
    /// Readings of the planned series.
    pub series: Series,
    /// Values of the grouping tag, where the plan names one.
    pub groups: Option<Groups>,
    /// Values of the tag that names clusters of tasks, where the plan has one.
    pub clusters: Option<Groups>,
    /// What the reads behind it met.
    pub reading: Reading,
    /// The part of a sharded run that is added here, while nothing was merged.
    pub part: Option<String>,
    /// Parts merged in, with the hash of their content.
    pub parts: BTreeMap<String, PartHash>,
    /// Equal copies of parts that were skipped.
    pub skipped_parts: u64,
    /// Where tasks were first seen, for messages; neither stored nor merged.
    places: Option<Dictionary>,
    wanted: Vec<Wanted>,
    rows: u64,
}

/// Rollouts ready to be added: columns of equal length, task ids those of the tally. Columns that were not recorded
/// or are not planned are empty.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Observations<'a> {
    /// Tasks.
    pub task: &'a [u32],
    /// Words of [`crate::policies::flags`].
    pub flags: &'a [u16],
    /// Scores, NaN for none.
    pub score: &'a [f64],
    /// Seconds, NaN for none.
    pub duration: &'a [f64],
    /// Token totals, negative for none.
    pub tokens: &'a [i64],
}

/// One reading of a planned series.
pub(crate) struct Observed {
    /// Position in the batch, from 0.
    pub row: usize,
    /// Position in `Plan::series`.
    pub asked: usize,
    /// Number of the series in [`Series::names`].
    pub series: u32,
    /// The value.
    pub value: Value,
}

impl Tally {
    /// An empty tally.
    #[must_use]
    pub fn new(setup: Setup, part: Option<String>) -> Self {
        let wanted = setup.plan.series.iter().map(|asked| Wanted::of(&setup.plan, asked)).collect();
        Self {
            series: Series::new(&setup.plan),
            groups: setup.plan.by.as_deref().map(Groups::to_group_by),
            clusters: setup.plan.cluster.as_deref().map(Groups::to_cluster_by),
            names: Names::default(),
            kind: None,
            counts: Vec::new(),
            keys: Keys::default(),
            scores: Scores::default(),
            durations: Vec::new(),
            tokens: Vec::new(),
            reading: Reading::default(),
            part,
            parts: BTreeMap::new(),
            skipped_parts: 0,
            places: None,
            wanted,
            rows: 0,
            setup,
        }
    }

    /// Add to a task's error where the task was first seen, if that is known.
    pub(crate) fn placed(&self, error: Error) -> Error {
        match (error, &self.places) {
            (Error::Task { task, place: None, problem }, Some(dictionary)) => {
                let place = dictionary.tasks.names.find(&task).and_then(|id| dictionary.first_place(id));
                Error::Task { task, place, problem }
            }
            (error, _) => error,
        }
    }

    /// The tasks that have a record. An addition that failed may have left a name without one.
    pub fn recorded_tasks(&self) -> impl Iterator<Item = u32> + '_ {
        (0u32..).zip(&self.counts).filter(|(_, counts)| counts.recorded() > 0).map(|(task, _)| task)
    }

    /// How many rollouts were added.
    #[must_use]
    pub fn rollouts(&self) -> u64 {
        self.rows
    }

    fn wants_durations(&self) -> bool {
        self.setup.plan.any(|statistic| *statistic == Statistic::MeanDuration)
    }

    fn wants_tokens(&self) -> bool {
        self.setup.plan.any(|statistic| *statistic == Statistic::MeanTotalTokens)
    }

    /// Give every column an entry for each task.
    fn grow(&mut self) {
        let tasks = self.names.len();
        self.counts.resize(tasks, Counts::default());
        self.keys.grow(tasks);
        if self.wants_durations() {
            self.durations.resize(tasks, Durations::default());
        }
        if self.wants_tokens() {
            self.tokens.resize(tasks, Tokens::default());
        }
        for groups in self.groups.iter_mut().chain(&mut self.clusters) {
            groups.of.resize(tasks, UNTAGGED);
        }
    }

    /// Make room in the count of rows; refuse what would overflow it or belongs to a closed part.
    fn reserve(&mut self, rollouts: usize) -> Result<()> {
        if let (Some(part), false) = (&self.part, self.parts.is_empty()) {
            return Err(Error::merge(format!("part {part:?} was merged and is complete; add to a new accumulator")));
        }
        let rows = self.rows + rollouts as u64;
        if rows > u64::from(u32::MAX) {
            return Err(too_many());
        }
        self.rows = rows;
        Ok(())
    }

    /// Add columns whose keys were already checked.
    fn add(&mut self, observed: &Observations<'_>, readings: &[Observed], text: impl Fn(u32) -> String) {
        // Rollouts of one task mostly stand together: their counts stay in registers meanwhile.
        let mut words = observed.flags;
        for run in observed.task.chunk_by(|a, b| a == b) {
            let (these, rest) = words.split_at(run.len().min(words.len()));
            let counts = &mut self.counts[run[0] as usize];
            let mut sum = *counts;
            for &word in these {
                sum.add(word);
            }
            *counts = sum;
            words = rest;
        }
        for (&task, &score) in observed.task.iter().zip(observed.score) {
            if !score.is_nan() {
                self.scores.add(task, score, 1);
            }
        }
        if self.wants_durations() {
            for (&task, &duration) in observed.task.iter().zip(observed.duration) {
                if !duration.is_nan() {
                    self.durations[task as usize].add(duration);
                }
            }
        }
        if self.wants_tokens() {
            for (&task, &tokens) in observed.task.iter().zip(observed.tokens) {
                if let Ok(tokens) = u64::try_from(tokens) {
                    self.tokens[task as usize].add(tokens);
                }
            }
        }
        // Rows are numbered over the tally's life, so that one rollout's second reading is told from another's first.
        let first = self.rows - observed.task.len() as u64 + 1;
        for reading in readings {
            let task = observed.task[reading.row];
            self.series.states[reading.asked].entry(task).or_default().add(
                first + reading.row as u64,
                reading.series,
                reading.value,
                &text,
                self.wanted[reading.asked],
            );
        }
    }

    /// Take in the account of a read.
    pub fn add_reading(&mut self, reading: Reading) -> Result<()> {
        self.reading.merge(reading)
    }

    /// The part's content, closed: what is merged from here on is no longer part of it.
    fn seal(&mut self) {
        if let (Some(part), true) = (self.part.clone(), self.parts.is_empty()) {
            let hash = self.content_hash();
            self.parts.insert(part, hash);
        }
    }

    /// Add another tally's content. On error nothing has changed.
    pub fn merge(&mut self, other: &Self) -> Result<()> {
        let mut other = std::borrow::Cow::Borrowed(other);
        if other.part.is_some() && other.parts.is_empty() {
            other.to_mut().seal();
        }
        self.compatible(&other.setup)?;
        let mut parts = self.parts.clone();
        if let (Some(part), true) = (&self.part, parts.is_empty()) {
            parts.insert(part.clone(), self.content_hash());
        }
        let held = holds_parts(&parts, &other.parts)?;
        let skipped_parts = self.skipped_parts.checked_add(if held { 1 } else { other.skipped_parts });
        let skipped_parts = skipped_parts.ok_or_else(|| Error::merge("more skipped parts than 64 bits count"))?;
        if !held {
            self.absorb(&other)?;
            parts.extend(other.parts.iter().map(|(part, hash)| (part.clone(), *hash)));
        }
        self.parts = parts;
        self.skipped_parts = skipped_parts;
        Ok(())
    }

    /// Add another tally's content, whatever part it is of. On error nothing has changed.
    fn absorb(&mut self, other: &Self) -> Result<()> {
        let kind = self.same_kind(other.kind)?;
        if self.rows + other.rows > u64::from(u32::MAX) {
            return Err(too_many());
        }
        let mut reading = self.reading.clone();
        reading.merge(other.reading.clone())?;
        let pairs = [(&self.groups, &other.groups), (&self.clusters, &other.clusters)];
        for (mine, theirs) in pairs {
            if let (Some(mine), Some(theirs)) = (mine, theirs) {
                mine.check(&self.names, theirs, &other.names)?;
            }
        }
        let tasks: Vec<u32> = other.names.iter().map(|name| self.names.intern(name)).collect();
        self.grow();
        self.keys.merge(&other.keys, &tasks).map_err(|clash| clash.error(&other.names))?;

        self.reading = reading;
        self.rows += other.rows;
        self.kind = kind;
        for (counts, &task) in other.counts.iter().zip(&tasks) {
            self.counts[task as usize].merge(counts)?;
        }
        if !other.scores.is_empty() {
            let mut scores = std::borrow::Cow::Borrowed(&other.scores);
            if scores.is_pending() {
                scores.to_mut().compact();
            }
            for (from, &task) in tasks.iter().enumerate() {
                for level in scores.of(from) {
                    self.scores.add(task, level.value, u32::try_from(level.count).unwrap_or(u32::MAX));
                }
            }
        }
        for (theirs, &task) in other.durations.iter().zip(&tasks) {
            self.durations[task as usize].merge(theirs);
        }
        for (theirs, &task) in other.tokens.iter().zip(&tasks) {
            self.tokens[task as usize].merge(theirs);
        }
        self.series.merge(&other.series, &tasks);
        for (mine, theirs) in [(&mut self.groups, &other.groups), (&mut self.clusters, &other.clusters)] {
            if let (Some(mine), Some(theirs)) = (mine, theirs) {
                mine.merge(theirs, &tasks)?;
            }
        }
        Ok(())
    }

    fn compatible(&self, other: &Setup) -> Result<()> {
        let mine = &self.setup;
        let what = if mine.plan != other.plan {
            "statistics (or k, by or cluster)"
        } else if mine.policy != other.policy || mine.chosen != other.chosen {
            "policy"
        } else if mine.requested != other.requested {
            "requested"
        } else if mine.denominator != other.denominator {
            "denominator"
        } else if mine.on_short != other.on_short {
            "on_short"
        } else {
            return Ok(());
        };
        Err(Error::merge(format!("the two were made with different {what}; make every shard with the same arguments")))
    }
}

fn too_many() -> Error {
    Error::merge("more than 4,294,967,295 rollouts cannot be counted together")
}

/// Whether all of `others` are among `parts` already; an error where they contradict each other or overlap in part.
fn holds_parts(parts: &BTreeMap<String, PartHash>, others: &BTreeMap<String, PartHash>) -> Result<bool> {
    let mut known = 0;
    for (part, hash) in others {
        match parts.get(part) {
            Some(mine) if mine != hash => {
                return Err(Error::merge(format!(
                    "part {part:?} was merged already with other content; give each shard a part of its own"
                )));
            }
            Some(_) => known += 1,
            None => {}
        }
    }
    if known != 0 && known != others.len() {
        return Err(Error::merge(format!(
            "{known} of {} parts were merged already and cannot be taken out again; merge the parts one by one",
            others.len()
        )));
    }
    Ok(known > 0)
}

#[cfg(test)]
mod tests;
