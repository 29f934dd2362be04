//! A hash table of dense codes: where the things that are coded live, and how they compare, is their keeper's.
//!
//! A look-up of something that is not in the cache waits for memory three times: for its slot, for what it is compared
//! with, and for what is counted. A [`Batch`] takes many look-ups through these steps side by side, so that they wait
//! together.

use std::hint::select_unpredictable;

use crate::arch;

/// Look-ups taken side by side: enough to fill the time that memory takes, few enough to stay in the nearest cache.
pub const BATCH: usize = 128;
/// "No code".
pub const NONE: u32 = u32::MAX;
/// Slots of the smallest table.
const LEAST: usize = 16;

/// Codes by the hash of what they stand for: open addressing, at most half full.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// The code + 1, below as much of the hash as there is room for; zero where nothing is. A power of two of them, or
    /// none: a code + 1 has fewer bits than their number, so that small slots, of which many fit a cache, tell most
    /// things apart.
    slots: Vec<u32>,
    len: usize,
}

/// What a table finds by its hash, of which the lower half finds a slot and the upper half tells those in it apart.
pub trait Key: Copy + PartialEq {
    /// The hash.
    fn hash(&self) -> u64;
}

/// The things that are coded, in the order of their codes.
pub trait Keeper {
    /// One of them, as the caller has it.
    type Key<'a>: Key;
    /// What the caller must be told about one that cannot be kept.
    type Refusal;
    /// The hash of the kept one that has this code.
    fn hash_of(&self, code: u32) -> u64;
    /// Whether the kept one that has this code is this one; false where none has it, as [`NONE`].
    fn is(&self, code: u32, key: &Self::Key<'_>) -> bool;
    /// Have what `is` will compare brought near.
    fn prefetch(&self, code: u32);
    /// Keep a new one; its code is how many there were.
    fn keep(&mut self, key: &Self::Key<'_>, hash: u64) -> Result<u32, Self::Refusal>;
}

impl Table {
    /// The code of what has this hash and is the `same`.
    #[inline]
    pub fn find(&self, hash: u64, mut same: impl FnMut(u32) -> bool) -> Option<u32> {
        let mut at = home(hash);
        loop {
            let slot = *self.slots.get(at & self.mask())?;
            if slot == 0 {
                return None;
            }
            if self.may_be(slot, hash) && same(self.code(slot)) {
                return Some(self.code(slot));
            }
            at += 1;
        }
    }

    /// The code that [`Self::find`] will most likely give, if any: from the first two slots, without a branch on what
    /// is in them, which nobody could foretell.
    #[inline]
    fn guess(&self, hash: u64) -> u32 {
        let (slots, mask, at) = (self.slots.as_slice(), self.mask(), home(hash));
        if slots.is_empty() {
            return NONE;
        }
        let (first, second) = (slots[at & mask], slots[(at + 1) & mask]);
        self.code(select_unpredictable(self.may_be(first, hash), first, second))
    }

    #[inline]
    fn prefetch(&self, hash: u64) {
        if let Some(slot) = self.slots.get(home(hash) & self.mask()) {
            arch::prefetch(slot);
        }
    }

    #[inline]
    fn mask(&self) -> usize {
        self.slots.len().wrapping_sub(1)
    }

    /// The bits of a slot that are its code + 1.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "with so many slots, all bits of one are its code")]
    fn low(&self) -> u32 {
        self.mask() as u32
    }

    /// Whether a slot agrees with a hash in the bits that it has of one.
    #[inline]
    fn may_be(&self, slot: u32, hash: u64) -> bool {
        (slot ^ upper(hash)) & !self.low() == 0
    }

    /// The code in a slot; [`NONE`] in an empty one.
    #[inline]
    fn code(&self, slot: u32) -> u32 {
        (slot & self.low()).wrapping_sub(1)
    }

    /// Put in a code that is not there; `hash_of` tells the hashes of those that are.
    pub fn insert(&mut self, hash: u64, code: u32, hash_of: impl Fn(u32) -> u64) {
        if 2 * (self.len + 1) > self.slots.len() {
            let room = vec![0; LEAST.max(2 * self.slots.len())];
            let old = Self { slots: std::mem::replace(&mut self.slots, room), len: 0 };
            for &slot in old.slots.iter().filter(|&&slot| slot != 0) {
                self.place(hash_of(old.code(slot)), old.code(slot));
            }
        }
        self.place(hash, code);
        self.len += 1;
    }

    /// Forget all codes, keep the room.
    pub fn clear(&mut self) {
        self.slots.fill(0);
        self.len = 0;
    }

    fn place(&mut self, hash: u64, code: u32) {
        let (mask, low) = (self.mask(), self.low());
        let mut at = home(hash);
        // Half of the slots are empty.
        while let Some(slot) = self.slots.get_mut(at & mask) {
            if *slot == 0 {
                *slot = upper(hash) & !low | (code + 1);
                return;
            }
            at += 1;
        }
    }
}

/// Where a hash's slot is, before the mask.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "the lower half is what is meant")]
fn home(hash: u64) -> usize {
    hash as u32 as usize
}

/// The half of a hash that tells those in a slot apart.
#[inline]
fn upper(hash: u64) -> u32 {
    (hash >> 32) as u32
}

/// The code of `key`, new or known.
pub fn code_of<K: Keeper>(table: &mut Table, keeper: &mut K, key: &K::Key<'_>, hash: u64) -> Result<u32, K::Refusal> {
    if let Some(code) = table.find(hash, |code| keeper.is(code, key)) {
        return Ok(code);
    }
    let code = keeper.keep(key, hash)?;
    table.insert(hash, code, |code| keeper.hash_of(code));
    Ok(code)
}

/// Keys on their way to codes, [`BATCH`] at most: room that is used again.
pub struct Batch<K> {
    keys: [K; BATCH],
    len: usize,
    /// Runs of equal keys: what stands together is looked up once, as rollouts of one task mostly do.
    runs: usize,
    /// Where each run starts, its hash and its code; the end of the last one follows its start.
    starts: [u8; BATCH + 1],
    hashes: [u64; BATCH],
    found: [u32; BATCH],
}

impl<K: Key> Batch<K> {
    /// Without keys; `any` stands where none is.
    pub const fn new(any: K) -> Self {
        Self { keys: [any; BATCH], len: 0, runs: 0, starts: [0; BATCH + 1], hashes: [0; BATCH], found: [NONE; BATCH] }
    }

    /// Take keys, [`BATCH`] at most, in place of those that are here.
    #[inline]
    pub fn fill(&mut self, keys: impl Iterator<Item = K>) {
        let mut len = 0;
        for (to, key) in self.keys.iter_mut().zip(keys) {
            *to = key;
            len += 1;
        }
        (self.len, self.runs) = (len, 0);
    }

    /// How many keys there are.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Each run's key, code and length, once the keys are resolved.
    #[inline]
    pub fn runs(&self) -> impl Iterator<Item = (&K, u32, usize)> {
        let bounds = self.starts[..=self.runs.min(BATCH)].windows(2);
        bounds.zip(&self.found).map(|(bounds, &code)| {
            let [start, end] = [bounds[0], bounds[1]].map(usize::from);
            (&self.keys[start % BATCH], code, end - start)
        })
    }

    /// Find the code of each key, as if [`code_of`] were asked for one after the other; on a refusal the position of
    /// its key.
    pub fn resolve<'a, R: Keeper<Key<'a> = K>>(
        &mut self,
        table: &mut Table,
        keeper: &mut R,
    ) -> Result<(), (usize, R::Refusal)> {
        // Loops by number over arrays of one size cost less than iterators side by side; a mask that changes nothing
        // tells the compiler that a number is small.
        let keys = &self.keys[..self.len.min(BATCH)];
        let mut runs = 0;
        for (i, key) in keys.iter().enumerate() {
            if runs == 0 || *key != keys[i - 1] {
                let hash = key.hash();
                table.prefetch(hash);
                (self.hashes[runs % BATCH], self.starts[runs % BATCH]) = (hash, small(i));
                runs += 1;
            }
        }
        let runs = runs.min(BATCH);
        (self.runs, self.starts[runs]) = (runs, small(keys.len()));
        for i in 0..runs {
            self.found[i] = table.guess(self.hashes[i]);
            keeper.prefetch(self.found[i]);
        }
        for i in 0..runs {
            let start = usize::from(self.starts[i]) % BATCH;
            let key = &self.keys[start];
            if !keeper.is(self.found[i], key) {
                self.found[i] = code_of(table, keeper, key, self.hashes[i]).map_err(|refusal| (start, refusal))?;
            }
        }
        Ok(())
    }
}

/// A number up to [`BATCH`].
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "it is small")]
const fn small(number: usize) -> u8 {
    number as u8
}

/// Both halves of a product of 128 bits in one word: every bit of either factor moves every bit of it.
#[inline]
#[must_use]
#[expect(clippy::cast_possible_truncation, reason = "the lower half is what is meant")]
pub fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    (product as u64) ^ (product >> 64) as u64
}

#[cfg(test)]
mod tests;
