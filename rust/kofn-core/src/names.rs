//! Interned text: each distinct string once, in one arena, with a dense id.

use crate::arch;
use crate::error::{Error, Place, Result, Unit};
use crate::table::{self, Keeper, Key, NONE, Table, fold};

/// Dense ids for text, in order of first appearance.
#[derive(Clone, Debug, Default)]
pub struct Names {
    texts: Texts,
    table: Table,
}

/// The texts themselves.
#[derive(Clone, Debug, Default)]
struct Texts {
    /// What tells a short text from all others, and most long ones: apart from the rest, so that a cache holds many.
    marks: Vec<Mark>,
    starts: Vec<usize>,
    arena: String,
}

/// A text as a look-up takes it.
#[derive(Clone, Copy, Debug)]
pub struct Text<'a> {
    bytes: &'a [u8],
    mark: Mark,
}

/// A short text itself, with its length in the last byte; the hash and the length of a long one, after [`LONG`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Mark(u64, u64);

/// Texts up to this length are short.
const SHORT: usize = 15;
/// The last byte of the mark of a long text.
const LONG: u64 = 0xff << 56;
/// Bytes that are hashed at a time.
const BLOCK: usize = 16;
/// Fractional parts of square roots, for want of numbers that mean anything.
const SEEDS: [u64; 3] = [0x6a09_e667_f3bc_c909, 0xbb67_ae85_84ca_a73b, 0x3c6e_f372_fe94_f82b];

impl Mark {
    #[inline]
    fn of(bytes: &[u8]) -> Self {
        let len = bytes.len() as u64;
        let half = |half: &[u8; 4]| u64::from(u32::from_le_bytes(*half));
        if bytes.len() > SHORT {
            Self(hash_long(bytes), LONG | len)
        } else if let (Some(first), Some(last)) = (bytes.first_chunk::<8>(), bytes.last_chunk::<8>()) {
            // In two steps, for all of the last eight bytes may be among the first.
            let rest = u64::from_le_bytes(*last) >> (8 * (15 - len)) >> 8;
            Self(u64::from_le_bytes(*first), len << 56 | rest)
        } else if let (Some(first), Some(last)) = (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
            Self(half(first) | half(last) << (8 * (len - 4)), len << 56)
        } else {
            Self(bytes.iter().rev().fold(0, |all, &byte| all << 8 | u64::from(byte)), len << 56)
        }
    }

    #[inline]
    const fn is(self, other: Self) -> bool {
        (self.0 ^ other.0) | (self.1 ^ other.1) == 0
    }

    /// Whether texts that have this mark may differ.
    #[inline]
    const fn is_long(self) -> bool {
        self.1 >= LONG
    }
}

#[inline]
fn hash_long(bytes: &[u8]) -> u64 {
    let word = |bytes: &[u8; BLOCK], at: usize| u64::from_le_bytes(std::array::from_fn(|i| bytes[at + i]));
    let add = |seed, block| fold(word(block, 0) ^ seed, word(block, BLOCK / 2) ^ SEEDS[0]);
    // Whole blocks from the start, and the last one from the end.
    let (blocks, _) = bytes.get(..bytes.len().saturating_sub(1)).unwrap_or_default().as_chunks::<BLOCK>();
    let seed = blocks.iter().fold(SEEDS[2], add);
    bytes.last_chunk::<BLOCK>().map_or(seed, |tail| add(seed, tail))
}

impl<'a> Text<'a> {
    /// No bytes.
    pub const EMPTY: Self = Self { bytes: &[], mark: Mark(0, 0) };

    /// Of bytes, which need not be UTF-8.
    #[inline]
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, mark: Mark::of(bytes) }
    }

    /// Whether it has no bytes.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }
}

impl Key for Text<'_> {
    #[inline]
    fn hash(&self) -> u64 {
        fold(self.mark.0 ^ SEEDS[0], self.mark.1 ^ SEEDS[1])
    }
}

impl PartialEq for Text<'_> {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        // Branches on the length alone, which can be foretold.
        let same = self.mark.is(other.mark);
        if self.mark.is_long() { same && self.bytes == other.bytes } else { same }
    }
}

impl Texts {
    /// The bytes of a text; none where no text has that code.
    #[inline]
    fn bytes(&self, code: u32) -> &[u8] {
        let at = code as usize;
        let Some(&first) = self.starts.get(at) else { return &[] };
        let end = self.starts.get(at + 1).copied().unwrap_or(self.arena.len());
        self.arena.as_bytes().get(first..end).unwrap_or_default()
    }
}

impl Keeper for Texts {
    type Key<'a> = Text<'a>;
    type Refusal = NotText;

    #[inline]
    fn hash_of(&self, code: u32) -> u64 {
        self.marks.get(code as usize).map_or(0, |&mark| Text { bytes: &[], mark }.hash())
    }

    #[inline]
    fn is(&self, code: u32, text: &Text<'_>) -> bool {
        self.marks.get(code as usize).is_some_and(|mark| mark.is(text.mark))
            && (!text.mark.is_long() || self.bytes(code) == text.bytes)
    }

    #[inline]
    fn prefetch(&self, code: u32) {
        if let Some(mark) = self.marks.get(code as usize) {
            arch::prefetch(mark);
        }
    }

    fn keep(&mut self, text: &Text<'_>, _hash: u64) -> Result<u32, NotText> {
        let new = str::from_utf8(text.bytes).map_err(|_| NotText)?;
        // 2^32 distinct texts would need 128 GiB for what tells them apart alone.
        let code = u32::try_from(self.marks.len()).unwrap_or(NONE - 1);
        self.marks.push(text.mark);
        self.starts.push(self.arena.len());
        self.arena.push_str(new);
        Ok(code)
    }
}

/// Bytes that are no UTF-8.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotText;

/// Texts on their way to ids.
pub type Batch<'a> = table::Batch<Text<'a>>;

impl Names {
    /// The id of `text`, new or known.
    pub fn intern(&mut self, text: &str) -> u32 {
        let text = Text::new(text.as_bytes());
        // Text is UTF-8.
        table::code_of(&mut self.table, &mut self.texts, &text, text.hash()).unwrap_or(NONE)
    }

    /// Find the ids of texts, [`table::BATCH`] at most: those of so many calls of [`Self::intern`], which wait for
    /// memory one after the other. Fails at the first that is no UTF-8, with its position.
    #[inline]
    pub fn intern_batch<'a>(
        &mut self,
        batch: &mut Batch<'a>,
        texts: impl Iterator<Item = &'a [u8]>,
    ) -> Result<(), usize> {
        batch.fill(texts.map(Text::new));
        self.resolve(batch)
    }

    fn resolve(&mut self, batch: &mut Batch<'_>) -> Result<(), usize> {
        batch.resolve(&mut self.table, &mut self.texts).map_err(|(at, NotText)| at)
    }

    /// Forget all texts, keep the buffers.
    pub fn clear(&mut self) {
        self.texts.marks.clear();
        self.texts.starts.clear();
        self.texts.arena.clear();
        self.table.clear();
    }

    /// The id of `text` if it was interned.
    #[must_use]
    pub fn find(&self, text: &str) -> Option<u32> {
        let text = Text::new(text.as_bytes());
        self.table.find(text.hash(), |code| self.texts.is(code, &text))
    }

    /// The text of `id`.
    ///
    /// # Panics
    /// If no text has that id.
    #[must_use]
    pub fn get(&self, id: u32) -> &str {
        let at = id as usize;
        let end = self.texts.starts.get(at + 1).copied().unwrap_or(self.texts.arena.len());
        &self.texts.arena[self.texts.starts[at]..end]
    }

    /// How many distinct texts there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.texts.starts.len()
    }

    /// Whether nothing was interned.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.texts.starts.is_empty()
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
