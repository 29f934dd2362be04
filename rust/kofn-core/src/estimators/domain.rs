//! The one place that says which counts an estimator takes.

use crate::error::{Error, Result};
use crate::plan::MAX_COUNT;

/// Whether 0 <= c <= n <= 2^53 and n >= 1, and 1 <= k <= n for an estimator with k. `at` is the position within an
/// array, for the message.
pub fn check(n: u64, c: u64, k: Option<u64>, at: Option<usize>) -> Result<()> {
    let position = || at.map_or_else(String::new, |at| format!(" at position {at}"));
    if n > MAX_COUNT {
        return Err(Error::argument("n", format!("n = {n}{} is more than 2^53", position())));
    }
    if c > n {
        return Err(Error::argument("c", format!("c = {c}{} is more than n = {n}", position())));
    }
    match k {
        Some(k) => check_k(k, n, at),
        None if n == 0 => Err(Error::argument("n", format!("n = 0{}: at least 1 rollout is needed", position()))),
        None => Ok(()),
    }
}

/// Whether 1 <= k <= n: no unbiased estimator exists beyond n, so there is no value to fall back to.
pub fn check_k(k: u64, n: u64, at: Option<usize>) -> Result<()> {
    let position = || at.map_or_else(String::new, |at| format!(" at position {at}"));
    if k == 0 {
        return Err(Error::argument("k", "k = 0: at least 1 rollout must be drawn"));
    }
    if k > n {
        return Err(Error::argument("k", format!("k = {k} is more than n = {n}{}", position())));
    }
    Ok(())
}
