//! Integer ids that lie close together: one cell an id, no hashing.

use super::Id;
use crate::arch::{self, Kernel};

/// Ids whose range is found at a time: they are still in the nearest cache when they are looked up.
pub const CHUNK: usize = 2048;
/// The most cells: this many a rollout, or one where that would be more than a cache holds.
const SPARSE: usize = 4;
const CACHED: usize = 1 << 16;

/// Cells from the least id met to the greatest, as far as they are known.
pub struct Window<C> {
    least: u64,
    cells: Vec<C>,
    most: usize,
}

/// The least and the greatest key.
struct Range<'a, T>(&'a [T]);

impl<T: Id> Kernel for Range<'_, T> {
    type Output = (u64, u64);

    #[inline(always)]
    fn run(self) -> (u64, u64) {
        self.0.iter().fold((u64::MAX, 0), |(least, greatest), id| (least.min(id.key()), greatest.max(id.key())))
    }
}

impl<C: Copy + Default> Window<C> {
    /// For so many ids.
    pub fn new(ids: usize) -> Self {
        Self { least: 0, cells: Vec::new(), most: ids.max(CACHED.min(SPARSE * ids)) }
    }

    /// Make sure that there is a cell for each id; false, and nothing done, where that would be too many.
    pub fn cover<T: Id>(&mut self, ids: &[T]) -> bool {
        let (least, greatest) = arch::run(Range(ids));
        if greatest.wrapping_sub(self.least) < self.cells.len() as u64 && least >= self.least {
            return true;
        }
        self.grow(least, greatest)
    }

    #[cold]
    fn grow(&mut self, least: u64, greatest: u64) -> bool {
        let (old, len) = (self.least, self.cells.len());
        let (mut first, mut last) = (least, greatest);
        if len > 0 {
            first = first.min(old);
            last = last.max(old + (len as u64 - 1));
        }
        let Some(needed) = usize::try_from(last - first).ok().filter(|span| *span < self.most) else { return false };
        // Ids mostly rise or fall: room for twice as many on that side, so that growing costs little.
        let room = ((2 * len).min(self.most).saturating_sub(needed + 1)) as u64;
        if len > 0 && first < old {
            first = first.saturating_sub(room);
        } else if len > 0 {
            last = last.saturating_add(room);
        }
        // At most `most`: what was needed and the room beside it.
        let mut cells = vec![C::default(); usize::try_from(last - first).unwrap_or(needed) + 1];
        if len > 0
            && let Some(part) = usize::try_from(old - first).ok().and_then(|at| cells.get_mut(at..at + len))
        {
            part.copy_from_slice(&self.cells);
        }
        (self.least, self.cells) = (first, cells);
        true
    }

    /// The least key, and the cells from its on: loops hold them in registers.
    pub fn cells(&mut self) -> (u64, &mut [C]) {
        (self.least, &mut self.cells)
    }
}

/// Where the cell of an id is that is covered; elsewhere is none.
#[inline]
pub fn position<T: Id>(id: T, least: u64) -> usize {
    usize::try_from(id.key().wrapping_sub(least)).unwrap_or(usize::MAX)
}
