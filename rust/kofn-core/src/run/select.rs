//! A part of a run as a run: some tasks, some verifiers, the tasks with some tags.

use std::collections::HashSet;

use super::Run;
use super::filter::filter;
use crate::batch::range;
use crate::error::{Error, Result};
use crate::header::Requested;
use crate::names::Names;
use crate::nearest::nearest;

/// What to keep; an empty selection keeps everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// Tasks by id.
    pub tasks: Option<Vec<String>>,
    /// Verifiers by name; the rollouts stay, their other verifications go.
    pub verifiers: Option<Vec<String>>,
    /// Tags by name, each with the values to keep. A tag selects whole tasks, and all tags given must agree.
    pub tags: Vec<(String, Vec<String>)>,
}

impl Run {
    /// The part of the run that `selection` names. Requested counts of the tasks that stay are kept; names that the
    /// run does not know are errors, and so is a tag that varies within a task.
    pub fn select(&self, selection: &Selection) -> Result<Self> {
        let mut known = self.dictionary.tasks.names.clone();
        for declared in self.declared() {
            known.intern(&declared);
        }
        let mut keep = vec![true; known.len()];
        if let Some(tasks) = &selection.tasks {
            keep = by_task(tasks, &known)?;
        }
        for (tag, values) in &selection.tags {
            let with_tag = self.by_tag(tag, values)?;
            // Declared tasks without a record have no tag.
            keep.iter_mut().enumerate().for_each(|(id, keep)| *keep &= with_tag.get(id) == Some(&true));
        }
        let verifiers = selection.verifiers.as_deref().map(|names| self.by_verifier(names)).transpose()?;
        let mut part = self.cut(&known, &keep, verifiers.as_ref());
        if let Some(names) = &selection.verifiers {
            part.verifiers = Some(names.clone());
        }
        Ok(part)
    }

    /// Tasks that the header or the caller names, in order.
    fn declared(&self) -> Vec<String> {
        let mut tasks = self.reading.header.as_ref().map(crate::header::Header::declared).unwrap_or_default();
        if let Some(Requested::PerTask(list)) = &self.given {
            tasks.extend(list.iter().map(|(task, _)| task.clone()));
        }
        tasks
    }

    fn by_tag(&self, tag: &str, values: &[String]) -> Result<Vec<bool>> {
        let texts = &self.dictionary.texts;
        let mut of_task: Vec<Option<u32>> = vec![None; self.dictionary.tasks.names.len()];
        let mut names = HashSet::new();
        for batch in &self.batches {
            for (i, &task) in batch.task.iter().enumerate() {
                for at in range(&batch.tags.offsets, i) {
                    names.insert(batch.tags.name[at]);
                    if texts.get(batch.tags.name[at]) != tag {
                        continue;
                    }
                    let value = batch.tags.value[at];
                    match of_task[task as usize].replace(value) {
                        Some(other) if other != value => {
                            return Err(self.dictionary.task_error(
                                task,
                                format!(
                                    "tag {tag:?} is {:?} in one rollout and {:?} in another; a tag selects whole tasks, so it must be constant within each",
                                    texts.get(other),
                                    texts.get(value)
                                ),
                            ));
                        }
                        _ => {}
                    }
                }
            }
        }
        if !names.iter().any(|&name| texts.get(name) == tag) {
            return Err(unknown("tags", "tag", tag, sorted(names.into_iter().map(|name| texts.get(name)))));
        }
        let existing: HashSet<u32> = of_task.iter().flatten().copied().collect();
        let wanted = find_all(values, "tags", &format!("value of tag {tag:?}"), texts, &existing)?;
        Ok(of_task.iter().map(|value| value.is_some_and(|value| wanted.contains(&value))).collect())
    }

    fn by_verifier(&self, names: &[String]) -> Result<HashSet<u32>> {
        let texts = &self.dictionary.texts;
        let existing: HashSet<u32> = self.batches.iter().flat_map(|batch| &batch.verifications.name).copied().collect();
        find_all(names, "verifiers", "verifier", texts, &existing)
    }

    /// The run with the tasks that `keep` marks (by their number in `known`), numbered anew.
    fn cut(&self, known: &Names, keep: &[bool], verifiers: Option<&HashSet<u32>>) -> Self {
        let mut part = Self {
            dictionary: self.dictionary.clone(),
            batches: Vec::with_capacity(self.batches.len()),
            reading: self.reading.clone(),
            given: self.given.clone(),
            inputs: self.inputs.clone(),
            verifiers: self.verifiers.clone(),
        };
        let tasks = &self.dictionary.tasks;
        part.dictionary.tasks.names = Names::default();
        part.dictionary.tasks.first.clear();
        let mut renumbered = vec![u32::MAX; tasks.names.len()];
        for (id, name) in tasks.names.iter().enumerate().filter(|(id, _)| keep[*id]) {
            renumbered[id] = part.dictionary.tasks.names.intern(name);
            part.dictionary.tasks.first.extend(tasks.first.get(id));
        }
        for batch in &self.batches {
            let mut batch = filter(batch, &|i| renumbered[batch.task[i] as usize] != u32::MAX, &|at| {
                verifiers.is_none_or(|wanted| wanted.contains(&batch.verifications.name[at]))
            });
            batch.task.iter_mut().for_each(|task| *task = renumbered[*task as usize]);
            if !batch.is_empty() {
                part.batches.push(batch);
            }
        }
        let stays = |task: &str| known.find(task).is_some_and(|id| keep[id as usize]);
        let only = |requested: &mut Option<Requested>| {
            if let Some(Requested::PerTask(list)) = requested {
                list.retain(|(task, _)| stays(task));
            }
        };
        only(&mut part.given);
        if let Some(header) = &mut part.reading.header {
            only(&mut header.requested);
            if let Some(tasks) = &mut header.tasks {
                tasks.retain(|task| stays(task));
            }
        }
        part
    }
}

fn by_task(tasks: &[String], known: &Names) -> Result<Vec<bool>> {
    let mut keep = vec![false; known.len()];
    for task in tasks {
        match known.find(task) {
            Some(id) => keep[id as usize] = true,
            None => return Err(unknown("tasks", "task", task, known.iter())),
        }
    }
    Ok(keep)
}

/// The ids of `names`, each of which must be among the `existing` ones.
fn find_all(
    names: &[String],
    argument: &str,
    noun: &str,
    texts: &Names,
    existing: &HashSet<u32>,
) -> Result<HashSet<u32>> {
    let find = |name: &String| match texts.find(name).filter(|id| existing.contains(id)) {
        Some(id) => Ok(id),
        None => Err(unknown(argument, noun, name, sorted(existing.iter().map(|&id| texts.get(id))))),
    };
    names.iter().map(find).collect()
}

fn sorted<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut names: Vec<&str> = names.collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// How many names a message lists.
const LISTED: usize = 10;

fn unknown<'a>(argument: &str, noun: &str, name: &str, existing: impl IntoIterator<Item = &'a str>) -> Error {
    let existing: Vec<&str> = existing.into_iter().collect();
    let way_on = match nearest(name, existing.iter().copied()) {
        Some(meant) => format!("did you mean {meant:?}?"),
        None if existing.is_empty() => "it has none".to_owned(),
        None => {
            let listed: Vec<String> = existing.iter().take(LISTED).map(|name| format!("{name:?}")).collect();
            let more = if existing.len() > LISTED { ", …" } else { "" };
            format!("it has {}{more}", listed.join(", "))
        }
    };
    Error::argument(argument, format!("the run has no {noun} {name:?}; {way_on}"))
}
