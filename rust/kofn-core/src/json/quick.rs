//! Scalars as writers mostly write them, read in a few steps: short texts without escapes, short numbers.
//!
//! Whatever is not as simple is none here, and left to the [`super::cursor`]: what both read is the same.

use super::number::TENS;
use super::scan;

/// The text between the quote that stands at `at` and the next one, and the position after that.
#[inline(always)]
pub(super) fn text(from: &str, at: usize) -> Option<(&str, usize)> {
    let start = at + 1;
    let end = start + scan::plain(from.as_bytes(), start);
    if from.as_bytes().get(end) != Some(&b'"') {
        return None;
    }
    Some((from.get(start..end)?, end + 1))
}

/// The position after the text whose quote stands at `at`.
#[inline(always)]
pub(super) fn text_end(bytes: &[u8], at: usize) -> Option<usize> {
    let end = at + 1 + scan::plain(bytes, at + 1);
    (bytes.get(end) == Some(&b'"')).then_some(end + 1)
}

/// The position after the scalar, not null, that stands at `at`.
#[inline(always)]
pub(super) fn scalar(bytes: &[u8], at: usize) -> Option<usize> {
    match bytes.get(at)? {
        b'"' => text_end(bytes, at),
        b't' | b'f' => flag(bytes, at).map(|(_, end)| end),
        _ => number(bytes, at),
    }
}

/// The bool that stands at `at`, not at the very end, and the position after it.
#[inline(always)]
pub(super) fn flag(bytes: &[u8], at: usize) -> Option<(bool, usize)> {
    let [a, b, c, d, e] = *bytes.get(at..)?.first_chunk::<5>()?;
    // Which of the two it is cannot be foretold, so nothing branches on that.
    let passed = u32::from_le_bytes([a, b, c, d]) == u32::from_le_bytes(*b"true");
    let failed = u64::from_le_bytes([a, b, c, d, e, 0, 0, 0]) == u64::from_le_bytes(*b"false\0\0\0");
    (passed | failed).then_some((passed, at + 4 + usize::from(failed)))
}

/// Up to eight digits from `at` on: what they make, and how many they are.
#[inline(always)]
fn digits(bytes: &[u8], at: usize) -> Option<(u64, usize)> {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let word = u64::from_le_bytes(*bytes.get(at..)?.first_chunk::<8>()?) ^ (ONES * 0x30);
    // The lowest byte that is no digit is marked, and bytes above it perhaps wrongly.
    let others = (word.wrapping_add(ONES * 0x76) | word) & (ONES * 0x80);
    let count = others.trailing_zeros() / 8;
    if count == 0 {
        return None;
    }
    // As if zeros stood before the digits; then pairs, fours and all eight are put together.
    let word = word << (64 - 8 * count);
    let pairs = word.wrapping_mul(10).wrapping_add(word >> 8);
    let high = (pairs & 0x0000_00FF_0000_00FF).wrapping_mul(0x000F_4240_0000_0064);
    let low = ((pairs >> 16) & 0x0000_00FF_0000_00FF).wrapping_mul(0x0000_2710_0000_0001);
    Some((high.wrapping_add(low) >> 32, count as usize))
}

/// Up to sixteen digits.
#[inline(always)]
fn many_digits(bytes: &[u8], at: usize) -> Option<(u64, usize)> {
    let (value, count) = digits(bytes, at)?;
    if count < 8 {
        return Some((value, count));
    }
    let Some((rest, more)) = digits(bytes, at + 8) else { return Some((value, count)) };
    let shift = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000].get(more)?;
    Some((value * shift + rest, count + more))
}

/// The whole number of up to sixteen digits that stands at `at`, without sign, point and exponent.
#[inline(always)]
pub(super) fn whole(bytes: &[u8], at: usize) -> Option<(u64, usize)> {
    let (value, count) = many_digits(bytes, at)?;
    let end = at + count;
    let alone = !matches!(bytes.get(end), Some(b'0'..=b'9' | b'.' | b'e' | b'E'));
    (alone && !leads_with_zero(bytes, at, count)).then_some((value, end))
}

/// The position after the number that stands at `at`, without exponent.
#[inline(always)]
pub(super) fn number(bytes: &[u8], at: usize) -> Option<usize> {
    let start = at + usize::from(bytes.get(at) == Some(&b'-'));
    let others = scan::no_digits(bytes, start)?;
    let count = others.trailing_zeros() as usize;
    let mut end = start + count;
    if bytes.get(end) == Some(&b'.') {
        // The next one after the point; none is beyond those that were looked at.
        let decimals = ((others & others.wrapping_sub(1)).trailing_zeros() as usize).checked_sub(count + 1)?;
        if decimals == 0 {
            return None;
        }
        end += 1 + decimals;
    }
    let more = matches!(bytes.get(end), Some(b'0'..=b'9' | b'.' | b'e' | b'E'));
    (count > 0 && !more && !leads_with_zero(bytes, start, count)).then_some(end)
}

#[inline(always)]
fn leads_with_zero(bytes: &[u8], at: usize, count: usize) -> bool {
    count > 1 && bytes.get(at) == Some(&b'0')
}

/// The decimal that stands at `at`, without exponent and with digits that a float holds exactly, so that one division
/// rounds once (Clinger's fast path).
#[inline(always)]
pub(super) fn decimal(bytes: &[u8], at: usize) -> Option<(f64, usize)> {
    let negative = bytes.get(at) == Some(&b'-');
    let start = at + usize::from(negative);
    let (mut value, count) = digits(bytes, start)?;
    let mut end = start + count;
    let mut ten = 1.0;
    if bytes.get(end) == Some(&b'.') {
        let (decimals, more) = many_digits(bytes, end + 1)?;
        ten = *TENS.get(more)?;
        // Eight digits before the point and ten after it are less than 2^64.
        if count + more > 18 {
            return None;
        }
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a power of ten up to 10^16")]
        let shift = ten as u64;
        value = value * shift + decimals;
        end += 1 + more;
    }
    if value >= 1 << 53
        || leads_with_zero(bytes, start, count)
        || matches!(bytes.get(end), Some(b'0'..=b'9' | b'.' | b'e' | b'E'))
    {
        return None;
    }
    let magnitude = value as f64 / ten;
    Some((if negative { -magnitude } else { magnitude }, end))
}

#[cfg(test)]
mod tests {
    use super::super::cursor::Cursor;
    use super::*;
    use proptest::prelude::*;

    /// What the cursor reads there.
    fn number(text: &str) -> Option<(f64, usize, bool)> {
        let mut cursor = Cursor::new(text);
        let number = cursor.number().ok()?;
        Some((number.raw.parse().ok()?, cursor.position(), number.integer))
    }

    fn compare(text: &str) -> Result<(bool, bool), TestCaseError> {
        let quick = decimal(text.as_bytes(), 0);
        if let Some((value, end)) = quick {
            let (known, position, _) = number(text).expect("a number");
            prop_assert_eq!((value.to_bits(), end), (known.to_bits(), position), "{}", text);
        }
        if let Some(end) = super::number(text.as_bytes(), 0) {
            prop_assert_eq!(Some(end), number(text).map(|(_, position, _)| position), "{}", text);
        }
        let natural = whole(text.as_bytes(), 0);
        if let Some((value, end)) = natural {
            let (_, position, integer) = number(text).expect("a number");
            prop_assert!(integer && position == end, "{}", text);
            prop_assert_eq!(text[..end].parse(), Ok(value), "{}", text);
        }
        Ok((quick.is_some(), natural.is_some()))
    }

    proptest! {
        #[test]
        fn numbers_are_those_of_the_cursor(text in "-?(0|[1-9][0-9]{0,20})(\\.[0-9]{0,20})?([eE.+-]?[0-9]?)[,} ]") {
            compare(&text)?;
            compare(&format!("{text}12345678901234567"))?;
        }

        #[test]
        fn short_numbers_are_read(whole in 0..1_000_000_000_000_000_u64, decimals in 0..99_999_u32, negative in any::<bool>()) {
            let sign = if negative { "-" } else { "" };
            let (_, natural) = compare(&format!("{whole},           "))?;
            let (quick, _) = compare(&format!("{sign}{}.{decimals},           ", whole % 10_000_000))?;
            prop_assert!(natural && quick);
        }

        #[test]
        fn any_bytes_are_those_of_the_cursor(text in "[-0-9.eE\"\\\\é\n a-z]{0,40}") {
            compare(&text)?;
            if text.starts_with('"') {
                let mut cursor = Cursor::new(&text);
                prop_assert_eq!(super::text(&text, 0).map(|(_, end)| end), text_end(text.as_bytes(), 0));
                if let Some((found, end)) = super::text(&text, 0) {
                    prop_assert_eq!((cursor.string().ok().map(|text| text.raw), cursor.position()), (Some(found), end));
                }
            }
        }
    }

    #[test]
    fn bools_are_words() {
        assert_eq!(flag(b" true}", 1), Some((true, 5)));
        assert_eq!(flag(b"false", 0), Some((false, 5)));
        for text in ["", "tru", "true", "fals", "falsy", "trua,", "True,"] {
            assert_eq!(flag(text.as_bytes(), 0), None);
        }
    }
}
