//! What is wrong inside one record, before its place is known.

use std::fmt::Write as _;

/// A step of the path to a field, innermost first while a fault travels outwards.
#[derive(Debug)]
enum Step {
    Key(String),
    Element(usize),
}

/// A fault: the problem, and the path to it, which grows as the fault leaves the objects and arrays around it.
///
/// Boxed inside: faults are rare, and the results around them stay small.
#[derive(Debug)]
pub(crate) struct Fault(Box<Details>);

#[derive(Debug)]
struct Details {
    problem: String,
    /// Not JSON at all, as opposed to JSON that says something wrong.
    syntax: bool,
    steps: Vec<Step>,
}

pub(crate) type Checked<T> = Result<T, Fault>;

impl Fault {
    /// A value that is wrong where it stands.
    #[cold]
    pub fn new(problem: impl Into<String>) -> Self {
        Self(Box::new(Details { problem: problem.into(), syntax: false, steps: Vec::new() }))
    }

    /// Bytes that are not JSON.
    #[cold]
    pub fn syntax(at: usize, problem: impl AsRef<str>) -> Self {
        let problem = format!("invalid JSON at byte {}: {}", at + 1, problem.as_ref());
        Self(Box::new(Details { problem, syntax: true, steps: Vec::new() }))
    }

    /// What is wrong.
    pub fn problem(&self) -> &str {
        &self.0.problem
    }

    /// Whether the bytes are not JSON at all.
    pub const fn is_syntax(&self) -> bool {
        self.0.syntax
    }

    /// The same, seen from the object around it.
    #[cold]
    pub fn under(mut self, key: &str) -> Self {
        if !self.0.syntax {
            self.0.steps.push(Step::Key(key.to_owned()));
        }
        self
    }

    /// The same, seen from the array around it.
    #[cold]
    pub fn element(mut self, position: usize) -> Self {
        if !self.0.syntax {
            self.0.steps.push(Step::Element(position));
        }
        self
    }

    /// The path as messages show it: `verifiers[1].checks[0].passed`.
    pub fn field(&self) -> String {
        let mut field = String::new();
        for step in self.0.steps.iter().rev() {
            match step {
                Step::Element(position) => {
                    // Writing to a string cannot fail.
                    let _ = write!(field, "[{position}]");
                }
                Step::Key(key) => {
                    if !field.is_empty() {
                        field.push('.');
                    }
                    field.push_str(&shown(key, 80));
                }
            }
        }
        field
    }
}

/// At most `limit` characters of hostile text, without control characters, so that a message stays one clear line.
pub(crate) fn shown(text: &str, limit: usize) -> String {
    let mut out = String::new();
    for c in text.chars().take(limit) {
        if c.is_control() {
            out.extend(c.escape_default());
        } else {
            out.push(c);
        }
    }
    if text.chars().nth(limit).is_some() {
        out.push('…');
    }
    out
}

/// The one of `words` nearest to `text`, if it is near enough to be meant.
pub(crate) fn nearest<'w>(text: &str, words: impl IntoIterator<Item = &'w str>) -> Option<&'w str> {
    if text.len() > 64 {
        return None;
    }
    let lower = text.to_lowercase();
    words
        .into_iter()
        .map(|word| (distance(&lower, &word.to_lowercase()), word))
        .filter(|&(distance, word)| distance <= word.len().max(3) / 3 + 1)
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, word)| word)
}

/// Levenshtein's distance.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().enumerate() {
        let mut diagonal = i;
        let mut left = i + 1;
        for (cell, to) in row.iter_mut().skip(1).zip(&b) {
            let best = (diagonal + usize::from(from != *to)).min(left + 1).min(*cell + 1);
            diagonal = *cell;
            *cell = best;
            left = best;
        }
        if let Some(first) = row.first_mut() {
            *first = i + 1;
        }
    }
    row.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_reads_from_the_outside_in() {
        let fault = Fault::new("no").under("passed").element(0).under("checks").element(1).under("verifiers");
        assert_eq!(fault.field(), "verifiers[1].checks[0].passed");
    }

    #[test]
    fn the_nearest_word_is_found_whatever_its_case() {
        let words = ["pass", "fail", "indeterminate"];
        assert_eq!(nearest("PASS", words), Some("pass"));
        assert_eq!(nearest("fial", words), Some("fail"));
        assert_eq!(nearest("indeterminant", words), Some("indeterminate"));
        assert_eq!(nearest("banana", words), None);
        assert_eq!(distance("kitten", "sitting"), 3);
    }

    #[test]
    fn shown_text_is_short_and_without_controls() {
        assert_eq!(shown("a\nb", 10), "a\\nb");
        assert_eq!(shown("abcdef", 3), "abc…");
    }
}
