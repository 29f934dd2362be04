//! A value as a tree, for the few places that look at a whole record: details of one rollout, tables, headers.

use std::borrow::Cow;
use std::fmt::Write;

use super::cursor::{Cursor, Kind, Text};
use super::fault::Checked;

/// A JSON value whose numbers and strings stand as they were written.
#[derive(Clone, Debug, Default)]
pub enum Value<'a> {
    /// `null`; also the bare token `NaN`, which is "not recorded".
    #[default]
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number's text.
    Number(&'a str),
    /// A string.
    Text(Quoted<'a>),
    /// An array.
    Array(Vec<Self>),
    /// An object, its members in order.
    Object(Vec<(Quoted<'a>, Self)>),
}

/// A string as it stood between its quotes.
#[derive(Clone, Copy, Debug)]
pub struct Quoted<'a>(Text<'a>);

impl<'a> Quoted<'a> {
    /// The text; none where an escape is half of a surrogate pair, which is no text.
    #[must_use]
    pub fn text(&self) -> Option<Cow<'a, str>> {
        if !self.0.escaped {
            return Some(Cow::Borrowed(self.0.raw));
        }
        let mut decoded = String::new();
        self.0.decode(&mut decoded).ok()?;
        Some(Cow::Owned(decoded))
    }

    fn is(&self, name: &str) -> bool {
        if self.0.escaped { self.text().as_deref() == Some(name) } else { self.0.raw == name }
    }

    fn write(&self, out: &mut String) {
        out.push('"');
        out.push_str(self.0.raw);
        out.push('"');
    }
}

/// Read exactly one value; the error says what is wrong and at which byte.
pub fn parse(text: &str) -> Result<Value<'_>, String> {
    let mut cursor = Cursor::new(text.strip_prefix('\u{feff}').unwrap_or(text));
    let value = read(&mut cursor).and_then(|value| cursor.end().map(|()| value));
    value.map_err(|fault| fault.problem().to_owned())
}

fn read<'a>(cursor: &mut Cursor<'a>) -> Checked<Value<'a>> {
    // The cursor bounds the depth of nesting, and so that of this recursion.
    Ok(match cursor.kind()? {
        Kind::Null => {
            cursor.null()?;
            Value::Null
        }
        Kind::Bool => Value::Bool(cursor.boolean()?),
        Kind::Number => match cursor.number()?.raw {
            "NaN" => Value::Null,
            raw => Value::Number(raw),
        },
        Kind::Text => Value::Text(Quoted(cursor.string()?)),
        Kind::Array => {
            let mut items = Vec::new();
            let mut more = cursor.open_array()?;
            while more {
                items.push(read(cursor)?);
                more = cursor.another_element()?;
            }
            Value::Array(items)
        }
        Kind::Object => {
            let mut members = Vec::new();
            let mut more = cursor.open_object()?;
            while more {
                let key = Quoted(cursor.key()?);
                members.push((key, read(cursor)?));
                more = cursor.another_member()?;
            }
            Value::Object(members)
        }
    })
}

impl<'a> Value<'a> {
    /// A member of an object that is not null: null and absent are the same.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Self> {
        let Self::Object(members) = self else { return None };
        members.iter().find(|(key, value)| key.is(name) && !matches!(value, Self::Null)).map(|(_, value)| value)
    }

    /// The elements of an array; none of anything else.
    #[must_use]
    pub fn items(&self) -> &[Self] {
        if let Self::Array(items) = self { items } else { &[] }
    }

    /// A string's text.
    #[must_use]
    pub fn text(&self) -> Option<Cow<'a, str>> {
        if let Self::Text(text) = self { text.text() } else { None }
    }

    /// A number as the nearest float, a bool as 1 or 0.
    #[must_use]
    pub fn number(&self) -> Option<f64> {
        match self {
            Self::Number(raw) => raw.parse().ok().filter(|value: &f64| value.is_finite()),
            Self::Bool(value) => Some(f64::from(u8::from(*value))),
            _ => None,
        }
    }

    /// A whole number, also when written `500.0`.
    #[must_use]
    pub fn count(&self) -> Option<i64> {
        let Self::Number(raw) = self else { return None };
        raw.parse().ok().or_else(|| {
            let value = self.number().filter(|value| value.fract() == 0.0 && value.abs() <= 9_007_199_254_740_992.0)?;
            #[expect(clippy::cast_possible_truncation, reason = "whole and at most 2^53, by the test above")]
            Some(value as i64)
        })
    }

    /// A bool, or a number that is 0 or 1 (spec 2.6).
    #[must_use]
    pub fn flag(&self) -> Option<bool> {
        match self {
            Self::Bool(value) => Some(*value),
            _ => match self.number() {
                Some(0.0) => Some(false),
                Some(1.0) => Some(true),
                _ => None,
            },
        }
    }

    /// Append it as JSON on one line; what is not finite becomes null (spec 7.6).
    pub fn write(&self, out: &mut String) {
        match self {
            Self::Null => out.push_str("null"),
            Self::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
            Self::Number(raw) => out.push_str(if raw.ends_with("Infinity") { "null" } else { raw }),
            Self::Text(text) => text.write(out),
            Self::Array(items) => {
                out.push('[');
                for (i, item) in items.iter().enumerate() {
                    if i > 0 {
                        out.push(',');
                    }
                    item.write(out);
                }
                out.push(']');
            }
            Self::Object(members) => {
                out.push('{');
                for (i, (key, value)) in members.iter().enumerate() {
                    if i > 0 {
                        out.push(',');
                    }
                    key.write(out);
                    out.push(':');
                    value.write(out);
                }
                out.push('}');
            }
        }
    }
}

/// Append `text` as a JSON string.
pub fn write_text(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            // Writing to a String cannot fail.
            c if c < ' ' => drop(write!(out, "\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn again(text: &str) -> String {
        let mut out = String::new();
        parse(text).unwrap_or_else(|problem| panic!("{text}: {problem}")).write(&mut out);
        out
    }

    #[test]
    fn writes_what_it_read_on_one_line() {
        let text = r#"{"a":[1,-2.50,1e400,true,null,"x\u00e9\ud800"],"b":{},"c":[]}"#;
        assert_eq!(again(text), text);
        assert_eq!(again("\u{feff}[ 1 ,\n \"a\" ]\r\n"), r#"[1,"a"]"#);
        assert_eq!(again("[NaN,Infinity,-Infinity]"), "[null,null,null]");
    }

    #[test]
    fn more_than_one_value_is_refused() {
        for text in ["", "1 2", "{} , \"passed\": true", "[1", "{\"a\":}", "nul"] {
            assert!(parse(text).is_err(), "{text}");
        }
        let deep = "[".repeat(100_000);
        assert!(parse(&deep).is_err());
    }

    #[test]
    fn looks_things_up() {
        let value =
            parse(r#"{"n":null,"\u0074ext":"\u00e9","half":"\ud800","count":500.0,"flag":1}"#).unwrap_or_default();
        assert!(value.get("n").is_none());
        assert_eq!(value.get("text").and_then(Value::text).as_deref(), Some("é"));
        assert_eq!(value.get("half").and_then(Value::text), None);
        assert_eq!(value.get("count").and_then(Value::count), Some(500));
        assert_eq!(value.get("flag").and_then(Value::flag), Some(true));
    }

    #[test]
    fn texts_are_escaped() {
        let mut out = String::new();
        write_text("a\"b\\c\nd\u{1}é", &mut out);
        assert_eq!(out, "\"a\\\"b\\\\c\\nd\\u0001é\"");
        assert_eq!(parse(&out).ok().and_then(|value| value.text()).as_deref(), Some("a\"b\\c\nd\u{1}é"));
    }
}
