//! Scalars as they were written, decoded when someone asks.

use super::cursor::{Cursor, Kind, Text};
use super::fault::{Checked, Fault, shown};

/// A number whose syntax was checked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Number<'a> {
    pub raw: &'a str,
    /// Neither a point nor an exponent nor a bare token.
    pub integer: bool,
}

/// Powers of ten that are exact in f64.
pub(super) const TENS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20,
    1e21, 1e22,
];

impl Number<'_> {
    /// The nearest float; none for NaN, which is "not recorded" (spec 6.6); infinities and overflows are faults.
    pub fn finite(self) -> Checked<Option<f64>> {
        if let Some(value) = self.short() {
            return Ok(Some(value));
        }
        if self.raw == "NaN" {
            return Ok(None);
        }
        match self.raw.parse::<f64>() {
            Ok(value) if value.is_finite() => Ok(Some(value)),
            Ok(_) if self.raw.ends_with("Infinity") => Err(Fault::new(format!("{} is not a finite number", self.raw))),
            _ => Err(Fault::new(format!(
                "{} is too large for a number (the largest is about 1.8e308)",
                shown(self.raw, 40)
            ))),
        }
    }

    /// Short decimals without an exponent: their digits and the power of ten are exact, so one division rounds once
    /// (Clinger's fast path).
    fn short(self) -> Option<f64> {
        let bytes = self.raw.as_bytes();
        let (negative, digits) = match bytes.split_first() {
            Some((b'-', rest)) => (true, rest),
            _ => (false, bytes),
        };
        if digits.len() > 16 {
            return None;
        }
        let mut value = 0_u64;
        let mut decimals = None;
        for byte in digits {
            match byte {
                b'0'..=b'9' => {
                    value = value * 10 + u64::from(byte - b'0');
                    decimals = decimals.map(|n: usize| n + 1);
                }
                b'.' => decimals = Some(0),
                _ => return None,
            }
        }
        if value >= 1 << 53 {
            return None;
        }
        let magnitude = value as f64 / TENS.get(decimals.unwrap_or(0))?;
        Some(if negative { -magnitude } else { magnitude })
    }

    /// A whole number from 0 to 2^53, also when written `500.0`; none for NaN.
    pub fn count(self) -> Checked<Option<i64>> {
        let Some(value) = self.finite()? else { return Ok(None) };
        if value < 0.0 {
            return Err(Fault::new(format!("{} is negative", shown(self.raw, 40))));
        }
        // The float of 2^53 + 1 is 2^53: at the bound only the digits themselves tell.
        let beyond = value > 9_007_199_254_740_992.0
            || (value == 9_007_199_254_740_992.0 && self.integer && self.raw != "9007199254740992");
        if value.fract() != 0.0 || beyond {
            return Err(Fault::new(format!("{} is not a whole number up to 2^53", shown(self.raw, 40))));
        }
        #[expect(clippy::cast_possible_truncation, reason = "whole and at most 2^53, by the test above")]
        Ok(Some(value as i64))
    }
}

/// A bool, a number or text.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Scalar<'a> {
    Bool(bool),
    Number(Number<'a>),
    Text(Text<'a>),
}

impl<'a> Scalar<'a> {
    /// Read one; the kind ahead is known.
    #[inline]
    pub fn read(cursor: &mut Cursor<'a>, kind: Kind) -> Checked<Self> {
        match kind {
            Kind::Bool => cursor.boolean().map(Self::Bool),
            Kind::Number => cursor.number().map(Self::Number),
            _ => cursor.string().map(Self::Text),
        }
    }

    /// The value as messages show it.
    pub fn shown(&self) -> String {
        match self {
            Self::Bool(value) => value.to_string(),
            Self::Number(number) => shown(number.raw, 40),
            Self::Text(text) => format!("\"{}\"", shown(text.raw, 60)),
        }
    }

    /// A fault that names the value and what should stand instead.
    #[cold]
    pub fn not(&self, expected: &str) -> Fault {
        Fault::new(format!("{} is not {expected}", self.shown()))
    }

    /// A bool in the sense of spec 2.6: true, false, 0, 1, 0.0, 1.0.
    pub fn flag(&self) -> Option<bool> {
        match self {
            Self::Bool(value) => Some(*value),
            Self::Number(number) => match number.short() {
                Some(0.0) => Some(false),
                Some(1.0) => Some(true),
                _ => None,
            },
            Self::Text(_) => None,
        }
    }
}

impl<'a> Text<'a> {
    /// The text itself: as it stands when nothing is escaped, else decoded into `scratch`.
    #[inline]
    pub fn decode<'s>(&self, scratch: &'s mut String) -> Checked<&'s str>
    where
        'a: 's,
    {
        if !self.escaped {
            return Ok(self.raw);
        }
        scratch.clear();
        unescape(self.raw, scratch)?;
        Ok(scratch)
    }
}

/// Decode the escapes of a string whose syntax was checked.
fn unescape(raw: &str, out: &mut String) -> Checked<()> {
    let mut rest = raw;
    while let Some((plain, escape)) = rest.split_once('\\') {
        out.push_str(plain);
        let (code, after) = escape.split_at_checked(1).ok_or_else(lone)?;
        rest = after;
        out.push(match code {
            "b" => '\u{8}',
            "f" => '\u{c}',
            "n" => '\n',
            "r" => '\r',
            "t" => '\t',
            "u" => {
                let mut unit = hexadecimal(&mut rest)?;
                if (0xD800..0xDC00).contains(&unit) {
                    rest = rest.strip_prefix("\\u").ok_or_else(lone)?;
                    let low = hexadecimal(&mut rest)?;
                    if !(0xDC00..0xE000).contains(&low) {
                        return Err(lone());
                    }
                    unit = 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00);
                }
                char::from_u32(unit).ok_or_else(lone)?
            }
            same => same.chars().next().ok_or_else(lone)?,
        });
    }
    out.push_str(rest);
    Ok(())
}

fn hexadecimal(rest: &mut &str) -> Checked<u32> {
    let (digits, after) = rest.split_at_checked(4).ok_or_else(lone)?;
    *rest = after;
    u32::from_str_radix(digits, 16).map_err(|_| lone())
}

#[cold]
fn lone() -> Fault {
    Fault::new("a lone surrogate (half of a \\u pair) is not text")
}
