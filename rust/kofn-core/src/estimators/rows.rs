//! Order statistics of k over many tasks at once: scores as they come, NaN for "not scored".

use super::arrange::Arranged;
use super::blocks::Blocks;
use super::check_k;
use super::lanes::{Gaps, weights};
use super::order::{
    Level, best, best_of_k, levels_into, median_of_k, order_statistic_of_k, quantile_of_k, scored, worst, worst_of_k,
};
use super::repeats::Repeats;
use super::shared::Shared;
use crate::dd::Double;
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
    pub(super) fn of(self, levels: &[Level], k: u64) -> Result<f64> {
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
        row.gather(scores, |i| i)?;
        row.level();
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
        let mut tasks = Tasks::new(self, ks);
        let all = out.len() / ks.len().max(1);
        let add = |i: usize, out: &mut [f64], tasks: &mut Tasks<'_>| {
            let at = i * width;
            tasks.add(i, &scores[at..at + width], |j| at + j, out)
        };
        if Blocks::take(self, width) {
            for i in tasks.blocks.rows(width, &scores[..all * width], out) {
                add(i, out, &mut tasks)?;
            }
        } else {
            for i in 0..all {
                add(i, out, &mut tasks)?;
            }
        }
        tasks.blocks.finish(out);
        Ok(())
    }

    /// Best or worst of k of tasks whose levels are known; NaN where they hold fewer than k scores.
    pub(crate) fn of_levels<'a>(self, tasks: impl ExactSizeIterator<Item = &'a [Level]>, k: u64) -> Vec<f64> {
        let mut values = vec![f64::NAN; tasks.len()];
        let mut blocks = Blocks::new(self, std::slice::from_ref(&k));
        let mut scores = Vec::new();
        for (i, levels) in tasks.enumerate() {
            let n = scored(levels);
            if n < k || n == 0 {
                continue;
            }
            if usize::try_from(n).is_ok_and(|n| Blocks::take(self, n)) {
                scores.clear();
                for level in levels {
                    scores.extend((0..level.count).map(|_| level.value));
                }
                blocks.add(i, scores.iter().copied(), &mut values);
            } else {
                values[i] = if self == Self::Best { best_of_k(levels, k) } else { worst_of_k(levels, k) };
            }
        }
        blocks.finish(&mut values);
        values
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
        let mut work = Tasks::new(self, ks);
        if let Some(repeats) = Repeats::new(scores, codes, tasks) {
            return work.repeats(&repeats, out);
        }
        let arranged = Arranged::new(scores, codes, tasks);
        for (i, scores) in arranged.tasks().enumerate() {
            // Only an error asks where a score stands: it looks for the task's scores once more.
            let place = |j| (0..).zip(codes).filter(|(_, code)| **code as usize == i).nth(j).map_or(0, |(at, _)| at);
            work.add(i, scores, place, out)?;
        }
        work.blocks.finish(out);
        Ok(())
    }
}

/// One task after another.
struct Tasks<'a> {
    order: Order,
    ks: &'a [u64],
    blocks: Blocks<'a>,
    row: Row,
    tables: Tables,
}

impl<'a> Tasks<'a> {
    fn new(order: Order, ks: &'a [u64]) -> Self {
        Self { order, ks, blocks: Blocks::new(order, ks), row: Row::default(), tables: Tables::default() }
    }

    /// Add task i; its values stand in `out`, the room of all tasks, once the blocks are finished.
    fn add(&mut self, i: usize, scores: &[f64], position: impl Fn(usize) -> usize, out: &mut [f64]) -> Result<()> {
        let finite = scores.iter().filter(|score| score.is_finite()).count();
        let short = Blocks::take(self.order, finite);
        if short && finite == scores.len() {
            self.blocks.add(i, scores.iter().copied(), out);
            return Ok(());
        }
        self.row.gather(scores, position)?;
        if short {
            self.blocks.add(i, self.row.scores.iter().copied(), out);
            return Ok(());
        }
        self.row.level();
        let width = self.ks.len();
        self.weigh(&mut out[i * width..(i + 1) * width])
    }

    /// All tasks, from how often each has each score.
    fn repeats(&mut self, repeats: &Repeats, out: &mut [f64]) -> Result<()> {
        let mut columns = repeats.ascending().to_vec();
        if self.order == Order::Best {
            columns.reverse();
        }
        let scores: Vec<f64> = columns.iter().map(|&at| repeats.score(at)).collect();
        let mut shared = Shared::new(self.ks, &scores);
        let extreme = matches!(self.order, Order::Best | Order::Worst);
        for (counts, out) in repeats.tasks().zip(out.chunks_exact_mut(self.ks.len().max(1))) {
            if extreme && shared.values(columns.iter().map(|&at| usize::from(counts[at])), out) {
                continue;
            }
            let levels = repeats.ascending().iter().map(|&at| (repeats.score(at), counts[at]));
            let levels = levels.filter(|(_, count)| *count > 0);
            self.row.levels.clear();
            self.row.levels.extend(levels.map(|(value, count)| Level { value, count: u64::from(count) }));
            self.weigh(out)?;
        }
        Ok(())
    }

    /// The values of the task whose levels are in the row.
    fn weigh(&mut self, out: &mut [f64]) -> Result<()> {
        let levels = &self.row.levels;
        let n = scored(levels);
        for (column, (&k, out)) in self.ks.iter().zip(out).enumerate() {
            *out = match (self.order, self.tables.of(n, self.ks, column)) {
                _ if k > n => f64::NAN,
                (Order::Best, Some(mut table)) => best(levels, k, n, &mut table),
                (Order::Worst, Some(mut table)) => worst(levels, k, n, &mut table),
                _ => self.order.of(levels, k)?,
            };
        }
        Ok(())
    }
}

/// Most tasks of a call have as many scores as the one before: their weights are computed once.
#[derive(Default)]
struct Tables {
    n: u64,
    /// C(left, k) / C(n, k) for left from 0 to n, one such row a k.
    weights: Vec<Double>,
}

impl Tables {
    /// Above it a task's own product over its levels is no slower.
    const MOST: u64 = 1024;

    /// The table for `ks[column]`, from the second task of n scores in a row on.
    fn of(&mut self, n: u64, ks: &[u64], column: usize) -> Option<Gaps<'_>> {
        let row = usize::try_from(n).ok()? + 1;
        if n > Self::MOST {
            return None;
        }
        if self.n != n {
            self.weights.clear();
            self.n = n;
            return None;
        }
        if self.weights.is_empty() {
            if column > 0 {
                return None;
            }
            self.weights = weights(n, ks);
        }
        self.weights.get(column * row..(column + 1) * row).map(Gaps)
    }
}

/// The levels of one task after another, in buffers that are used again.
#[derive(Default)]
struct Row {
    scores: Vec<f64>,
    levels: Vec<Level>,
}

impl Row {
    /// Take the scores that are there; `position` says where score i stands in the user's array.
    fn gather(&mut self, scores: &[f64], position: impl Fn(usize) -> usize) -> Result<()> {
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
        Ok(())
    }

    /// Make levels of them.
    fn level(&mut self) {
        levels_into(&mut self.scores, &mut self.levels);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimators::order::levels_from;

    #[test]
    fn levels_of_many_tasks_have_the_bits_of_single_ones() {
        // Lengths that repeat, so that blocks fill, beside none and one that is too long for blocks.
        let score = |i: usize, j: usize| ((i * 31 + j * j * 17) % 23) as f64 * 0.1 - 1.0;
        let task = |i: usize| (0..[0, 3, 8, 8, 8, 16, 70][i % 7]).map(|j| score(i, j)).collect::<Vec<_>>();
        let tasks: Vec<Vec<Level>> = (0..200).map(|i| levels_from(&mut task(i))).collect();
        for (order, single) in [(Order::Best, best_of_k as fn(&[Level], u64) -> f64), (Order::Worst, worst_of_k)] {
            for k in [1, 2, 7, 8, 9] {
                let values = order.of_levels(tasks.iter().map(Vec::as_slice), k);
                for (levels, value) in tasks.iter().zip(values) {
                    let expected = if scored(levels) < k { f64::NAN } else { single(levels, k) };
                    assert_eq!(value.to_bits(), expected.to_bits());
                }
            }
        }
    }
}
