//! Order statistics of k over many tasks at once: scores as they come, NaN for "not scored".

use super::check_k;
use super::order::{
    Level, best_of_k, levels_into, median_of_k, order_statistic_of_k, quantile_of_k, scored, worst_of_k,
};
use crate::error::{Error, Result};

/// Which of the k scores, in ascending order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Order {
    /// The expected maximum.
    Best,
    /// The expected minimum.
    Worst,
    /// The expected j-th smallest.
    Nth(u64),
    /// The expected median.
    Median,
    /// The expected quantile of type 7.
    Quantile(f64),
}

impl Order {
    /// The value for 1 <= k <= the levels' scores.
    fn of(self, levels: &[Level], k: u64) -> Result<f64> {
        Ok(match self {
            Self::Best => best_of_k(levels, k),
            Self::Worst => worst_of_k(levels, k),
            Self::Nth(j) => order_statistic_of_k(levels, j, k),
            Self::Median => median_of_k(levels, k),
            Self::Quantile(q) => quantile_of_k(levels, q, k)?,
        })
    }

    /// Whether every k is at least 1, and j within it.
    fn check(self, ks: &[u64]) -> Result<()> {
        for &k in ks {
            check_k(k, k, None)?;
            match self {
                Self::Nth(j) if j == 0 || j > k => {
                    return Err(Error::argument("j", format!("j = {j} is not from 1 to k = {k}")));
                }
                // On levels of any value: only q can be wrong.
                Self::Quantile(q) => drop(quantile_of_k(&[Level { value: 0.0, count: k }], q, k)?),
                _ => {}
            }
        }
        Ok(())
    }

    /// Of one task, for every k of `ks`; more than the scored rollouts is an error.
    pub fn of_task(self, scores: &[f64], ks: &[u64], out: &mut [f64]) -> Result<()> {
        self.check(ks)?;
        let mut row = Row::default();
        row.take(scores, |i| i)?;
        let n = scored(&row.levels);
        for (&k, out) in ks.iter().zip(out) {
            if k > n {
                return Err(Error::argument("k", format!("k = {k} is more than the {n} scored rollouts")));
            }
            *out = self.of(&row.levels, k)?;
        }
        Ok(())
    }

    /// Of rows of `width` scores each: `out[i * ks.len() + j]`, NaN where row i has fewer than `ks[j]` scores.
    pub fn of_rows(self, scores: &[f64], width: usize, ks: &[u64], out: &mut [f64]) -> Result<()> {
        self.check(ks)?;
        let mut row = Row::default();
        for (i, out) in out.chunks_exact_mut(ks.len().max(1)).enumerate() {
            let at = i * width;
            row.take(&scores[at..at + width], |j| at + j)?;
            self.fill(&row.levels, ks, out)?;
        }
        Ok(())
    }

    /// Of the tasks that `codes` name, in the order of their codes, in the same layout.
    pub fn of_groups(self, scores: &[f64], codes: &[u32], ks: &[u64], out: &mut [f64]) -> Result<()> {
        self.check(ks)?;
        if scores.len() != codes.len() {
            return Err(Error::argument(
                "groups",
                format!("has {} entries, scores has {}: one a rollout each", codes.len(), scores.len()),
            ));
        }
        let tasks = out.len() / ks.len().max(1);
        // A counting sort by task: positions, so that an error can name where a score stands.
        let mut starts = vec![0usize; tasks + 1];
        for &code in codes {
            starts[code as usize + 1] += 1;
        }
        for i in 0..tasks {
            starts[i + 1] += starts[i];
        }
        let (mut next, mut grouped, mut positions) =
            (starts.clone(), vec![0.0; scores.len()], vec![0usize; scores.len()]);
        for (i, (&code, &score)) in codes.iter().zip(scores).enumerate() {
            let at = &mut next[code as usize];
            grouped[*at] = score;
            positions[*at] = i;
            *at += 1;
        }
        let mut row = Row::default();
        for (bounds, out) in starts.windows(2).zip(out.chunks_exact_mut(ks.len().max(1))) {
            row.take(&grouped[bounds[0]..bounds[1]], |j| positions[bounds[0] + j])?;
            self.fill(&row.levels, ks, out)?;
        }
        Ok(())
    }

    fn fill(self, levels: &[Level], ks: &[u64], out: &mut [f64]) -> Result<()> {
        let n = scored(levels);
        for (&k, out) in ks.iter().zip(out) {
            *out = if k <= n { self.of(levels, k)? } else { f64::NAN };
        }
        Ok(())
    }
}

/// The levels of one task after another, in buffers that are used again.
#[derive(Default)]
struct Row {
    scores: Vec<f64>,
    levels: Vec<Level>,
}

impl Row {
    /// The levels of the scores that are there; `position` says where score i stands in the user's array.
    fn take(&mut self, scores: &[f64], position: impl Fn(usize) -> usize) -> Result<()> {
        self.scores.clear();
        for (i, &score) in scores.iter().enumerate() {
            if score.is_infinite() {
                return Err(Error::argument(
                    "scores",
                    format!("{score} at position {}: scores are finite, NaN means not scored", position(i)),
                ));
            }
            if !score.is_nan() {
                self.scores.push(score);
            }
        }
        levels_into(&mut self.scores, &mut self.levels);
        Ok(())
    }
}
