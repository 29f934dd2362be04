//! Whole records that came before, step by step: what is tried first.
//!
//! A tree of routes: each node was reached by the same steps from the record's start, so its keys were held against
//! each other once and its next step is most likely the one that was taken last time. A value that is always the same
//! becomes part of the bytes around it, and what it says is known without reading it. Where the tree ends the routes
//! may lead on, and it grows; values and messages are those of the walk.

use super::cursor::Cursor;
use super::effect::Effect;
use super::habit::Habit;
use super::native::Recorder;
use super::routes::{Goal, Op, Route, Routes, Way};
use super::slot::{Class, END, Slot, class};
use super::trie::Trie;
use crate::names::Dictionary;

/// Nodes that are kept: more mean that records are not alike.
const MOST: u32 = 2048;
/// Steps from one node, which are tried one by one.
const FORKS: usize = 16;
/// Bytes of a step with the values that became part of it.
const LONGEST: usize = 1024;

/// A step of a record: some bytes, and the value after them.
#[derive(Debug)]
struct Node {
    way: Way,
    class: Class,
    slot: Slot,
    effects: Box<[Effect]>,
    habit: Habit,
    /// One step was made of it and the next one.
    joined: bool,
    /// The routes that it stands for: place and number.
    routes: Box<[(usize, usize)]>,
    next: Next,
}

/// The steps that may follow on another, by their numbers.
#[derive(Clone, Debug, Default)]
struct Next {
    /// That of the last record, and the others.
    likely: Option<u32>,
    others: Vec<u32>,
}

/// All of them.
#[derive(Debug, Default)]
pub(super) struct Tracks {
    /// From the start of a record.
    first: Next,
    nodes: Vec<Node>,
    /// The nodes of this record.
    path: Vec<u32>,
    /// For each open object, the keys that it has.
    seen: Vec<u64>,
}

/// What a record is told to.
pub(super) struct Ears<'e> {
    pub trie: &'e Trie,
    pub recorder: &'e mut Recorder,
    pub dictionary: &'e mut Dictionary,
}

impl Tracks {
    /// Give the whole record to the recorder; `ahead` is its text and perhaps some after it. `None`: it must be begun
    /// anew and walked.
    pub fn follow(&mut self, routes: &mut Routes, record: &str, ahead: &str, ears: &mut Ears<'_>) -> Option<()> {
        let (end, bytes) = (record.len(), ahead.as_bytes());
        let mut at = 0;
        let mut fixed = false;
        let mut likely = self.first.likely;
        self.path.clear();
        loop {
            let mut known = likely.and_then(|number| Some((number, self.nodes.get_mut(number as usize)?)));
            let leads = known.as_mut().and_then(|(number, node)| Some((*number, node.leads(end, bytes, at)?)));
            let Some((number, start)) = leads.or_else(|| self.step(end, bytes, at)) else { break };
            if fixed {
                self.join(number, ears.trie);
            }
            let node = self.nodes.get_mut(number as usize)?;
            for effect in &mut node.effects {
                effect.apply(ears.trie, ears.recorder, ears.dictionary)?;
            }
            if node.class == END {
                return Some(());
            }
            at = if let Some(end) = node.slot.take(ahead, start, ears.recorder) {
                end
            } else {
                let mut cursor = Cursor::at(record, start);
                node.way.take(&mut cursor, ahead, ears)?;
                cursor.position()
            };
            fixed = node.habit.is_watched() && node.habit.note(bytes.get(start..at)?) && !node.joined;
            likely = node.next.likely;
            self.path.push(number);
        }
        self.explore(routes, Cursor::at(record, at), record, ears)
    }

    /// The next step, if one of those known leads on, and where its value starts.
    #[inline(never)]
    fn step(&mut self, end: usize, bytes: &[u8], at: usize) -> Option<(u32, usize)> {
        let next = self.path.last().map_or(Some(&self.first), |&last| Some(&self.nodes.get(last as usize)?.next))?;
        let leads = |number: u32| self.nodes.get(number as usize)?.leads(end, bytes, at);
        let (rank, start) = next.others.iter().enumerate().find_map(|(rank, &number)| Some((rank, leads(number)?)))?;
        let next = self.next()?;
        let found = next.others.swap_remove(rank);
        next.others.extend(next.likely.replace(found));
        Some((found, start))
    }

    /// The steps that may follow on the path.
    fn next(&mut self) -> Option<&mut Next> {
        match self.path.last() {
            Some(&last) => Some(&mut self.nodes.get_mut(last as usize)?.next),
            None => Some(&mut self.first),
        }
    }

    /// Follow the routes to the end of the record, and remember the steps.
    #[cold]
    fn explore(
        &mut self,
        routes: &mut Routes,
        mut cursor: Cursor<'_>,
        record: &str,
        ears: &mut Ears<'_>,
    ) -> Option<()> {
        self.seen.clear();
        let mut keys = 0;
        let mut place = 0;
        let walked = self.path.iter().filter_map(|&at| self.nodes.get(at as usize)).flat_map(|node| &node.routes);
        for &(start, number) in walked {
            let Route { way, ops } = routes.places.get(start)?.get(number)?;
            ops.iter().try_for_each(|op| hold(op, &mut keys, &mut self.seen))?;
            place = way.place;
        }
        let mut known = true;
        loop {
            let forks = routes.places.get_mut(place)?;
            let number = forks.iter().position(|route| route.way.leads(&mut cursor))?;
            let route = forks.get_mut(number)?;
            for op in &mut route.ops {
                hold(op, &mut keys, &mut self.seen)?;
                if let Op::Tell(effect) = op {
                    effect.apply(ears.trie, ears.recorder, ears.dictionary)?;
                }
            }
            let class = class(cursor.peek().as_ref());
            route.way.take(&mut cursor, record, ears)?;
            known = known && self.add(route, (place, number), class, ears.trie).is_some();
            match route.way.goal {
                Goal::End => return Some(()),
                _ => place = route.way.place,
            }
        }
    }

    /// Remember a step that follows on the path, and go there; none where there are too many.
    fn add(&mut self, route: &Route, at: (usize, usize), class: Class, trie: &Trie) -> Option<()> {
        let effects = route.ops.iter().filter_map(|op| if let Op::Tell(effect) = op { Some(effect) } else { None });
        let node = Node {
            way: route.way.again(),
            class,
            slot: Slot::new(&route.way.goal, class, trie),
            effects: Effect::shortened(effects.cloned(), trie),
            habit: Habit::default(),
            joined: false,
            routes: [at].into(),
            next: Next::default(),
        };
        self.push(node)
    }

    /// Put a node after the path, and on it.
    fn push(&mut self, node: Node) -> Option<()> {
        let number = u32::try_from(self.nodes.len()).ok()?;
        let next = self.next()?;
        if number >= MOST || next.others.len() >= FORKS {
            return None;
        }
        next.others.extend(next.likely.replace(number));
        self.nodes.push(node);
        self.path.push(number);
        Some(())
    }

    /// Make one step of the last one on the path and the one after it, the value between which is always the same.
    #[cold]
    fn join(&mut self, second: u32, trie: &Trie) -> Option<()> {
        let number = *self.path.last()?;
        let (first, second) = (number as usize, second as usize);
        self.nodes.get_mut(first)?.joined = true;
        let (one, two) = (self.nodes.get(first)?, self.nodes.get(second)?);
        // It was a part of text, and no part of a character.
        let value = str::from_utf8(one.habit.value()).ok()?;
        let stretch = one.way.stretch.through(one.habit.value(), &two.way.stretch);
        if stretch.len() > LONGEST {
            return None;
        }
        let fixed = match &one.way.goal {
            Goal::Scalar(target, key) => Some(Effect::of((*target, key), value, trie)?),
            _ => None,
        };
        let effects = one.effects.iter().cloned().chain(fixed).chain(two.effects.iter().cloned());
        let node = Node {
            way: Way::new(stretch, two.way.goal.clone(), two.way.place, two.way.depth),
            class: two.class,
            slot: two.slot,
            effects: Effect::shortened(effects, trie),
            habit: two.habit.clone(),
            joined: false,
            routes: one.routes.iter().chain(&two.routes).copied().collect(),
            next: two.next.clone(),
        };
        self.path.pop();
        if self.push(node).is_some() {
            self.path.pop();
        }
        // The path itself stays as it was taken.
        self.path.push(number);
        Some(())
    }
}

impl Node {
    /// Where its value starts, if its bytes stand at `at` and such a value after them in a record that ends at `end`.
    #[inline(always)]
    fn leads(&self, end: usize, bytes: &[u8], at: usize) -> Option<usize> {
        let start = at + self.way.stretch.stands(bytes, at)?;
        let leads = if self.class == END { start == end } else { class(bytes.get(start)) == self.class };
        leads.then_some(start)
    }
}

/// Hold a key against those that its object has.
fn hold(op: &Op, keys: &mut u64, seen: &mut Vec<u64>) -> Option<()> {
    match op {
        Op::Key(bit) => {
            let bit = 1 << bit;
            if *keys & bit != 0 {
                return None;
            }
            *keys |= bit;
        }
        Op::Enter => seen.push(std::mem::take(keys)),
        Op::Leave => *keys = seen.pop()?,
        Op::Tell(_) => {}
    }
    Some(())
}
