//! Records as the elements of one array of one document, streamed: neither the array nor what stands around it is held.
//!
//! What stands around the array is checked token by token with an explicit stack. An element's end is found by its
//! brackets alone; the walk over the element checks the rest.

use super::cursor::{Cursor, MAX_DEPTH};
use super::fault::{Checked, Fault};
use super::lines::Found;
use super::number::Scalar;
use super::window::Window;
use crate::error::{Error, Place, Result, Unit};

/// A step of the path to the records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Key(String),
    Elements,
}

/// The steps of a path such as `results.rows[]`.
pub(crate) fn steps(path: &str) -> Result<Vec<Step>> {
    let mut steps = Vec::new();
    for segment in path.split('.') {
        let key = segment.trim_end_matches("[]");
        if !key.is_empty() {
            steps.push(Step::Key(key.to_owned()));
        }
        steps.extend((0..(segment.len() - key.len()) / 2).map(|_| Step::Elements));
    }
    if steps.last() == Some(&Step::Elements) {
        Ok(steps)
    } else {
        Err(Error::argument("mapping", format!("the records' path {path:?} must end with []")))
    }
}

/// An array or object that is open.
#[derive(Clone, Copy)]
struct Open {
    object: bool,
    /// Steps of the path that lead here; none off the path.
    matched: Option<usize>,
    /// The path's key was met in this object.
    met: bool,
}

/// What may come next.
#[derive(Clone, Copy, PartialEq)]
enum State {
    Value,
    FirstKey,
    Key,
    FirstElement,
    After,
}

struct Document<'d, 'f> {
    window: &'d mut Window<'f>,
    steps: &'d [Step],
    name: &'d str,
    open: Vec<Open>,
    number: u64,
    found: bool,
}

/// Give every element of the array at `steps` to `each`; `name` is the source's, for messages.
pub(crate) fn elements(
    window: &mut Window<'_>,
    steps: &[Step],
    name: &str,
    first: u64,
    each: &mut dyn FnMut(Found<'_>) -> Result<()>,
) -> Result<u64> {
    let mut document = Document { window, steps, name, open: Vec::new(), number: first, found: false };
    document.run(each)?;
    if document.found {
        Ok(document.number)
    } else {
        let path: Vec<_> =
            steps.iter().filter_map(|step| if let Step::Key(key) = step { Some(&**key) } else { None }).collect();
        let what =
            if path.is_empty() { "it is no array".to_owned() } else { format!("it has no array {:?}", path.join(".")) };
        Err(Error::record(document.place(None), "", format!("{what}, so it does not look like this format")))
    }
}

impl Document<'_, '_> {
    fn place(&self, number: Option<u64>) -> Place {
        Place { source: self.name.to_owned(), number, unit: Unit::Record }
    }

    /// A syntax fault outside of records, or between them.
    fn wrong(&self, expected: &str) -> Error {
        let found = match self.window.bytes().first() {
            None => "the document ends".to_owned(),
            Some(byte) => format!("found {:?}", char::from(*byte)),
        };
        self.fault(&Fault::new(format!("{found} where {expected} should stand")))
    }

    fn fault(&self, fault: &Fault) -> Error {
        let number = if self.number > 0 { Some(self.number) } else { None };
        let problem = format!("invalid JSON near byte {}: {}", self.window.offset() + 1, fault.problem());
        Error::record(self.place(number), "", problem)
    }

    /// The next byte that is not white space.
    fn peek(&mut self) -> Result<Option<u8>> {
        loop {
            let held = self.window.bytes();
            let blank = held.len() - held.trim_ascii_start().len();
            self.window.consume(blank);
            if let Some(&byte) = self.window.bytes().first() {
                return Ok(Some(byte));
            }
            if !self.window.more()? {
                return Ok(None);
            }
        }
    }

    fn run(&mut self, each: &mut dyn FnMut(Found<'_>) -> Result<()>) -> Result<()> {
        let mut state = State::Value;
        // Steps of the path that lead to the value ahead.
        let mut matched = Some(0);
        loop {
            let byte = self.peek()?;
            state = match (state, byte) {
                (State::FirstKey, Some(b'}')) | (State::FirstElement, Some(b']')) => self.leave(),
                (State::FirstKey | State::Key, Some(b'"')) => {
                    matched = self.key()?;
                    State::Value
                }
                (State::Value | State::FirstElement, Some(_)) => {
                    if state == State::FirstElement {
                        matched = self.element();
                    }
                    self.value(matched, each)?
                }
                (State::After, _) => match (self.open.last().map(|open| open.object), byte) {
                    (None, None) => return Ok(()),
                    (None, Some(_)) => return Err(self.wrong("the end")),
                    (Some(true), Some(b'}')) | (Some(false), Some(b']')) => self.leave(),
                    (Some(true), Some(b',')) => {
                        self.window.consume(1);
                        State::Key
                    }
                    (Some(false), Some(b',')) => {
                        self.window.consume(1);
                        matched = self.element();
                        State::Value
                    }
                    (Some(true), _) => return Err(self.wrong("',' or '}'")),
                    (Some(false), _) => return Err(self.wrong("',' or ']'")),
                },
                (State::FirstKey | State::Key, _) => return Err(self.wrong("a key in quotes")),
                (State::Value | State::FirstElement, None) => return Err(self.wrong("a value")),
            };
        }
    }

    fn leave(&mut self) -> State {
        self.window.consume(1);
        self.open.pop();
        State::After
    }

    /// How much of the path leads to an element of the innermost array.
    fn element(&self) -> Option<usize> {
        let matched = self.open.last()?.matched?;
        (self.steps.get(matched) == Some(&Step::Elements)).then_some(matched + 1)
    }

    /// Read a key and its colon; how much of the path leads to its value.
    fn key(&mut self) -> Result<Option<usize>> {
        let length = self.extent()?;
        let key = self.token(length, |cursor| Ok(cursor.string()?.decode(&mut String::new())?.to_owned()))?;
        if self.peek()? != Some(b':') {
            return Err(self.wrong("':'"));
        }
        self.window.consume(1);
        let steps = self.steps;
        let Some(open) = self.open.last_mut() else { return Ok(None) };
        let Some(matched) = open.matched else { return Ok(None) };
        if !matches!(steps.get(matched), Some(Step::Key(wanted)) if *wanted == key) {
            return Ok(None);
        }
        if std::mem::replace(&mut open.met, true) {
            return Err(self.fault(&Fault::new(format!("the key {key:?} stands twice in its object"))));
        }
        Ok(Some(matched + 1))
    }

    /// Decode a token of the given length and drop it.
    fn token<T>(&mut self, length: usize, read: impl FnOnce(&mut Cursor<'_>) -> Checked<T>) -> Result<T> {
        let bytes = self.window.bytes().get(..length).unwrap_or_default();
        let result = match simdutf8::basic::from_utf8(bytes) {
            Ok(text) => {
                let mut cursor = Cursor::new(text);
                read(&mut cursor).and_then(|value| cursor.end().map(|()| value))
            }
            Err(_) => Err(Fault::new("the bytes are not UTF-8")),
        };
        let value = result.map_err(|fault| self.fault(&fault))?;
        self.window.consume(length);
        Ok(value)
    }

    /// A value: a record, an array or object to go into, or a scalar to check.
    fn value(&mut self, matched: Option<usize>, each: &mut dyn FnMut(Found<'_>) -> Result<()>) -> Result<State> {
        if matched == Some(self.steps.len()) {
            let length = self.extent()?;
            self.number += 1;
            let bytes = self.window.bytes().get(..length).unwrap_or_default();
            each(Found { bytes, number: self.number, offset: self.window.offset(), unfinished: false })?;
            self.window.consume(length);
            return Ok(State::After);
        }
        let byte = self.window.bytes().first().copied();
        if let Some(b'{' | b'[') = byte {
            if self.open.len() == MAX_DEPTH {
                let problem = format!("arrays and objects are nested deeper than {MAX_DEPTH}");
                return Err(self.fault(&Fault::new(problem)));
            }
            let object = byte == Some(b'{');
            // The array of the records stands here once its last step is the one ahead.
            self.found |= !object && matched.is_some_and(|n| n + 1 == self.steps.len());
            self.open.push(Open { object, matched, met: false });
            self.window.consume(1);
            return Ok(if object { State::FirstKey } else { State::FirstElement });
        }
        let length = self.extent()?;
        self.token(length, |cursor| {
            let kind = cursor.kind()?;
            if kind == super::cursor::Kind::Null { cursor.null() } else { Scalar::read(cursor, kind).map(drop) }
        })?;
        Ok(State::After)
    }

    /// How many bytes the value ahead takes, by its quotes and brackets; holds all of them.
    fn extent(&mut self) -> Result<usize> {
        let mut scan = Extent::default();
        loop {
            if let Some(length) = scan.over(self.window.bytes()) {
                return Ok(length);
            }
            if !self.window.more()? {
                let held = self.window.bytes().len();
                // A number may end with the document; everything else is cut, which whoever reads it will say.
                return Ok(held);
            }
        }
    }
}

/// A search for a value's end that goes on where it stopped.
#[derive(Default)]
struct Extent {
    at: usize,
    depth: usize,
    text: bool,
}

impl Extent {
    /// The value's length if it ends within `held`, which starts with it.
    fn over(&mut self, held: &[u8]) -> Option<usize> {
        loop {
            let rest = held.get(self.at..)?;
            if self.text {
                let Some(next) = memchr::memchr2(b'"', b'\\', rest) else {
                    self.at = held.len();
                    return None;
                };
                if rest.get(next) == Some(&b'\\') {
                    // The escaped byte may not have come yet.
                    if next + 1 >= rest.len() {
                        self.at += next;
                        return None;
                    }
                    self.at += next + 2;
                    continue;
                }
                self.at += next + 1;
                self.text = false;
            } else {
                let byte = *rest.first()?;
                match byte {
                    b'"' => self.text = true,
                    b'{' | b'[' => self.depth += 1,
                    b'}' | b']' if self.depth > 0 => self.depth -= 1,
                    b'}' | b']' | b',' | b':' | b' ' | b'\n' | b'\r' | b'\t' if self.depth == 0 => {
                        return Some(self.at.max(1));
                    }
                    _ => {
                        self.at += 1;
                        continue;
                    }
                }
                self.at += 1;
                if byte == b'"' || matches!(byte, b'{' | b'[') {
                    continue;
                }
            }
            if self.depth == 0 {
                return Some(self.at);
            }
        }
    }
}
