//! A short row of limbs that lives inline until it is longer than three: tallies hold one a task and series.

const INLINE: usize = 3;

/// A growable row of limbs, least significant first.
#[derive(Clone)]
pub(super) enum Limbs {
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
