//! What a run declares about itself (spec 7.2).

use crate::error::{Error, Place, Result};
use crate::json::value::write_text;
use crate::names::IdKind;

/// Rollouts requested: one number for all tasks, or one a task in declared order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Requested {
    /// The same for every task; at least 1.
    Each(u64),
    /// One a task; each at least 1, no task twice.
    PerTask(Vec<(String, u64)>),
}

/// A run's header, one or several merged.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Header {
    /// The run's id.
    pub id: Option<String>,
    /// Rollouts requested.
    pub requested: Option<Requested>,
    /// Declared tasks, in order.
    pub tasks: Option<Vec<String>>,
    /// Scores must lie within, ends included.
    pub score_range: Option<(f64, f64)>,
    /// Where the (first) header stands.
    pub place: Place,
}

impl Header {
    /// Take in another header of the same report: equal or absent ids, tasks and per-task requests united, every
    /// other difference an error.
    pub fn merge(&mut self, other: Self) -> Result<()> {
        let clash =
            |problem: String| Err(Error::Header { first: self.place.clone(), second: other.place.clone(), problem });
        match (&self.id, &other.id) {
            (Some(a), Some(b)) if a != b => {
                return clash(format!(
                    "this is run {b:?}, other sources hold run {a:?}: report them apart (one report a file), or compare them"
                ));
            }
            _ => {}
        }
        match (self.score_range, other.score_range) {
            (Some(a), Some(b)) if a != b => {
                return clash(format!("score_range is [{}, {}] here and [{}, {}] there", b.0, b.1, a.0, a.1));
            }
            _ => {}
        }
        match (&self.requested, &other.requested) {
            (Some(Requested::PerTask(a)), Some(Requested::PerTask(b))) => {
                // Both lists are as long as the run has tasks: join by sorting, not by nested search.
                let mut known: Vec<_> = a.iter().map(|(task, n)| (task.as_str(), *n)).collect();
                known.sort_unstable();
                let mut united = a.clone();
                for (task, n) in b {
                    match known.binary_search_by(|(name, _)| (*name).cmp(task)) {
                        Ok(at) if known[at].1 != *n => {
                            return clash(format!(
                                "requested_rollouts of task {task:?} is {n} here and {} there",
                                known[at].1
                            ));
                        }
                        Ok(_) => {}
                        Err(_) => united.push((task.clone(), *n)),
                    }
                }
                self.requested = Some(Requested::PerTask(united));
            }
            (Some(a), Some(b)) if a != b => {
                return clash(match (a, b) {
                    (Requested::Each(a), Requested::Each(b)) => {
                        format!("requested_rollouts is {b} here and {a} there")
                    }
                    _ => "requested_rollouts is a number in one header and an object in the other".to_owned(),
                });
            }
            (None, Some(_)) => self.requested.clone_from(&other.requested),
            _ => {}
        }
        match (&mut self.tasks, other.tasks) {
            (Some(mine), Some(theirs)) => {
                let mut known: Vec<String> = mine.clone();
                known.sort_unstable();
                mine.extend(theirs.into_iter().filter(|task| known.binary_search(task).is_err()));
            }
            (mine @ None, Some(theirs)) => *mine = Some(theirs),
            _ => {}
        }
        self.id = self.id.take().or(other.id);
        self.score_range = self.score_range.or(other.score_range);
        Ok(())
    }

    /// The header as a line of the native form, without the line's end; ids are numbers where the run's are.
    #[must_use]
    pub fn line(&self, ids: Option<IdKind>) -> String {
        let mut members = Vec::new();
        let text = |text: &str| {
            let mut out = String::new();
            write_text(text, &mut out);
            out
        };
        let id = |task: &String| if ids == Some(IdKind::Integer) { task.clone() } else { text(task) };
        if let Some(id) = &self.id {
            members.push(format!("\"id\":{}", text(id)));
        }
        match &self.requested {
            Some(Requested::Each(n)) => members.push(format!("\"requested_rollouts\":{n}")),
            Some(Requested::PerTask(list)) => {
                let counts: Vec<String> = list.iter().map(|(task, n)| format!("{}:{n}", text(task))).collect();
                members.push(format!("\"requested_rollouts\":{{{}}}", counts.join(",")));
            }
            None => {}
        }
        if let Some(tasks) = &self.tasks {
            members.push(format!("\"tasks\":[{}]", tasks.iter().map(id).collect::<Vec<_>>().join(",")));
        }
        if let Some((low, high)) = self.score_range {
            members.push(format!("\"score_range\":[{low:?},{high:?}]"));
        }
        format!("{{\"run\":{{{}}}}}", members.join(","))
    }

    /// Every declared task, in declared order: the list's, then those a per-task request adds.
    #[must_use]
    pub fn declared(&self) -> Vec<String> {
        let mut tasks = self.tasks.clone().unwrap_or_default();
        if let Some(Requested::PerTask(list)) = &self.requested {
            let mut known: Vec<String> = tasks.clone();
            known.sort_unstable();
            tasks.extend(list.iter().map(|(task, _)| task).filter(|task| known.binary_search(task).is_err()).cloned());
        }
        tasks
    }
}
