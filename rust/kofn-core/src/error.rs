//! One error type for the crate: fields rather than sentences, one line each when shown.

use std::fmt;

use crate::plan::Refusal;

/// What every fallible function of the crate returns.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What a place counts in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unit {
    /// Lines of a text file, from 1.
    #[default]
    Line,
    /// Records of an array or of a list in memory, from 1.
    Record,
    /// Rows of a table, from 0 as every table library counts them.
    Row,
}

/// Where something stands in what was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The name of the source as the user gave it.
    pub source: String,
    /// Its number in `unit`, or none when the whole source is meant.
    pub number: Option<u64>,
    /// What `number` counts.
    pub unit: Unit,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.source)?;
        let Some(number) = self.number else { return Ok(()) };
        match self.unit {
            Unit::Line => write!(f, ", line {number}"),
            Unit::Record => write!(f, ", record {number}"),
            Unit::Row => write!(f, ", row {number}"),
        }
    }
}

/// Everything that can go wrong, by whose fault and where.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Error {
    /// A source could not be opened, read or decompressed.
    Source {
        /// The source's name.
        source: String,
        /// What the system or the decompressor said.
        reason: String,
    },
    /// One record cannot be read: syntax, type, spelling, contradiction, checks that cannot be graded.
    Record {
        /// Where the record stands.
        place: Place,
        /// The field's path, such as `verifiers[0].verdict`; empty for the record as a whole.
        field: String,
        /// What is wrong and what would be right.
        problem: String,
    },
    /// Headers of one report that contradict each other.
    Header {
        /// The earlier header.
        first: Place,
        /// The later header.
        second: Place,
        /// What differs and the ways on.
        problem: String,
    },
    /// Nothing to report on.
    NoRollouts {
        /// The sources read.
        sources: Vec<String>,
        /// What was met in them instead.
        notes: Vec<String>,
    },
    /// The same (task, index) twice.
    Duplicate {
        /// The task's id.
        task: String,
        /// The rollout's index.
        index: u64,
        /// The earlier place, where it is known.
        first: Option<Place>,
        /// The later place, where it is known.
        second: Option<Place>,
        /// Whether the two records are equal, where that is known.
        equal: Option<bool>,
    },
    /// A task's rollouts contradict each other or the run: mixed numbering, more records than requested, an
    /// undeclared task, a tag that varies.
    Task {
        /// The task's id.
        task: String,
        /// Where the task was first seen, if known.
        place: Option<Place>,
        /// What is wrong and the way on.
        problem: String,
    },
    /// Checks that cannot be graded.
    Grading {
        /// The rollout's position in the batch, if it stood in one.
        index: Option<usize>,
        /// What is wrong.
        problem: String,
    },
    /// An argument outside its domain.
    Argument {
        /// The argument's name.
        name: String,
        /// What is wrong and what is allowed.
        problem: String,
    },
    /// A statistic that was asked for and cannot be given.
    Refused {
        /// Its label.
        label: String,
        /// Why.
        why: Refusal,
    },
    /// Two tallies that cannot be merged.
    Merge {
        /// What differs.
        problem: String,
    },
    /// Bytes that are not an encoded tally.
    Encoding {
        /// What is wrong with them.
        problem: String,
    },
    /// The caller asked to stop (Ctrl-C).
    Interrupted,
}

impl Error {
    /// An [`Error::Argument`].
    pub fn argument(name: impl Into<String>, problem: impl Into<String>) -> Self {
        Self::Argument { name: name.into(), problem: problem.into() }
    }
    /// An [`Error::Merge`].
    pub fn merge(problem: impl Into<String>) -> Self {
        Self::Merge { problem: problem.into() }
    }
    /// An [`Error::Encoding`].
    pub fn encoding(problem: impl Into<String>) -> Self {
        Self::Encoding { problem: problem.into() }
    }
    /// An [`Error::Record`].
    pub fn record(place: Place, field: impl Into<String>, problem: impl Into<String>) -> Self {
        Self::Record { place, field: field.into(), problem: problem.into() }
    }
}

/// Characters of a message that are shown: names and ids may be of any length, and what to do stands at the end.
const SHOWN: [usize; 2] = [2000, 1000];

/// One line of bounded length, whatever the names in it hold.
fn one_line(message: &str) -> String {
    let mut line = String::with_capacity(message.len().min(4096));
    let mut push = |part: &str| {
        for c in part.chars() {
            if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') {
                line.extend(c.escape_default());
            } else {
                line.push(c);
            }
        }
    };
    let head = message.char_indices().nth(SHOWN[0]).map(|(at, _)| message.split_at(at));
    match head.and_then(|(head, rest)| Some((head, rest.char_indices().rev().nth(SHOWN[1] - 1)?.0, rest))) {
        Some((head, tail, rest)) if tail > 0 => {
            push(head);
            push(" … ");
            push(rest.get(tail..).unwrap_or_default());
        }
        _ => push(message),
    }
    line
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut message = String::new();
        self.write(&mut message)?;
        f.write_str(&one_line(&message))
    }
}

impl Error {
    fn write(&self, f: &mut impl fmt::Write) -> fmt::Result {
        match self {
            Self::Source { source, reason } => write!(f, "{source}: {reason}"),
            Self::Record { place, field, problem } if field.is_empty() => write!(f, "{place}: {problem}"),
            Self::Record { place, field, problem } => write!(f, "{place}, field {field}: {problem}"),
            Self::Header { first, second, problem } => write!(f, "{second}: {problem} (the other header: {first})"),
            Self::NoRollouts { sources, notes } if notes.is_empty() => {
                write!(f, "no rollouts in {}", sources.join(", "))
            }
            Self::NoRollouts { sources, notes } => {
                write!(f, "no rollouts in {} ({})", sources.join(", "), notes.join("; "))
            }
            Self::Duplicate { task, index, first, second, equal } => {
                write!(f, "task {task:?}, rollout {index} is recorded twice")?;
                match (first, second) {
                    (Some(first), Some(second)) => write!(f, ": {first} and {second}")?,
                    (None, Some(place)) | (Some(place), None) => write!(f, ": again at {place}")?,
                    (None, None) => {}
                }
                match equal {
                    Some(true) => f.write_str(" (the records are equal: on_duplicate=\"identical\" drops the copy)"),
                    Some(false) => f.write_str(" (the records differ: on_duplicate=\"first\" or \"last\" chooses one)"),
                    None => f.write_str(" (on_duplicate=\"identical\", \"first\" or \"last\" reads on)"),
                }
            }
            Self::Task { task, place: Some(place), problem } => write!(f, "task {task:?} ({place}): {problem}"),
            Self::Task { task, place: None, problem } => write!(f, "task {task:?}: {problem}"),
            Self::Grading { index: Some(index), problem } => write!(f, "rollout {index}: {problem}"),
            Self::Grading { index: None, problem } | Self::Merge { problem } | Self::Encoding { problem } => {
                f.write_str(problem)
            }
            Self::Argument { name, problem } => write!(f, "{name}: {problem}"),
            Self::Refused { label, why } => write!(f, "{label}: {why}"),
            Self::Interrupted => f.write_str("interrupted"),
        }
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_one_line_of_bounded_length_and_keeps_both_ends() {
        assert_eq!(one_line("a\nb\u{2028}\u{1b}"), "a\\nb\\u{2028}\\u{1b}");
        assert_eq!(one_line(&"é".repeat(3000)), "é".repeat(3000));
        let long = one_line(&format!("start{}end", "é".repeat(100_000)));
        assert_eq!(long.chars().count(), 3003);
        assert!(long.starts_with("start") && long.ends_with("end"));
    }
}
