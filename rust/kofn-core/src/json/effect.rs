//! What the walk did between two values, done again without walking.

use super::cursor::{Cursor, Text};
use super::mapping::{Required, Target};
use super::native::{Known, Recorder};
use super::number::Scalar;
use super::scalars::status;
use super::trie::Trie;
use crate::batch::Status;
use crate::names::Dictionary;

/// Something that the recorder was told.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Effect {
    /// A scope opens, named by a key, or closes: the number of its target.
    Open(usize, Option<Box<str>>),
    Close(usize),
    /// A list of checks stands here.
    Checks,
    /// An error stands here.
    Broke(usize),
    /// A scalar stands here that is always the same: the number of its target, its key, and how it is written.
    Scalar(Box<(usize, Box<str>, Box<str>)>),
    /// Scalars whose meaning is known.
    Status(Status),
    Required(bool),
    Label(Known),
    Name(Known),
    /// A verification opens whose name is known, and whose recorded score or verdict stands.
    Verification {
        name: Known,
        score_stands: bool,
        verdict_stands: bool,
    },
    /// A check opens whose label is known, or closes as what it says.
    Check {
        label: Known,
        required: bool,
    },
    CheckEnds,
}

impl Effect {
    /// A scalar that is always the same, where the number of its target and its key say what it means.
    pub fn of((number, key): (usize, &str), value: &str, trie: &Trie) -> Option<Self> {
        let known = match (trie.targets.get(number)?, scalar(value)?) {
            (Target::Status { words }, Scalar::Text(Text { raw, escaped: false })) => {
                status(raw, words).ok().map(Self::Status)
            }
            (Target::Required, scalar) => scalar.flag().map(Self::Required),
            (Target::Label, Scalar::Text(Text { raw, escaped: false })) if !raw.is_empty() => {
                Some(Self::Label(Known::new(raw)))
            }
            (Target::Name, Scalar::Text(Text { raw, escaped: false })) if !raw.is_empty() => {
                Some(Self::Name(Known::new(raw)))
            }
            _ => None,
        };
        Some(known.unwrap_or_else(|| Self::Scalar(Box::new((number, key.into(), value.into())))))
    }

    /// The same in fewer steps.
    pub fn shortened(effects: impl Iterator<Item = Self>, trie: &Trie) -> Box<[Self]> {
        let mut short: Vec<Self> = Vec::new();
        for effect in effects {
            let check = |number: usize| match trie.targets.get(number) {
                Some(Target::Check { label, required }) => Some((label, required)),
                _ => None,
            };
            match (short.last_mut(), effect) {
                (Some(last @ Self::Open(..)), Self::Name(name)) => match last {
                    Self::Open(number, None)
                        if let Some(&Target::Verification { name: None, score_stands, verdict_stands }) =
                            trie.targets.get(*number) =>
                    {
                        *last = Self::Verification { name, score_stands, verdict_stands };
                    }
                    _ => short.push(Self::Name(name)),
                },
                (Some(last @ Self::Open(..)), Self::Label(label)) => match last {
                    Self::Open(number, None) if let Some((None, required)) = check(*number) => {
                        *last = Self::Check { label, required: *required == Required::Always };
                    }
                    _ => short.push(Self::Label(label)),
                },
                (Some(Self::Check { required, .. }), Self::Required(flag)) => *required = flag,
                (_, Self::Close(number)) => short.push(match check(number) {
                    Some((_, Required::Recorded | Required::Always)) => Self::CheckEnds,
                    _ => Self::Close(number),
                }),
                (_, effect) => short.push(effect),
            }
        }
        short.into()
    }

    /// Tell the recorder. `None`: something is wrong with the record.
    #[inline(always)]
    pub fn apply(&mut self, trie: &Trie, recorder: &mut Recorder, dictionary: &mut Dictionary) -> Option<()> {
        match self {
            Self::Check { label, required } => {
                let label = recorder.label(label, dictionary);
                recorder.check_opens(Some(label), *required);
                Some(())
            }
            Self::CheckEnds => recorder.check_ends(),
            Self::Checks => {
                recorder.checks();
                Some(())
            }
            Self::Status(status) => {
                recorder.rollout.status = Some(*status);
                Some(())
            }
            Self::Verification { name, score_stands, verdict_stands } => {
                let name = recorder.known(name, dictionary);
                recorder.verification_opens(Some(name), *score_stands, *verdict_stands);
                Some(())
            }
            _ => self.tell(trie, recorder, dictionary),
        }
    }

    #[inline(never)]
    fn tell(&mut self, trie: &Trie, recorder: &mut Recorder, dictionary: &mut Dictionary) -> Option<()> {
        match self {
            Self::Open(target, name) => {
                let name = name.as_deref().map(|raw| Text { raw, escaped: false });
                recorder.open(trie.targets.get(*target)?, name, dictionary).ok()?;
            }
            Self::Close(target) => recorder.close(trie.targets.get(*target)?, dictionary).ok()?,
            Self::Broke(target) => recorder.broke(trie.targets.get(*target)?),
            Self::Scalar(fixed) => {
                let (target, key, value) = &**fixed;
                let key = Text { raw: key, escaped: false };
                recorder.scalar(trie.targets.get(*target)?, scalar(value)?, key, dictionary).ok()?;
            }
            Self::Required(required) => recorder.check.required = *required,
            Self::Label(label) => recorder.check.label = Some(recorder.label(label, dictionary)),
            Self::Name(name) => recorder.nested.name = Some(recorder.known(name, dictionary)),
            Self::Check { .. } | Self::CheckEnds | Self::Checks | Self::Status(_) | Self::Verification { .. } => {}
        }
        Some(())
    }
}

/// A scalar by its text.
fn scalar(value: &str) -> Option<Scalar<'_>> {
    let mut cursor = Cursor::new(value);
    let kind = cursor.kind().ok()?;
    Scalar::read(&mut cursor, kind).ok()
}
