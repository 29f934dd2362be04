//! The tasks of a report in their order, and how many rollouts of each were requested (spec 4.3, 4.4, 9).

use std::collections::{HashMap, HashSet};

use crate::error::{Error, Result};
use crate::header::{Header, Requested};
use crate::reading::count;
use crate::tally::Tally;

/// Where the requested counts come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestedFrom {
    /// The caller gave them.
    Given,
    /// The run declares them.
    Declared,
    /// Every task has the same number of records and nothing speaks against it.
    Inferred,
    /// Nobody knows.
    Unknown,
}

impl RequestedFrom {
    /// The word used in reports.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Given => "given",
            Self::Declared => "declared",
            Self::Inferred => "inferred",
            Self::Unknown => "unknown",
        }
    }
}

/// The tasks in report order, and what was requested of them.
pub struct Resolved {
    /// Ids.
    pub names: Vec<String>,
    /// Their numbers in the tally; none for declared tasks without a record.
    pub ids: Vec<Option<u32>>,
    /// Rollouts requested of each, if known.
    pub requested: Option<Vec<u64>>,
    /// Where they come from.
    pub from: RequestedFrom,
    /// What stands against inferring them, where they are unknown.
    pub because: String,
    /// The caller and the run disagree.
    pub note: Option<String>,
}

/// Put the tasks in order and settle what was requested.
pub fn resolve(tally: &Tally) -> Result<Resolved> {
    let empty = Header::default();
    let header = tally.reading.header.as_ref().unwrap_or(&empty);
    let given = tally.setup.requested.as_ref();
    let mut names = header.declared();
    let closed = !names.is_empty() || header.tasks.is_some();
    if let Some(Requested::PerTask(list)) = given {
        let known: HashSet<&str> = names.iter().map(String::as_str).collect();
        let more: Vec<String> =
            list.iter().filter(|(task, _)| !known.contains(task.as_str())).map(|(task, _)| task.clone()).collect();
        if closed && let Some(task) = more.first() {
            return Err(Error::Task {
                task: task.clone(),
                place: None,
                problem: "requested names this task, the run's declared tasks do not".to_owned(),
            });
        }
        names.extend(more);
    }
    let declared: HashSet<&str> = names.iter().map(String::as_str).collect();
    let mut others: Vec<(&str, u32)> = tally
        .recorded_tasks()
        .map(|task| (tally.names.get(task), task))
        .filter(|(name, _)| !declared.contains(name))
        .collect();
    others.sort_unstable();
    if let Some((task, _)) = others.first() {
        let by = match given {
            _ if closed => {
                Some("the run declares its tasks and this one is not among them; correct the header or the task's id")
            }
            Some(Requested::PerTask(_)) => {
                Some("requested names tasks and this one is not among them; give its number too")
            }
            _ => None,
        };
        if let Some(problem) = by {
            return Err(Error::Task { task: (*task).to_owned(), place: None, problem: problem.to_owned() });
        }
    }
    let mut ids: Vec<Option<u32>> = names.iter().map(|name| tally.names.find(name)).collect();
    ids.extend(others.iter().map(|&(_, task)| Some(task)));
    let others: Vec<String> = others.into_iter().map(|(name, _)| name.to_owned()).collect();
    names.extend(others);
    if names.is_empty() {
        return Err(tally.reading.nothing());
    }

    let mut resolved =
        Resolved { names, ids, requested: None, from: RequestedFrom::Unknown, because: String::new(), note: None };
    match (given, &header.requested) {
        (Some(given), declared) => {
            let counts = per_task(&resolved.names, given)?;
            if let Some(declared) = declared {
                let declared = per_task(&resolved.names, declared)?;
                resolved.note = difference(&resolved.names, &counts, &declared);
            }
            resolved.requested = Some(counts);
            resolved.from = RequestedFrom::Given;
        }
        (None, Some(declared)) => {
            resolved.requested = Some(per_task(&resolved.names, declared)?);
            resolved.from = RequestedFrom::Declared;
        }
        (None, None) => match infer(tally, &resolved) {
            Ok(count) => {
                resolved.requested = Some(vec![count; resolved.names.len()]);
                resolved.from = RequestedFrom::Inferred;
            }
            Err(because) => resolved.because = because,
        },
    }
    if let Some(requested) = &resolved.requested {
        for ((name, id), &requested) in resolved.names.iter().zip(&resolved.ids).zip(requested) {
            let recorded = id.map_or(0, |id| u64::from(tally.counts[id as usize].recorded()));
            if recorded > requested {
                return Err(Error::Task {
                    task: name.clone(),
                    place: None,
                    problem: format!(
                        "{recorded} rollouts are recorded, {requested} were requested; correct requested, or look for copies"
                    ),
                });
            }
        }
    }
    Ok(resolved)
}

fn per_task(names: &[String], requested: &Requested) -> Result<Vec<u64>> {
    match requested {
        Requested::Each(0) => Err(Error::argument("requested", "0 rollouts a task were requested; give at least 1")),
        Requested::Each(count) => Ok(vec![*count; names.len()]),
        Requested::PerTask(list) => {
            let counts: HashMap<&str, u64> = list.iter().map(|(task, count)| (task.as_str(), *count)).collect();
            names
                .iter()
                .map(|name| match counts.get(name.as_str()) {
                    Some(0) => {
                        Err(Error::argument("requested", format!("0 rollouts of task {name:?}; give at least 1")))
                    }
                    Some(&count) => Ok(count),
                    None => Err(Error::Task {
                        task: name.clone(),
                        place: None,
                        problem: "the requested counts are given task by task and leave this one out".to_owned(),
                    }),
                })
                .collect()
        }
    }
}

fn difference(names: &[String], given: &[u64], declared: &[u64]) -> Option<String> {
    let differs: Vec<usize> = (0..names.len()).filter(|&i| given[i] != declared[i]).collect();
    let first = *differs.first()?;
    Some(
        if differs.len() == names.len()
            && declared.iter().all(|&n| n == declared[0])
            && given.iter().all(|&n| n == given[0])
        {
            format!("requested = {} was given; the run declares {}", given[0], declared[0])
        } else {
            format!(
                "requested was given; the run declares other counts for {} (task {:?}: {} given, {} declared)",
                count(differs.len() as u64, "task"),
                names[first],
                given[first],
                declared[first]
            )
        },
    )
}

/// The one number of records that every task has, or what stands against taking it for the requested one.
fn infer(tally: &Tally, resolved: &Resolved) -> Result<u64, String> {
    if tally.reading.skipped > 0 {
        return Err("bad records were skipped".to_owned());
    }
    if !tally.reading.cut.is_empty() {
        return Err("the last record is cut off".to_owned());
    }
    let recorded = |at: usize| resolved.ids[at].map_or(0, |id| u64::from(tally.counts[id as usize].recorded()));
    let first = recorded(0);
    if let Some(other) = (1..resolved.ids.len()).find(|&at| recorded(at) != first) {
        return Err(format!(
            "tasks have different numbers of records: {:?} has {first}, {:?} has {}",
            resolved.names[0],
            resolved.names[other],
            recorded(other)
        ));
    }
    if first == 0 {
        return Err("no rollout is recorded".to_owned());
    }
    let hole = |id: &Option<u32>| id.is_some_and(|id| tally.keys.has_hole(id));
    if let Some(at) = resolved.ids.iter().position(hole) {
        return Err(format!("the rollout indices of task {:?} leave a hole", resolved.names[at]));
    }
    Ok(first)
}
