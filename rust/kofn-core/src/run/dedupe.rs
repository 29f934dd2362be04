//! The same (task, index) twice (spec 4.6): refuse it, drop equal copies, or choose by source order.

use std::collections::HashMap;

use super::filter::filter;
use crate::batch::{Batch, NO_INDEX};
use crate::error::{Error, Place, Result};
use crate::json::{Options, Source, read};
use crate::names::Dictionary;
use crate::plan::Needs;
use crate::seen::Seen;

/// What to do with a second record of one rollout.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnDuplicate {
    /// Refuse it, naming both places.
    #[default]
    Raise,
    /// Drop it if its bytes equal the first one's, else refuse it.
    Identical,
    /// Keep the first in source order.
    First,
    /// Keep the last in source order.
    Last,
}

impl OnDuplicate {
    /// Read the word of the public interface.
    pub fn parse(word: &str) -> Result<Self> {
        match word {
            "raise" => Ok(Self::Raise),
            "identical" => Ok(Self::Identical),
            "first" => Ok(Self::First),
            "last" => Ok(Self::Last),
            _ => Err(Error::argument(
                "on_duplicate",
                format!("{word:?} is not \"raise\", \"identical\", \"first\" or \"last\""),
            )),
        }
    }
}

/// Whether a task's rollouts carry an index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Numbering {
    #[default]
    Unknown,
    Explicit,
    Implicit,
}

/// A stage between a reader and whatever takes its batches: feed it every batch in source order.
///
/// `Last` cannot be decided while reading: it drops nothing before [`Dedupe::finish`], which a [`super::Run`] calls
/// on all its batches.
#[derive(Clone, Debug, Default)]
pub struct Dedupe {
    how: OnDuplicate,
    seen: Seen,
    numbering: Vec<Numbering>,
    /// Hash of the first record of each rollout, for `Identical`.
    hashes: HashMap<(u32, u64), u64>,
    /// Records dropped so far.
    pub dropped: u64,
}

impl Dedupe {
    /// Nothing seen yet.
    #[must_use]
    pub fn new(how: OnDuplicate) -> Self {
        Self { how, ..Self::default() }
    }

    /// What the reader must decode for it: hashes where copies are told from contradictions.
    #[must_use]
    pub fn needs(&self) -> Needs {
        Needs { hashes: self.how == OnDuplicate::Identical, ..Needs::default() }
    }

    /// Drop from a batch what is not wanted. On error the batch is as it was; the error knows the later place alone
    /// ([`complete`] and [`locate`] find the earlier one).
    pub fn apply(&mut self, batch: &mut Batch, dictionary: &Dictionary) -> Result<()> {
        let mut keep = vec![true; batch.len()];
        let mut dropped = 0;
        for (i, keep) in keep.iter_mut().enumerate() {
            let (task, index) = (batch.task[i], batch.index[i]);
            let place = || batch.origin.get(i).and_then(|at| dictionary.place(at.source, at.line));
            self.number(task, index, dictionary, place)?;
            if index == NO_INDEX || self.how == OnDuplicate::Last {
                continue;
            }
            let hash = batch.hash.get(i).copied();
            if self.seen.insert(task, index) {
                if let (OnDuplicate::Identical, Some(hash)) = (self.how, hash) {
                    self.hashes.insert((task, index), hash);
                }
                continue;
            }
            let equal = match self.how {
                OnDuplicate::Identical => hash.map(|hash| self.hashes.get(&(task, index)) == Some(&hash)),
                _ => None,
            };
            if self.how != OnDuplicate::First && equal != Some(true) {
                let task = dictionary.tasks.names.get(task).to_owned();
                return Err(Error::Duplicate { task, index, first: None, second: place(), equal });
            }
            *keep = false;
            dropped += 1;
        }
        if dropped > 0 {
            *batch = filter(batch, &|i| keep[i], &|_| true);
            self.dropped += dropped;
        }
        Ok(())
    }

    /// Decide what had to wait for the end: of all batches, keep the last record of each rollout.
    pub fn finish(&mut self, batches: &mut Vec<Batch>) {
        if self.how != OnDuplicate::Last {
            return;
        }
        for batch in batches.iter_mut().rev() {
            let mut keep = vec![true; batch.len()];
            for i in (0..batch.len()).rev() {
                keep[i] = batch.index[i] == NO_INDEX || self.seen.insert(batch.task[i], batch.index[i]);
            }
            let dropped = keep.iter().filter(|keep| !**keep).count();
            if dropped > 0 {
                *batch = filter(batch, &|i| keep[i], &|_| true);
                self.dropped += dropped as u64;
            }
        }
        batches.retain(|batch| !batch.is_empty());
    }

    /// Rollouts of one task are all numbered, or none is.
    fn number(
        &mut self,
        task: u32,
        index: u64,
        dictionary: &Dictionary,
        place: impl Fn() -> Option<Place>,
    ) -> Result<()> {
        let at = task as usize;
        if at >= self.numbering.len() {
            self.numbering.resize(at + 1, Numbering::Unknown);
        }
        let numbering = if index == NO_INDEX { Numbering::Implicit } else { Numbering::Explicit };
        if self.numbering[at] == Numbering::Unknown {
            self.numbering[at] = numbering;
        }
        if self.numbering[at] == numbering {
            return Ok(());
        }
        let (this, others) = match numbering {
            Numbering::Implicit => ("no", "do"),
            _ => ("an", "do not"),
        };
        Err(Error::Task {
            task: dictionary.tasks.names.get(task).to_owned(),
            place: place(),
            problem: format!(
                "this record carries {this} index, earlier ones of the task {others}; number all of a task's rollouts or none"
            ),
        })
    }
}

/// Add the earlier place, and whether the two are equal, to a duplicate's error from the batches read so far; every
/// other error stays as it is.
#[must_use]
pub fn complete(error: Error, batches: &[Batch], dictionary: &Dictionary) -> Error {
    let Some(mut search) = Search::new(&error) else { return error };
    for batch in batches {
        search.look(batch, dictionary);
    }
    search.tell()
}

/// As [`complete`], by reading `sources` a second time: for streams of batches that keep nothing. If that read fails
/// the error stays as it is.
#[must_use]
pub fn locate(
    error: Error,
    sources: Vec<Source>,
    options: &Options<'_>,
    watch: &mut dyn FnMut() -> Result<()>,
) -> Error {
    let Some(mut search) = Search::new(&error) else { return error };
    let options = Options { needs: Needs { hashes: true, ..Needs::default() }, ..*options };
    let mut dictionary = Dictionary { units: vec![options.unit; sources.len()], ..Dictionary::default() };
    let mut take = |batch: Batch, dictionary: &Dictionary| {
        search.look(&batch, dictionary);
        // Reading on would tell nothing more.
        if search.later.is_some() { Err(Error::Interrupted) } else { Ok(()) }
    };
    // Neither that stop nor a failure further on makes what was found less true.
    let _ = read(sources, &options, &mut dictionary, &mut take, watch);
    search.tell()
}

/// Looks for the first record of a rollout, and for the hash of the one whose place is known.
struct Search<'a> {
    task: &'a str,
    index: u64,
    second: Option<&'a Place>,
    equal: Option<bool>,
    first: Option<(Option<Place>, Option<u64>)>,
    later: Option<u64>,
}

impl<'a> Search<'a> {
    fn new(error: &'a Error) -> Option<Self> {
        match error {
            Error::Duplicate { task, index, first: None, second, equal } => {
                Some(Self { task, index: *index, second: second.as_ref(), equal: *equal, first: None, later: None })
            }
            _ => None,
        }
    }

    fn look(&mut self, batch: &Batch, dictionary: &Dictionary) {
        let Some(task) = dictionary.tasks.names.find(self.task) else { return };
        for i in 0..batch.len() {
            if batch.task[i] != task || batch.index[i] != self.index {
                continue;
            }
            let place = batch.origin.get(i).and_then(|at| dictionary.place(at.source, at.line));
            let hash = batch.hash.get(i).copied();
            if self.first.is_none() {
                self.first = Some((place, hash));
            } else if place.as_ref() == self.second {
                self.later = hash;
            }
        }
    }

    fn tell(self) -> Error {
        let (first, hash) = self.first.unzip();
        Error::Duplicate {
            task: self.task.to_owned(),
            index: self.index,
            first: first.flatten(),
            second: self.second.cloned(),
            equal: self.equal.or_else(|| Some(hash.flatten()? == self.later?)),
        }
    }
}
