//! A hash table of dense codes: where the things that are coded live, and how they compare, is their keeper's.
//!
//! A look-up of something that is not in the cache waits for memory three times: for its slot, for what it is compared
//! with, and for what is counted. [`resolve`] takes many look-ups through these steps side by side, so that they wait
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
    /// The upper half of the hash above the code + 1; zero where nothing is. A power of two of them, or none.
    slots: Vec<u64>,
    len: usize,
}

/// The things that are coded, in the order of their codes.
pub trait Keeper {
    /// One of them, as the caller has it.
    type Key<'a>: Copy + PartialEq;
    /// What the caller must be told about one that cannot be kept.
    type Refusal;
    /// A hash, of which the lower half finds a slot and the upper half tells those in it apart.
    fn hash(&self, key: &Self::Key<'_>) -> u64;
    /// The hash of the kept one that has this code.
    fn hash_of(&self, code: u32) -> u64;
    /// Whether the kept one that has this code is this one; false where none has it, as [`NONE`].
    fn is(&self, code: u32, key: &Self::Key<'_>) -> bool;
    /// Have what `is` will compare brought near.
    fn prefetch(&self, code: u32);
    /// Have the rest of it brought near, where only what [`Self::prefetch`] brought says where that is.
    fn prefetch_rest(&self, _code: u32) {}
    /// Keep a new one; its code is how many there were.
    fn keep(&mut self, key: &Self::Key<'_>, hash: u64) -> Result<u32, Self::Refusal>;
}

impl Table {
    /// The code of what has this hash and is the `same`.
    pub fn find(&self, hash: u64, mut same: impl FnMut(u32) -> bool) -> Option<u32> {
        let mut at = home(hash);
        loop {
            let slot = *self.slots.get(at & self.mask())?;
            if slot == 0 {
                return None;
            }
            if slot >> 32 == hash >> 32 && same(code(slot)) {
                return Some(code(slot));
            }
            at += 1;
        }
    }

    /// The code that [`Self::find`] will most likely give, if any: from the first two slots, without a branch on what
    /// is in them, which nobody could foretell.
    #[inline]
    fn guess(&self, hash: u64) -> u32 {
        let [first, second] =
            [0, 1].map(|step| self.slots.get((home(hash) + step) & self.mask()).copied().unwrap_or(0));
        code(select_unpredictable(first >> 32 == hash >> 32, first, second))
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

    /// Put in a code that is not there; `hash_of` tells the hashes of those that are.
    pub fn insert(&mut self, hash: u64, code: u32, hash_of: impl Fn(u32) -> u64) {
        if 2 * (self.len + 1) > self.slots.len() {
            let old = std::mem::take(&mut self.slots);
            self.slots = vec![0; LEAST.max(2 * old.len())];
            for slot in old.into_iter().filter(|&slot| slot != 0) {
                let code = self::code(slot);
                self.place(hash_of(code), code);
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
        let mask = self.mask();
        let mut at = home(hash);
        // Half of the slots are empty.
        while let Some(slot) = self.slots.get_mut(at & mask) {
            if *slot == 0 {
                *slot = (hash >> 32) << 32 | (u64::from(code) + 1);
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

/// The code in a slot; [`NONE`] in an empty one.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "the lower half is what is meant")]
fn code(slot: u64) -> u32 {
    (slot as u32).wrapping_sub(1)
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

/// The code of each of at most [`BATCH`] keys, as if [`code_of`] were asked for one after the other; on a refusal also
/// the position of its key.
pub fn resolve<K: Keeper>(
    table: &mut Table,
    keeper: &mut K,
    keys: &[K::Key<'_>],
    codes: &mut [u32; BATCH],
) -> Result<(), (usize, K::Refusal)> {
    // What stands together is looked up once: rollouts of one task mostly do.
    let (mut leads, mut lead_of) = ([0u8; BATCH], [0u8; BATCH]);
    let mut n = 0;
    let mut last = None;
    for ((at, key), lead_of) in (0u8..).zip(keys).zip(&mut lead_of) {
        if let Some(lead) = leads.get_mut(usize::from(n)) {
            *lead = at;
        }
        n += u8::from(last != Some(key));
        last = Some(key);
        *lead_of = n.wrapping_sub(1);
    }
    let leads = leads.get(..usize::from(n)).unwrap_or_default();
    let mut hashes = [0u64; BATCH];
    let mut found = [NONE; BATCH];
    for (hash, &at) in hashes.iter_mut().zip(leads) {
        if let Some(key) = keys.get(usize::from(at)) {
            *hash = keeper.hash(key);
            table.prefetch(*hash);
        }
    }
    for ((found, &hash), _) in found.iter_mut().zip(&hashes).zip(leads) {
        *found = table.guess(hash);
        keeper.prefetch(*found);
    }
    for (&found, _) in found.iter().zip(leads) {
        keeper.prefetch_rest(found);
    }
    for ((found, &hash), &at) in found.iter_mut().zip(&hashes).zip(leads) {
        let Some(key) = keys.get(usize::from(at)) else { break };
        if !keeper.is(*found, key) {
            *found = code_of(table, keeper, key, hash).map_err(|refusal| (usize::from(at), refusal))?;
        }
    }
    for ((code, &lead), _) in codes.iter_mut().zip(&lead_of).zip(keys) {
        *code = found[usize::from(lead) % BATCH];
    }
    Ok(())
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
