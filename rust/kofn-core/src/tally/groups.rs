//! The value that a tag has in each task: what a report is split by, and what clusters of tasks are made of.

use crate::error::{Error, Result};
use crate::names::Names;

/// "This task has no value of the tag."
pub const UNTAGGED: u32 = u32::MAX;

/// Values of one tag, constant within each task (spec 6.11).
#[derive(Clone, Debug)]
pub struct Groups {
    /// The tag.
    pub tag: String,
    /// What it is for, as messages say it.
    purpose: &'static str,
    /// Distinct values.
    pub names: Names,
    /// The value of each task, or [`UNTAGGED`].
    pub of: Vec<u32>,
}

impl Groups {
    /// Of a tag that a report is split by.
    #[must_use]
    pub fn to_group_by(tag: &str) -> Self {
        Self { tag: tag.to_owned(), purpose: "group by", names: Names::default(), of: Vec::new() }
    }

    /// Of a tag whose values are clusters of tasks.
    #[must_use]
    pub fn to_cluster_by(tag: &str) -> Self {
        Self { purpose: "cluster by", ..Self::to_group_by(tag) }
    }

    /// The value of a task.
    #[must_use]
    pub fn value(&self, task: usize) -> Option<&str> {
        self.of.get(task).filter(|&&value| value != UNTAGGED).map(|&value| self.names.get(value))
    }

    /// Record the value of a task.
    pub(super) fn set(&mut self, task: u32, value: &str) -> Result<(), String> {
        let id = self.names.intern(value);
        let known = &mut self.of[task as usize];
        if *known == UNTAGGED {
            *known = id;
        }
        if *known == id {
            return Ok(());
        }
        let known = self.names.get(*known);
        Err(format!(
            "tag {:?} is {known:?} in one rollout and {value:?} in another; a tag to {} is constant within a task",
            self.tag, self.purpose
        ))
    }

    /// Whether the tag agrees with `theirs` in the tasks that both hold.
    pub(super) fn check(&self, names: &Names, theirs: &Self, their_names: &Names) -> Result<()> {
        for (at, name) in their_names.iter().enumerate() {
            let Some(task) = names.find(name) else { continue };
            if let (Some(known), Some(value)) = (self.value(task as usize), theirs.value(at))
                && known != value
            {
                return Err(Error::Task {
                    task: name.to_owned(),
                    place: None,
                    problem: format!(
                        "tag {:?} is {known:?} in one part and {value:?} in another; a tag to {} is constant within a task",
                        self.tag, self.purpose
                    ),
                });
            }
        }
        Ok(())
    }

    /// Take in `theirs`, whose task `t` is `tasks[t]` here.
    pub(super) fn merge(&mut self, theirs: &Self, tasks: &[u32]) -> Result<()> {
        for (at, &task) in tasks.iter().enumerate() {
            if let Some(value) = theirs.value(at) {
                self.set(task, value).map_err(Error::merge)?;
            }
        }
        Ok(())
    }
}
