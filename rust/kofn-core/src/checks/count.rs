//! Counting one rollout's checks, words of flags at a time.
//!
//! A rollout has few checks, so a loop over bytes would spend its time on mispredicted ends: up to sixteen checks are
//! counted without a branch that depends on how many they are.

use super::Counts;

/// Where one rollout's checks stand in the columns.
pub(super) struct Segment {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) required_start: usize,
}

impl Segment {
    /// Its checks in the columns; none if it lies beyond them.
    pub(super) fn of<'a>(&self, passed: &'a [u8], required: &'a [u8]) -> Option<(&'a [u8], &'a [u8])> {
        let recorded = self.end.checked_sub(self.start)?;
        Some((passed.get(self.start..self.end)?, required.get(self.required_start..)?.get(..recorded)?))
    }
}

const ONES: u64 = 0x0101_0101_0101_0101;

/// How many checks are counted without a loop.
pub(super) const SHORT: usize = 16;

/// How many flags a word of byte-wide sums can add up before their total needs a ninth bit; whole words.
const BLOCK: usize = 248;

/// Sixteen bytes as words of which only the first `n` are kept.
static FIRST: [[u64; 2]; SHORT + 1] = {
    let mut masks = [[0; 2]; SHORT + 1];
    let mut n = 1;
    while n <= SHORT {
        masks[n] = masks[n - 1];
        masks[n][(n - 1) / 8] |= 0xff << (8 * ((n - 1) % 8));
        n += 1;
    }
    masks
};

/// The sum of eight bytes, if it is below 256.
#[inline]
const fn sum(word: u64) -> u64 {
    word.wrapping_mul(ONES) >> 56
}

/// Whether all the bytes that `seen` collected are 0 or 1; the counts hold for those alone.
pub(super) const fn are_flags(seen: u64) -> bool {
    seen & !ONES == 0
}

/// Sixteen bytes from `at`, if there are so many.
#[inline]
fn sixteen(bytes: &[u8], at: usize) -> Option<[u64; 2]> {
    let (words, _) = bytes.get(at..)?.first_chunk::<SHORT>()?.as_chunks::<8>();
    let [low, high] = *words else { return None };
    Some([u64::from_le_bytes(low), u64::from_le_bytes(high)])
}

/// Count the checks of a segment of at most sixteen, if sixteen bytes can be read from both its starts.
///
/// `seen` collects the bits of the segment's flags.
#[inline]
pub(super) fn count_short(passed: &[u8], required: &[u8], segment: &Segment, seen: &mut u64) -> Option<Counts> {
    let recorded = segment.end.wrapping_sub(segment.start);
    let [low, high] = *FIRST.get(recorded)?;
    let (p, r) = (sixteen(passed, segment.start)?, sixteen(required, segment.required_start)?);
    let (p, r) = ([p[0] & low, p[1] & high], [r[0] & low, r[1] & high]);
    let any_required = r[0] | r[1];
    *seen |= p[0] | p[1] | any_required;
    Some(Counts {
        recorded: recorded as u64,
        passed: sum(p[0].wrapping_add(p[1])),
        required: any_required,
        failed_required: sum((r[0] & !p[0]).wrapping_add(r[1] & !p[1])),
    })
}

/// Count checks however many they are; `required` is as long as `passed`.
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
fn rest(bytes: &[u8]) -> u64 {
    let (_, rest) = bytes.as_chunks::<8>();
    match bytes.last_chunk::<8>() {
        // Out of the last eight bytes, without a loop.
        Some(last) if !rest.is_empty() => u64::from_le_bytes(*last) >> (8 * (8 - rest.len())),
        _ => rest.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte)),
    }
}
