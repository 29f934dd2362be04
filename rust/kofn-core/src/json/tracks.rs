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
    /// The step before it: one of those by which it was reached, which stand for the same routes.
    before: Option<u32>,
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
    #[inline(never)]
    pub fn follow(&mut self, routes: &mut Routes, record: &str, ahead: &str, ears: &mut Ears<'_>) -> Option<()> {
        let (end, bytes) = (record.len(), ahead.as_bytes());
        let mut at = 0;
        let mut fixed = false;
        let mut likely = self.first.likely;
        // The step before the last one, and that.
        let mut path = (None, None);
        loop {
            let guess = likely.and_then(|number| self.nodes.get_mut(number as usize));
            let leads = guess.and_then(|node| node.leads(end, bytes, at).map(|start| (node, start)));
            let (node, start) = match (leads, likely) {
                (Some(leads), Some(number)) if !fixed => {
                    path = (path.1, Some(number));
                    leads
                }
                _ => {
                    let Some((number, start)) = self.step(path.1, end, bytes, at) else { break };
                    if fixed {
                        self.join(path, number, ears.trie);
                    }
                    path = (path.1, Some(number));
                    (self.nodes.get_mut(number as usize)?, start)
                }
            };
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
        }
        self.explore(path.1, routes, Cursor::at(record, at), record, ears)
    }

    /// The step after the last one, if one of those known leads on, and where its value starts.
    #[inline(never)]
    fn step(&mut self, last: Option<u32>, end: usize, bytes: &[u8], at: usize) -> Option<(u32, usize)> {
        let leads = |number: u32| Some((number, self.nodes.get(number as usize)?.leads(end, bytes, at)?));
        let next = match last {
            Some(last) => &self.nodes.get(last as usize)?.next,
            None => &self.first,
        };
        if let Some(found) = next.likely.and_then(leads) {
            return Some(found);
        }
        let (rank, found) = next.others.iter().enumerate().find_map(|(rank, &number)| Some((rank, leads(number)?)))?;
        let next = self.next(last)?;
        let likely = next.others.swap_remove(rank);
        next.others.extend(next.likely.replace(likely));
        Some(found)
    }

    /// The steps that may follow on the last one.
    fn next(&mut self, last: Option<u32>) -> Option<&mut Next> {
        match last {
            Some(last) => Some(&mut self.nodes.get_mut(last as usize)?.next),
            None => Some(&mut self.first),
        }
    }

    /// Follow the routes to the end of the record, and remember the steps.
    #[cold]
    fn explore(
        &mut self,
        mut last: Option<u32>,
        routes: &mut Routes,
        mut cursor: Cursor<'_>,
        record: &str,
        ears: &mut Ears<'_>,
    ) -> Option<()> {
        self.seen.clear();
        let mut keys = 0;
        let mut place = 0;
        let steps = std::iter::successors(last.and_then(|at| self.nodes.get(at as usize)), |node| {
            self.nodes.get(node.before? as usize)
        });
        let mut walked: Vec<_> = steps.flat_map(|node| node.routes.iter().rev()).collect();
        walked.reverse();
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
            if known {
                let added = self.add(last, route, (place, number), class, ears.trie);
                (known, last) = (added.is_some(), added);
            }
            match route.way.goal {
                Goal::End => return Some(()),
                _ => place = route.way.place,
            }
        }
    }

    /// Remember a step that follows on the last one; its number, none where there are too many.
    fn add(&mut self, last: Option<u32>, route: &Route, at: (usize, usize), class: Class, trie: &Trie) -> Option<u32> {
        let effects = route.ops.iter().filter_map(|op| if let Op::Tell(effect) = op { Some(effect) } else { None });
        let node = Node {
            way: route.way.again(),
            class,
            slot: Slot::new(&route.way.goal, class, trie),
            effects: Effect::shortened(effects.cloned(), trie),
            habit: Habit::default(),
            joined: false,
            routes: [at].into(),
            before: last,
            next: Next::default(),
        };
        self.push(node)
    }

    /// Put a node after the one before it.
    fn push(&mut self, node: Node) -> Option<u32> {
        let number = u32::try_from(self.nodes.len()).ok()?;
        let next = self.next(node.before)?;
        if number >= MOST || next.others.len() >= FORKS {
            return None;
        }
        next.others.extend(next.likely.replace(number));
        self.nodes.push(node);
        Some(number)
    }

    /// Make one step of the last one and the one after it, the value between which is always the same.
    #[cold]
    fn join(&mut self, (before, last): (Option<u32>, Option<u32>), second: u32, trie: &Trie) -> Option<()> {
        let (first, second) = (last? as usize, second as usize);
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
            before,
            next: two.next.clone(),
        };
        self.push(node).map(drop)
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
