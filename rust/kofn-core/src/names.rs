//! Interned text: each distinct string once, in one arena, with a dense id.

use crate::arch;
use crate::error::{Error, Place, Result, Unit};
use crate::table::{self, BATCH, Keeper, NONE, Table, fold};

/// Dense ids for text, in order of first appearance.
#[derive(Clone, Debug, Default)]
pub struct Names {
    texts: Texts,
    table: Table,
}

/// The texts themselves.
#[derive(Clone, Debug, Default)]
struct Texts {
    arena: String,
    entries: Vec<Entry>,
}

/// What tells one text from all others, unless it is long: half a cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
struct Entry {
    hash: u64,
    ends: Ends,
    /// Where the text starts, above its length or [`LONG`].
    place: u64,
}

/// A text as a look-up takes it.
#[derive(Clone, Copy, Debug)]
struct Text<'a> {
    bytes: &'a [u8],
    ends: Ends,
}

/// The first and the last bytes of a text: all of one that is no longer than [`SHORT`], once its length is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Ends(u64, u64);

/// Texts up to this length are told apart by their [`Ends`] and length.
const SHORT: usize = 16;
/// The bits of a length in [`Entry::place`]: longer texts count as this long there.
const LENGTH: u32 = 16;
const LONG: u64 = (1 << LENGTH) - 1;
/// Fractional parts of square roots, for want of numbers that mean anything.
const SEEDS: [u64; 3] = [0x6a09_e667_f3bc_c909, 0xbb67_ae85_84ca_a73b, 0x3c6e_f372_fe94_f82b];

impl Ends {
    #[inline]
    fn of(bytes: &[u8]) -> Self {
        let half = |half: &[u8; 4]| u64::from(u32::from_le_bytes(*half));
        if let (Some(first), Some(last)) = (bytes.first_chunk::<8>(), bytes.last_chunk::<8>()) {
            Self(u64::from_le_bytes(*first), u64::from_le_bytes(*last))
        } else if let (Some(first), Some(last)) = (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
            Self(half(first), half(last))
        } else {
            Self(bytes.iter().fold(0, |all, &byte| all << 8 | u64::from(byte)), 0)
        }
    }
}

impl Entry {
    #[inline]
    fn start(&self) -> usize {
        usize::try_from(self.place >> LENGTH).unwrap_or(usize::MAX)
    }
}

impl<'a> Text<'a> {
    #[inline]
    fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, ends: Ends::of(bytes) }
    }

    /// The length as [`Entry::place`] has it.
    #[inline]
    fn length(&self) -> u64 {
        LONG.min(self.bytes.len() as u64)
    }
}

impl PartialEq for Text<'_> {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        self.bytes.len() == other.bytes.len()
            && self.ends == other.ends
            && (self.bytes.len() <= SHORT || self.bytes == other.bytes)
    }
}

impl Texts {
    /// The bytes of a text; none where no text has that code.
    #[inline]
    fn bytes(&self, code: u32) -> &[u8] {
        let at = code as usize;
        let Some(first) = self.entries.get(at).map(Entry::start) else { return &[] };
        let end = self.entries.get(at + 1).map_or(self.arena.len(), Entry::start);
        self.arena.as_bytes().get(first..end).unwrap_or_default()
    }
}

impl Keeper for Texts {
    type Key<'a> = Text<'a>;
    type Refusal = NotText;

    #[inline]
    fn hash(&self, text: &Text<'_>) -> u64 {
        let mut seed = SEEDS[2] ^ text.bytes.len() as u64;
        let word = |bytes: &[u8; SHORT], at: usize| u64::from_le_bytes(std::array::from_fn(|i| bytes[at + i]));
        let Ends(mut first, last) = text.ends;
        if text.bytes.len() > SHORT
            && let (Some(but_one), Some(tail)) =
                (text.bytes.get(..text.bytes.len() - 1), text.bytes.last_chunk::<SHORT>())
        {
            for block in but_one.as_chunks::<SHORT>().0 {
                seed = fold(word(block, 0) ^ seed, word(block, SHORT / 2) ^ SEEDS[0]);
            }
            first = word(tail, 0);
        }
        fold(first ^ seed, last ^ SEEDS[1])
    }

    fn hash_of(&self, code: u32) -> u64 {
        self.entries.get(code as usize).map_or(0, |entry| entry.hash)
    }

    #[inline]
    fn is(&self, code: u32, text: &Text<'_>) -> bool {
        let Some(entry) = self.entries.get(code as usize) else { return false };
        entry.ends == text.ends
            && entry.place & LONG == text.length()
            && (text.bytes.len() <= SHORT || self.bytes(code) == text.bytes)
    }

    #[inline]
    fn prefetch(&self, code: u32) {
        if let Some(entry) = self.entries.get(code as usize) {
            arch::prefetch(entry);
        }
    }

    #[inline]
    fn prefetch_rest(&self, code: u32) {
        if let Some(entry) = self.entries.get(code as usize)
            && entry.place & LONG > SHORT as u64
            && let Some(byte) = self.bytes(code).first()
        {
            arch::prefetch(byte);
        }
    }

    fn keep(&mut self, text: &Text<'_>, hash: u64) -> Result<u32, NotText> {
        let new = str::from_utf8(text.bytes).map_err(|_| NotText)?;
        // 2^32 distinct texts would need 128 GiB for their entries alone.
        let code = u32::try_from(self.entries.len()).unwrap_or(NONE - 1);
        self.entries.push(Entry { hash, ends: text.ends, place: (self.arena.len() as u64) << LENGTH | text.length() });
        self.arena.push_str(new);
        Ok(code)
    }
}

/// Bytes that are no UTF-8.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotText;

impl Names {
    /// The id of `text`, new or known.
    pub fn intern(&mut self, text: &str) -> u32 {
        let text = Text::new(text.as_bytes());
        let hash = self.texts.hash(&text);
        // Text is UTF-8.
        table::code_of(&mut self.table, &mut self.texts, &text, hash).unwrap_or(NONE)
    }

    /// The ids of texts, [`BATCH`] at most, as UTF-8: those of so many calls of [`Self::intern`], which wait for memory
    /// one after the other. Fails at the first that is no UTF-8, with its position.
    #[inline]
    pub fn intern_batch(&mut self, texts: &[&[u8]], ids: &mut [u32; BATCH]) -> Result<(), usize> {
        let mut keys = [Text { bytes: &[], ends: Ends(0, 0) }; BATCH];
        for (key, text) in keys.iter_mut().zip(texts) {
            *key = Text::new(text);
        }
        let keys = keys.get(..texts.len()).unwrap_or(&keys);
        table::resolve(&mut self.table, &mut self.texts, keys, ids).map_err(|(at, NotText)| at)
    }

    /// Forget all texts, keep the buffers.
    pub fn clear(&mut self) {
        self.texts.entries.clear();
        self.texts.arena.clear();
        self.table.clear();
    }

    /// The id of `text` if it was interned.
    #[must_use]
    pub fn find(&self, text: &str) -> Option<u32> {
        let text = Text::new(text.as_bytes());
        self.table.find(self.texts.hash(&text), |code| self.texts.is(code, &text))
    }

    /// The text of `id`.
    ///
    /// # Panics
    /// If no text has that id.
    #[must_use]
    pub fn get(&self, id: u32) -> &str {
        let at = id as usize;
        let end = self.texts.entries.get(at + 1).map_or(self.texts.arena.len(), Entry::start);
        &self.texts.arena[self.texts.entries[at].start()..end]
    }

    /// How many distinct texts there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.texts.entries.len()
    }

    /// Whether nothing was interned.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.texts.entries.is_empty()
    }

    /// All texts in order of their ids.
    #[must_use]
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &str> {
        // Ids are dense u32 by construction.
        (0..self.len()).map(|id| self.get(u32::try_from(id).unwrap_or(NONE)))
    }
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

#[cfg(test)]
mod tests;
