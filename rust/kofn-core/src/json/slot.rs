//! What stands in a value of a known place and kind, taken without a parse wherever it is written plainly.

use super::mapping::Target;
use super::native::Recorder;
use super::quick;
use super::routes::Goal;
use super::trie::Trie;
use crate::batch::Value;

/// The kind of a value by its first byte; [`END`] where none stands.
pub(super) type Class = u8;
pub(super) const END: Class = 0;
const OTHER: Class = 1;
const TEXT: Class = 2;
const NUMBER: Class = 3;
const FLAG: Class = 4;
const NESTED: Class = 5;
const NULL: Class = 6;

/// By byte.
static CLASSES: [Class; 256] = {
    let mut classes = [OTHER; 256];
    let mut byte = u8::MAX;
    loop {
        classes[byte as usize] = match byte {
            b'"' => TEXT,
            b'-' | b'0'..=b'9' | b'N' | b'I' => NUMBER,
            b't' | b'f' => FLAG,
            b'{' | b'[' => NESTED,
            b'n' => NULL,
            _ => OTHER,
        };
        if byte == 0 {
            break classes;
        }
        byte -= 1;
    }
};

/// The class of a byte ahead.
#[inline(always)]
pub(super) fn class(byte: Option<&u8>) -> Class {
    byte.map_or(END, |&byte| CLASSES[usize::from(byte)])
}

/// A target of plain values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Slot {
    /// Text or a number that is skipped.
    Text,
    Number,
    Task,
    Index(u64),
    Passed,
    Required,
    Score,
    Seconds(f64),
    Input,
    Output,
    ToolCalls,
    ToolErrors,
    Value,
    /// Anything else, and whatever is not written plainly.
    Other,
}

impl Slot {
    /// That of values of a class.
    pub fn new(goal: &Goal, class: Class, trie: &Trie) -> Self {
        let target = match goal {
            Goal::Scalar(number, _) => trie.targets.get(*number),
            Goal::Any if class == TEXT => return Self::Text,
            Goal::Any if class == NUMBER => return Self::Number,
            _ => None,
        };
        match (target, class) {
            (Some(Target::Task), TEXT) => Self::Task,
            (Some(Target::Index { base }), NUMBER) => Self::Index(*base),
            (Some(Target::CheckPassed { .. }), FLAG) => Self::Passed,
            (Some(Target::Required), FLAG) => Self::Required,
            (Some(Target::Score { .. }), NUMBER) => Self::Score,
            (Some(Target::Duration { seconds }), NUMBER) => Self::Seconds(*seconds),
            (Some(Target::InputTokens), NUMBER) => Self::Input,
            (Some(Target::OutputTokens), NUMBER) => Self::Output,
            (Some(Target::ToolCalls), NUMBER) => Self::ToolCalls,
            (Some(Target::ToolErrors), NUMBER) => Self::ToolErrors,
            (Some(Target::Value), NUMBER) => Self::Value,
            _ => Self::Other,
        }
    }

    /// Give the value at `at` to the recorder; the position after it. `None`, and nothing was given: it is not plain,
    /// or perhaps wrong.
    #[inline(always)]
    pub fn take(self, text: &str, at: usize, recorder: &mut Recorder) -> Option<usize> {
        let bytes = text.as_bytes();
        let end = match self {
            Self::Text => quick::text_end(bytes, at)?,
            Self::Number => quick::number(bytes, at)?,
            Self::Task => {
                let (id, end) = quick::text(text, at)?;
                if id.is_empty() {
                    return None;
                }
                recorder.text_task(id);
                end
            }
            Self::Index(base) => {
                let (index, end) = quick::whole(bytes, at)?;
                recorder.rollout.index = Some(index.checked_sub(base)?);
                end
            }
            Self::Passed => {
                let (passed, end) = quick::flag(bytes, at)?;
                recorder.check.passed = Some(passed);
                end
            }
            Self::Required => {
                let (required, end) = quick::flag(bytes, at)?;
                recorder.check.required = required;
                end
            }
            Self::Score => {
                let (score, end) = quick::decimal(bytes, at)?;
                recorder.scored(score).ok()?;
                end
            }
            Self::Seconds(seconds) => {
                let (value, end) = quick::decimal(bytes, at)?;
                recorder.lasted(value * seconds)?;
                end
            }
            Self::Input | Self::Output | Self::ToolCalls | Self::ToolErrors => {
                let (count, end) = quick::whole(bytes, at)?;
                let rollout = &mut recorder.rollout;
                let place = match self {
                    Self::Input => &mut rollout.input,
                    Self::Output => &mut rollout.output,
                    Self::ToolCalls => &mut rollout.tool_calls,
                    _ => &mut rollout.tool_errors,
                };
                // A second one, or more than a count may be, is not plain.
                if place.is_some() || count > 1 << 53 {
                    return None;
                }
                *place = Some(count.cast_signed());
                end
            }
            Self::Value => {
                let (value, end) = quick::decimal(bytes, at)?;
                recorder.reading.value = Some(Value::Number(value + 0.0));
                end
            }
            Self::Other => return None,
        };
        Some(end)
    }
}
