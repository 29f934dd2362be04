//! Counting one rollout's checks, however many they are, words of flags at a time.

use super::Counts;

const ONES: u64 = 0x0101_0101_0101_0101;

/// How many flags a word of byte-wide sums can add up before their total needs a ninth bit; whole words.
const BLOCK: usize = 248;

/// The sum of eight bytes, if it is below 256.
#[inline]
const fn sum(word: u64) -> u64 {
    word.wrapping_mul(ONES) >> 56
}

/// Whether all the bytes that `seen` collected are 0 or 1; the counts hold for those alone.
#[inline]
pub(super) const fn are_flags(seen: u64) -> bool {
    seen & !ONES == 0
}

/// Count checks; `required` is as long as `passed`, and `seen` collects the bits of both.
pub(super) fn count(passed: &[u8], required: &[u8], seen: &mut u64) -> Counts {
    let mut counts = Counts { recorded: passed.len() as u64, ..Counts::default() };
    for (passed, required) in passed.chunks(BLOCK).zip(required.chunks(BLOCK)) {
        let words = passed.as_chunks::<8>().0.iter().zip(required.as_chunks::<8>().0);
        let (mut good, mut failed) = (0u64, 0u64);
        let mut add = |p: u64, r: u64| {
            good = good.wrapping_add(p);
            failed = failed.wrapping_add(r & !p);
            counts.required |= r;
            *seen |= p | r;
        };
        for (p, r) in words {
            add(u64::from_le_bytes(*p), u64::from_le_bytes(*r));
        }
        add(rest(passed), rest(required));
        counts.passed += sum(good);
        counts.failed_required += sum(failed);
    }
    counts
}

/// The bytes after the last whole word, as a word.
#[inline]
pub(super) fn rest(bytes: &[u8]) -> u64 {
    let (_, rest) = bytes.as_chunks::<8>();
    match bytes.last_chunk::<8>() {
        // Out of the last eight bytes, without a loop.
        Some(last) if !rest.is_empty() => u64::from_le_bytes(*last) >> (8 * (8 - rest.len())),
        _ => rest.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte)),
    }
}
