//! Desks in order: ids, numbers and headers of the whole read, and what becomes of bad records.

use super::desk::{Before, Desk, Event};
use super::lines::{Found, Piece};
use super::mapping::Layout;
use super::reader::Options;
use super::trie::Trie;
use crate::batch::{Batch, Origin, Value};
use crate::error::{Error, Place, Result, Unit};
use crate::header::Header;
use crate::names::Dictionary;
use crate::reading::{LISTED, Reading};

/// What a read needs from source to source.
pub(crate) struct Projector<'r, 'o> {
    pub options: &'o Options<'o>,
    pub trie: &'r Trie,
    dictionary: &'r mut Dictionary,
    take: &'r mut dyn FnMut(Batch, &Dictionary) -> Result<()>,
    reading: Reading,
    headers: Vec<Header>,
    /// The run's id, as the first header that has one gives it.
    id: Option<Header>,
    /// Lowest and highest scores of sources that declare no range.
    unranged: Vec<(f64, Place)>,
    unit: Unit,
    source: u32,
    before: Before,
    /// The lowest and highest recorded score with their places, for a range that another source declares.
    extremes: Option<[(f64, Origin); 2]>,
    /// Desks, with the bytes last read at them, that are not in use.
    free: Vec<(Box<Desk>, Vec<u8>)>,
    /// Where each id of a desk is in the dictionary.
    tasks: Vec<u32>,
    texts: Vec<u32>,
}

impl<'r, 'o> Projector<'r, 'o> {
    pub fn new(
        options: &'o Options<'o>,
        trie: &'r Trie,
        dictionary: &'r mut Dictionary,
        take: &'r mut dyn FnMut(Batch, &Dictionary) -> Result<()>,
    ) -> Self {
        Self {
            options,
            trie,
            before: Before { kind: dictionary.tasks.kind, ..Before::default() },
            dictionary,
            take,
            reading: Reading::default(),
            headers: Vec::new(),
            id: None,
            unranged: Vec::new(),
            unit: if options.mapping.layout == Layout::Lines { options.unit } else { Unit::Record },
            source: 0,
            extremes: None,
            free: Vec::new(),
            tasks: Vec::new(),
            texts: Vec::new(),
        }
    }

    /// A source begins.
    pub fn source(&mut self, name: &str) {
        self.source = u32::try_from(self.dictionary.sources.len()).unwrap_or(u32::MAX);
        self.dictionary.sources.push(name.to_owned());
        self.before = Before { kind: self.before.kind, ..Before::default() };
        self.extremes = None;
    }

    /// A source ended.
    pub fn source_ends(&mut self, name: String, hash: u64) {
        if self.before.range.is_none()
            && let Some(extremes) = self.extremes
        {
            self.unranged.extend(extremes.map(|(score, origin)| (score, self.place(origin.line))));
        }
        self.reading.sources.push((name, Some(hash)));
    }

    /// Everything was read.
    pub fn end(mut self) -> Result<Reading> {
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
        Ok(self.reading)
    }

    /// What the records read so far say about the next.
    pub const fn before(&self) -> Before {
        self.before
    }

    /// A desk that is not in use, and a buffer.
    pub fn desk(&mut self) -> (Box<Desk>, Vec<u8>) {
        self.free.pop().unwrap_or_else(|| (Box::new(Desk::new(self.trie, self.options)), Vec::new()))
    }

    /// Give them back.
    pub fn release(&mut self, desk: Box<Desk>, buffer: Vec<u8>) {
        self.free.push((desk, buffer));
    }

    /// Take in a piece that follows on `records` others; what was read under a wrong guess is read again.
    pub fn piece(&mut self, desk: &mut Desk, piece: &Piece, records: u64) -> Result<()> {
        if !desk.follows(self.before) {
            piece.read(desk, self.before, self.trie, self.options);
        }
        self.merge(desk, records, piece.offset)
    }

    /// Read one record at a desk that was begun, and take in what is there when it is enough.
    pub fn record(&mut self, desk: &mut Desk, found: Found<'_>) -> Result<()> {
        desk.record(found, None, self.trie, self.options);
        if desk.full() || desk.stopped {
            self.merge(desk, 0, 0)?;
            desk.begin(self.before);
        }
        Ok(())
    }

    /// Take in what was read at a desk, behind so many records and bytes of the source.
    pub fn merge(&mut self, desk: &mut Desk, records: u64, bytes: u64) -> Result<()> {
        // Rows are counted from 0, as every table library counts them.
        let first = u64::from(self.unit == Unit::Row);
        let number = |of_desk: u64| (records + of_desk).saturating_sub(first);
        let last = desk.events.len();
        for (at, (of_desk, event)) in (1..).zip(desk.events.drain(..)) {
            let place = self.place(number(of_desk));
            match event {
                Event::Header(header) => self.declare(Header { place, ..*header })?,
                Event::Cut => self.reading.cut.push(place),
                Event::Bad(field, problem) => {
                    let error = Error::record(place, field, problem);
                    if desk.stopped && at == last {
                        return Err(error);
                    }
                    self.skip(&error);
                }
            }
        }
        let mut batch = desk.take();
        self.names(desk, records, first);
        // What held no ids says nothing about the kind of others.
        self.before = Before { kind: self.dictionary.tasks.kind, ..desk.after() };
        let (extremes, skewed, halves) = desk.account();
        self.reading.skewed_durations += skewed;
        self.reading.half_usages += halves;
        let source = self.source;
        let origin =
            |origin: Origin| Origin { source, line: number(origin.line), offset: bytes + origin.offset, ..origin };
        if let Some([(low, at_low), (high, at_high)]) = extremes {
            let (at_low, at_high) = (origin(at_low), origin(at_high));
            let [lowest, highest] = self.extremes.get_or_insert([(low, at_low), (high, at_high)]);
            if low < lowest.0 {
                *lowest = (low, at_low);
            }
            if high > highest.0 {
                *highest = (high, at_high);
            }
        }
        if batch.is_empty() {
            return Ok(());
        }
        for place in &mut batch.origin {
            *place = origin(*place);
        }
        rename(&self.tasks, &mut batch.task);
        for ids in [
            &mut batch.verifications.name,
            &mut batch.checks.label,
            &mut batch.readings.subject,
            &mut batch.readings.metric,
            &mut batch.tags.name,
            &mut batch.tags.value,
        ] {
            rename(&self.texts, ids);
        }
        for value in &mut batch.readings.value {
            if let Value::Text(id) = value {
                rename(&self.texts, std::slice::from_mut(id));
            }
        }
        (self.take)(batch, self.dictionary)
    }

    /// The dictionary's ids for those of the desk: new ones in the order in which the desk met them.
    fn names(&mut self, desk: &Desk, records: u64, first: u64) {
        let Dictionary { tasks, texts, .. } = &mut *self.dictionary;
        tasks.kind = desk.dictionary.tasks.kind.or(tasks.kind);
        self.tasks.clear();
        for (name, &(_, line)) in desk.dictionary.tasks.names.iter().zip(&desk.dictionary.tasks.first) {
            let known = tasks.names.len();
            self.tasks.push(tasks.names.intern(name));
            // Places are kept for all tasks or for none: a dictionary shared with a table has none.
            if tasks.names.len() > known && tasks.first.len() == known {
                tasks.first.push((self.source, (records + line).saturating_sub(first)));
            }
        }
        self.texts.clear();
        self.texts.extend(desk.dictionary.texts.iter().map(|text| texts.intern(text)));
    }

    fn place(&self, number: u64) -> Place {
        let source = self.dictionary.sources.get(self.source as usize).cloned().unwrap_or_default();
        Place { source, number: Some(number), unit: self.unit }
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
    fn skip(&mut self, error: &Error) {
        self.reading.skipped += 1;
        if self.reading.skipped_first.len() < LISTED {
            self.reading.skipped_first.push(error.to_string());
        }
    }
}

/// Ids by their new names.
fn rename(names: &[u32], ids: &mut [u32]) {
    for id in ids {
        *id = names.get(*id as usize).copied().unwrap_or(*id);
    }
}
