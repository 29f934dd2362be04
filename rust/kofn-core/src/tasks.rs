//! Rollouts by task: dense codes for ids, and counts by code.

mod window;

use crate::arch;
use crate::error::{Error, Result};
use crate::names::{self, Names, Text};
use crate::table::{BATCH, Batch, Keeper, Key, NONE, Table, fold};

use window::{CHUNK, Window, position};

/// Arbitrary odd numbers: neighbouring ids must not get neighbouring hashes.
const SEEDS: [u64; 2] = [0x9e37_79b9_7f4a_7c15, 0xd6e8_feb8_6659_fd93];
/// Rollouts counted before 32-bit halves are emptied.
const BLOCK: usize = 1 << 30;

/// An integer id.
pub trait Id: Copy + Eq + Ord {
    /// Its distance from the least id of its type.
    fn key(self) -> u64;
}

macro_rules! ids {
    ($($id:ty),*) => {$(
        impl Id for $id {
            #[inline]
            fn key(self) -> u64 {
                i64::from(self).cast_unsigned().wrapping_add(1 << 63)
            }
        }
    )*};
}
ids!(i8, i16, i32, i64, u8, u16, u32);

impl Id for u64 {
    #[inline]
    fn key(self) -> u64 {
        self
    }
}

/// What is done with the codes of rollouts, which come in order and a few at a time.
pub trait Sink {
    /// Take the codes of the next `rollouts`, all below `tasks`, each with the number of rollouts in a row that have it.
    fn take(&mut self, rollouts: usize, runs: impl Iterator<Item = (u32, usize)>, tasks: usize);
}

impl Sink for Vec<u32> {
    fn take(&mut self, _rollouts: usize, runs: impl Iterator<Item = (u32, usize)>, _tasks: usize) {
        for (code, rollouts) in runs {
            if rollouts == 1 {
                self.push(code);
            } else {
                self.resize(self.len() + rollouts, code);
            }
        }
    }
}

impl<T: Id> Key for T {
    #[inline]
    fn hash(&self) -> u64 {
        fold(self.key() ^ SEEDS[0], SEEDS[1])
    }
}

/// Distinct ids in order of first appearance.
struct Distinct<'a, T>(&'a mut Vec<T>);

impl<T: Id> Keeper for Distinct<'_, T> {
    type Key<'a> = T;
    type Refusal = std::convert::Infallible;

    fn hash_of(&self, code: u32) -> u64 {
        self.0.get(code as usize).map_or(0, Key::hash)
    }

    #[inline]
    fn is(&self, code: u32, id: &T) -> bool {
        self.0.get(code as usize) == Some(id)
    }

    #[inline]
    fn prefetch(&self, code: u32) {
        if let Some(id) = self.0.get(code as usize) {
            arch::prefetch(id);
        }
    }

    fn keep(&mut self, id: &T, _hash: u64) -> std::result::Result<u32, Self::Refusal> {
        self.0.push(*id);
        Ok(u32::try_from(self.0.len() - 1).unwrap_or(NONE - 1))
    }
}

/// The distinct ids in order of first appearance, and the position there of each rollout's id.
#[must_use]
pub fn index<T: Id>(ids: &[T]) -> (Vec<T>, Vec<u32>) {
    let mut window = Window::new(ids.len());
    let mut distinct = Vec::new();
    let mut codes = arch::large_pages(Vec::with_capacity(ids.len()));
    for chunk in ids.chunks(CHUNK) {
        if !window.cover(chunk) {
            break;
        }
        let (least, cells) = window.cells();
        let found = chunk.iter().map(|&id| {
            let Some(code) = cells.get_mut(position(id, least)) else { return NONE };
            if *code == 0 {
                distinct.push(id);
                // 2^32 distinct ids would not fit into memory beside their codes.
                *code = u32::try_from(distinct.len()).unwrap_or(NONE);
            }
            *code - 1
        });
        codes.extend(found);
    }
    let done = codes.len();
    by_hash(&ids[done..], &mut distinct, &mut codes);
    (distinct, codes)
}

/// The codes of ids that are not close together; `distinct` holds those met before.
fn by_hash<T: Id>(ids: &[T], distinct: &mut Vec<T>, sink: &mut impl Sink) {
    let Some(&any) = ids.first() else { return };
    let mut table = Table::default();
    let mut keeper = Distinct(distinct);
    for (code, id) in (0u32..).zip(keeper.0.iter()) {
        table.insert(id.hash(), code, |code| keeper.hash_of(code));
    }
    let mut batch = Batch::new(any);
    for ids in ids.chunks(BATCH) {
        batch.fill(ids.iter().copied());
        match batch.resolve(&mut table, &mut keeper) {
            Ok(()) => sink.take(ids.len(), batch.runs().map(|(_, code, len)| (code, len)), keeper.0.len()),
            // Every id can be kept.
            Err((_, never)) => match never {},
        }
    }
}

/// Counts of each task: rollouts and passes.
pub type Counts = (Vec<i64>, Vec<i64>);

/// Counts while they grow, with the verdicts of all rollouts: 1, 0 or, which is an error in the end, -1 for none.
pub struct Counting<'a> {
    passed: &'a [i8],
    /// Rollouts that were taken.
    taken: usize,
    /// Rollouts of each task, and passes in the upper half: one addition a rollout.
    both: Vec<u64>,
    /// What was taken out of `both` before a half could overflow, and the rollouts that may be added until then.
    counts: Counts,
    room: usize,
}

impl<'a> Counting<'a> {
    /// For rollouts with these verdicts.
    #[must_use]
    pub fn new(passed: &'a [i8]) -> Self {
        Self { passed, taken: 0, both: Vec::new(), counts: Counts::default(), room: BLOCK }
    }

    /// The verdicts of the next rollouts.
    #[inline]
    fn next(&mut self, rollouts: usize) -> &'a [i8] {
        let from = self.taken.min(self.passed.len());
        self.taken += rollouts;
        self.room = self.room.saturating_sub(rollouts);
        &self.passed[from..self.taken.min(self.passed.len())]
    }

    fn empty(&mut self) {
        let (n, c) = &mut self.counts;
        n.resize(self.both.len(), 0);
        c.resize(self.both.len(), 0);
        for (both, (n, c)) in self.both.iter_mut().zip(n.iter_mut().zip(c)) {
            let [low, high] = halves(*both);
            (*n, *c, *both) = (*n + low, *c + high, 0);
        }
        self.room = BLOCK;
    }

    /// The counts of so many tasks.
    pub fn finish(mut self, tasks: usize) -> Result<Counts> {
        let passed = self.passed;
        if self.taken != passed.len() {
            return Err(Error::argument(
                "groups",
                format!("has {} entries, there are {} rollouts", self.taken, passed.len()),
            ));
        }
        // All of them in one sweep without a branch; which one it is only where there is one.
        if passed.iter().fold(0, |all, passed| all | passed) < 0
            && let Some(at) = passed.iter().position(|&passed| passed < 0)
        {
            return Err(Error::argument(
                "passed",
                format!("entry {at} has no verdict; select the rollouts that have one first"),
            ));
        }
        self.both.resize(tasks, 0);
        self.empty();
        Ok(self.counts)
    }
}

impl Sink for Counting<'_> {
    #[inline]
    fn take(&mut self, rollouts: usize, runs: impl Iterator<Item = (u32, usize)>, tasks: usize) {
        if rollouts > self.room {
            self.empty();
        }
        if self.both.len() < tasks {
            self.both.resize(tasks, 0);
        }
        let mut rest = self.next(rollouts);
        let both = self.both.as_mut_slice();
        for (code, rollouts) in runs {
            let (these, others) = rest.split_at(rollouts.min(rest.len()));
            rest = others;
            if let Some(both) = both.get_mut(code as usize) {
                *both += if let [only] = these { one(*only) } else { all(these) };
            }
        }
    }
}

/// One rollout: 1, and 1 in the upper half if it passed.
#[inline]
fn one(passed: i8) -> u64 {
    1 | u64::from(passed.cast_unsigned() & 1) << 32
}

/// The same of several, fewer than 2^32.
#[inline]
fn all(passed: &[i8]) -> u64 {
    let passes: u32 = passed.iter().map(|passed| u32::from(passed.cast_unsigned() & 1)).sum();
    passed.len() as u64 | u64::from(passes) << 32
}

/// How many ids in front are this one.
#[inline]
fn run_of<T: Id>(id: T, ids: &[T]) -> usize {
    // Eight at a time without a branch.
    let others = |part: &&[T; 8]| part.iter().fold(0, |others, other| others | (other.key() ^ id.key())) == 0;
    let whole = 8 * ids.as_chunks().0.iter().take_while(others).count();
    whole + ids[whole..].iter().take_while(|other| **other == id).count()
}

fn halves(both: u64) -> [i64; 2] {
    [both & u64::from(u32::MAX), both >> 32].map(|half| i64::try_from(half).unwrap_or(0))
}

/// Count rollouts and passes of each of `tasks` tasks.
pub fn count(codes: &[u32], passed: &[i8], tasks: usize) -> Result<Counts> {
    let mut counting = Counting::new(passed);
    counting.both = vec![0; tasks];
    for codes in codes.chunks(BLOCK) {
        counting.empty();
        let passed = counting.next(codes.len());
        let both = counting.both.as_mut_slice();
        for (&code, &passed) in codes.iter().zip(passed) {
            if let Some(both) = both.get_mut(code as usize) {
                *both += one(passed);
            }
        }
    }
    counting.finish(tasks)
}

/// Count rollouts and passes of each id, in order of first appearance.
pub fn count_ids<T: Id>(ids: &[T], passed: &[i8]) -> Result<Counts> {
    let mut counting = Counting::new(passed);
    let mut window = Window::new(ids.len());
    let (mut distinct, mut full) = (Vec::new(), Full::default());
    let mut done = 0;
    for chunk in ids[..ids.len().min(BLOCK)].chunks(CHUNK) {
        if !window.cover(chunk) {
            break;
        }
        let passed = counting.next(chunk.len());
        done += chunk.len();
        let (least, cells) = window.cells();
        let met = Met { least, cells, distinct: &mut distinct, full: &mut full };
        if stand_together(chunk) {
            met.add_runs(chunk, passed);
        } else {
            met.add_each(chunk, passed);
        }
    }
    let (least, cells) = window.cells();
    let both = |&id: &T| cells.get(position(id, least)).map(|&cell| full.get(&id.key()).unwrap_or(&0) + widened(cell));
    counting.both = distinct.iter().filter_map(both).collect();
    drop(window);
    by_hash(&ids[done..], &mut distinct, &mut counting);
    counting.finish(distinct.len())
}

/// What cells held when they were full, by the keys of their ids.
type Full = hashbrown::HashMap<u64, u64, foldhash::fast::FixedState>;

/// Rollouts of a cell in its lower half, passes in the upper: twice as many stay in the cache as of whole counts.
const HALF: u32 = 0xffff;

fn widened(cell: u32) -> u64 {
    u64::from(cell & HALF) | u64::from(cell >> 16) << 32
}

/// Cells of rollouts and passes, and the ids that were met.
struct Met<'a, T> {
    least: u64,
    cells: &'a mut [u32],
    distinct: &'a mut Vec<T>,
    full: &'a mut Full,
}

impl<T: Id> Met<'_, T> {
    /// Add rollouts, fewer than 2^16, and passes, in halves as a cell has them.
    #[inline(always)]
    fn add(&mut self, id: T, rollouts: u32) {
        if let Some(cell) = self.cells.get_mut(position(id, self.least)) {
            let sum = (*cell & HALF) + (rollouts & HALF);
            if *cell == 0 {
                self.distinct.push(id);
            } else if sum > HALF {
                *self.full.entry(id.key()).or_default() += widened(*cell);
                *cell = 0;
            }
            *cell += rollouts;
        }
    }

    // Each loop is a function of its own: together they need more registers than there are.
    #[inline(never)]
    fn add_each(mut self, ids: &[T], passed: &[i8]) {
        for (&id, &passed) in ids.iter().zip(passed) {
            self.add(id, 1 | u32::from(passed.cast_unsigned() & 1) << 16);
        }
    }

    /// One addition a run: each would wait for the one before it to reach memory.
    #[inline(never)]
    fn add_runs(mut self, mut ids: &[T], mut passed: &[i8]) {
        while let Some(&id) = ids.first() {
            let run = run_of(id, ids);
            let (these, others) = passed.split_at(run.min(passed.len()));
            let passes: u32 = these.iter().map(|passed| u32::from(passed.cast_unsigned() & 1)).sum();
            self.add(id, u32::try_from(these.len()).unwrap_or(HALF) | passes << 16);
            (ids, passed) = (&ids[run..], others);
        }
    }
}

/// Whether rollouts of one task mostly stand together, by the first few.
fn stand_together<T: Id>(ids: &[T]) -> bool {
    const FEW: usize = 32;
    let equal = ids.iter().zip(ids.iter().skip(1)).take(FEW).filter(|(a, b)| a == b).count();
    equal > FEW / 2
}

/// What is wrong with entry `at` of an argument.
#[cold]
fn refuse(argument: &str, at: usize, problem: &str) -> Error {
    Error::argument(argument, format!("entry {at} {problem}"))
}

/// Texts that come in order: their codes go to a sink, a batch at a time.
pub struct Coder<'a, S> {
    argument: &'a str,
    names: Names,
    sink: S,
    batch: Box<names::Batch<'a>>,
    done: usize,
}

impl<'a, S: Sink> Coder<'a, S> {
    /// For the texts of what the caller calls `argument`.
    pub fn new(argument: &'a str, sink: S) -> Self {
        Self { argument, names: Names::default(), sink, batch: Box::new(Batch::new(Text::EMPTY)), done: 0 }
    }

    /// The next texts, [`BATCH`] at most, which must be UTF-8 and not empty.
    #[inline]
    pub fn take(&mut self, texts: impl Iterator<Item = &'a [u8]>) -> Result<()> {
        let known = self.names.len();
        let found = self.names.intern_batch(&mut self.batch, texts);
        self.settle(known, found)
    }

    /// Give the codes of the batch to the sink, if all of its texts are ids.
    fn settle(&mut self, known: usize, found: Result<(), usize>) -> Result<()> {
        // One that is empty is new once.
        if found.is_err() || self.names.len() > known {
            let mut at = self.done;
            for (text, _, len) in self.batch.runs() {
                if text.is_empty() {
                    return Err(refuse(self.argument, at, "is empty; a task needs a name"));
                }
                if found == Err(at - self.done) {
                    return Err(refuse(self.argument, at, "is not valid Unicode text"));
                }
                at += len;
            }
        }
        let (len, runs) = (self.batch.len(), self.batch.runs().map(|(_, code, len)| (code, len)));
        self.sink.take(len, runs, self.names.len());
        self.done += len;
        Ok(())
    }

    /// More texts, by their numbers in `texts`: each of those is looked up once.
    pub fn extend_coded(&mut self, texts: &[&'a [u8]], numbers: impl Iterator<Item = usize>) -> Result<()> {
        let mut codes = vec![NONE; texts.len()];
        let mut some = [NONE; BATCH];
        let mut waiting = 0;
        for number in numbers {
            let Some(code) = codes.get_mut(number) else {
                let problem = format!("is number {number} of a dictionary of {}", texts.len());
                return Err(refuse(self.argument, self.done + waiting, &problem));
            };
            if *code == NONE {
                // In the order of first appearance: not all of them need appear.
                *code = self.code(texts[number], self.done + waiting)?;
            }
            if let Some(slot) = some.get_mut(waiting) {
                *slot = *code;
            }
            waiting += 1;
            if waiting == BATCH {
                self.sink.take(BATCH, some.iter().map(|&code| (code, 1)), self.names.len());
                (waiting, self.done) = (0, self.done + BATCH);
            }
        }
        self.sink.take(waiting, some[..waiting].iter().map(|&code| (code, 1)), self.names.len());
        self.done += waiting;
        Ok(())
    }

    #[cold]
    fn code(&mut self, text: &[u8], at: usize) -> Result<u32> {
        match str::from_utf8(text) {
            Ok("") => Err(refuse(self.argument, at, "is empty; a task needs a name")),
            Ok(text) => Ok(self.names.intern(text)),
            Err(_) => Err(refuse(self.argument, at, "is not valid Unicode text")),
        }
    }

    /// The distinct texts, and the sink that took all codes.
    pub fn finish(self) -> (Names, S) {
        (self.names, self.sink)
    }
}

#[cfg(test)]
mod tests;
