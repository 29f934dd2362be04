//! Work split over threads in fixed parts.
//!
//! Threads live as long as the call that needs them: a pool would be dead in a forked child, and data loaders fork.
//! Parts are cut by size, never by the number of threads, and results come back in the order of the parts, so that
//! this number cannot change a result. `KOFN_THREADS` in the environment says how many threads a call may use.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
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
}
