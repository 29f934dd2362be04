//! The ways that records took through the trie, learned by the walk and followed before it.
//!
//! Writers repeat themselves: after one value the same keys and brackets lead to the next one, spaced alike. A route is
//! such bytes with what the walk did on them; following it is one comparison instead of a parse. Where no route leads
//! on, or anything is wrong, the record is walked as if nothing had been followed: routes change no result and no
//! message.
//!
//! Where a value stands in the trie says which arrays and objects are open around it, so routes start at such places.
//! Copies of a key are told by one bit for each key that an object was seen to have.

use super::cursor::{Cursor, Text};
use super::form::Form;
use super::native::Recorder;
use super::number::Scalar;
use super::scan::Literal;
use super::trie::Trie;
use crate::names::Dictionary;

/// Routes that are kept: more mean that records are not alike, and following pays no more.
const MOST: usize = 1024;
/// Routes from one place, which are tried one by one.
const FORKS: usize = 32;
/// Bytes of a route.
const LONGEST: usize = 256;
/// Keys of one object, a bit each.
const KEYS: usize = 64;

/// What the walk did on the way.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Op {
    /// Into an object with a member, or out of it.
    Enter,
    Leave,
    /// At a key, by its bit.
    Key(u8),
    /// A scope opens, named by a key, or closes: the number of its target.
    Open(usize, Option<Box<str>>),
    Close(usize),
    /// A list of checks stands here.
    Checks,
    /// An error stands here.
    Broke(usize),
}

/// The value to which a route leads.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Goal {
    /// A scalar, not null: the number of its target and the key it stands under.
    Scalar(usize, Box<str>),
    /// Anything that is skipped.
    Any,
    /// An object that is skipped.
    Object,
    /// The end of the record.
    End,
}

/// A way from one value to the next.
#[derive(Debug)]
struct Route {
    literal: Literal,
    /// What does not fit into the literal.
    rest: Box<[u8]>,
    ops: Box<[Op]>,
    goal: Goal,
    /// The place of the value, and how many arrays and objects are open around it.
    place: usize,
    depth: usize,
    form: Form,
}

/// All of them.
#[derive(Debug)]
pub(crate) struct Routes {
    /// By the place where they start: the nodes of the trie, then, for each node, its members without an edge.
    places: Vec<Vec<Route>>,
    /// Names of those members, by node.
    others: Vec<Vec<Box<str>>>,
    count: usize,
    /// For each open object, the keys that it has.
    seen: Vec<u64>,
}

impl Routes {
    pub fn new(trie: &Trie) -> Self {
        let nodes = trie.nodes.len();
        Self {
            places: std::iter::repeat_with(Vec::new).take(2 * nodes).collect(),
            others: vec![Vec::new(); nodes],
            count: 0,
            seen: Vec::new(),
        }
    }

    /// The place of members without an edge in the object of a node.
    fn other(&self, node: usize) -> usize {
        self.others.len() + node
    }

    /// Give the whole record to the recorder. `None`: it must be begun anew and walked.
    pub fn follow(
        &mut self,
        text: &str,
        trie: &Trie,
        recorder: &mut Recorder,
        dictionary: &mut Dictionary,
    ) -> Option<()> {
        let Self { places, seen, .. } = self;
        seen.clear();
        let mut cursor = Cursor::new(text);
        let mut keys = 0_u64;
        let mut place = 0;
        loop {
            let route = places.get_mut(place)?.iter_mut().find(|route| route.leads(&mut cursor))?;
            for op in &route.ops {
                match op {
                    Op::Key(bit) => {
                        let bit = 1 << bit;
                        if keys & bit != 0 {
                            return None;
                        }
                        keys |= bit;
                    }
                    Op::Enter => {
                        seen.push(keys);
                        keys = 0;
                    }
                    Op::Leave => keys = seen.pop()?,
                    Op::Open(target, name) => {
                        let name = name.as_deref().map(|raw| Text { raw, escaped: false });
                        recorder.open(trie.targets.get(*target)?, name, dictionary).ok()?;
                    }
                    Op::Close(target) => recorder.close(trie.targets.get(*target)?, dictionary).ok()?,
                    Op::Checks => recorder.checks(),
                    Op::Broke(target) => recorder.broke(trie.targets.get(*target)?),
                }
            }
            match &route.goal {
                Goal::Scalar(target, key) => {
                    let target = trie.targets.get(*target)?;
                    let key = Text { raw: key, escaped: false };
                    // One call for each kind: a value of unknown kind would travel through memory.
                    match cursor.peek()? {
                        b'"' => recorder.scalar(target, Scalar::Text(cursor.quick_text()?), key, dictionary),
                        b't' | b'f' => recorder.scalar(target, Scalar::Bool(cursor.quick_bool()?), key, dictionary),
                        _ => recorder.scalar(target, Scalar::Number(cursor.number().ok()?), key, dictionary),
                    }
                    .ok()?;
                }
                Goal::Any | Goal::Object => {
                    if matches!(cursor.peek(), Some(b'{' | b'[')) {
                        cursor.enter(route.depth);
                        route.form.skip(&mut cursor).ok()?;
                    } else if !cursor.scalar() {
                        return None;
                    }
                }
                Goal::End => return Some(()),
            }
            place = route.place;
        }
    }
}

impl Route {
    /// Past its bytes, if they stand ahead and such a value after them.
    #[inline]
    fn leads(&self, cursor: &mut Cursor<'_>) -> bool {
        let mut after = cursor.clone();
        if !after.pass(&self.literal) || (!self.rest.is_empty() && !after.pass_all(&self.rest)) {
            return false;
        }
        let leads = match (&self.goal, after.peek()) {
            (Goal::Scalar(..), Some(byte)) => !matches!(byte, b'n' | b'{' | b'['),
            (Goal::Any, Some(_)) | (Goal::Object, Some(b'{')) | (Goal::End, None) => true,
            _ => false,
        };
        if leads {
            *cursor = after;
        }
        leads
    }
}

/// A record's routes while it is walked.
#[derive(Debug, Default)]
pub(super) struct Trace {
    place: usize,
    /// Where the last value ended.
    start: usize,
    ops: Vec<Op>,
    /// Something was met since then that no route can tell.
    lost: bool,
}

impl Trace {
    /// At the start of a record.
    pub fn begin(&mut self) {
        (self.place, self.start, self.lost) = (0, 0, false);
        self.ops.clear();
    }

    pub fn op(&mut self, op: Op) {
        self.ops.push(op);
    }

    /// What was just met has no route.
    pub fn lose(&mut self) {
        self.lost = true;
    }

    /// A key without an edge stands in the object of a node.
    pub fn key(&mut self, routes: &mut Routes, node: usize, edges: usize, key: Text<'_>) {
        let Some(others) = routes.others.get_mut(node) else { return };
        let known = others.iter().position(|other| **other == *key.raw);
        let bit = edges + known.unwrap_or(others.len());
        match u8::try_from(bit) {
            Ok(bit) if !key.escaped && usize::from(bit) < KEYS => {
                if known.is_none() {
                    others.push(key.raw.into());
                }
                self.op(Op::Key(bit));
            }
            _ => self.lose(),
        }
    }

    /// A value stands at the cursor: at a node, or without one in the object of the node `within`.
    pub fn value(&mut self, routes: &mut Routes, cursor: &Cursor<'_>, node: Result<usize, usize>, goal: Goal) {
        let place = node.unwrap_or_else(|within| routes.other(within));
        self.learn(routes, cursor, place, goal);
        self.place = place;
    }

    /// The value ended at the cursor.
    pub fn value_ends(&mut self, cursor: &Cursor<'_>) {
        self.start = cursor.position();
        self.ops.clear();
        self.lost = false;
    }

    /// The record ended at the cursor.
    pub fn end(&mut self, routes: &mut Routes, cursor: &Cursor<'_>) {
        self.learn(routes, cursor, 0, Goal::End);
    }

    fn learn(&mut self, routes: &mut Routes, cursor: &Cursor<'_>, place: usize, goal: Goal) {
        let bytes = cursor.since(self.start).as_bytes();
        let Some(known) = routes.places.get_mut(self.place) else { return };
        if self.lost || bytes.len() > LONGEST || known.len() >= FORKS || routes.count >= MOST {
            return;
        }
        let (first, rest) = bytes.split_at(bytes.len().min(Literal::MOST));
        let Some(literal) = Literal::new(first) else { return };
        let same = |route: &Route| {
            route.literal == literal && *route.rest == *rest && *route.ops == *self.ops && route.goal == goal
        };
        if known.iter().any(same) {
            return;
        }
        let ops = self.ops.as_slice().into();
        let form = Form::default();
        known.push(Route { literal, rest: rest.into(), ops, goal, place, depth: cursor.depth(), form });
        routes.count += 1;
    }
}

impl Goal {
    /// A scalar of a target, under a key.
    pub fn scalar(target: usize, key: Text<'_>) -> Self {
        Self::Scalar(target, key.raw.into())
    }
}
