//! The walk over one record: follows the trie, hands scalars to the recorder, checks the syntax of everything else.

use xxhash_rust::xxh3::xxh3_64;

use super::cursor::{Cursor, Kind, Text};
use super::declare;
use super::fault::{Checked, Fault, shown};
use super::mapping::Target;
use super::native::Recorder;
use super::number::Scalar;
use super::trie::{Node, Trie};
use crate::names::Dictionary;

/// What outlives a record: which key followed which, and buffers.
#[derive(Debug)]
pub(crate) struct Memory {
    /// For each node and edge, the edge that came next last time.
    guesses: Vec<u8>,
    /// Keys that no edge names, of all objects that are open: their hashes and places.
    others: Vec<(u64, usize)>,
}

impl Memory {
    pub fn new(trie: &Trie) -> Self {
        Self { guesses: vec![0; trie.guesses], others: Vec::new() }
    }
}

/// The walk.
pub(crate) struct Walk<'w, 'a> {
    pub trie: &'w Trie,
    pub memory: &'w mut Memory,
    pub recorder: &'w mut Recorder,
    pub dictionary: &'w mut Dictionary,
    pub cursor: Cursor<'a>,
    pub text: &'a str,
}

impl<'a> Walk<'_, 'a> {
    /// Read the whole record into the recorder's draft.
    pub fn record(&mut self) -> Checked<()> {
        self.memory.others.clear();
        let kind = self.cursor.kind()?;
        if kind != Kind::Object {
            self.cursor.skip()?;
            self.cursor.end()?;
            return Err(Fault::new(format!("a record must be an object, this is {}", kind.noun())));
        }
        let Some(root) = self.trie.nodes.first() else { return Ok(()) };
        self.object(root)?;
        self.cursor.end()
    }

    fn object(&mut self, node: &Node) -> Checked<()> {
        if !self.cursor.open_object()? {
            return Ok(());
        }
        let mut seen = 0_u64;
        let others = self.memory.others.len();
        let mut slot = Some(node.guess);
        loop {
            let guess =
                slot.and_then(|slot| self.memory.guesses.get(slot)).map_or(usize::MAX, |&edge| usize::from(edge));
            let place = self.cursor.position();
            let found = match node.edges.get(guess) {
                Some(edge) if self.cursor.key_is(&edge.quoted)? => Ok(guess),
                _ => self.find(node)?,
            };
            match found {
                Ok(number) => {
                    if let Some(guess) = slot.and_then(|slot| self.memory.guesses.get_mut(slot)) {
                        // An object has at most 64 edges.
                        *guess = u8::try_from(number).unwrap_or(u8::MAX);
                    }
                    slot = Some(node.guess + 1 + number);
                    let Some(edge) = node.edges.get(number) else { return Ok(()) };
                    if seen >> number & 1 == 1 {
                        return Err(twice(&edge.key));
                    }
                    seen |= 1 << number;
                    let key = Text { raw: &edge.key, escaped: false };
                    self.value(edge.node, key).map_err(|fault| fault.under(&edge.key))?;
                }
                Err(key) => {
                    slot = None;
                    let hash = if key.escaped {
                        xxh3_64(key.decode(&mut String::new())?.as_bytes())
                    } else {
                        xxh3_64(key.raw.as_bytes())
                    };
                    self.memory.others.push((hash, place));
                    match node.wildcard {
                        Some(child) => self.value(child, key).map_err(|fault| fault.under(key.raw))?,
                        None => self.cursor.skip()?,
                    }
                }
            }
            if !self.cursor.another_member()? {
                break;
            }
        }
        if self.memory.others.len() > others {
            self.refuse_copies(others)?;
        }
        Ok(())
    }

    /// The edge of the key ahead, or the key.
    fn find(&mut self, node: &Node) -> Checked<Result<usize, Text<'a>>> {
        let key = self.cursor.key()?;
        let same = |wanted: &str| node.edges.iter().position(|edge| &*edge.key == wanted);
        let found = if key.escaped { same(key.decode(&mut String::new())?) } else { same(key.raw) };
        Ok(found.ok_or(key))
    }

    /// Refuse two equal keys among those since `start`.
    fn refuse_copies(&mut self, start: usize) -> Checked<()> {
        let Some(keys) = self.memory.others.get_mut(start..) else { return Ok(()) };
        if keys.len() > 1 {
            keys.sort_unstable();
            for pair in keys.windows(2) {
                if let [(a, first), (b, second)] = pair
                    && a == b
                {
                    let (first, second) = (key_at(self.text, *first)?, key_at(self.text, *second)?);
                    if first == second {
                        return Err(twice(&first));
                    }
                }
            }
        }
        self.memory.others.truncate(start);
        Ok(())
    }

    fn value(&mut self, id: usize, key: Text<'_>) -> Checked<()> {
        let trie = self.trie;
        let Some(node) = trie.nodes.get(id) else { return Ok(()) };
        if node.skip {
            return self.cursor.skip();
        }
        let kind = self.cursor.kind()?;
        if kind == Kind::Null {
            return self.cursor.null();
        }
        let opened = node.scope.and_then(|number| trie.targets.get(number));
        if let Some(target) = opened {
            let name = if node.captured { Some(key) } else { None };
            self.recorder.open(target, name, self.dictionary)?;
        }
        self.inner(node, kind, key)?;
        if let Some(target) = opened {
            self.recorder.close(target, self.dictionary)?;
        }
        Ok(())
    }

    fn inner(&mut self, node: &Node, kind: Kind, key: Text<'_>) -> Checked<()> {
        let leaf = node.leaf.and_then(|number| self.trie.targets.get(number));
        match (kind, leaf) {
            (Kind::Object, Some(Target::Header)) => {
                let header = declare::header(&mut self.cursor, self.dictionary)?;
                self.recorder.declare(header);
                Ok(())
            }
            (Kind::Object, Some(target @ (Target::Error | Target::VerifierError))) => {
                self.recorder.broke(target);
                self.cursor.skip()
            }
            (_, Some(Target::Header | Target::Ignored)) => self.cursor.skip(),
            (Kind::Object, _) if node.is_object() => self.object(node),
            (Kind::Array, _) if let Some(element) = node.element => {
                if node.checks {
                    self.recorder.checks();
                }
                self.array(element)
            }
            (Kind::Bool | Kind::Number | Kind::Text, Some(target)) => {
                let scalar = Scalar::read(&mut self.cursor, kind)?;
                self.recorder.scalar(target, scalar, key, self.dictionary)
            }
            _ => self.mismatch(node, kind),
        }
    }

    fn array(&mut self, element: usize) -> Checked<()> {
        if !self.cursor.open_array()? {
            return Ok(());
        }
        let strict = self.trie.nodes.get(element).is_some_and(|node| node.scope.is_some());
        let mut position = 0;
        loop {
            // A list of things has no absent ones: a null among them is a mistake, not "not recorded".
            if strict && self.cursor.kind()? == Kind::Null {
                return Err(Fault::new("null stands where an object should").element(position));
            }
            self.value(element, Text { raw: "", escaped: false }).map_err(|fault| fault.element(position))?;
            if !self.cursor.another_element()? {
                return Ok(());
            }
            position += 1;
        }
    }

    #[cold]
    fn mismatch(&mut self, node: &Node, kind: Kind) -> Checked<()> {
        let start = self.cursor.position();
        self.cursor.skip()?;
        let found = shown(self.cursor.since(start).trim(), 60);
        let expected = match node.leaf.and_then(|number| self.trie.targets.get(number)) {
            Some(target) => super::scalars::expected(target),
            None if node.element.is_some() && node.is_object() => "an array or an object",
            None if node.element.is_some() => "an array",
            None => "an object",
        };
        Err(Fault::new(format!("{found} is {}, expected {expected}", kind.noun())))
    }
}

#[cold]
fn twice(key: &str) -> Fault {
    Fault::new("the key stands twice in its object").under(key)
}

fn key_at(text: &str, place: usize) -> Checked<String> {
    let mut scratch = String::new();
    let key = Cursor::new(text.get(place..).unwrap_or_default()).key()?;
    Ok(key.decode(&mut scratch)?.to_owned())
}
