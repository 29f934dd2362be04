//! The form of what nobody needs: when it repeats with other numbers and texts, it is compared rather than parsed.

use super::cursor::Cursor;
use super::fault::Checked;
use super::scan::Literal;

/// Steps of a form that is followed; larger ones seldom repeat.
const STEPS: usize = 64;
/// A form that failed so often in a row is not tried again.
const PATIENCE: u8 = 32;

/// The form of an array or object: what stands between its scalars.
#[derive(Debug, Default)]
pub(crate) struct Form {
    steps: Vec<Step>,
    misses: u8,
}

/// Some bytes, and perhaps a scalar after them.
#[derive(Debug)]
struct Step {
    literal: Literal,
    scalar: bool,
}

impl Form {
    /// Past an array or object, checking its syntax: by the form it had last time if it has it again. What does not
    /// stand there as expected is parsed as if nothing had been, so a form changes no result and no message.
    #[inline]
    pub fn skip(&mut self, cursor: &mut Cursor<'_>) -> Checked<()> {
        if self.misses >= PATIENCE {
            return cursor.skip();
        }
        if let Some(end) = self.follow(cursor) {
            self.misses = 0;
            *cursor = end;
            return Ok(());
        }
        let start = cursor.position();
        cursor.skip()?;
        self.misses += 1;
        self.learn(cursor.since(start));
        Ok(())
    }

    /// The position after a value of this form.
    fn follow<'a>(&self, cursor: &Cursor<'a>) -> Option<Cursor<'a>> {
        let mut cursor = cursor.clone();
        for step in &self.steps {
            if !cursor.pass(&step.literal) || (step.scalar && !cursor.scalar()) {
                return None;
            }
        }
        (!self.steps.is_empty()).then_some(cursor)
    }

    /// Take the form of a value whose syntax was checked.
    fn learn(&mut self, value: &str) {
        self.steps.clear();
        let mut cursor = Cursor::new(value);
        let mut start = 0;
        while let Some(byte) = cursor.peek() {
            let scalar = match byte {
                b'{' | b'}' | b'[' | b']' | b',' | b':' | b' ' | b'\t' | b'\r' | b'\n' => {
                    cursor.step();
                    continue;
                }
                b'"' => {
                    let mut after = cursor.clone();
                    let _ = after.string();
                    if after.clone().space() == Some(b':') {
                        cursor = after;
                        continue;
                    }
                    after
                }
                _ => {
                    let mut after = cursor.clone();
                    after.scalar();
                    after
                }
            };
            if !self.push(value.as_bytes().get(start..cursor.position()).unwrap_or_default(), true) {
                return;
            }
            start = scalar.position();
            cursor = scalar;
        }
        self.push(value.as_bytes().get(start..).unwrap_or_default(), false);
    }

    /// Add bytes and perhaps a scalar; false, and no form at all, when it becomes too large.
    fn push(&mut self, bytes: &[u8], scalar: bool) -> bool {
        let mut pieces = bytes.chunks(Literal::MOST).peekable();
        while let Some(piece) = pieces.next() {
            let Some(literal) = Literal::new(piece).filter(|_| self.steps.len() < STEPS) else {
                self.steps.clear();
                return false;
            };
            self.steps.push(Step { literal, scalar: scalar && pieces.peek().is_none() });
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::super::cursor::Kind;
    use super::*;
    use proptest::prelude::*;

    /// JSON of one form, with room for scalars.
    fn values() -> impl Strategy<Value = String> {
        let scalar = prop_oneof![
            Just("null".to_owned()),
            Just("true".to_owned()),
            Just("-12.5e3".to_owned()),
            Just("NaN".to_owned()),
            Just("\"a\\\"b: {\"".to_owned()),
            Just("\"\"".to_owned()),
            "[0-9]{1,2}".prop_map(|digits| digits),
        ];
        let space = prop_oneof![4 => Just(""), 1 => Just(" "), 1 => Just("\t  ")];
        (scalar, space)
            .prop_recursive(4, 24, 4, |inner| {
                let member = (".{0,40}", inner.clone());
                let key = |key: String| key.replace(|c: char| c < ' ' || c == '"' || c == '\\', "_");
                (
                    prop_oneof![
                        proptest::collection::vec(inner, 0..4).prop_map(|items| {
                            let items: Vec<String> =
                                items.into_iter().map(|(item, space)| format!("{item}{space}")).collect();
                            format!("[{}]", items.join(","))
                        }),
                        proptest::collection::vec(member, 0..4).prop_map(move |members| {
                            let members: Vec<String> = members
                                .into_iter()
                                .map(|(name, (value, space))| format!("{space}\"{}\"{space}:{space}{value}", key(name)))
                                .collect();
                            format!("{{{}}}", members.join(","))
                        }),
                    ],
                    Just(""),
                )
            })
            .prop_map(|(value, _)| value)
    }

    /// Where a value ends, or what is wrong with it.
    fn plainly(text: &str) -> Result<usize, String> {
        let mut cursor = Cursor::new(text);
        cursor.skip().map(|()| cursor.position()).map_err(|fault| fault.problem().to_owned())
    }

    proptest! {
        #[test]
        fn a_form_changes_neither_ends_nor_faults(
            first in values(), second in values(), at in any::<prop::sample::Index>(), byte in "[\\[\\]{}\",:0-9a-z \\\\.-]"
        ) {
            let mut form = Form::default();
            let mut broken = first.clone();
            let at = at.index(first.len());
            if first.is_char_boundary(at) && first.is_char_boundary(at + 1) {
                broken.replace_range(at..=at, &byte);
            }
            for text in [&first, &first, &broken, &second, &broken, &first] {
                let text = format!("{text}, \"next\"");
                let mut cursor = Cursor::new(&text);
                let by_form = match cursor.kind() {
                    Ok(Kind::Array | Kind::Object) => form.skip(&mut cursor),
                    _ => cursor.skip(),
                };
                let by_form = by_form.map(|()| cursor.position()).map_err(|fault| fault.problem().to_owned());
                prop_assert_eq!(by_form, plainly(&text));
            }
        }
    }

    #[test]
    fn a_form_is_followed_when_only_scalars_differ() {
        let mut form = Form::default();
        let first = r#"[{"metric": "latency", "a very long key indeed, longer than a literal may be": [1, {}]}, null]"#;
        let mut cursor = Cursor::new(first);
        form.skip(&mut cursor).expect("valid");
        let second = first.replace("latency", "x\\\"").replace('1', "true").replace("null", "0.25");
        let end = form.follow(&Cursor::new(&second)).expect("the same form");
        assert_eq!(end.position(), second.len());
        for other in ["[]", &second.replace("true", "[]"), &second.replace("0.25", "01"), &second.replace(", {}", "")] {
            assert!(form.follow(&Cursor::new(other)).is_none(), "{other}");
        }
    }
}
