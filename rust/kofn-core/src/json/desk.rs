//! A desk: where records are read by themselves, apart from all that was read before.
//!
//! Ids are the desk's own and numbers count from the desk's first record, so that pieces of a source can be read side
//! by side; the projector puts them together in order. What a record does depend on is in [`Before`]; a piece that was
//! read under a wrong guess at it is read again.

use xxhash_rust::xxh3::xxh3_64;

use super::cursor::Cursor;
use super::fault::{Checked, Fault};
use super::lines::Found;
use super::mapping::Layout;
use super::native::{Record, Recorder};
use super::reader::Options;
use super::trie::Trie;
use super::walk::{Memory, Walk};
use crate::batch::{Batch, Origin};
use crate::header::Header;
use crate::names::{Dictionary, IdKind};

/// Rollouts in a batch: few enough to stay in the cache while they are tallied.
const ROLLOUTS: usize = 8 << 10;
/// Checks, readings and so on in a batch, so that no rollout with very many makes it large.
const ENTRIES: usize = 1 << 20;

/// What earlier records of a read say about a later one.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Before {
    /// The score range that the source declared.
    pub range: Option<(f64, f64)>,
    /// Whether tasks are text or integers.
    pub kind: Option<IdKind>,
    /// The source had a rollout, perhaps a bad one.
    pub rollouts: bool,
}

/// What a record was, other than a rollout.
#[derive(Debug)]
pub(crate) enum Event {
    Header(Box<Header>),
    /// A half-written last line.
    Cut,
    /// A bad record: its field, and what is wrong.
    Bad(String, String),
}

/// Reads records.
#[derive(Debug)]
pub(crate) struct Desk {
    memory: Memory,
    recorder: Recorder,
    pub dictionary: Dictionary,
    /// In the order of the records, with their numbers.
    pub events: Vec<(u64, Event)>,
    /// Lines or elements, blank ones included.
    pub records: u64,
    /// The last event ends the read.
    pub stopped: bool,
    before: Before,
    rollouts: bool,
}

impl Desk {
    pub fn new(trie: &Trie, options: &Options<'_>) -> Self {
        Self {
            memory: Memory::new(trie),
            recorder: Recorder::new(options.mapping, options.needs, options.keep_ungradable),
            dictionary: Dictionary::default(),
            events: Vec::new(),
            records: 0,
            stopped: false,
            before: Before::default(),
            rollouts: false,
        }
    }

    /// Ready for what follows on `before`.
    pub fn begin(&mut self, before: Before) {
        self.recorder.restart(before.range);
        self.dictionary.texts.clear();
        self.dictionary.tasks.names.clear();
        self.dictionary.tasks.first.clear();
        self.dictionary.tasks.kind = before.kind;
        self.events.clear();
        (self.records, self.stopped) = (0, false);
        (self.before, self.rollouts) = (before, before.rollouts);
    }

    /// Whether what was read would have been read alike after `before`.
    pub fn follows(&self, before: Before) -> bool {
        // Ids that are all of one kind are alike whether the kind was known before or not.
        let kind = self.before.kind == before.kind
            || (self.before.kind.is_none() && self.dictionary.tasks.kind.is_none_or(|kind| Some(kind) == before.kind));
        kind && Before { kind: None, ..self.before } == Before { kind: None, ..before }
    }

    /// What a record after those that were read depends on.
    pub fn after(&self) -> Before {
        Before { range: self.recorder.range, kind: self.dictionary.tasks.kind, rollouts: self.rollouts }
    }

    /// Read a record; `ahead` is its text, and any after it, where that was checked already.
    pub fn record(&mut self, found: Found<'_>, ahead: Option<&str>, trie: &Trie, options: &Options<'_>) {
        let outcome = self.project(found, ahead, trie, options).and_then(|record| match record {
            Record::Rollout => Ok(None),
            Record::Header(header) => self.range(header).map(Some),
        });
        match outcome {
            Ok(None) => self.rollouts = true,
            Ok(Some(header)) => self.events.push((found.number, Event::Header(header))),
            Err(fault) => {
                self.recorder.abandon();
                self.bad(found, &fault, options);
            }
        }
    }

    fn project(
        &mut self,
        found: Found<'_>,
        ahead: Option<&str>,
        trie: &Trie,
        options: &Options<'_>,
    ) -> Checked<Record> {
        let Self { memory, recorder, dictionary, .. } = self;
        recorder.begin();
        let ahead = ahead.map_or_else(|| utf8(found.bytes), Ok)?;
        let text = ahead.get(..found.bytes.len()).unwrap_or_default();
        let origin = Origin {
            source: 0,
            length: u32::try_from(found.bytes.len()).map_err(|_| Fault::new("the record is longer than 4 GiB"))?,
            line: found.number,
            offset: found.offset,
        };
        Walk { trie, memory, recorder, dictionary, cursor: Cursor::new(text), text, ahead }.record()?;
        let hash = if options.needs.hashes { xxh3_64(found.bytes) } else { 0 };
        self.recorder.finish(text, origin, hash, &mut self.dictionary)
    }

    /// A score range holds for what follows in its source, so it must stand first (spec 7.2).
    fn range(&mut self, header: Box<Header>) -> Checked<Box<Header>> {
        if let Some(range) = header.score_range {
            if self.rollouts && self.recorder.range != Some(range) {
                let problem = "must stand before the first rollout of its file, so that every score is held against it";
                return Err(Fault::new(problem).under("score_range").under("run"));
            }
            self.recorder.range = Some(range);
        }
        Ok(header)
    }

    #[cold]
    fn bad(&mut self, found: Found<'_>, fault: &Fault, options: &Options<'_>) {
        let syntax = fault.is_syntax() || !is_json(found.bytes);
        if found.unfinished && syntax {
            self.events.push((found.number, Event::Cut));
            return;
        }
        self.rollouts = true;
        self.events.push((found.number, Event::Bad(fault.field(), fault.problem().to_owned())));
        // Where an element ends is known only from its syntax, so reading on after such a fault would be a guess.
        self.stopped = !options.skip_errors || (syntax && options.mapping.layout != Layout::Lines);
    }

    /// Whether it holds as much as a batch may.
    pub fn full(&self) -> bool {
        let batch = &self.recorder.batch;
        batch.len() >= ROLLOUTS
            || batch.verifications.name.len() >= ENTRIES
            || batch.checks.flags.len() >= ENTRIES
            || batch.readings.metric.len() >= ENTRIES
            || batch.tags.name.len() >= ENTRIES
            || self.events.len() >= ROLLOUTS
    }

    /// The rollouts, with the desk's own ids and numbers.
    pub fn take(&mut self) -> Batch {
        self.recorder.take()
    }

    /// Lowest and highest score; durations that were clock skew and usages of which one half was recorded.
    pub const fn account(&self) -> (Option<[(f64, Origin); 2]>, u64, u64) {
        (self.recorder.extremes, self.recorder.skewed, self.recorder.halves)
    }
}

fn utf8(bytes: &[u8]) -> Checked<&str> {
    simdutf8::basic::from_utf8(bytes).or_else(|_| {
        simdutf8::compat::from_utf8(bytes)
            .map_err(|error| Fault::syntax(error.valid_up_to(), "the bytes are not UTF-8"))
    })
}

fn is_json(bytes: &[u8]) -> bool {
    utf8(bytes).is_ok_and(|text| {
        let mut cursor = Cursor::new(text);
        cursor.skip().and_then(|()| cursor.end()).is_ok()
    })
}
