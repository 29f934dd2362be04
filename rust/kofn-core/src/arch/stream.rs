//! Writing what will not be read soon: past the caches.
//!
//! An ordinary store to a line that is in no cache reads it first, and drives other lines out of the caches later.
//! Where results are larger than the caches, both are wasted: stores past them move half as many bytes. They pay only
//! for whole lines, so results are computed into a buffer that stays in the innermost cache, and moved from there.

use std::ops::Range;

/// Results of so many bytes are written past the caches: they outgrow what one core has of them.
const LARGE: usize = 1 << 22;
/// Bytes of the buffer, about.
const BUFFER: usize = 1 << 13;
/// What moves between caches and memory, and how many values it holds.
const LINE: usize = 64;
const LINE_VALUES: usize = LINE / size_of::<f64>();
/// Values that may be written beyond the last row.
pub const SPARE: usize = 8;

/// Whether a result of so many bytes in all goes past the caches.
#[must_use]
pub const fn is_large(bytes: usize) -> bool {
    bytes >= LARGE
}

/// Fill `out`, rows of `width` values, past the caches if so. `work` is given the numbers of some rows and room for
/// them, which is longer by [`SPARE`]: where it writes beyond the end of a row, it writes the next one after that.
#[inline]
pub fn fill(out: &mut [f64], width: usize, past: bool, mut work: impl FnMut(Range<usize>, &mut [f64])) {
    let some = (BUFFER / size_of::<f64>()).div_ceil(width.max(1));
    let mut buffer = vec![0.0; LINE_VALUES + some * width + SPARE];
    let (mut rest, mut first, mut held) = (out, 0, 0);
    let _fence = Fence;
    while held < rest.len() {
        let values = (rest.len() - held).min(some * width);
        work(first..first + values / width, &mut buffer[held..held + values + SPARE]);
        first += values / width;
        held += values;
        // What ends within a line waits for the next rows, but at the end: a line written in two parts is read first,
        // and the parts wait for each other.
        let whole = if held < rest.len() { whole_lines(rest, held) } else { held };
        let (now, later) = rest.split_at_mut(whole);
        if past {
            copy(&buffer, now);
        } else {
            now.copy_from_slice(&buffer[..whole]);
        }
        buffer.copy_within(whole..held, 0);
        (rest, held) = (later, held - whole);
    }
}

/// How many of the first `len` values end with a line.
fn whole_lines(values: &[f64], len: usize) -> usize {
    let lead = values.as_ptr().align_offset(LINE);
    if lead > len { 0 } else { len - (len - lead) % LINE_VALUES }
}

/// Copy as many values as both have, past the caches.
#[cfg(not(target_arch = "x86_64"))]
fn copy(from: &[f64], to: &mut [f64]) {
    to.iter_mut().zip(from).for_each(|(to, from)| *to = *from);
}

/// Stores are in order without it.
#[cfg(not(target_arch = "x86_64"))]
struct Fence;

#[cfg(target_arch = "x86_64")]
use x86::{Fence, copy};

#[cfg(target_arch = "x86_64")]
#[expect(unsafe_code, reason = "these stores have no safe form")]
mod x86 {
    use std::arch::x86_64::{
        __m128i, __m256i, __m512i, _mm_loadu_si128, _mm_sfence, _mm_stream_si128, _mm256_loadu_si256,
        _mm256_stream_si256, _mm512_loadu_si512, _mm512_stream_si512,
    };

    use super::LINE;
    use crate::arch::{Level, level};

    #[repr(align(64))]
    struct Line {
        _bytes: [u8; LINE],
    }

    /// Orders what [`copy`] stored before whatever tells others of it, when it goes.
    pub struct Fence;

    impl Drop for Fence {
        fn drop(&mut self) {
            // SAFETY: the instruction exists on every x86-64 processor.
            unsafe { _mm_sfence() };
        }
    }

    /// Copy as many values as both have, past the caches; a [`Fence`] must follow.
    pub fn copy(from: &[f64], to: &mut [f64]) {
        let len = from.len().min(to.len());
        // SAFETY: floats have no padding, and any bytes are a line.
        let (head, lines, tail) = unsafe { to[..len].align_to_mut::<Line>() };
        let (first, rest) = from[..len].split_at(head.len());
        let (middle, last) = rest.split_at(rest.len() - tail.len());
        head.copy_from_slice(first);
        tail.copy_from_slice(last);
        let middle = middle.as_ptr().cast::<u8>();
        // SAFETY: as many bytes stand at `middle` as in `lines`; the processor has what `level` found.
        unsafe {
            match level() {
                Level::Baseline => move_v1(middle, lines),
                Level::V3 => move_v3(middle, lines),
                Level::V4 => move_v4(middle, lines),
            }
        }
    }

    macro_rules! moves {
        ($name:ident, $feature:literal, $vector:ty, $load:ident, $store:ident) => {
            #[target_feature(enable = $feature)]
            unsafe fn $name(from: *const u8, lines: &mut [Line]) {
                for (at, line) in lines.iter_mut().enumerate() {
                    let to = std::ptr::from_mut(line).cast::<$vector>();
                    for part in 0..LINE / size_of::<$vector>() {
                        // SAFETY: `from` has as many bytes as the caller promises, the line so many parts.
                        unsafe {
                            let from = from.add(at * LINE + part * size_of::<$vector>());
                            $store(to.add(part), $load(from.cast()));
                        }
                    }
                }
            }
        };
    }
    moves!(move_v1, "sse2", __m128i, _mm_loadu_si128, _mm_stream_si128);
    moves!(move_v3, "avx", __m256i, _mm256_loadu_si256, _mm256_stream_si256);
    moves!(move_v4, "avx512f", __m512i, _mm512_loadu_si512, _mm512_stream_si512);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_the_alignment_all_is_copied_and_nothing_else() {
        let from: Vec<f64> = (1..500).map(f64::from).collect();
        for start in 0..20 {
            for len in [0, 1, 7, 15, 16, 17, 31, 32, 64, 200, 450] {
                let mut to = vec![0.0; 499];
                let _fence = Fence;
                copy(&from[..len], &mut to[start..start + len]);
                assert_eq!(to[start..start + len], from[..len]);
                assert!(to[..start].iter().chain(&to[start + len..]).all(|&value| value == 0.0));
            }
        }
    }

    #[test]
    fn rows_are_whole_and_in_order() {
        for (rows, width) in [(1, 1), (700, 3), (5000, 8), (3, 4000), (0, 5), (5, 0)] {
            let number = |rows: Range<usize>, out: &mut [f64]| {
                assert_eq!(out.len(), rows.len() * width + SPARE);
                out.iter_mut().zip(rows.start * width..).for_each(|(value, at)| *value = at as f64);
            };
            for past in [false, true] {
                // However the rows lie on lines.
                for skipped in 0..LINE_VALUES {
                    let mut out = vec![0.0; skipped + rows * width];
                    fill(&mut out[skipped..], width, past, number);
                    assert!(out[skipped..].iter().zip(0..).all(|(&value, at)| value == f64::from(at)));
                }
            }
        }
    }
}
