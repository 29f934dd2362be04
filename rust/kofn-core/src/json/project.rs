//! Records to rows: the walk, the headers, and what becomes of bad records.

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
use crate::error::{Error, Place, Result, Unit};
use crate::header::Header;
use crate::names::Dictionary;
use crate::reading::{LISTED, Reading};

/// Rollouts in a batch: few enough to stay in the cache while they are tallied.
const ROLLOUTS: usize = 8 << 10;
/// Checks, readings and so on in a batch, so that no rollout with very many makes it large.
const ENTRIES: usize = 1 << 20;

/// What a read needs from source to source.
pub(crate) struct Projector<'r, 'o> {
    options: &'o Options<'o>,
    dictionary: &'r mut Dictionary,
    take: &'r mut dyn FnMut(Batch, &Dictionary) -> Result<()>,
    trie: Trie,
    memory: Memory,
    recorder: Recorder,
    reading: Reading,
    headers: Vec<Header>,
    /// The run's id, as the first header that has one gives it.
    id: Option<Header>,
    /// Lowest and highest scores of sources that declare no range.
    unranged: Vec<(f64, Place)>,
    unit: Unit,
    source: u32,
    /// Rollouts of this source, bad ones included.
    rollouts: u64,
}

impl<'r, 'o> Projector<'r, 'o> {
    pub fn new(
        options: &'o Options<'o>,
        dictionary: &'r mut Dictionary,
        take: &'r mut dyn FnMut(Batch, &Dictionary) -> Result<()>,
    ) -> Result<Self> {
        let trie = Trie::compile(options.mapping, options.needs)?;
        Ok(Self {
            memory: Memory::new(&trie),
            trie,
            recorder: Recorder::new(options.mapping, options.needs, options.keep_ungradable),
            reading: Reading::default(),
            headers: Vec::new(),
            id: None,
            unranged: Vec::new(),
            unit: if options.mapping.layout == Layout::Lines { options.unit } else { Unit::Record },
            source: 0,
            rollouts: 0,
            options,
            dictionary,
            take,
        })
    }

    /// A source begins.
    pub fn source(&mut self, name: &str) {
        self.source = u32::try_from(self.dictionary.sources.len()).unwrap_or(u32::MAX);
        self.dictionary.sources.push(name.to_owned());
        self.rollouts = 0;
        self.recorder.range = None;
        self.recorder.extremes = None;
    }

    /// A source ended.
    pub fn source_ends(&mut self, name: String, hash: u64) {
        if self.recorder.range.is_none()
            && let Some(extremes) = self.recorder.extremes
        {
            self.unranged.extend(extremes.map(|(score, origin)| (score, self.place(origin.line))));
        }
        self.reading.sources.push((name, Some(hash)));
    }

    /// Everything was read.
    pub fn end(mut self) -> Result<Reading> {
        self.flush()?;
        // Declared order is that of the sorted sources' headers (spec 9), whatever order they were read in.
        self.headers.sort_by(|a, b| (&a.place.source, a.place.number).cmp(&(&b.place.source, b.place.number)));
        let mut headers = std::mem::take(&mut self.headers).into_iter();
        if let Some(mut header) = headers.next() {
            for other in headers {
                header.merge(other)?;
            }
            if let Some((low, high)) = header.score_range
                && let Some((score, place)) = self.unranged.iter().find(|(score, _)| !(low..=high).contains(score))
            {
                let problem = format!(
                    "{score} lies outside the score_range [{low}, {high}] that {} declares for the run",
                    header.place
                );
                return Err(Error::record(place.clone(), "score", problem));
            }
            self.reading.header = Some(header);
        }
        self.reading.sources.sort_unstable();
        self.reading.skewed_durations = self.recorder.skewed;
        self.reading.half_usages = self.recorder.halves;
        Ok(self.reading)
    }

    fn place(&self, number: u64) -> Place {
        let source = self.dictionary.sources.get(self.source as usize).cloned().unwrap_or_default();
        Place { source, number: Some(number), unit: self.unit }
    }

    /// Read one record.
    pub fn record(&mut self, found: Found<'_>) -> Result<()> {
        // Rows are counted from 0, as every table library counts them.
        let found = Found { number: found.number - u64::from(self.unit == Unit::Row), ..found };
        let outcome = self.project(found).and_then(|record| match record {
            Record::Rollout => Ok(None),
            Record::Header(header) => self.range(*header).map(Some),
        });
        match outcome {
            Ok(None) => {
                self.rollouts += 1;
                if self.full() { self.flush() } else { Ok(()) }
            }
            Ok(Some(header)) => self.declare(Header { place: self.place(found.number), ..header }),
            Err(fault) => {
                self.recorder.abandon();
                self.bad(found, &fault)
            }
        }
    }

    fn project(&mut self, found: Found<'_>) -> Checked<Record> {
        let text = utf8(found.bytes)?;
        let origin = Origin {
            source: self.source,
            length: u32::try_from(found.bytes.len()).map_err(|_| Fault::new("the record is longer than 4 GiB"))?,
            line: found.number,
            offset: found.offset,
        };
        let Self { trie, memory, recorder, dictionary, .. } = self;
        let mut walk = Walk { trie, memory, recorder, dictionary, cursor: Cursor::new(text), text };
        walk.record()?;
        let hash = if self.options.needs.hashes { xxh3_64(found.bytes) } else { 0 };
        self.recorder.finish(text, origin, hash, self.dictionary)
    }

    /// A score range holds for what follows in its source, so it must stand first (spec 7.2).
    fn range(&mut self, header: Header) -> Checked<Header> {
        if let Some(range) = header.score_range {
            if self.rollouts > 0 && self.recorder.range != Some(range) {
                let problem = "must stand before the first rollout of its file, so that every score is held against it";
                return Err(Fault::new(problem).under("score_range").under("run"));
            }
            self.recorder.range = Some(range);
        }
        Ok(header)
    }

    fn declare(&mut self, header: Header) -> Result<()> {
        // All else is compared at the end; other runs are refused before gigabytes are read.
        let id = Header { id: header.id.clone(), place: header.place.clone(), ..Header::default() };
        match &mut self.id {
            Some(known) => known.merge(id)?,
            None if id.id.is_some() => self.id = Some(id),
            None => {}
        }
        self.headers.push(header);
        Ok(())
    }

    #[cold]
    fn bad(&mut self, found: Found<'_>, fault: &Fault) -> Result<()> {
        let place = self.place(found.number);
        let syntax = fault.is_syntax() || !is_json(found.bytes);
        if found.unfinished && syntax {
            self.reading.cut.push(place);
            return Ok(());
        }
        self.rollouts += 1;
        let error = Error::record(place, fault.field(), fault.problem());
        // Where an element ends is known only from its syntax, so reading on after such a fault would be a guess.
        if !self.options.skip_errors || (syntax && self.options.mapping.layout != Layout::Lines) {
            return Err(error);
        }
        self.reading.skipped += 1;
        if self.reading.skipped_first.len() < LISTED {
            self.reading.skipped_first.push(error.to_string());
        }
        Ok(())
    }

    fn full(&self) -> bool {
        let batch = &self.recorder.batch;
        batch.len() >= ROLLOUTS
            || batch.verifications.name.len() >= ENTRIES
            || batch.checks.flags.len() >= ENTRIES
            || batch.readings.metric.len() >= ENTRIES
            || batch.tags.name.len() >= ENTRIES
    }

    fn flush(&mut self) -> Result<()> {
        if self.recorder.batch.is_empty() {
            return Ok(());
        }
        (self.take)(self.recorder.take(), self.dictionary)
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
