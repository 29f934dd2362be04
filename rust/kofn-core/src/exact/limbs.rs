//! A short row of limbs that lives inline until it is longer than three: tallies hold one a task and series.

use super::{carrying_add, low64};

const INLINE: usize = 3;

/// A growable row of limbs, least significant first.
#[derive(Clone)]
pub(super) enum Limbs {
    /// How many, and those; zeros after them.
    Inline(u8, [u64; INLINE]),
    Heap(Vec<u64>),
}

impl Default for Limbs {
    fn default() -> Self {
        Self::Inline(0, [0; INLINE])
    }
}

impl std::fmt::Debug for Limbs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.as_slice().fmt(f)
    }
}

impl Limbs {
    pub(super) fn from_slice(limbs: &[u64]) -> Self {
        let mut row = Self::default();
        match &mut row {
            Self::Inline(len, inline) if limbs.len() <= INLINE => {
                inline[..limbs.len()].copy_from_slice(limbs);
                *len = u8::try_from(limbs.len()).unwrap_or(0);
                row
            }
            _ => Self::Heap(limbs.to_vec()),
        }
    }

    pub(super) fn as_slice(&self) -> &[u64] {
        match self {
            Self::Inline(len, limbs) => &limbs[..usize::from(*len)],
            Self::Heap(limbs) => limbs,
        }
    }

    pub(super) fn as_mut_slice(&mut self) -> &mut [u64] {
        match self {
            Self::Inline(len, limbs) => &mut limbs[..usize::from(*len)],
            Self::Heap(limbs) => limbs,
        }
    }

    /// Add a term that is not 0 at bit `at`: whether that was done, as it is where the sum is not negative, lives inline
    /// and stays both. Most terms of most sums are such.
    #[inline]
    pub(super) fn add_within(&mut self, term: u128, at: i32) -> bool {
        /// Of three limbs, as many as live inline.
        const BITS: u32 = 3 * 64;
        let (Self::Inline(len, limbs), Ok(at)) = (self, u32::try_from(at)) else { return false };
        let top = usize::from(*len).wrapping_sub(1);
        // The top bit is the sign's, of the sum before and after.
        if limbs.get(top).is_none_or(|limb| limb >> 63 == 1) || at + (128 - term.leading_zeros()) >= BITS {
            return false;
        }
        let (shifted, over) = (term << (at % 64), (term >> 1) >> (127 - at % 64));
        let (first, second, third) = (low64(shifted), low64(shifted >> 64), low64(over));
        let [a, b, c] = match at / 64 {
            0 => [first, second, third],
            1 => [0, first, second],
            _ => [0, 0, first],
        };
        // Limbs above the length are 0, as those of a sum that is not negative go on.
        let (low, carry) = carrying_add(limbs[0], a, false);
        let (middle, carry) = carrying_add(limbs[1], b, carry);
        let (high, carry) = carrying_add(limbs[2], c, carry);
        if carry || high >> 63 == 1 {
            return false;
        }
        *limbs = [low, middle, high];
        let used = if high != 0 || middle >> 63 == 1 {
            3
        } else if middle != 0 || low >> 63 == 1 {
            2
        } else {
            1
        };
        *len = (*len).max(used);
        true
    }

    /// Put `count` limbs of `value` above the top.
    pub(super) fn push_high(&mut self, count: usize, value: u64) {
        self.insert(self.as_slice().len(), count, value);
    }

    /// Put `count` zero limbs below the bottom.
    pub(super) fn push_low(&mut self, count: usize) {
        self.insert(0, count, 0);
    }

    fn insert(&mut self, at: usize, count: usize, value: u64) {
        match self {
            Self::Inline(len, limbs) if usize::from(*len) + count <= INLINE => {
                let end = usize::from(*len);
                limbs.copy_within(at..end, at + count);
                limbs[at..at + count].fill(value);
                *len = u8::try_from(end + count).unwrap_or(*len);
            }
            Self::Inline(len, limbs) => {
                let mut heap = limbs[..usize::from(*len)].to_vec();
                heap.splice(at..at, std::iter::repeat_n(value, count));
                *self = Self::Heap(heap);
            }
            Self::Heap(heap) => {
                heap.splice(at..at, std::iter::repeat_n(value, count));
            }
        }
    }
}
