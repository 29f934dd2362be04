//! Interned text: each distinct string once, in one arena, with a dense id.

use foldhash::fast::FixedState;
use hashbrown::HashTable;
use std::hash::BuildHasher;

use crate::error::{Error, Place, Result, Unit};

/// Dense ids for text, in order of first appearance.
#[derive(Clone, Debug, Default)]
pub struct Names {
    arena: String,
    ends: Vec<usize>,
    table: HashTable<u32>,
    state: FixedState,
}

impl Names {
    /// The id of `text`, new or known.
    pub fn intern(&mut self, text: &str) -> u32 {
        let hash = self.state.hash_one(text);
        let Self { arena, ends, table, state } = self;
        let slice = |id: u32| name(arena, ends, id);
        if let Some(&id) = table.find(hash, |&id| slice(id) == text) {
            return id;
        }
        // 2^32 distinct texts would need 64 GiB for their ends and table alone.
        let id = u32::try_from(ends.len()).unwrap_or(u32::MAX - 1);
        arena.push_str(text);
        ends.push(arena.len());
        let (arena, ends) = (&*arena, &*ends);
        table.insert_unique(hash, id, |&id| state.hash_one(name(arena, ends, id)));
        id
    }

    /// The id of `text` if it was interned.
    #[must_use]
    pub fn find(&self, text: &str) -> Option<u32> {
        self.table.find(self.state.hash_one(text), |&id| self.get(id) == text).copied()
    }

    /// The text of `id`.
    ///
    /// # Panics
    /// If no text has that id.
    #[must_use]
    pub fn get(&self, id: u32) -> &str {
        name(&self.arena, &self.ends, id)
    }

    /// How many distinct texts there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether nothing was interned.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// All texts in order of their ids.
    #[must_use]
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &str> {
        (0..self.ends.len()).map(|id| {
            let start = if id == 0 { 0 } else { self.ends[id - 1] };
            &self.arena[start..self.ends[id]]
        })
    }
}

fn name<'a>(arena: &'a str, ends: &[usize], id: u32) -> &'a str {
    let id = id as usize;
    let start = if id == 0 { 0 } else { ends[id - 1] };
    &arena[start..ends[id]]
}

/// Whether a run names its tasks by text or by integers: one run never mixes them (spec 1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdKind {
    /// `"sum-1000"`.
    Text,
    /// `1000`, kept as its decimal text.
    Integer,
}

impl IdKind {
    /// For messages.
    #[must_use]
    pub const fn noun(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Integer => "an integer",
        }
    }
}

/// Task ids, their kind, and where each was first seen.
#[derive(Clone, Debug, Default)]
pub struct Tasks {
    /// The ids as text.
    pub names: Names,
    /// Text or integers, once the first is known, with the place of that first one.
    pub kind: Option<IdKind>,
    /// Where each id was first recorded: (source number, line), by dense id; empty where places are unknown.
    pub first: Vec<(u32, u64)>,
}

impl Tasks {
    /// The dense id of a task; an error message when text and integer ids mix.
    pub fn intern(&mut self, id: &str, kind: IdKind) -> Result<u32, String> {
        match self.kind {
            Some(known) if known != kind => Err(format!(
                "this id is {}, others of the run are {}: a run uses one of the two, so that 1 and \"1\" never become one task",
                kind.noun(),
                known.noun()
            )),
            _ => {
                self.kind = Some(kind);
                Ok(self.names.intern(id))
            }
        }
    }
}

/// All text of a run that its batches refer to by number.
#[derive(Clone, Debug, Default)]
pub struct Dictionary {
    /// Task ids.
    pub tasks: Tasks,
    /// Names of sources, in the order they are read: `Origin::source` counts them.
    pub sources: Vec<String>,
    /// What the numbers of each source's records count; lines where it is shorter than `sources`.
    pub units: Vec<Unit>,
    /// Verifier names, labels, subjects, metrics, tags and text values.
    pub texts: Names,
}

impl Dictionary {
    /// The place of a record: `number` as its source counts (lines and records from 1, rows from 0).
    #[must_use]
    pub fn place(&self, source: u32, number: u64) -> Option<Place> {
        let source = source as usize;
        let unit = self.units.get(source).copied().unwrap_or_default();
        Some(Place { source: self.sources.get(source)?.clone(), number: Some(number), unit })
    }

    /// Where a task was first recorded, if that is known.
    #[must_use]
    pub fn first_place(&self, task: u32) -> Option<Place> {
        let &(source, number) = self.tasks.first.get(task as usize)?;
        self.place(source, number)
    }

    /// The error for a task, with its first place.
    #[must_use]
    pub fn task_error(&self, task: u32, problem: String) -> Error {
        Error::Task { task: self.tasks.names.get(task).to_owned(), place: self.first_place(task), problem }
    }
}
