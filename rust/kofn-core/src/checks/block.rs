//! Grading blocks of rollouts of few checks: flags are packed into bits, so that a rollout is a few words' arithmetic.
//!
//! A rollout has few checks, so a loop over its bytes would spend its time on mispredicted ends. Packing runs over the
//! checks of a whole block without looking where rollouts end; a rollout's bits are then one word, cut out by shifts.

use super::batch::{Columns, Required, Segments};
use super::count::{are_flags, rest};
use crate::arch::Kernel;

/// Rollouts of a block: the first waits for its last bits to be stored, which few blocks make cheap.
pub(super) const ROWS: usize = 256;
/// The most checks of a rollout: a word read from the byte that holds its first bit holds the others.
const MOST: usize = 56;
/// Bytes of a block's bits, a power of two so that no index can lie outside, and the end of the last word.
const BYTES: usize = 2048;
const _: () = assert!(ROWS * MOST <= 8 * BYTES && BYTES.is_power_of_two());

/// The bits of a block's flags.
struct Bits([u8; BYTES + 8]);

impl Bits {
    const EMPTY: Self = Self([0; BYTES + 8]);

    /// Pack flags of 0 and 1, at most as many as fit; whether they were that.
    #[inline(always)]
    fn pack(&mut self, flags: &[u8]) -> bool {
        // Each flag moves to the top byte, at its own place there, and no two meet on the way.
        let gather = |word: u64| (word.wrapping_mul(0x0102_0408_1020_4080) >> 56).to_le_bytes()[0];
        let (words, _) = flags.as_chunks::<8>();
        let mut seen = 0;
        for (bits, word) in self.0.iter_mut().zip(words) {
            let word = u64::from_le_bytes(*word);
            seen |= word;
            *bits = gather(word);
        }
        let last = rest(flags);
        if let Some(bits) = self.0.get_mut(words.len()) {
            *bits = gather(last);
        }
        are_flags(seen | last)
    }

    /// `count` bits, at most [`MOST`], from the bit `at`.
    #[inline(always)]
    fn of(&self, at: u64, count: u64) -> u64 {
        let from = (at / 8) as usize % BYTES;
        let mut word = [0; 8];
        word.copy_from_slice(&self.0[from..from + 8]);
        u64::from_le_bytes(word) >> (at % 8) & ((1 << (count % 64)) - 1)
    }
}

/// The quotients of up to [`MOST`] checks, in rows of 64: converting and dividing takes longer than a look.
static SHARES: [f64; 64 * 64] = {
    let mut table = [f64::NAN; 64 * 64];
    let mut recorded = 1;
    while recorded <= MOST {
        let mut passed = 0;
        while passed <= recorded {
            table[64 * recorded + passed] = passed as f64 / recorded as f64;
            passed += 1;
        }
        recorded += 1;
    }
    table
};

/// Grades whole blocks from `first` on, while they are of the usual kind: few checks each, flags of 0 and 1, offsets
/// that rise and, if `raise`, a required check each. Gives the row of the first block that is not.
pub(super) struct Usual<'a, 'o, S> {
    pub passed: &'a [u8],
    pub required: Required<'a>,
    pub segments: S,
    pub raise: bool,
    pub out: &'a mut Columns<'o>,
    /// Where `out` starts among all rollouts, and the row of it to begin with.
    pub offset: usize,
    pub first: usize,
}

impl<S: Segments> Kernel for Usual<'_, '_, S> {
    type Output = usize;

    #[inline(always)]
    fn run(self) -> usize {
        let rows = self.out.passed.len();
        let (mut p, mut r) = (Bits::EMPTY, Bits::EMPTY);
        let shared = match self.required {
            Required::Shared(flags) if flags.len() > MOST || !r.pack(flags) => return self.first,
            Required::Shared(flags) => r.of(0, flags.len() as u64),
            Required::Each(_) => 0,
        };
        let mut row = self.first;
        while row < rows {
            let count = ROWS.min(rows - row);
            let at = self.offset + row;
            let (start, end) = (self.segments.start(at), self.segments.start(at + count));
            if self.segments.longest(at..at + count) > MOST as u64 || end < start {
                break;
            }
            let (Ok(first), Ok(last)) = (usize::try_from(start), usize::try_from(end)) else { break };
            let Some(flags) = self.passed.get(first..last) else { break };
            if !p.pack(flags) {
                break;
            }
            if let Required::Each(required) = self.required
                && !required.get(first..last).is_some_and(|flags| r.pack(flags))
            {
                break;
            }
            let out = self.out.rows(row..row + count);
            let columns =
                out.passed.iter_mut().zip(out.reward).zip(out.failed_required.iter_mut().zip(out.indeterminate));
            let (mut from, mut all) = (start, true);
            for (at, ((passed, reward), (failed, indeterminate))) in (at..).zip(columns) {
                let to = self.segments.start(at + 1);
                let recorded = to - from;
                let good = p.of(from - start, recorded);
                let needed = match self.required {
                    Required::Shared(_) => shared,
                    Required::Each(_) => r.of(from - start, recorded),
                };
                from = to;
                let gradable = needed != 0;
                let missed = needed & !good;
                all &= gradable;
                *passed = u8::from(gradable && missed == 0);
                *failed = missed.count_ones();
                *indeterminate = u8::from(!gradable);
                let share = if gradable { 64 * recorded + u64::from(good.count_ones()) } else { 0 };
                *reward = SHARES[usize::try_from(share).unwrap_or(0) % SHARES.len()];
            }
            if self.raise && !all {
                break;
            }
            row += count;
        }
        row
    }
}
