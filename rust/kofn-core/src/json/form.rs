//! The form of what nobody needs: when it repeats with other numbers and texts, it is compared rather than parsed.

use super::cursor::Cursor;
use super::fault::Checked;
use super::habit::Habit;
use super::quick;
use super::scan::Stretch;

/// Steps of a form that is followed; larger ones seldom repeat.
const STEPS: usize = 64;
/// A form that failed so often in a row is not tried again.
const PATIENCE: u8 = 32;

/// The form of an array or object: what stands between its scalars.
#[derive(Debug, Default)]
pub(crate) struct Form {
    steps: Vec<Step>,
    misses: u8,
    /// Scalars that were always the same became part of the bytes around them.
    joined: bool,
}

/// Some bytes, and perhaps a scalar after them.
#[derive(Debug)]
struct Step {
    stretch: Stretch,
    scalar: bool,
    habit: Habit,
}

impl Form {
    /// Past an array or object, checking its syntax: by the form it had last time if it has it again. What does not
    /// stand there as expected is parsed as if nothing had been, so a form changes no result and no message.
    /// `ahead` is the cursor's text, and perhaps some after it.
    #[inline]
    pub fn skip(&mut self, cursor: &mut Cursor<'_>, ahead: &str) -> Checked<()> {
        if self.misses >= PATIENCE {
            return cursor.skip();
        }
        let start = cursor.position();
        if let Some(end) = self.follow(ahead, start) {
            self.misses = 0;
            cursor.go(end);
            return Ok(());
        }
        cursor.skip()?;
        self.misses += 1;
        self.learn(cursor.since(start));
        if std::mem::take(&mut self.joined) {
            self.steps.iter_mut().for_each(|step| step.habit.give_up());
        }
        Ok(())
    }

    /// The position after a value of this form that stands at `at`.
    fn follow(&mut self, text: &str, mut at: usize) -> Option<usize> {
        let bytes = text.as_bytes();
        let mut fixed = None;
        for (number, step) in self.steps.iter_mut().enumerate() {
            at += step.stretch.stands(bytes, at)?;
            if step.scalar {
                let start = at;
                at = quick::scalar(bytes, at).or_else(|| {
                    let mut cursor = Cursor::at(text, at);
                    cursor.scalar().then(|| cursor.position())
                })?;
                if step.habit.is_watched() && step.habit.note(bytes.get(start..at)?) {
                    fixed = Some(number);
                }
            }
        }
        if let Some(number) = fixed {
            self.join(number);
        }
        (!self.steps.is_empty()).then_some(at)
    }

    /// Make one step of two, the scalar between which is always the same.
    #[cold]
    fn join(&mut self, at: usize) {
        if let Some([one, two]) = self.steps.get_mut(at..at + 2) {
            two.stretch = one.stretch.through(one.habit.value(), &two.stretch);
            self.steps.remove(at);
            self.joined = true;
        }
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
        if self.steps.len() >= STEPS {
            self.steps.clear();
            return false;
        }
        self.steps.push(Step { stretch: Stretch::new(bytes), scalar, habit: Habit::default() });
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
                    Ok(Kind::Array | Kind::Object) => form.skip(&mut cursor, &text),
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
        form.skip(&mut cursor, first).expect("valid");
        let second = first.replace("latency", "x\\\"").replace('1', "true").replace("null", "0.25");
        let end = form.follow(&second, 0).expect("the same form");
        assert_eq!(end, second.len());
        for other in ["[]", &second.replace("true", "[]"), &second.replace("0.25", "01"), &second.replace(", {}", "")] {
            assert!(form.follow(other, 0).is_none(), "{other}");
        }
    }
}
