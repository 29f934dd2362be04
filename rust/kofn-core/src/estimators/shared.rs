//! Best and worst of k of tasks that share a few scores, from the counts of each.
//!
//! In gap form (see [`super::order`]): the gaps between scores are those of all tasks, and the weights of tasks of one
//! length are looked up. Both are cut in two as scores are in [`super::lanes`], and a value is taken on the same terms.

use super::lanes::{Weight, cut, weights};
use crate::dd::{Double, two_sum};
use crate::exact::power_of_two;

/// The longest tasks whose weights are kept.
const LONGEST: usize = 1024;
/// Weights kept of all lengths together: 32 MiB.
const MOST: usize = 1 << 21;

/// What tasks share.
pub(super) struct Shared<'a> {
    ks: &'a [u64],
    first: f64,
    /// From each score but the last to the next.
    steps: Vec<Weight>,
    error: f64,
    /// By length.
    tables: Vec<Table>,
    /// Weights that may still be kept.
    room: usize,
    /// How many scores of a task come after each step.
    left: Vec<usize>,
}

/// C(left, k) / C(n, k) for tasks of one length n.
#[derive(Clone, Default)]
enum Table {
    #[default]
    Unmet,
    /// Once: a table pays from the second task on.
    Met,
    /// For each number left, a column a k.
    Made(Vec<Weight>),
}

impl<'a> Shared<'a> {
    /// For finite scores in descending order for best of k, in ascending order for worst.
    pub(super) fn new(ks: &'a [u64], scores: &[f64]) -> Self {
        let size = scores.iter().fold(0.0, |size: f64, score| size.max(score.abs()));
        // Beyond, parts would be lost below the range of floats or leave it.
        let usual = size == 0.0 || (power_of_two(-400)..power_of_two(900)).contains(&size);
        // The power of two above all steps, 2^p, as they are less than twice the largest score. Let m be their number
        // and u = 2^-53. High parts are multiples of 2^(p-26), of weights of 2^-26, so that sums of their products,
        // below 2^(p+1), are exact, and with the first score two floats. Rests are at most 2^(p-27) and 2^-27 and err
        // by u of that. Weights are at most 1 and high parts of steps sum to 2^p, so the 2m other products sum to
        // at most (m + 2) 2^(p-27): adding them errs by at most 2 m (m + 2) 2^(p-80), and all else by 4 (m + 2) of these.
        let power = if usual { f64::from_bits((size.to_bits() & 0x7ff << 52) + (2 << 52)) } else { 1.0 };
        let m = scores.len() as f64;
        let error = if usual { 2.0 * (m + 3.0) * (m + 3.0) * power_of_two(-80) * power } else { f64::INFINITY };
        let step = |pair: &[f64]| {
            let (high, low) = two_sum(pair[1], -pair[0]);
            let Weight { high, rest } = cut(Double { high: high / power, low: low / power });
            Weight { high: high * power, rest: rest * power }
        };
        let steps: Vec<Weight> = scores.windows(2).map(step).collect();
        let left = vec![0; steps.len()];
        let first = scores.first().copied().unwrap_or(f64::NAN);
        Self { ks, first, steps, error, tables: Vec::new(), room: MOST, left }
    }

    /// The values of a task that has each score so often, NaN where it has fewer than k; whether all are settled, as
    /// others are NaN too.
    pub(super) fn values(&mut self, counts: impl Iterator<Item = usize> + Clone, out: &mut [f64]) -> bool {
        let n: usize = counts.clone().sum();
        let width = self.ks.len();
        self.meet(n);
        let Some(Table::Made(table)) = self.tables.get(n) else { return false };
        let mut after = n;
        for (left, count) in self.left.iter_mut().zip(counts) {
            after -= count;
            *left = after * width;
        }
        let mut settled = true;
        for (column, (&k, out)) in self.ks.iter().zip(out).enumerate() {
            let (mut high, mut rest) = (0.0, 0.0);
            for (step, left) in self.steps.iter().zip(&self.left) {
                let weight = table[left + column];
                high += step.high * weight.high;
                rest += step.high * weight.rest + step.rest * (weight.high + weight.rest);
            }
            let (sum, error) = two_sum(self.first, high);
            let rest = error + rest;
            let (below, above) = (sum + (rest - self.error), sum + (rest + self.error));
            let value = if below == above { below } else { f64::NAN };
            *out = if k <= n as u64 { value } else { f64::NAN };
            settled &= k > n as u64 || below == above;
        }
        settled
    }

    /// Make the table of tasks of n scores when it is time.
    fn meet(&mut self, n: usize) {
        if n > LONGEST {
            return;
        }
        if self.tables.len() <= n {
            self.tables.resize(n + 1, Table::Unmet);
        }
        let table = &mut self.tables[n];
        *table = match std::mem::take(table) {
            Table::Unmet => Table::Met,
            Table::Met if (n + 1) * self.ks.len() <= self.room => {
                self.room -= (n + 1) * self.ks.len();
                let rows = weights(n as u64, self.ks);
                let at = |left: usize| rows.chunks(n + 1).map(move |row| cut(row[left]));
                Table::Made((0..=n).flat_map(at).collect())
            }
            kept => kept,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::super::rows::Order;
    use proptest::prelude::*;

    /// Scores of a task, and the codes of as many tasks.
    fn rollouts(levels: &[f64], picks: &[usize], tasks: u32) -> (Vec<f64>, Vec<u32>) {
        let scores = picks.iter().map(|&pick| levels[pick % levels.len()]).collect();
        let codes = picks.iter().zip(0..).map(|(&pick, i)| (i + u32::from(pick % 3 == 0)) % tasks).collect();
        (scores, codes)
    }

    fn of_each(order: Order, scores: &[f64], codes: &[u32], tasks: u32, ks: &[u64]) -> Vec<u64> {
        let mut all = Vec::new();
        for task in 0..tasks {
            let mine = scores.iter().zip(codes).filter(|(score, code)| **code == task && !score.is_nan());
            let mine: Vec<f64> = mine.map(|(score, _)| *score).collect();
            for &k in ks {
                let mut value = [f64::NAN];
                if k <= mine.len() as u64 {
                    order.of_task(&mine, &[k], &mut value).expect("finite scores");
                }
                all.push(value[0].to_bits());
            }
        }
        all
    }

    proptest! {
        /// Some in the middle of two floats, some too large or small for parts, one more than can be counted.
        #[test]
        fn counts_of_scores_give_the_bits_of_scores_in_order(
            picks in prop::collection::vec(0usize..1000, 160..400),
            which in 0usize..6,
            values in 1usize..18,
        ) {
            let scale = [0.1, 0.5, 1.0 / 3.0, 1e307, 1e-310, 2f64.powi(-53)][which];
            let mut levels: Vec<f64> = (0..values).map(|i| (i as f64 - 2.0) * scale).collect();
            if which == 5 {
                levels = levels.iter().map(|level| 1.0 + level.abs()).collect();
            }
            levels.extend([f64::NAN, -0.0].iter().take(picks[0] % 3));
            let (scores, codes) = rollouts(&levels, &picks, 8);
            let ks = [1, 2, 5, 1, 30, 1000];
            for order in [Order::Best, Order::Worst, Order::Median, Order::Nth(1)] {
                let mut out = vec![0.0; 8 * ks.len()];
                order.of_groups(&scores, &codes, &ks, &mut out).expect("finite scores");
                let out: Vec<u64> = out.iter().map(|value| value.to_bits()).collect();
                prop_assert_eq!(out, of_each(order, &scores, &codes, 8, &ks));
            }
        }
    }

    #[test]
    fn many_equal_scores_and_late_new_ones_are_counted() {
        let mut scores = vec![1.0; 70_000];
        scores.extend([2.0; 100]);
        let codes = vec![0; scores.len()];
        let mut out = [0.0];
        Order::Best.of_groups(&scores, &codes, &[1], &mut out).expect("finite scores");
        assert_eq!(out[0], 70_200.0 / 70_100.0);
        scores.extend((0..100u8).map(f64::from));
        Order::Worst.of_groups(&scores, &vec![0; scores.len()], &[70_200], &mut out).expect("finite scores");
        assert_eq!(out[0], 0.0);
        scores[69_000] = f64::INFINITY;
        let error = Order::Best.of_groups(&scores, &vec![0; scores.len()], &[1], &mut out).expect_err("infinite");
        assert!(error.to_string().contains("69000"), "{error}");
    }
}
