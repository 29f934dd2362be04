//! How many tasks and rollouts a figure needs, from a pilot run.
//!
//! A mean over T tasks with n rollouts each varies with (between + V(n)) / T, where V(n) is the part that rollouts
//! reduce. From a pilot with at least 2k rollouts a task, V is estimated without bias for every n >= k (estimators,
//! 1.3), and so is the part between tasks, by difference.

use super::convolution::normalise;
use super::special::student_quantile;
use crate::dd::Double;
use crate::error::{Error, Result};
use crate::estimators::tails::weights;
use crate::exact::Exact;

/// Tasks and rollouts looked at, at the most.
const MOST_TASKS: u64 = 1 << 40;
const MOST_ROLLOUTS: u64 = 1 << 20;
/// Values of k: the work of each n grows with it.
const MOST_K: u64 = 100_000;

/// The part of a figure's variance that rollouts reduce.
#[derive(Clone, Debug, PartialEq)]
pub struct Within {
    k: u64,
    /// For d = 0..=k: the mean over tasks of the covariance of two draws of k that share d rollouts.
    shared: Vec<f64>,
    /// The mean variance with each task's own rollouts.
    own: f64,
}

impl Within {
    /// As [`Self::new`], from columns that may hold what is no count.
    pub fn of_columns(n: &[i64], c: &[i64], k: u64, all: bool) -> Result<Self> {
        let pairs: Option<Vec<(u64, u64)>> = n
            .iter()
            .zip(c)
            .map(|(&n, &c)| Some((u64::try_from(n).ok()?, u64::try_from(c).ok()?)).filter(|(n, c)| c <= n))
            .collect();
        let Some(pairs) = pairs else { return Err(Error::argument("pilot", "0 <= c <= n is needed of each task")) };
        let (n, c): (Vec<u64>, Vec<u64>) = pairs.into_iter().unzip();
        Self::new(&n, &c, k, all)
    }

    /// Of pass@k, or with `all` of pass^k, from each task's n and c.
    pub fn new(n: &[u64], c: &[u64], k: u64, all: bool) -> Result<Self> {
        if !(1..=MOST_K).contains(&k) {
            return Err(Error::argument("k", format!("k = {k} is not from 1 to {MOST_K}")));
        }
        let least = n.iter().copied().min().unwrap_or(0);
        if least < 2 * k {
            let needed = 2 * k;
            return Err(Error::argument(
                "pilot",
                format!("a task has {least} rollouts; planning rollouts for k = {k} needs {needed} of each task"),
            ));
        }
        let mut sums = vec![Exact::default(); to_usize(k) + 1];
        let mut own = Exact::default();
        let mut cells: std::collections::BTreeMap<(u64, u64), u64> = std::collections::BTreeMap::new();
        for (&n, &c) in n.iter().zip(c) {
            *cells.entry((n, if all { c } else { n - c })).or_default() += 1;
        }
        for ((total, marked), count) in cells {
            // F_j for j from k to 2k: the chance that j drawn rollouts are all marked.
            let mut product = Double::ONE;
            let mut tail = Vec::with_capacity(to_usize(k) + 1);
            for j in 0..=2 * k {
                if j >= k {
                    tail.push(product);
                }
                product = if j < marked {
                    product.times_ratio((marked - j) as f64, (total - j) as f64)
                } else {
                    Double::ZERO
                };
            }
            let last = tail.last().copied().unwrap_or(Double::ZERO);
            let last = Double { high: -last.high, low: -last.low };
            let tail: Vec<f64> = tail.iter().rev().map(|value| value.plus_double(last).high).collect();
            for (sum, &value) in sums.iter_mut().zip(&tail) {
                sum.add_times(value, count);
            }
            own.add_times(mean_shared(&tail, total, k), count);
        }
        let mean = |sum: &Exact| sum.mean(n.len() as u64);
        Ok(Self { k, shared: sums.iter().map(mean).collect(), own: mean(&own) })
    }

    /// The least number of rollouts a task: k.
    #[must_use]
    pub fn least(&self) -> u64 {
        self.k
    }

    /// V(n), the mean variance of one task's figure with `rollouts` rollouts.
    #[must_use]
    pub fn at(&self, rollouts: u64) -> f64 {
        mean_shared(&self.shared, rollouts, self.k)
    }
}

/// The mean of `shared[d]` over the number d of rollouts that two draws of k have in common.
fn mean_shared(shared: &[f64], rollouts: u64, k: u64) -> f64 {
    let (first, mut law) = weights(rollouts, k, k);
    normalise(&mut law);
    shared.iter().skip(usize::try_from(first).unwrap_or(0)).zip(&law).map(|(value, weight)| value * weight).sum()
}

/// What is wanted of a figure, or of a difference.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Goal {
    /// Half the width of the interval, or the effect to detect.
    pub size: f64,
    /// Of the interval, or of the test: 0.95.
    pub confidence: f64,
    /// The chance to detect the effect; none for a half-width.
    pub power: Option<f64>,
}

impl Goal {
    /// How many standard errors make up the size, with this many tasks.
    fn errors(self, tasks: u64) -> f64 {
        let freedom = tasks.saturating_sub(1).max(1) as f64;
        let quantile = student_quantile(freedom, 0.5 + self.confidence / 2.0);
        quantile + self.power.map_or(0.0, |power| student_quantile(freedom, power))
    }
}

/// A design's variance, and what it must reach.
#[derive(Clone, Debug)]
pub struct Planner {
    /// Between tasks: what rollouts cannot reduce. At least 0.
    pub between: f64,
    /// What rollouts reduce; empty where that is not known.
    pub within: Vec<Within>,
    /// What is wanted.
    pub goal: Goal,
}

impl Planner {
    /// From the variance that the pilots' tasks show, and the part of it that comes from their rollouts.
    pub fn new(variance: f64, within: Vec<Within>, goal: Goal) -> Result<Self> {
        if !(variance >= 0.0 && variance.is_finite()) {
            return Err(Error::argument("pilot", "the variance over its tasks is not a finite number"));
        }
        if !(goal.size > 0.0 && goal.size.is_finite()) {
            return Err(Error::argument("size", format!("{} is not a finite number above 0", goal.size)));
        }
        for (name, share) in [("confidence", Some(goal.confidence)), ("power", goal.power)] {
            if share.is_some_and(|share| !(share > 0.0 && share < 1.0)) {
                return Err(Error::argument(name, format!("{} is not between 0 and 1", share.unwrap_or_default())));
            }
        }
        let between = (variance - within.iter().map(|within| within.own).sum::<f64>()).max(0.0);
        Ok(Self { between, within, goal })
    }

    /// The least number of rollouts a task.
    #[must_use]
    pub fn least(&self) -> u64 {
        self.within.iter().map(Within::least).max().unwrap_or(1)
    }

    fn variance(&self, rollouts: u64) -> f64 {
        self.between + self.within.iter().map(|within| within.at(rollouts)).sum::<f64>()
    }

    /// The size that a design reaches.
    #[must_use]
    pub fn reach(&self, tasks: u64, rollouts: u64) -> f64 {
        self.goal.errors(tasks) * (self.variance(rollouts) / tasks as f64).sqrt()
    }

    /// The least number of tasks, for so many rollouts of each.
    #[must_use]
    pub fn tasks(&self, rollouts: u64) -> Option<u64> {
        let variance = self.variance(rollouts);
        least(2, MOST_TASKS, |tasks| self.goal.errors(tasks) * (variance / tasks as f64).sqrt() <= self.goal.size)
    }

    /// The least number of rollouts of each of so many tasks; none if rollouts alone cannot do it.
    #[must_use]
    pub fn rollouts(&self, tasks: u64) -> Option<u64> {
        let errors = self.goal.errors(tasks);
        let most = (self.goal.size / errors).powi(2) * tasks as f64;
        if self.within.is_empty() || self.between > most {
            return None;
        }
        least(self.least(), MOST_ROLLOUTS, |rollouts| self.variance(rollouts) <= most)
    }

    /// Tasks and rollouts of the cheapest design, where a task costs `task` beside `rollout` for each of its rollouts.
    #[must_use]
    pub fn cheapest(&self, task: f64, rollout: f64) -> Option<(u64, u64)> {
        let fewest = least(2, MOST_TASKS, |tasks| {
            self.goal.errors(tasks) * (self.between / tasks as f64).sqrt() <= self.goal.size
        })?;
        let cost = |tasks: u64, rollouts: u64| tasks as f64 * (task + rollouts as f64 * rollout);
        let mut best: Option<(u64, u64)> = None;
        let mut rollouts = self.least();
        while rollouts <= MOST_ROLLOUTS {
            // However many rollouts, at least the fewest tasks are needed: once they alone cost more, so does all else.
            if best.is_some_and(|(tasks, n)| cost(fewest, rollouts) >= cost(tasks, n)) {
                break;
            }
            if let Some(tasks) = self.tasks(rollouts) {
                if best.is_none_or(|(known, n)| cost(tasks, rollouts) < cost(known, n)) {
                    best = Some((tasks, rollouts));
                }
                if tasks == fewest {
                    break;
                }
            }
            // Far out the variance is flat: steps of a thousandth lose nothing that matters.
            rollouts += 1 + rollouts / 1000;
        }
        best
    }
}

/// The least of `low..=high` that is enough, where all above it are too.
fn least(low: u64, high: u64, enough: impl Fn(u64) -> bool) -> Option<u64> {
    if low > high || !enough(high) {
        return None;
    }
    let (mut low, mut high) = (low, high);
    while low < high {
        let middle = low + (high - low) / 2;
        if enough(middle) { high = middle } else { low = middle + 1 }
    }
    Some(low)
}

fn to_usize(k: u64) -> usize {
    usize::try_from(k).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimators::hypergeometric::unchecked::{pass_at_k, pass_hat_k};

    fn close(a: f64, b: f64, share: f64) {
        assert!((a - b).abs() <= share * b.abs(), "{a} {b}");
    }

    fn binomial(n: u64, c: u64, p: f64) -> f64 {
        let ways = (0..c).fold(1.0, |ways, i| ways * (n - i) as f64 / (i + 1) as f64);
        ways * p.powi(i32::try_from(c).expect("small")) * (1.0 - p).powi(i32::try_from(n - c).expect("small"))
    }

    /// Averaged over everything that a pilot may show, V(n') is the true variance with n' rollouts.
    #[test]
    fn the_variance_of_another_count_is_unbiased() {
        for (k, all) in [(1, false), (2, false), (3, true), (3, false)] {
            let value = |n, c| if all { pass_hat_k(n, c, k) } else { pass_at_k(n, c, k) };
            for (n, other) in [(2 * k, k), (2 * k + 1, k + 2), (8, 17), (9, 9)] {
                for p in [0.1, 0.5, 0.8] {
                    let expected: f64 = (0..=n)
                        .map(|c| binomial(n, c, p) * Within::new(&[n], &[c], k, all).expect("enough").at(other))
                        .sum();
                    let moment = |power: i32| {
                        (0..=other).map(|c| binomial(other, c, p) * value(other, c).powi(power)).sum::<f64>()
                    };
                    close(expected, moment(2) - moment(1).powi(2), 1e-10);
                }
            }
        }
    }

    #[test]
    fn at_the_pilots_own_count_it_is_the_unbiased_variance() {
        for (n, c, k, variance) in [(10, 3, 2, 23.0 / 450.0), (10, 3, 5, 1.0 / 144.0), (8, 0, 4, 0.0), (16, 1, 8, 0.25)]
        {
            close(Within::new(&[n], &[c], k, false).expect("enough").at(n), variance, 1e-13);
            close(Within::new(&[n], &[n - c], k, true).expect("enough").at(n), variance, 1e-13);
        }
    }

    fn planner(between: f64, size: f64, power: Option<f64>) -> Planner {
        let within = Within::new(&[8; 6], &[0, 2, 4, 4, 6, 8], 1, false).expect("enough");
        Planner { between, within: vec![within], goal: Goal { size, confidence: 0.95, power } }
    }

    #[test]
    fn a_design_reaches_its_goal_and_the_next_smaller_one_does_not() {
        for power in [None, Some(0.8)] {
            let planner = planner(0.05, 0.03, power);
            let tasks = planner.tasks(4).expect("reachable");
            assert!(planner.reach(tasks, 4) <= 0.03 && planner.reach(tasks - 1, 4) > 0.03);
            let rollouts = planner.rollouts(500).expect("reachable");
            assert!(planner.reach(500, rollouts) <= 0.03);
            assert!(rollouts == 1 || planner.reach(500, rollouts - 1) > 0.03);
            // With 200 tasks the part between them alone is too wide.
            assert_eq!(planner.rollouts(150), None);
        }
    }

    #[test]
    fn the_cheapest_split_is_the_cheapest() {
        for (task, rollout) in [(1.0, 1.0), (100.0, 1.0), (0.0, 1.0), (1.0, 0.0)] {
            let planner = planner(0.05, 0.05, None);
            let cost = |tasks: u64, n: u64| tasks as f64 * (task + rollout * n as f64);
            let (tasks, n) = planner.cheapest(task, rollout).expect("reachable");
            let best = (1..300).map(|n| cost(planner.tasks(n).expect("reachable"), n)).fold(f64::INFINITY, f64::min);
            assert!(cost(tasks, n) <= best * 1.001, "{tasks} {n} {best}");
        }
    }

    #[test]
    fn a_pilot_too_small_is_refused() {
        assert!(Within::new(&[4, 3], &[1, 1], 2, false).is_err());
        assert!(Within::new(&[4], &[1], 0, false).is_err());
        assert!(Within::new(&[], &[], 1, false).is_err());
        assert_eq!(planner(0.05, 0.0, None).tasks(1), None);
        assert_eq!(planner(0.05, 0.0, None).cheapest(1.0, 1.0), None);
    }
}
