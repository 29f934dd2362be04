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
use super::effect::Effect;
use super::form::Form;
use super::number::Scalar;
use super::scan::Stretch;
use super::tracks::Ears;
use super::trie::Trie;

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
    /// Anything the recorder was told.
    Tell(Effect),
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

/// Some bytes, and the value after them.
#[derive(Debug)]
pub(super) struct Way {
    pub stretch: Stretch,
    pub goal: Goal,
    /// The place of the value, and how many arrays and objects are open around it.
    pub place: usize,
    pub depth: usize,
    form: Form,
}

/// A way from one value to the next.
#[derive(Debug)]
pub(super) struct Route {
    pub way: Way,
    pub ops: Box<[Op]>,
}

/// All of them.
#[derive(Debug)]
pub(super) struct Routes {
    /// By the place where they start: the nodes of the trie, then, for each node, its members without an edge.
    pub places: Vec<Vec<Route>>,
    /// Names of those members, by node.
    others: Vec<Vec<Box<str>>>,
    count: usize,
}

impl Routes {
    pub fn new(trie: &Trie) -> Self {
        let nodes = trie.nodes.len();
        Self {
            places: std::iter::repeat_with(Vec::new).take(2 * nodes).collect(),
            others: vec![Vec::new(); nodes],
            count: 0,
        }
    }

    /// The place of members without an edge in the object of a node.
    fn other(&self, node: usize) -> usize {
        self.others.len() + node
    }
}

impl Way {
    pub fn new(stretch: Stretch, goal: Goal, place: usize, depth: usize) -> Self {
        Self { stretch, goal, place, depth, form: Form::default() }
    }

    /// The same, with a form of its own.
    pub fn again(&self) -> Self {
        Self::new(self.stretch.clone(), self.goal.clone(), self.place, self.depth)
    }

    /// Past its bytes, if they stand ahead and such a value after them.
    #[inline]
    pub fn leads(&self, cursor: &mut Cursor<'_>) -> bool {
        let mut after = cursor.clone();
        if !after.pass(&self.stretch) {
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

    /// Give the value ahead to the recorder; `ahead` is the record, and perhaps some text after it. `None`: something
    /// is wrong with the record.
    #[inline(never)]
    pub fn take(&mut self, cursor: &mut Cursor<'_>, ahead: &str, ears: &mut Ears<'_>) -> Option<()> {
        let Ears { trie, recorder, dictionary } = ears;
        match &self.goal {
            Goal::Scalar(target, key) => {
                let target = trie.targets.get(*target)?;
                let key = Text { raw: key, escaped: false };
                let kind = cursor.kind().ok()?;
                recorder.scalar(target, Scalar::read(cursor, kind).ok()?, key, dictionary).ok()
            }
            Goal::Any | Goal::Object if matches!(cursor.peek(), Some(b'{' | b'[')) => {
                cursor.enter(self.depth);
                self.form.skip(cursor, ahead).ok()
            }
            Goal::Any | Goal::Object => cursor.scalar().then_some(()),
            Goal::End => Some(()),
        }
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

    /// The recorder was told something.
    pub fn tell(&mut self, effect: Effect) {
        self.ops.push(Op::Tell(effect));
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
        let stretch = Stretch::new(bytes);
        let same = |Route { way, ops }: &Route| way.stretch == stretch && **ops == *self.ops && way.goal == goal;
        if known.iter().any(same) {
            return;
        }
        known.push(Route { way: Way::new(stretch, goal, place, cursor.depth()), ops: self.ops.as_slice().into() });
        routes.count += 1;
    }
}

impl Goal {
    /// A scalar of a target, under a key.
    pub fn scalar(target: usize, key: Text<'_>) -> Self {
        Self::Scalar(target, key.raw.into())
    }
}
