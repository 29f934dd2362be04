//! Sixteen bytes at a time, a bit each: what short strings and numbers need, where choosing a level would cost more
//! than the work. x86-64 always has SSE2.

/// Bytes in a block.
pub const SIZE: usize = 16;

/// Whether a byte ends a run of plain characters in a JSON string.
#[must_use]
pub const fn is_special(byte: u8) -> bool {
    byte < 0x20 || byte == b'"' || byte == b'\\'
}

#[cfg(not(target_arch = "x86_64"))]
mod plain {
    use super::{SIZE, is_special};

    #[inline(always)]
    fn mask(bits: impl Iterator<Item = bool>) -> u32 {
        (0..).zip(bits).fold(0, |mask, (i, bit)| mask | u32::from(bit) << i)
    }

    #[inline(always)]
    pub fn specials(block: &[u8; SIZE]) -> u32 {
        mask(block.iter().map(|&byte| is_special(byte)))
    }

    #[inline(always)]
    pub fn digits(block: &[u8; SIZE]) -> u32 {
        mask(block.iter().map(u8::is_ascii_digit))
    }

    #[inline(always)]
    pub fn equal(a: &[u8; SIZE], b: &[u8; SIZE]) -> u32 {
        mask(a.iter().zip(b).map(|(a, b)| a == b))
    }
}

#[cfg(target_arch = "x86_64")]
mod sse2 {
    use std::arch::x86_64::{
        __m128i, _mm_cmpeq_epi8, _mm_min_epu8, _mm_movemask_epi8, _mm_or_si128, _mm_set_epi64x, _mm_set1_epi8,
        _mm_sub_epi8,
    };

    use super::SIZE;

    #[inline]
    #[target_feature(enable = "sse2")]
    fn load(block: &[u8; SIZE]) -> __m128i {
        let both = u128::from_le_bytes(*block);
        #[expect(clippy::cast_possible_truncation, reason = "the two halves")]
        let [low, high] = [both as u64, (both >> 64) as u64].map(u64::cast_signed);
        _mm_set_epi64x(high, low)
    }

    #[inline]
    #[target_feature(enable = "sse2")]
    pub fn specials(block: &[u8; SIZE]) -> u32 {
        let block = load(block);
        let control = _mm_cmpeq_epi8(_mm_min_epu8(block, _mm_set1_epi8(0x1F)), block);
        let quote = _mm_cmpeq_epi8(block, _mm_set1_epi8(b'"'.cast_signed()));
        let backslash = _mm_cmpeq_epi8(block, _mm_set1_epi8(b'\\'.cast_signed()));
        _mm_movemask_epi8(_mm_or_si128(control, _mm_or_si128(quote, backslash))).cast_unsigned()
    }

    #[inline]
    #[target_feature(enable = "sse2")]
    pub fn digits(block: &[u8; SIZE]) -> u32 {
        let value = _mm_sub_epi8(load(block), _mm_set1_epi8(b'0'.cast_signed()));
        _mm_movemask_epi8(_mm_cmpeq_epi8(_mm_min_epu8(value, _mm_set1_epi8(9)), value)).cast_unsigned()
    }

    #[inline]
    #[target_feature(enable = "sse2")]
    pub fn equal(a: &[u8; SIZE], b: &[u8; SIZE]) -> u32 {
        _mm_movemask_epi8(_mm_cmpeq_epi8(load(a), load(b))).cast_unsigned()
    }
}

/// Which bytes are special in a JSON string.
#[inline(always)]
#[must_use]
#[cfg_attr(target_arch = "x86_64", expect(unsafe_code, reason = "SSE2 is part of the target"))]
pub fn specials(block: &[u8; SIZE]) -> u32 {
    #[cfg(not(target_arch = "x86_64"))]
    return plain::specials(block);
    // SAFETY: every x86-64 processor has SSE2.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        sse2::specials(block)
    }
}

/// Which bytes are digits.
#[inline(always)]
#[must_use]
#[cfg_attr(target_arch = "x86_64", expect(unsafe_code, reason = "SSE2 is part of the target"))]
pub fn digits(block: &[u8; SIZE]) -> u32 {
    #[cfg(not(target_arch = "x86_64"))]
    return plain::digits(block);
    // SAFETY: every x86-64 processor has SSE2.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        sse2::digits(block)
    }
}

/// Which bytes are equal.
#[inline(always)]
#[must_use]
#[cfg_attr(target_arch = "x86_64", expect(unsafe_code, reason = "SSE2 is part of the target"))]
pub fn equal(a: &[u8; SIZE], b: &[u8; SIZE]) -> u32 {
    #[cfg(not(target_arch = "x86_64"))]
    return plain::equal(a, b);
    // SAFETY: every x86-64 processor has SSE2.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        sse2::equal(a, b)
    }
}
