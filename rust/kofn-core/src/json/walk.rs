//! The walk over one record: follows the trie, hands scalars to the recorder, checks the syntax of everything else.

use xxhash_rust::xxh3::xxh3_64;

use super::cursor::{Cursor, Kind, Text};
use super::declare;
use super::effect::Effect;
use super::fault::{Checked, Fault, shown};
use super::mapping::Target;
use super::native::Recorder;
use super::number::Scalar;
use super::routes::{Goal, Op, Routes, Trace};
use super::tracks::{Ears, Tracks};
use super::trie::{Node, Trie};
use crate::names::Dictionary;

/// What outlives a record: the routes of those before it, and buffers.
#[derive(Debug)]
pub(crate) struct Memory {
    routes: Routes,
    tracks: Tracks,
    trace: Trace,
    /// Keys that no edge names, of all objects that are open: their hashes and places.
    others: Vec<(u64, usize)>,
}

impl Memory {
    pub fn new(trie: &Trie) -> Self {
        Self { routes: Routes::new(trie), tracks: Tracks::default(), trace: Trace::default(), others: Vec::new() }
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
    /// The text, and what stands after it where that is at hand: blocks are read across its end.
    pub ahead: &'a str,
}

impl Walk<'_, '_> {
    /// Read the whole record into the draft of a recorder that was begun.
    pub fn record(&mut self) -> Checked<()> {
        let Memory { routes, tracks, .. } = self.memory;
        let mut ears = Ears { trie: self.trie, recorder: self.recorder, dictionary: self.dictionary };
        if tracks.follow(routes, self.text, self.ahead, &mut ears).is_some() {
            return Ok(());
        }
        self.recorder.abandon();
        self.recorder.begin();
        self.memory.trace.begin();
        self.memory.others.clear();
        let kind = self.cursor.kind()?;
        if kind != Kind::Object {
            self.cursor.skip()?;
            self.cursor.end()?;
            return Err(Fault::new(format!("a record must be an object, this is {}", kind.noun())));
        }
        let Some(root) = self.trie.nodes.first() else { return Ok(()) };
        self.object(0, root)?;
        self.cursor.end()?;
        self.memory.trace.end(&mut self.memory.routes, &self.cursor);
        Ok(())
    }

    fn object(&mut self, id: usize, node: &Node) -> Checked<()> {
        if !self.cursor.open_object()? {
            return Ok(());
        }
        self.memory.trace.op(Op::Enter);
        let mut seen = 0_u64;
        let others = self.memory.others.len();
        loop {
            let place = self.cursor.position();
            let key = self.cursor.key()?;
            let same = |wanted: &str| node.edges.iter().position(|edge| &*edge.key == wanted);
            let found = if key.escaped { same(key.decode(&mut String::new())?) } else { same(key.raw) };
            let Memory { routes, trace, .. } = self.memory;
            if let Some((number, edge)) = found.and_then(|number| Some((number, node.edges.get(number)?))) {
                if seen >> number & 1 == 1 {
                    return Err(twice(&edge.key));
                }
                seen |= 1 << number;
                // An object has at most 64 edges.
                trace.op(Op::Key(u8::try_from(number).unwrap_or(u8::MAX)));
                let key = Text { raw: &edge.key, escaped: false };
                self.value(edge.node, key).map_err(|fault| fault.under(&edge.key))?;
            } else {
                let hash = if key.escaped {
                    xxh3_64(key.decode(&mut String::new())?.as_bytes())
                } else {
                    xxh3_64(key.raw.as_bytes())
                };
                trace.key(routes, id, node.edges.len(), key);
                self.memory.others.push((hash, place));
                match node.wildcard {
                    Some(child) => self.value(child, key).map_err(|fault| fault.under(key.raw))?,
                    None => self.skip(Err(id))?,
                }
            }
            if !self.cursor.another_member()? {
                break;
            }
        }
        if self.memory.others.len() > others {
            self.refuse_copies(others)?;
        }
        self.memory.trace.op(Op::Leave);
        Ok(())
    }

    /// Skip a value, of a node or of the object of one.
    fn skip(&mut self, node: Result<usize, usize>) -> Checked<()> {
        self.cursor.space();
        self.memory.trace.value(&mut self.memory.routes, &self.cursor, node, Goal::Any);
        self.cursor.skip()?;
        self.memory.trace.value_ends(&self.cursor);
        Ok(())
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
            return self.skip(Ok(id));
        }
        let kind = self.cursor.kind()?;
        if kind == Kind::Null {
            return self.cursor.null();
        }
        let opened = node.scope.and_then(|number| Some((number, trie.targets.get(number)?)));
        if let Some((number, target)) = opened {
            let name = if node.captured { Some(key) } else { None };
            self.recorder.open(target, name, self.dictionary)?;
            self.memory.trace.tell(Effect::Open(number, name.map(|name| name.raw.into())));
        }
        self.inner(id, node, kind, key)?;
        if let Some((number, target)) = opened {
            self.recorder.close(target, self.dictionary)?;
            self.memory.trace.tell(Effect::Close(number));
        }
        Ok(())
    }

    fn inner(&mut self, id: usize, node: &Node, kind: Kind, key: Text<'_>) -> Checked<()> {
        let leaf = node.leaf.and_then(|number| Some((number, self.trie.targets.get(number)?)));
        let Memory { routes, trace, .. } = self.memory;
        match (kind, leaf) {
            (Kind::Object, Some((_, Target::Header))) => {
                trace.lose();
                let header = declare::header(&mut self.cursor, self.dictionary)?;
                self.recorder.declare(header);
                Ok(())
            }
            (Kind::Object, Some((number, target @ (Target::Error | Target::VerifierError)))) => {
                self.recorder.broke(target);
                trace.tell(Effect::Broke(number));
                trace.value(routes, &self.cursor, Ok(id), Goal::Object);
                self.cursor.skip()?;
                self.memory.trace.value_ends(&self.cursor);
                Ok(())
            }
            (_, Some((_, Target::Header | Target::Ignored))) => {
                trace.lose();
                self.cursor.skip()
            }
            (Kind::Object, _) if node.is_object() => self.object(id, node),
            (Kind::Array, _) if let Some(element) = node.element => {
                if node.checks {
                    trace.tell(Effect::Checks);
                    self.recorder.checks();
                }
                self.array(element)
            }
            (Kind::Bool | Kind::Number | Kind::Text, Some((number, target))) => {
                trace.value(routes, &self.cursor, Ok(id), Goal::scalar(number, key));
                let scalar = Scalar::read(&mut self.cursor, kind)?;
                self.recorder.scalar(target, scalar, key, self.dictionary)?;
                self.memory.trace.value_ends(&self.cursor);
                Ok(())
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
