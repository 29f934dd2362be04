//! Work split over threads in fixed parts.
//!
//! Threads live as long as the call that needs them: a pool would be dead in a forked child, and data loaders fork.
//! Parts are cut by size, never by the number of threads, and results come back in the order of the parts, so that
//! this number cannot change a result. `KOFN_THREADS` in the environment says how many threads a call may use.

use std::collections::VecDeque;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;

/// More threads than this wait for memory, not for each other.
const MOST: usize = 16;

/// How many threads a call may use: found out once.
pub fn available() -> usize {
    static THREADS: OnceLock<usize> = OnceLock::new();
    *THREADS.get_or_init(|| {
        let wanted = std::env::var("KOFN_THREADS").ok().and_then(|text| text.parse::<NonZeroUsize>().ok());
        let there = || thread::available_parallelism().map_or(1, NonZeroUsize::get).min(MOST);
        wanted.map_or_else(there, NonZeroUsize::get)
    })
}

/// Do `work` on each part, on as many threads as there are; the results in the order of the parts.
pub fn map<T: Send, R: Send>(parts: Vec<T>, work: impl Fn(T) -> R + Sync) -> Vec<R> {
    map_on(available(), parts, work)
}

/// The same on at most `threads` threads, the caller's among them.
pub fn map_on<T: Send, R: Send>(threads: usize, parts: Vec<T>, work: impl Fn(T) -> R + Sync) -> Vec<R> {
    let threads = threads.min(parts.len());
    if threads < 2 {
        return parts.into_iter().map(work).collect();
    }
    let open: Vec<_> = parts.into_iter().map(|part| Mutex::new((Some(part), None))).collect();
    let next = AtomicUsize::new(0);
    let help = || {
        while let Some(slot) = open.get(next.fetch_add(1, Ordering::Relaxed)) {
            // Nobody else holds this slot: the counter gave it to this thread alone.
            let mut slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(part) = slot.0.take() {
                slot.1 = Some(work(part));
            }
        }
    };
    thread::scope(|scope| {
        // A thread that cannot be had leaves its share to the others.
        for _ in 1..threads {
            if thread::Builder::new().spawn_scoped(scope, help).is_err() {
                break;
            }
        }
        help();
    });
    open.into_iter().filter_map(|slot| slot.into_inner().unwrap_or_else(PoisonError::into_inner).1).collect()
}

/// Parts that come one after the other and whose results are taken in the same order.
pub trait Flow {
    /// A part.
    type Part: Send;
    /// What becomes of it.
    type Done: Send;
    /// What stops the flow.
    type Error;
    /// The next part; none at the end.
    fn next(&mut self) -> Result<Option<Self::Part>, Self::Error>;
    /// Take the next result.
    fn take(&mut self, done: Self::Done) -> Result<(), Self::Error>;
}

/// Parts of a flow that may be under way for each thread.
const AHEAD: usize = 2;

/// The parts of a flow that are under way.
struct Queue<P, D> {
    waiting: VecDeque<(usize, P)>,
    /// Results from the one that is taken next on.
    done: VecDeque<Option<D>>,
    taken: usize,
    /// Nothing more will come, or someone panicked.
    closed: bool,
}

struct Shared<P, D> {
    queue: Mutex<Queue<P, D>>,
    changed: Condvar,
}

impl<P, D> Shared<P, D> {
    fn lock(&self) -> MutexGuard<'_, Queue<P, D>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn finish(&self, number: usize, done: D) {
        let mut queue = self.lock();
        let at = number - queue.taken;
        if let Some(place) = queue.done.get_mut(at) {
            *place = Some(done);
        }
        drop(queue);
        self.changed.notify_all();
    }
}

/// Lets everyone go when the flow ends, however it ends.
struct Close<'a, P, D>(&'a Shared<P, D>);

impl<P, D> Drop for Close<'_, P, D> {
    fn drop(&mut self) {
        self.0.lock().closed = true;
        self.0.changed.notify_all();
    }
}

/// Do `work` on each part of a flow, on at most `threads` threads, the caller's among them, which alone sees the flow.
/// A bounded number of parts is under way. An error of the source comes after the results of the parts before it.
pub fn flow_on<F: Flow>(
    threads: usize,
    flow: &mut F,
    work: impl Fn(F::Part) -> F::Done + Sync,
) -> Result<(), F::Error> {
    if threads < 2 {
        while let Some(part) = flow.next()? {
            flow.take(work(part))?;
        }
        return Ok(());
    }
    let queue = Queue { waiting: VecDeque::new(), done: VecDeque::new(), taken: 0, closed: false };
    let shared = Shared { queue: Mutex::new(queue), changed: Condvar::new() };
    let help = || {
        // If the work panics here, the caller must not wait for its result.
        let close = Close(&shared);
        loop {
            let mut queue = shared.lock();
            while queue.waiting.is_empty() && !queue.closed {
                queue = shared.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
            }
            if queue.closed {
                break;
            }
            let next = queue.waiting.pop_front();
            drop(queue);
            if let Some((number, part)) = next {
                shared.finish(number, work(part));
            }
        }
        drop(close);
    };
    thread::scope(|scope| {
        let _close = Close(&shared);
        let mut helpers = 1;
        let mut made = 0;
        let mut end = None;
        loop {
            let mut queue = shared.lock();
            if let Some(done) = queue.done.front_mut().and_then(Option::take) {
                queue.done.pop_front();
                queue.taken += 1;
                drop(queue);
                flow.take(done)?;
                continue;
            }
            if end.is_none() && queue.done.len() < AHEAD * threads {
                drop(queue);
                match flow.next() {
                    Ok(Some(part)) => {
                        let mut queue = shared.lock();
                        queue.waiting.push_back((made, part));
                        queue.done.push_back(None);
                        let busy = queue.waiting.len() > 1;
                        drop(queue);
                        made += 1;
                        shared.changed.notify_one();
                        // Small inputs have no second part, and need no help.
                        if busy && helpers < threads {
                            helpers = match thread::Builder::new().spawn_scoped(scope, help) {
                                Ok(_) => helpers + 1,
                                // A thread that cannot be had leaves its share to the others.
                                Err(_) => threads,
                            };
                        }
                    }
                    Ok(None) => end = Some(Ok(())),
                    Err(error) => end = Some(Err(error)),
                }
                continue;
            }
            if queue.done.is_empty() || queue.closed {
                break;
            }
            if let Some((number, part)) = queue.waiting.pop_front() {
                drop(queue);
                shared.finish(number, work(part));
                continue;
            }
            drop(shared.changed.wait(queue).unwrap_or_else(PoisonError::into_inner));
        }
        end.unwrap_or(Ok(()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_the_order_of_the_parts() {
        let expected: Vec<usize> = (0..100).map(|i| i * i).collect();
        for threads in [1, 2, 16, 1000] {
            assert_eq!(map_on(threads, (0..100).collect(), |i: usize| i * i), expected);
        }
        assert!(map(Vec::<usize>::new(), |i| i).is_empty());
    }

    #[test]
    fn parts_may_borrow_what_is_written() {
        let mut out = [0; 1000];
        map_on(3, out.chunks_mut(7).enumerate().collect(), |(i, chunk)| chunk.fill(i));
        assert!(out.iter().enumerate().all(|(at, &i)| at / 7 == i));
    }

    /// Counts up to an end or an error, and keeps what it takes.
    struct Count {
        next: usize,
        end: Result<usize, usize>,
        stop: usize,
        taken: Vec<usize>,
    }

    impl Flow for Count {
        type Part = usize;
        type Done = usize;
        type Error = String;
        fn next(&mut self) -> Result<Option<usize>, String> {
            match self.end {
                Ok(end) if self.next == end => Ok(None),
                Err(end) if self.next == end => Err(format!("no {end}")),
                _ => {
                    self.next += 1;
                    Ok(Some(self.next - 1))
                }
            }
        }
        fn take(&mut self, done: usize) -> Result<(), String> {
            if done == self.stop {
                return Err(format!("stopped at {done}"));
            }
            assert!(self.next - self.taken.len() <= AHEAD * 16 + 1, "too far ahead");
            self.taken.push(done);
            Ok(())
        }
    }

    #[test]
    fn a_flow_is_taken_in_order_up_to_its_first_error() {
        for threads in [1, 2, 3, 16] {
            for (end, stop, result) in [
                (Ok(0), 9, Ok(())),
                (Ok(1), 9, Ok(())),
                (Ok(500), 900, Ok(())),
                (Err(0), 9, Err("no 0".to_owned())),
                (Err(77), 900, Err("no 77".to_owned())),
                (Err(77), 70, Err("stopped at 70".to_owned())),
                (Ok(500), 0, Err("stopped at 0".to_owned())),
            ] {
                let mut flow = Count { next: 0, end, stop, taken: Vec::new() };
                let work = |part: usize| {
                    std::hint::black_box((0..(part * 7919) % 997 * 50).sum::<usize>());
                    part
                };
                assert_eq!(flow_on(threads, &mut flow, work), result);
                let taken = end.unwrap_or_else(|end| end).min(stop);
                assert_eq!(flow.taken, (0..taken).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn a_panic_in_a_flow_reaches_the_caller() {
        for threads in [1, 2, 16] {
            let panicked = std::panic::catch_unwind(|| {
                let mut flow = Count { next: 0, end: Ok(100), stop: 900, taken: Vec::new() };
                let work = |part: usize| {
                    assert!(part < 50, "part {part}");
                    part
                };
                flow_on(threads, &mut flow, work)
            });
            assert!(panicked.is_err());
        }
    }
}
