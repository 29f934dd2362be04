//! What a run says beside a report: which checks fail, which rollouts are missing, why one failed.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use super::Run;
use crate::batch::{Batch, NO_INDEX, PASSED, REQUIRED, range};
use crate::error::{Error, Result};
use crate::header::{Header, Requested};
use crate::names::Dictionary;
use crate::seen::Seen;

/// How one check fared over a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckRow {
    /// The verifier that recorded it.
    pub verifier: String,
    /// Its label.
    pub label: String,
    /// Whether it was required; a label recorded both ways has two rows.
    pub required: bool,
    /// How often it was recorded.
    pub ran: u64,
    /// How often it passed.
    pub passed: u64,
    /// How often it was the only failed required check of its rollout.
    pub blocked: u64,
}

/// A task's requested rollouts without a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingRow {
    /// The task.
    pub task: String,
    /// How many.
    pub count: u64,
    /// Which indices, ascending; none where the rollouts are not numbered, or where the indices recorded are not
    /// those of the requested ones, so that nothing says which are missing.
    pub indices: Option<Vec<Range<u64>>>,
}

impl Run {
    /// Every check of the run, by verifier and label: most blocking first, then most failing, then by name.
    #[must_use]
    pub fn checks(&self) -> Vec<CheckRow> {
        let mut rows: HashMap<(u32, u32, bool), [u64; 3]> = HashMap::new();
        for batch in &self.batches {
            for i in 0..batch.len() {
                let failed = |at: &usize| batch.checks.flags[*at] & (REQUIRED | PASSED) == REQUIRED;
                let mut all = batch.verifications_of(i).flat_map(|v| range(&batch.checks.offsets, v));
                let alone = all.by_ref().find(failed).filter(|_| !all.any(|at| failed(&at)));
                for v in batch.verifications_of(i) {
                    for at in range(&batch.checks.offsets, v) {
                        let flags = batch.checks.flags[at];
                        let key = (batch.verifications.name[v], batch.checks.label[at], flags & REQUIRED != 0);
                        let [ran, passed, blocked] = rows.entry(key).or_default();
                        *ran += 1;
                        *passed += u64::from(flags & PASSED != 0);
                        *blocked += u64::from(alone == Some(at));
                    }
                }
            }
        }
        let text = |id: u32| self.dictionary.texts.get(id).to_owned();
        let mut rows: Vec<CheckRow> = rows
            .into_iter()
            .map(|((verifier, label, required), [ran, passed, blocked])| CheckRow {
                verifier: text(verifier),
                label: text(label),
                required,
                ran,
                passed,
                blocked,
            })
            .collect();
        rows.sort_unstable_by(|a, b| {
            let rank = |row: &CheckRow| std::cmp::Reverse((row.blocked, row.ran - row.passed));
            let name = |row: &CheckRow| (row.verifier.clone(), row.label.clone(), !row.required);
            rank(a).cmp(&rank(b)).then_with(|| name(a).cmp(&name(b)))
        });
        rows
    }

    /// Requested rollouts without a record, by task in the report's order: declared ones first, others by id. The
    /// requested count is `requested`, else what was given with the sources, else what the run declares; unknown
    /// counts are refused.
    pub fn missing(&self, requested: Option<&Requested>) -> Result<Vec<MissingRow>> {
        let header = self.reading.header.as_ref();
        let requested = requested.or(self.given.as_ref()).or_else(|| header?.requested.as_ref()).ok_or_else(|| {
            Error::argument(
                "requested",
                "how many rollouts were requested is neither given nor declared, so nothing says which are missing; give requested=N (--requested N)",
            )
        })?;
        let (mut seen, mut unnumbered) = (Seen::default(), HashMap::<u32, u64>::new());
        let mut base = None;
        for batch in &self.batches {
            for (&task, &index) in batch.task.iter().zip(&batch.index) {
                if index == NO_INDEX {
                    *unnumbered.entry(task).or_default() += 1;
                } else {
                    seen.insert(task, index);
                    base = Some(base.map_or(index, |base: u64| base.min(index)));
                }
            }
        }
        // Holes are judged from the run's smallest index, 0 or 1 (spec 4.6).
        let base = base.map(|base| base.min(1));
        let each: HashMap<&str, u64> = match requested {
            Requested::Each(_) => HashMap::new(),
            Requested::PerTask(list) => list.iter().map(|(task, n)| (task.as_str(), *n)).collect(),
        };
        let mut rows = Vec::new();
        for name in self.tasks(Some(requested)) {
            let task = self.dictionary.tasks.names.find(&name);
            let wrong = |problem: String| Error::Task {
                task: name.clone(),
                place: task.and_then(|task| self.dictionary.first_place(task)),
                problem,
            };
            let wanted = match requested {
                Requested::Each(n) => *n,
                Requested::PerTask(_) => *each
                    .get(name.as_str())
                    .ok_or_else(|| wrong("the requested counts name other tasks and not this one".to_owned()))?,
            };
            let count = task.map_or(0, |task| seen.count(task) + unnumbered.get(&task).copied().unwrap_or(0));
            let left = wanted
                .checked_sub(count)
                .ok_or_else(|| wrong(format!("{count} rollouts are recorded, more than the {wanted} requested")))?;
            if left == 0 {
                continue;
            }
            let numbered = task.is_none_or(|task| !unnumbered.contains_key(&task));
            let indices = base.filter(|_| numbered).and_then(|base| {
                let recorded = task.into_iter().flat_map(|task| seen.iter(task));
                gaps(base, base.checked_add(wanted)?, left, recorded)
            });
            rows.push(MissingRow { task: name, count: left, indices });
        }
        Ok(rows)
    }

    /// All tasks in the report's order (spec 9): declared ones in declared order, all others after them by id.
    #[must_use]
    pub fn tasks(&self, requested: Option<&Requested>) -> Vec<String> {
        let mut tasks = self.reading.header.as_ref().map(Header::declared).unwrap_or_default();
        let mut known: HashSet<String> = tasks.iter().cloned().collect();
        if let Some(Requested::PerTask(list)) = requested.or(self.given.as_ref()) {
            tasks.extend(list.iter().map(|(task, _)| task).filter(|task| known.insert((*task).clone())).cloned());
        }
        let mut others: Vec<&str> = self.dictionary.tasks.names.iter().filter(|task| !known.contains(*task)).collect();
        others.sort_unstable();
        tasks.extend(others.into_iter().map(str::to_owned));
        tasks
    }
}

/// What of `start..end` was not recorded, if that is `left` indices: none when records have indices outside.
fn gaps(start: u64, end: u64, left: u64, recorded: impl Iterator<Item = u64>) -> Option<Vec<Range<u64>>> {
    let mut gaps = Vec::new();
    let mut next = start;
    for index in recorded.filter(|index| (start..end).contains(index)) {
        if index > next {
            gaps.push(next..index);
        }
        next = index + 1;
    }
    if next < end {
        gaps.push(next..end);
    }
    (gaps.iter().map(|gap| gap.end - gap.start).sum::<u64>() == left).then_some(gaps)
}

/// Labels of the failed required checks of a rollout, in recorded order; prefixed by the verifier where the rollout
/// has several.
#[must_use]
pub fn failed_required(batch: &Batch, i: usize, dictionary: &Dictionary) -> Vec<String> {
    let verifications = batch.verifications_of(i);
    let several = verifications.len() > 1;
    let mut labels = Vec::new();
    for v in verifications {
        for at in range(&batch.checks.offsets, v) {
            if batch.checks.flags[at] & (REQUIRED | PASSED) == REQUIRED {
                let label = dictionary.texts.get(batch.checks.label[at]);
                labels.push(if several {
                    format!("{}: {label}", dictionary.texts.get(batch.verifications.name[v]))
                } else {
                    label.to_owned()
                });
            }
        }
    }
    labels
}
