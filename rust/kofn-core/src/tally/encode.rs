//! A tally as bytes: canonical, so equal content is equal bytes whatever the order it came in, and read back only
//! after every number was checked against the others.
//!
//! Layout: a magic line, the body, the xxh3-128 of the body. Numbers are LEB128, floats 8 bytes, text length-prefixed.
//! Tasks stand sorted by id.

use std::collections::{BTreeMap, BTreeSet};

use xxhash_rust::xxh3::xxh3_128;

use super::series::{Kind, Name};
use super::{Counts, Denominator, Durations, OnShort, SeriesState, Setup, Tally, Tokens};
use crate::batch::NO_INDEX;
use crate::error::{Error, Place, Result, Unit};
use crate::exact::Exact;
use crate::header::{Header, Requested};
use crate::names::IdKind;
use crate::plan::Plan;
use crate::policies::{Policy, flags};
use crate::reading::Reading;

const MAGIC: &[u8] = b"kofn.tally/2\n";
/// What the magic line of every version begins with.
const ANY_VERSION: &[u8] = b"kofn.tally/";
const HASH: usize = 16;

/// Appends to bytes.
#[derive(Default)]
struct Writer(Vec<u8>);

impl Writer {
    fn number(&mut self, mut n: u64) {
        while n >= 0x80 {
            self.0.push(n.to_le_bytes()[0] | 0x80);
            n >>= 7;
        }
        self.0.push(n.to_le_bytes()[0]);
    }
    fn flag(&mut self, on: bool) {
        self.0.push(u8::from(on));
    }
    fn float(&mut self, x: f64) {
        self.0.extend(x.to_le_bytes());
    }
    fn text(&mut self, text: &str) {
        self.number(text.len() as u64);
        self.0.extend(text.as_bytes());
    }
    fn option<T>(&mut self, value: Option<T>, write: impl FnOnce(&mut Self, T)) {
        self.flag(value.is_some());
        if let Some(value) = value {
            write(self, value);
        }
    }
    fn list<T>(&mut self, values: impl ExactSizeIterator<Item = T>, mut write: impl FnMut(&mut Self, T)) {
        self.number(values.len() as u64);
        for value in values {
            write(self, value);
        }
    }
}

/// Takes from bytes; none where they end or contradict themselves.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn byte(&mut self) -> Option<u8> {
        let (&first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(first)
    }
    fn take(&mut self, n: usize) -> Option<&[u8]> {
        let (head, rest) = self.0.split_at_checked(n)?;
        self.0 = rest;
        Some(head)
    }
    fn number(&mut self) -> Option<u64> {
        let mut n = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 {
                return None;
            }
            n |= bits << shift;
            if byte & 0x80 == 0 {
                // One spelling a number: a longer one would make two encodings of one tally.
                return (shift == 0 || byte != 0).then_some(n);
            }
        }
        None
    }
    fn small(&mut self) -> Option<u32> {
        u32::try_from(self.number()?).ok()
    }
    /// A length that the remaining bytes can hold, so that nothing is allocated on a lie.
    fn length(&mut self) -> Option<usize> {
        let n = usize::try_from(self.number()?).ok()?;
        (n <= self.0.len()).then_some(n)
    }
    fn flag(&mut self) -> Option<bool> {
        match self.byte()? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }
    fn float(&mut self) -> Option<f64> {
        Some(f64::from_le_bytes(self.take(8)?.try_into().ok()?))
    }
    /// A finite float that is not -0.0.
    fn value(&mut self) -> Option<f64> {
        self.float().filter(|x| x.is_finite() && (*x != 0.0 || x.is_sign_positive()))
    }
    fn text(&mut self) -> Option<String> {
        let n = self.length()?;
        String::from_utf8(self.take(n)?.to_vec()).ok()
    }
    #[expect(clippy::option_option, reason = "the outer one: the bytes make no sense")]
    fn option<T>(&mut self, read: impl FnOnce(&mut Self) -> Option<T>) -> Option<Option<T>> {
        if self.flag()? { Some(Some(read(self)?)) } else { Some(None) }
    }
    fn list<T>(&mut self, mut read: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let n = self.length()?;
        (0..n).map(|_| read(self)).collect()
    }
    fn wide(&mut self) -> Option<u128> {
        Some(u128::from_le_bytes(self.take(16)?.try_into().ok()?))
    }
    fn exact(&mut self) -> Option<Exact> {
        Exact::decode(&mut self.0)
    }
}

fn write_setup(out: &mut Writer, setup: &Setup) {
    out.list(setup.plan.statistics.iter(), |out, (statistic, asked)| {
        out.text(&statistic.to_string());
        out.flag(*asked);
    });
    out.flag(setup.plan.defaults);
    out.option(setup.plan.by.as_deref(), Writer::text);
    out.option(setup.plan.cluster.as_deref(), Writer::text);
    out.text(setup.policy.id());
    match &setup.policy {
        Policy::VerifierVerdict => out.0.push(0),
        Policy::ScoreThreshold(threshold) => {
            out.0.push(1);
            out.float(*threshold);
        }
        Policy::Custom { parameters, .. } => {
            out.0.push(2);
            out.text(parameters);
        }
    }
    out.flag(setup.chosen);
    out.option(setup.requested.as_ref(), write_requested);
    out.text(setup.denominator.word());
    out.flag(setup.on_short == OnShort::Omit);
}

fn read_setup(bytes: &mut Reader<'_>) -> Option<Setup> {
    let statistics = bytes.list(|b| Some((b.text()?, b.flag()?)))?;
    let defaults = bytes.flag()?;
    let by = bytes.option(Reader::text)?;
    let cluster = bytes.option(Reader::text)?;
    let plan = Plan::restore(&statistics, defaults, by)?.clustered(cluster);
    let id = bytes.text()?;
    let policy = match bytes.byte()? {
        0 => Policy::VerifierVerdict,
        1 => Policy::ScoreThreshold(bytes.float().filter(|x| x.is_finite())?),
        2 => Policy::Custom { id: id.clone(), parameters: bytes.text()? },
        _ => return None,
    };
    if policy.id() != id {
        return None;
    }
    let chosen = bytes.flag()?;
    let requested = bytes.option(read_requested)?;
    let word = bytes.text()?;
    let denominator = Denominator::WORDS.iter().find(|(known, _)| *known == word)?.1;
    let on_short = if bytes.flag()? { OnShort::Omit } else { OnShort::Raise };
    Some(Setup { plan, policy, chosen, requested, denominator, on_short })
}

fn write_requested(out: &mut Writer, requested: &Requested) {
    match requested {
        Requested::Each(n) => {
            out.flag(false);
            out.number(*n);
        }
        Requested::PerTask(list) => {
            out.flag(true);
            out.list(list.iter(), |out, (task, n)| {
                out.text(task);
                out.number(*n);
            });
        }
    }
}

fn read_requested(bytes: &mut Reader<'_>) -> Option<Requested> {
    if !bytes.flag()? {
        return Some(Requested::Each(bytes.number()?));
    }
    Some(Requested::PerTask(bytes.list(|b| Some((b.text()?, b.number()?)))?))
}

fn write_place(out: &mut Writer, place: &Place) {
    out.text(&place.source);
    out.option(place.number, Writer::number);
    out.0.push(place.unit as u8);
}

fn read_place(bytes: &mut Reader<'_>) -> Option<Place> {
    let source = bytes.text()?;
    let number = bytes.option(Reader::number)?;
    let unit = *[Unit::Line, Unit::Record, Unit::Row].get(usize::from(bytes.byte()?))?;
    Some(Place { source, number, unit })
}

fn write_reading(out: &mut Writer, reading: &Reading) {
    out.option(reading.header.as_ref(), |out, header| {
        out.option(header.id.as_deref(), Writer::text);
        out.option(header.requested.as_ref(), write_requested);
        out.option(header.tasks.as_ref(), |out, tasks| out.list(tasks.iter(), |out, task| out.text(task)));
        out.option(header.score_range, |out, (low, high)| {
            out.float(low);
            out.float(high);
        });
        write_place(out, &header.place);
    });
    out.list(reading.sources.iter(), |out, (name, hash)| {
        out.text(name);
        out.option(*hash, Writer::number);
    });
    out.number(reading.skipped);
    out.list(reading.skipped_first.iter(), |out, message| out.text(message));
    out.list(reading.cut.iter(), write_place);
    out.number(reading.dropped);
    out.number(reading.skewed_durations);
    out.number(reading.half_usages);
}

fn read_reading(bytes: &mut Reader<'_>) -> Option<Reading> {
    let header = bytes.option(|b| {
        Some(Header {
            id: b.option(Reader::text)?,
            requested: b.option(read_requested)?,
            tasks: b.option(|b| b.list(Reader::text))?,
            score_range: b.option(|b| Some((b.float()?, b.float()?)))?,
            place: read_place(b)?,
        })
    })?;
    Some(Reading {
        header,
        sources: bytes.list(|b| Some((b.text()?, b.option(Reader::number)?)))?,
        skipped: bytes.number()?,
        skipped_first: bytes.list(Reader::text)?,
        cut: bytes.list(read_place)?,
        dropped: bytes.number()?,
        skewed_durations: bytes.number()?,
        half_usages: bytes.number()?,
    })
}

fn write_state(out: &mut Writer, state: &SeriesState, rename: &[u32]) {
    let which: BTreeSet<u32> = state.which.iter().map(|&number| rename[number as usize]).collect();
    out.list(which.into_iter(), |out, number| out.number(u64::from(number)));
    out.flag(state.repeated);
    out.flag(state.text);
    out.number(state.n);
    state.sum.encode(&mut out.0);
    state.squares.encode(&mut out.0);
    out.list(state.kinds.iter(), |out, (kind, n)| {
        match kind {
            Kind::Number(bits) => {
                out.0.push(0);
                out.float(f64::from_bits(*bits));
            }
            Kind::Bool(bool) => {
                out.0.push(1);
                out.flag(*bool);
            }
            Kind::Text(text) => {
                out.0.push(2);
                out.text(text);
            }
        }
        out.number(*n);
    });
}

fn read_state(bytes: &mut Reader<'_>, names: u32) -> Option<SeriesState> {
    let which: Vec<u32> = bytes.list(Reader::small)?;
    let (repeated, text, n) = (bytes.flag()?, bytes.flag()?, bytes.number()?);
    let (sum, squares) = (bytes.exact()?, bytes.exact()?);
    let kinds = bytes.list(|b| {
        let kind = match b.byte()? {
            0 => Kind::Number(b.value()?.to_bits()),
            1 => Kind::Bool(b.flag()?),
            2 => Kind::Text(b.text()?),
            _ => return None,
        };
        Some((kind, b.number()?))
    })?;
    let ascending = which.is_sorted_by(|a, b| a < b) && kinds.is_sorted_by(|a, b| a.0 < b.0);
    if !ascending || which.iter().any(|&number| number >= names) {
        return None;
    }
    let mut state = SeriesState::default();
    (state.repeated, state.text, state.n, state.sum, state.squares) = (repeated, text, n, sum, squares);
    state.which = which.into_iter().collect();
    state.kinds = kinds.into_iter().collect::<BTreeMap<_, _>>();
    state.is_sound().then_some(state)
}

impl Tally {
    /// The tally as bytes: the same for the same content, in whatever order it came.
    #[must_use]
    pub fn encode(&mut self) -> Vec<u8> {
        self.scores.compact();
        let mut out = Writer::default();
        write_setup(&mut out, &self.setup);
        out.option(self.part.as_deref(), Writer::text);
        out.list(self.parts.iter(), |out, (part, hash)| {
            out.text(part);
            out.0.extend(hash.to_le_bytes());
        });
        out.number(self.skipped_parts);
        write_reading(&mut out, &self.reading);
        self.write_content(&mut out);
        let mut bytes = MAGIC.to_vec();
        bytes.extend(&out.0);
        bytes.extend(xxh3_128(&out.0).to_le_bytes());
        bytes
    }

    /// A hash of what was counted, by which a copy of a part is recognised.
    pub(super) fn content_hash(&mut self) -> u128 {
        self.scores.compact();
        let mut out = Writer::default();
        self.write_content(&mut out);
        xxh3_128(&out.0)
    }

    fn write_content(&self, out: &mut Writer) {
        out.number(self.kind.map_or(0, |kind| 1 + u64::from(kind == IdKind::Integer)));
        let mut order: Vec<u32> = self.recorded_tasks().collect();
        order.sort_unstable_by_key(|&task| self.names.get(task));
        out.list(order.iter(), |out, &task| {
            let at = task as usize;
            out.text(self.names.get(task));
            for &count in self.counts[at].lanes() {
                out.number(u64::from(count));
            }
            out.number(u64::from(self.keys.explicit(task)));
            let mut next = 0;
            for index in self.keys.of(task) {
                out.number(index - next);
                next = index + 1;
            }
            out.list(self.scores.of(at).iter(), |out, level| {
                out.float(level.value);
                out.number(level.count);
            });
            if let Some(Durations { n, sum, squares }) = self.durations.get(at) {
                out.number(u64::from(*n));
                sum.encode(&mut out.0);
                squares.encode(&mut out.0);
            }
            if let Some(Tokens { n, sum, squares }) = self.tokens.get(at) {
                out.number(u64::from(*n));
                out.0.extend(sum.to_le_bytes());
                out.0.extend(squares.to_le_bytes());
            }
            for groups in self.groups.iter().chain(&self.clusters) {
                out.option(groups.value(at), Writer::text);
            }
        });
        let mut names: Vec<u32> = (0u32..).take(self.series.names.len()).collect();
        names.sort_unstable_by_key(|&number| &self.series.names[number as usize]);
        let rename = inverse(&names, names.len());
        out.list(names.iter(), |out, &number| {
            let (verifier, subject, metric) = &self.series.names[number as usize];
            out.text(verifier);
            out.text(subject);
            out.text(metric);
        });
        let position = inverse(&order, self.names.len());
        for states in &self.series.states {
            let mut states: Vec<_> = states.iter().map(|(task, state)| (position[*task as usize], state)).collect();
            states.sort_unstable_by_key(|(position, _)| *position);
            out.list(states.into_iter(), |out, (position, state)| {
                out.number(u64::from(position));
                write_state(out, state, &rename);
            });
        }
    }

    /// Read bytes that [`Self::encode`] made. Everything else is an error, never a panic.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        let refuse = |problem: &str| Err(Error::encoding(format!("{problem}; give the bytes of to_bytes() unchanged")));
        let Some(rest) = bytes.strip_prefix(MAGIC) else {
            return refuse(if bytes.starts_with(ANY_VERSION) {
                "the accumulator was saved by another version of kofn, which this one does not read"
            } else {
                "these bytes are not an accumulator of kofn"
            });
        };
        let Some((body, hash)) = rest.len().checked_sub(HASH).map(|at| rest.split_at(at)) else {
            return refuse("the accumulator's bytes are cut off");
        };
        if xxh3_128(body).to_le_bytes() != *hash {
            return refuse("the accumulator's bytes are damaged");
        }
        let mut reader = Reader(body);
        match Self::read_body(&mut reader) {
            Some(tally) if reader.0.is_empty() => Ok(tally),
            _ => refuse("the accumulator's bytes contradict themselves"),
        }
    }

    fn read_body(bytes: &mut Reader<'_>) -> Option<Self> {
        let setup = read_setup(bytes)?;
        let part = bytes.option(Reader::text)?;
        let mut tally = Self::new(setup, part);
        tally.parts = bytes.list(|b| Some((b.text()?, b.wide()?)))?.into_iter().collect();
        tally.skipped_parts = bytes.number()?;
        tally.reading = read_reading(bytes)?;
        tally.kind = match bytes.number()? {
            0 => None,
            1 => Some(IdKind::Text),
            2 => Some(IdKind::Integer),
            _ => return None,
        };
        let tasks = u32::try_from(bytes.length()?).ok()?;
        let mut last: Option<String> = None;
        for task in 0..tasks {
            let name = bytes.text()?;
            if last.as_ref().is_some_and(|last| *last >= name) || tally.names.intern(&name) != task {
                return None;
            }
            last = Some(name);
            tally.grow();
            tally.read_task(bytes, task)?;
        }
        let names = bytes.list(|b| Some((b.text()?, b.text()?, b.text()?)))?;
        if !names.is_sorted_by(|a: &Name, b| a < b) {
            return None;
        }
        let known = u32::try_from(names.len()).ok()?;
        for name in names {
            tally.series.intern(name);
        }
        for at in 0..tally.series.states.len() {
            let mut next = 0;
            for _ in 0..bytes.length()? {
                let task = bytes.small().filter(|&task| task >= next && task < tasks)?;
                next = task + 1;
                let state = read_state(bytes, known)?;
                tally.series.states[at].insert(task, state);
            }
        }
        Some(tally)
    }

    fn read_task(&mut self, bytes: &mut Reader<'_>, task: u32) -> Option<()> {
        let at = task as usize;
        let mut counts = [0u32; flags::COUNT];
        for count in &mut counts {
            *count = bytes.small()?;
        }
        let counts = Counts::from_lanes(counts)?;
        let recorded = counts.recorded();
        if recorded == 0 {
            return None;
        }
        self.rows += u64::from(recorded);
        if self.rows > u64::from(u32::MAX) {
            return None;
        }
        self.counts[at] = counts;
        let explicit = bytes.small().filter(|&n| n == 0 || n == recorded)?;
        if explicit > 0 {
            let mut next = 0u64;
            for _ in 0..explicit {
                let index = next.checked_add(bytes.number()?).filter(|&index| index < NO_INDEX)?;
                self.keys.add(&[task], &[index]).ok()?;
                next = index + 1;
            }
        } else {
            self.keys.add_unnumbered(task, recorded);
        }
        let mut scored = 0u64;
        let mut last = f64::NEG_INFINITY;
        for _ in 0..bytes.length()? {
            let value = bytes.value().filter(|&value| value > last)?;
            let count = bytes.small().filter(|&count| count > 0)?;
            scored += u64::from(count);
            last = value;
            self.scores.add(task, value, count);
        }
        if scored != u64::from(counts.of(flags::SCORED)) {
            return None;
        }
        if let Some(entry) = self.durations.get_mut(at) {
            let n = bytes.small().filter(|&n| n <= recorded)?;
            let found = Durations { n, sum: bytes.exact()?, squares: bytes.exact()? };
            *entry = Some(found).filter(Durations::is_sound)?;
        }
        if let Some(entry) = self.tokens.get_mut(at) {
            let n = bytes.small().filter(|&n| n <= recorded)?;
            let found = Tokens { n, sum: bytes.wide()?, squares: bytes.wide()? };
            *entry = Some(found).filter(Tokens::is_sound)?;
        }
        for groups in self.groups.iter_mut().chain(&mut self.clusters) {
            if let Some(value) = bytes.option(Reader::text)? {
                groups.set(task, &value).ok()?;
            }
        }
        Some(())
    }
}

/// `inverse(order, len)[order[i]] == i`, for distinct numbers below `len`.
fn inverse(order: &[u32], len: usize) -> Vec<u32> {
    let mut inverse = vec![0; len];
    for (position, &item) in (0u32..).zip(order) {
        inverse[item as usize] = position;
    }
    inverse
}

#[cfg(test)]
mod tests;
