//! Bytes found and compared in blocks: the ends of strings and numbers, and bytes that are expected to stand next.
//!
//! Most strings and numbers end within a few words, so blocks are short; long texts are scanned by a kernel.

use crate::arch::block::{self, SIZE as BLOCK, is_special};
use crate::arch::{self, Kernel};

/// Strings longer than this many blocks are left to the kernel.
const SHORT: usize = 4;

/// How many bytes from `at` on need no attention inside a string: up to a quote, a backslash, a control character or
/// the end.
#[inline(always)]
pub(crate) fn plain(bytes: &[u8], at: usize) -> usize {
    let rest = bytes.get(at..).unwrap_or_default();
    let Some((first, after)) = rest.split_first_chunk::<BLOCK>() else { return far(rest) };
    let found = block::specials(first);
    if found != 0 {
        return found.trailing_zeros() as usize;
    }
    match after.first_chunk::<BLOCK>().map(block::specials) {
        Some(found) if found != 0 => BLOCK + found.trailing_zeros() as usize,
        _ => far(rest),
    }
}

/// The search of [`plain`] where it does not end at once.
fn far(mut rest: &[u8]) -> usize {
    let mut passed = 0;
    for _ in 0..SHORT {
        let Some((block, after)) = rest.split_first_chunk::<BLOCK>() else {
            return passed + rest.iter().position(|&byte| is_special(byte)).unwrap_or(rest.len());
        };
        let found = block::specials(block);
        if found != 0 {
            return passed + found.trailing_zeros() as usize;
        }
        passed += BLOCK;
        rest = after;
    }
    passed + arch::run(Plain(rest))
}

/// The search of [`plain`] in a long text.
struct Plain<'a>(&'a [u8]);

impl Kernel for Plain<'_> {
    type Output = usize;
    #[inline(always)]
    fn run(self) -> usize {
        let mut passed = 0;
        let (blocks, _) = self.0.as_chunks::<64>();
        for block in blocks {
            if block.iter().fold(false, |found, &byte| found | is_special(byte)) {
                break;
            }
            passed += 64;
        }
        let rest = self.0.get(passed..).unwrap_or_default();
        passed + rest.iter().position(|&byte| is_special(byte)).unwrap_or(rest.len())
    }
}

/// How many digits stand from `at` on.
#[inline(always)]
pub(crate) fn digits(bytes: &[u8], at: usize) -> usize {
    let rest = bytes.get(at..).unwrap_or_default();
    match rest.first_chunk::<BLOCK>().map(|block| (!block::digits(block)).trailing_zeros() as usize) {
        Some(found) if found < BLOCK => found,
        _ => more_digits(rest),
    }
}

/// Which of the next 32 bytes are no digits, a bit each; none where there are fewer.
#[inline(always)]
pub(crate) fn no_digits(bytes: &[u8], at: usize) -> Option<u32> {
    let [first, second] = halves(bytes.get(at..)?.first_chunk()?);
    Some(!(block::digits(first) | block::digits(second) << BLOCK))
}

/// The search of [`digits`] where it does not end at once.
fn more_digits(mut rest: &[u8]) -> usize {
    let mut passed = 0;
    while let Some((block, after)) = rest.split_first_chunk::<BLOCK>() {
        let found = (!block::digits(block)).trailing_zeros() as usize;
        passed += found;
        if found < BLOCK {
            return passed;
        }
        rest = after;
    }
    passed + rest.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(rest.len())
}

/// Some bytes that are expected: at most [`Literal::MOST`] of them, none that match nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Literal {
    bytes: [u8; 2 * BLOCK],
    length: u8,
    /// A bit for each byte.
    mask: u32,
}

impl Literal {
    pub const MOST: usize = 2 * BLOCK;

    /// These bytes, if they are not too many.
    pub fn new(text: &[u8]) -> Option<Self> {
        let mask = ((1_u64 << text.len().min(63)) - 1) & 0xFFFF_FFFF;
        let (length, mask) = (u8::try_from(text.len()).ok()?, u32::try_from(mask).ok()?);
        let mut literal = Self { bytes: [0; Self::MOST], length, mask };
        literal.bytes.get_mut(..text.len())?.copy_from_slice(text);
        Some(literal)
    }

    fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..usize::from(self.length)).unwrap_or_default()
    }

    /// Its length, if these bytes stand at `at`.
    #[inline(always)]
    pub fn stands(&self, bytes: &[u8], at: usize) -> Option<usize> {
        let length = usize::from(self.length);
        let rest = bytes.get(at..)?;
        let equal = if let Some(found) = rest.first_chunk::<{ Self::MOST }>() {
            let ([low, high], [first, second]) = (halves(&self.bytes), halves(found));
            let same = block::equal(low, first) | block::equal(high, second) << BLOCK;
            same & self.mask == self.mask
        } else {
            rest.get(..length)? == self.bytes.get(..length)?
        };
        (equal && length > 0).then_some(length)
    }
}

#[inline(always)]
fn halves(bytes: &[u8; Literal::MOST]) -> [&[u8; BLOCK]; 2] {
    let (first, second) = bytes.split_at(BLOCK);
    // Each half is a block.
    [first.first_chunk().unwrap_or(&[0; BLOCK]), second.first_chunk().unwrap_or(&[0; BLOCK])]
}

/// Any number of bytes that are expected.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Stretch {
    head: Literal,
    rest: Box<[u8]>,
}

impl Stretch {
    pub fn new(bytes: &[u8]) -> Self {
        let (head, rest) = bytes.split_at(bytes.len().min(Literal::MOST));
        // The head is not too long.
        Self { head: Literal::new(head).unwrap_or_default(), rest: rest.into() }
    }

    pub fn len(&self) -> usize {
        usize::from(self.head.length) + self.rest.len()
    }

    /// One stretch of this one, some bytes and another one.
    pub fn through(&self, bytes: &[u8], other: &Self) -> Self {
        let parts = [self.head.as_bytes(), &self.rest, bytes, other.head.as_bytes(), &other.rest];
        Self::new(&parts.concat())
    }

    /// Its length, if these bytes stand at `at`; an empty one stands nowhere.
    #[inline(always)]
    pub fn stands(&self, bytes: &[u8], at: usize) -> Option<usize> {
        let head = self.head.stands(bytes, at)?;
        if self.rest.is_empty() || bytes.get(at + head..)?.starts_with(&self.rest) {
            return Some(head + self.rest.len());
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arch::{Level, run_at};

    #[test]
    fn every_search_stops_at_the_first_byte_that_ends_it() {
        for length in 0..200_usize {
            for byte in 0..=255_u8 {
                let mut text = vec![b'a'; length];
                text.push(byte);
                text.extend(b"a\"7\\".repeat(8));
                let expected = text.iter().position(|&byte| is_special(byte)).unwrap_or(text.len());
                assert_eq!(plain(&text, 0), expected, "{byte} at {length}");
                for level in [Level::Baseline, Level::V3, Level::V4] {
                    assert_eq!(run_at(level, Plain(&text)), expected);
                }
                assert_eq!(plain(text.get(..=length).unwrap_or_default(), 0), expected.min(length + 1));
                for byte in text.iter_mut().take(length) {
                    *byte = b'0' + u8::try_from(length % 10).unwrap_or(0);
                }
                let expected = text.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len());
                assert_eq!(digits(&text, 0), expected, "{byte} at {length}");
            }
        }
    }

    #[test]
    fn a_literal_stands_where_all_of_its_bytes_do() {
        let text: Vec<u8> = (0..80).collect();
        for length in 1..=Literal::MOST {
            for start in 0..text.len() - length {
                let literal = Literal::new(&text[start..start + length]).expect("short");
                assert_eq!(literal.stands(&text, start), Some(length));
                assert_eq!(literal.stands(&text, start + 1), None);
                assert_eq!(literal.stands(&text[..start + length], start), Some(length));
                assert_eq!(literal.stands(&text[..start + length - 1], start), None);
                for at in start..start + length {
                    let mut other = text.clone();
                    other[at] ^= 0x80;
                    assert_eq!(literal.stands(&other, start), None);
                }
            }
        }
        assert!(Literal::new(&text).is_none());
        for (length, through) in (0..text.len()).flat_map(|length| [(length, length / 3), (length, 2 * length / 3)]) {
            let whole = Stretch::new(&text[..length]);
            let (first, last) = (Stretch::new(&text[..length / 3]), Stretch::new(&text[through..length]));
            assert_eq!(first.through(&text[length / 3..through], &last), whole);
            assert_eq!(whole.stands(&text, 0), (length > 0).then_some(length));
            assert_eq!(whole.len(), length);
            for at in 0..length {
                let mut other = text.clone();
                other[at] ^= 0x80;
                assert_eq!(whole.stands(&other, 0), None);
                assert_eq!(whole.stands(&text[..at], 0), None);
            }
        }
        assert_eq!(Literal::default().stands(&text, 0), None);
    }
}
