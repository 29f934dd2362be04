//! A pull parser over the text of one record.
//!
//! It accepts exactly JSON (RFC 8259) and the bare tokens `NaN`, `Infinity` and `-Infinity` (spec 7.1). UTF-8 is
//! checked by whoever makes the `&str`. Nesting is bounded and skipping is iterative, so hostile input can exhaust
//! neither the stack nor memory.

use super::fault::{Checked, Fault};
use super::number::Number;
use super::scan::{self, Stretch};

/// Deepest nesting of arrays and objects that is read.
pub(crate) const MAX_DEPTH: usize = 512;

/// What kind of value stands ahead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Null,
    Bool,
    Number,
    Text,
    Array,
    Object,
}

impl Kind {
    /// With its article, for messages.
    pub const fn noun(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool => "a bool",
            Self::Number => "a number",
            Self::Text => "text",
            Self::Array => "an array",
            Self::Object => "an object",
        }
    }
}

/// A string as it stands between its quotes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Text<'a> {
    pub raw: &'a str,
    pub escaped: bool,
}

/// The parser: a text and a position in it.
#[derive(Clone, Debug)]
pub(crate) struct Cursor<'a> {
    text: &'a str,
    at: usize,
    /// Arrays and objects that are open around the position.
    depth: usize,
}

impl<'a> Cursor<'a> {
    pub const fn new(text: &'a str) -> Self {
        Self { text, at: 0, depth: 0 }
    }

    /// At a byte of a text that is no part of a character.
    pub const fn at(text: &'a str, at: usize) -> Self {
        Self { text, at, depth: 0 }
    }

    /// To a byte that is no part of a character, with as much open around it.
    pub const fn go(&mut self, at: usize) {
        self.at = at;
    }

    /// The byte at which it stands.
    pub const fn position(&self) -> usize {
        self.at
    }

    /// The byte ahead, white space too.
    pub fn peek(&self) -> Option<u8> {
        self.byte()
    }

    /// How many arrays and objects are open.
    pub const fn depth(&self) -> usize {
        self.depth
    }

    /// As if inside of so many arrays and objects.
    pub const fn enter(&mut self, depth: usize) {
        self.depth = depth;
    }

    /// Past one byte that is not part of a character.
    pub const fn step(&mut self) {
        self.at += 1;
    }

    /// Past a bool, null, number or string that begins here; where none does, it may stand anywhere.
    #[inline]
    pub fn scalar(&mut self) -> bool {
        match self.byte() {
            Some(b'"') => self.string().is_ok(),
            Some(b'-' | b'0'..=b'9' | b'N' | b'I') => self.number().is_ok(),
            Some(b't' | b'f') => self.boolean().is_ok(),
            Some(b'n') => self.null().is_ok(),
            _ => false,
        }
    }

    /// The text from `start` to the position.
    pub fn since(&self, start: usize) -> &'a str {
        self.text.get(start..self.at).unwrap_or_default()
    }

    #[inline]
    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn rest(&self) -> &'a [u8] {
        self.text.as_bytes().get(self.at..).unwrap_or_default()
    }

    /// The byte ahead, past white space.
    #[inline]
    pub fn space(&mut self) -> Option<u8> {
        loop {
            match self.byte() {
                Some(b' ' | b'\n' | b'\t' | b'\r') => self.at += 1,
                other => return other,
            }
        }
    }

    #[cold]
    fn wrong(&self, expected: &str) -> Fault {
        match self.text.get(self.at..).and_then(|rest| rest.chars().next()) {
            None => Fault::syntax(self.at, format!("it ends where {expected} should stand")),
            Some(found) => Fault::syntax(self.at, format!("expected {expected}, found {found:?}")),
        }
    }

    #[cold]
    fn too_deep(&self) -> Fault {
        Fault::syntax(self.at, format!("arrays and objects are nested deeper than {MAX_DEPTH}"))
    }

    /// The kind of the value ahead, by its first byte.
    #[inline]
    pub fn kind(&mut self) -> Checked<Kind> {
        match self.space() {
            Some(b'"') => Ok(Kind::Text),
            Some(b'{') => Ok(Kind::Object),
            Some(b'[') => Ok(Kind::Array),
            Some(b'-' | b'0'..=b'9' | b'N' | b'I') => Ok(Kind::Number),
            Some(b't' | b'f') => Ok(Kind::Bool),
            Some(b'n') => Ok(Kind::Null),
            _ => Err(self.wrong("a value")),
        }
    }

    /// That nothing but white space is left.
    pub fn end(&mut self) -> Checked<()> {
        match self.space() {
            None => Ok(()),
            Some(_) => Err(self.wrong("the end")),
        }
    }

    fn word(&mut self, word: &str) -> Checked<()> {
        if self.rest().starts_with(word.as_bytes()) {
            self.at += word.len();
            Ok(())
        } else {
            // A half-written word is the end of the text, not another value.
            if word.as_bytes().starts_with(self.rest()) {
                self.at = self.text.len();
            }
            Err(self.wrong(word))
        }
    }

    /// A null.
    pub fn null(&mut self) -> Checked<()> {
        self.space();
        self.word("null")
    }

    /// A bool.
    pub fn boolean(&mut self) -> Checked<bool> {
        if self.space() == Some(b't') { self.word("true").map(|()| true) } else { self.word("false").map(|()| false) }
    }

    /// A number, as text that was checked.
    #[inline(always)]
    pub fn number(&mut self) -> Checked<Number<'a>> {
        self.space();
        let start = self.at;
        if self.byte() == Some(b'-') {
            self.at += 1;
        }
        let mut integer = true;
        match self.byte() {
            Some(b'0') => self.at += 1,
            Some(b'1'..=b'9') => self.digits(),
            Some(b'I') => {
                self.word("Infinity")?;
                integer = false;
                return Ok(Number { raw: self.since(start), integer });
            }
            Some(b'N') if self.at == start => {
                self.word("NaN")?;
                integer = false;
                return Ok(Number { raw: self.since(start), integer });
            }
            _ => return Err(self.wrong("a digit")),
        }
        if self.byte() == Some(b'.') {
            integer = false;
            self.at += 1;
            self.some_digits()?;
        }
        if matches!(self.byte(), Some(b'e' | b'E')) {
            integer = false;
            self.at += 1;
            if matches!(self.byte(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.some_digits()?;
        }
        if matches!(self.byte(), Some(b'0'..=b'9')) {
            return Err(self.wrong("a number without a leading zero"));
        }
        Ok(Number { raw: self.since(start), integer })
    }

    #[inline]
    fn digits(&mut self) {
        self.at += scan::digits(self.text.as_bytes(), self.at);
    }

    fn some_digits(&mut self) -> Checked<()> {
        if !matches!(self.byte(), Some(b'0'..=b'9')) {
            return Err(self.wrong("a digit"));
        }
        self.digits();
        Ok(())
    }

    /// A string: its escapes are checked, not decoded.
    #[inline]
    pub fn string(&mut self) -> Checked<Text<'a>> {
        if self.space() != Some(b'"') {
            return Err(self.wrong("a string"));
        }
        self.at += 1;
        self.inside()
    }

    /// The rest of a string whose opening quote was read.
    fn inside(&mut self) -> Checked<Text<'a>> {
        let start = self.at;
        let mut escaped = false;
        loop {
            self.at += scan::plain(self.text.as_bytes(), self.at);
            match self.byte() {
                Some(b'"') => {
                    let raw = self.since(start);
                    self.at += 1;
                    return Ok(Text { raw, escaped });
                }
                Some(b'\\') => {
                    escaped = true;
                    self.escape()?;
                }
                None => return Err(self.wrong("the end of a string")),
                Some(_) => return Err(self.wrong("an escape instead of a control character")),
            }
        }
    }

    #[cold]
    fn escape(&mut self) -> Checked<()> {
        self.at += 1;
        match self.byte() {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.at += 1,
            Some(b'u') => {
                self.at += 1;
                for _ in 0..4 {
                    if !self.byte().is_some_and(|byte| byte.is_ascii_hexdigit()) {
                        return Err(self.wrong("a hexadecimal digit"));
                    }
                    self.at += 1;
                }
            }
            _ => return Err(self.wrong("an escape")),
        }
        Ok(())
    }

    /// Into an object; `false` when it is empty and was left again.
    #[inline]
    pub fn open_object(&mut self) -> Checked<bool> {
        self.open(b'{', b'}', "an object")
    }

    /// Into an array; `false` when it is empty and was left again.
    #[inline]
    pub fn open_array(&mut self) -> Checked<bool> {
        self.open(b'[', b']', "an array")
    }

    fn open(&mut self, open: u8, close: u8, what: &str) -> Checked<bool> {
        if self.space() != Some(open) {
            return Err(self.wrong(what));
        }
        if self.depth == MAX_DEPTH {
            return Err(self.too_deep());
        }
        self.at += 1;
        if self.space() == Some(close) {
            self.at += 1;
            return Ok(false);
        }
        self.depth += 1;
        Ok(true)
    }

    /// The key ahead and its colon.
    #[inline]
    pub fn key(&mut self) -> Checked<Text<'a>> {
        if self.space() != Some(b'"') {
            return Err(self.wrong("a key in quotes"));
        }
        self.at += 1;
        let key = self.inside()?;
        self.colon()?;
        Ok(key)
    }

    #[inline]
    fn colon(&mut self) -> Checked<()> {
        if self.space() != Some(b':') {
            return Err(self.wrong("':'"));
        }
        self.at += 1;
        Ok(())
    }

    /// Past these bytes, if they stand ahead.
    #[inline]
    pub fn pass(&mut self, stretch: &Stretch) -> bool {
        let passed = stretch.stands(self.text.as_bytes(), self.at);
        self.at += passed.unwrap_or(0);
        passed.is_some()
    }

    /// After a member of an object: whether another follows.
    #[inline]
    pub fn another_member(&mut self) -> Checked<bool> {
        self.another(b'}', "',' or '}'")
    }

    /// After an element of an array: whether another follows.
    #[inline]
    pub fn another_element(&mut self) -> Checked<bool> {
        self.another(b']', "',' or ']'")
    }

    #[inline]
    fn another(&mut self, close: u8, expected: &str) -> Checked<bool> {
        match self.space() {
            Some(b',') => {
                self.at += 1;
                Ok(true)
            }
            Some(byte) if byte == close => {
                self.at += 1;
                self.depth -= 1;
                Ok(false)
            }
            _ => Err(self.wrong(expected)),
        }
    }

    /// Past any value, checking its syntax.
    pub fn skip(&mut self) -> Checked<()> {
        // One bit a level: set for an object.
        let mut open = [0_u64; MAX_DEPTH / 64];
        let outer = self.depth;
        'value: loop {
            match self.space() {
                Some(b'"') => {
                    self.at += 1;
                    self.inside()?;
                }
                Some(byte @ (b'{' | b'[')) => {
                    let object = byte == b'{';
                    if if object { self.open_object()? } else { self.open_array()? } {
                        set(&mut open, self.depth - 1, object);
                        if object {
                            self.key()?;
                        }
                        continue;
                    }
                }
                Some(b't' | b'f') => {
                    self.boolean()?;
                }
                Some(b'n') => self.null()?,
                _ => {
                    if self.kind()? == Kind::Number {
                        self.number()?;
                    }
                }
            }
            while self.depth > outer {
                if get(&open, self.depth - 1) {
                    if self.another_member()? {
                        self.key()?;
                        continue 'value;
                    }
                } else if self.another_element()? {
                    continue 'value;
                }
            }
            return Ok(());
        }
    }
}

fn set(bits: &mut [u64; MAX_DEPTH / 64], at: usize, value: bool) {
    if let Some(word) = bits.get_mut(at / 64) {
        *word = *word & !(1 << (at % 64)) | u64::from(value) << (at % 64);
    }
}

fn get(bits: &[u64; MAX_DEPTH / 64], at: usize) -> bool {
    bits.get(at / 64).is_some_and(|word| word >> (at % 64) & 1 == 1)
}

#[cfg(test)]
#[path = "cursor_tests.rs"]
mod tests;
