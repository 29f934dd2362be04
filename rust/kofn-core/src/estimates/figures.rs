//! The run-level figures of a training loop's columns, for small calls made often.
//!
//! A report keeps every count of every task and its scores in order, names the tasks and says why a label is absent.
//! The figures alone need less: n and c of each task, and sums. They come from the same functions and from sums that
//! are as exact, so their bits are those of the report. Whatever is refused, or needs a task's name, is left to it.

use std::sync::Arc;

use hashbrown::HashMap;

use super::columns::of_counts;
use super::statistics;
use crate::dd::two_sum;
use crate::error::Result;
use crate::estimators::rows::Order;
use crate::exact::{self, Exact, column_sums};
use crate::header::Requested;
use crate::names::{IdKind, Names};
use crate::plan::Statistic;
use crate::policies::{Kinds, flags};
use crate::tally::{Arrays, Denominator, Floats, OnShort, Setup, Tally};
use crate::threads;

/// Statistics that some task produced, in order, with their values.
type Values = Vec<(Statistic, f64)>;

/// Values over all tasks, and over those of each value of the grouping tag.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figures {
    /// Over all tasks.
    pub all: Values,
    /// Over each group's.
    pub groups: Vec<(Option<String>, Values)>,
}

/// The figures of columns whose `tasks` are told apart by number: `names` is asked for their ids only where a message,
/// a group or a requested count needs them.
pub fn figures(
    setup: Setup,
    arrays: &Arrays<'_>,
    tasks: usize,
    names: impl FnOnce() -> (Arc<Names>, IdKind),
) -> Result<Figures> {
    arrays.check()?;
    if let Some(all) = unnamed(&setup, arrays, tasks) {
        return Ok(Figures { all, groups: Vec::new() });
    }
    let (names, kind) = names();
    let mut tally = Tally::new(setup, None);
    tally.add_arrays(arrays, &names, kind)?;
    let estimates = tally.estimate()?;
    let values =
        |view: super::View| view.statistics.into_iter().map(|(statistic, value, _)| (statistic, value)).collect();
    let groups = estimates.groups.into_iter().flatten().map(|(tag, view)| (tag, values(view))).collect();
    Ok(Figures { all: values(estimates.all), groups })
}

/// The figures over all tasks; none where a report must say more. The arrays are checked.
fn unnamed(setup: &Setup, arrays: &Arrays<'_>, tasks: usize) -> Option<Values> {
    if arrays.by.is_some() {
        return None;
    }
    let counts = Count::of_tasks(setup, arrays, tasks);
    if counts.is_empty() || counts.iter().any(|count| count.recorded == 0) {
        return None;
    }
    let requested = match setup.requested {
        Some(Requested::PerTask(_)) => return None,
        Some(Requested::Each(each)) if counts.iter().any(|count| u64::from(count.recorded) > each) => return None,
        Some(Requested::Each(each)) => Some(each),
        // As many of each task were requested as are recorded, where those are alike.
        None => {
            let first = counts[0].recorded;
            counts.iter().all(|count| count.recorded == first).then_some(u64::from(first))
        }
    };
    let undecided = !setup.chosen && counts.iter().any(|count| count.scored > 0) && !arrays.any_verdict();
    let column = |count: fn(&Count) -> u32| counts.iter().map(|each| u64::from(count(each))).collect();
    let n: Option<Vec<u64>> = match setup.denominator {
        Denominator::Requested => requested.map(|each| vec![each; counts.len()]),
        Denominator::Recorded => Some(column(|count| count.recorded)),
        Denominator::Scorable => (!undecided).then(|| column(|count| count.scorable)),
    };
    let pairs = n.as_ref().filter(|_| !undecided).map(|n| pairs(n, &counts));
    let mut source = Source { setup, arrays, counts, requested, undecided, n, pairs, extremes: [None, None] };
    let mut values = Vec::new();
    for (statistic, asked) in statistics(&setup.plan, source.n.as_deref()) {
        match source.figure(&statistic) {
            Ok((_, 0)) => {}
            Ok((sum, tasks)) => values.push((statistic, sum.mean(tasks))),
            Err(Refused) if asked => return None,
            Err(Refused) => {}
        }
    }
    Some(values)
}

/// What figures need of one task's counts.
#[derive(Clone, Copy, Default)]
#[repr(align(16))]
struct Count {
    recorded: u32,
    success: u32,
    scorable: u32,
    scored: u32,
}

impl Count {
    /// Those of one rollout.
    fn of_word(word: u16) -> Self {
        let has = |flag: u16| u32::from(word & flag != 0);
        Self { recorded: 1, success: has(flags::SUCCESS), scorable: has(flags::SCORABLE), scored: has(flags::SCORED) }
    }

    #[inline]
    fn add(&mut self, other: Self) {
        self.recorded += other.recorded;
        self.success += other.success;
        self.scorable += other.scorable;
        self.scored += other.scored;
    }

    fn of_tasks(setup: &Setup, arrays: &Arrays<'_>, tasks: usize) -> Vec<Self> {
        let kinds = Kinds::new(&setup.policy);
        let each = kinds.words.map(Self::of_word);
        let mut counts = vec![Self::default(); tasks];
        let mut add = |task: u32, kind: usize| {
            if let Some(count) = counts.get_mut(task as usize) {
                count.add(each[kind]);
            }
        };
        let rows = arrays.task.iter();
        match arrays.scores {
            // Most calls have one column.
            Floats::F32(scores) if arrays.passed.is_empty() && arrays.valid.is_empty() => {
                rows.zip(scores).for_each(|(&task, &score)| add(task, kinds.of(-1, score.into())));
            }
            Floats::F64(scores) if arrays.passed.is_empty() && arrays.valid.is_empty() && !scores.is_empty() => {
                rows.zip(scores).for_each(|(&task, &score)| add(task, kinds.of(-1, score)));
            }
            Floats::F64([]) if arrays.valid.is_empty() && !arrays.passed.is_empty() => {
                rows.zip(arrays.passed).for_each(|(&task, &passed)| add(task, kinds.of(passed, f64::NAN)));
            }
            scores => rows.enumerate().for_each(|(row, &task)| {
                let passed = arrays.passed.get(row).copied().unwrap_or(-1);
                let valid = arrays.valid.get(row) != Some(&false);
                let kind = kinds.of(passed, scores.get(row).unwrap_or(f64::NAN));
                add(task, if valid { kind } else { Kinds::NONE });
            }),
        }
        counts
    }
}

/// Distinct (n, c) and how many tasks have each.
fn pairs(n: &[u64], counts: &[Count]) -> Vec<((u64, u64), u64)> {
    let c = counts.iter().map(|count| u64::from(count.success));
    let first = n.first().copied().unwrap_or_default();
    let most = counts.iter().map(|count| count.success).max().unwrap_or_default() as usize;
    // Groups of one size: a place for each c.
    if most <= 4 * n.len() && n.iter().all(|&n| n == first) {
        let mut tasks = vec![0; most + 1];
        for c in counts {
            tasks[c.success as usize] += 1;
        }
        return (0..).map(|c| (first, c)).zip(tasks).filter(|(_, tasks)| *tasks > 0).collect();
    }
    let mut known: HashMap<(u64, u64), u64, foldhash::fast::FixedState> = HashMap::default();
    for pair in n.iter().copied().zip(c) {
        *known.entry(pair).or_default() += 1;
    }
    known.into_iter().collect()
}

/// A report may omit the statistic, or refuse it.
struct Refused;

/// What figures are computed from.
struct Source<'a> {
    setup: &'a Setup,
    arrays: &'a Arrays<'a>,
    counts: Vec<Count>,
    /// Of every task, where it is known.
    requested: Option<u64>,
    undecided: bool,
    n: Option<Vec<u64>>,
    /// Where n and c are known.
    pairs: Option<Vec<((u64, u64), u64)>>,
    /// Of best and of worst of k.
    extremes: [Option<Extremes>; 2],
}

impl Source<'_> {
    /// The sum over the tasks that have the statistic, and how many those are.
    fn figure(&mut self, statistic: &Statistic) -> Result<(Exact, u64), Refused> {
        match statistic {
            Statistic::PassAtK(_) | Statistic::PassHatK(_) | Statistic::PassRate | Statistic::Learnability => {
                let pairs = self.pairs.as_ref().ok_or(Refused)?;
                if let Some(k) = statistic.k() {
                    self.check_short(k)?;
                }
                let (mut sum, mut n) = (Exact::default(), 0);
                for &((of, c), tasks) in pairs {
                    let value = of_counts(statistic, of, c);
                    if !value.is_nan() {
                        sum.add_times(value, tasks);
                        n += tasks;
                    }
                }
                Ok((sum, n))
            }
            Statistic::Coverage => {
                let requested = self.requested.filter(|_| !self.undecided).ok_or(Refused)?;
                Ok(total(self.counts.iter().map(|count| exact::quotient(i128::from(count.scorable), requested))))
            }
            Statistic::MeanScore => Ok(self.mean_score()),
            Statistic::BestOfK(k) => self.of_scores(*k, Order::Best),
            Statistic::WorstOfK(k) => self.of_scores(*k, Order::Worst),
            Statistic::MeanDuration => {
                // A clock may go back by a moment: such a duration is none.
                let durations = self.arrays.durations.iter().map(|&d| if d < 0.0 { f64::NAN } else { d });
                Ok(self.means(&durations))
            }
            Statistic::MeanTotalTokens => Ok(self.mean_tokens()),
            Statistic::MetricMean(_) | Statistic::MetricVariance(_) | Statistic::Agreement(_) => Err(Refused),
        }
    }

    /// Refuse a k label that some task falls short of, unless such tasks are to be left out.
    fn check_short(&self, k: u64) -> Result<(), Refused> {
        let short = self.setup.on_short == OnShort::Raise && self.n.iter().flatten().any(|&n| n < k);
        if short { Err(Refused) } else { Ok(()) }
    }

    fn mean_score(&self) -> (Exact, u64) {
        let valid = self.arrays.valid;
        match (self.arrays.scores, valid) {
            (Floats::F32(scores), []) => self.means(&scores.iter().map(|&score| score.into())),
            (Floats::F64(scores), []) => self.means(&scores.iter().copied()),
            (scores, valid) => self.means(
                &(0..scores.len())
                    .zip(valid)
                    .map(|(row, &valid)| scores.get(row).filter(|_| valid).unwrap_or(f64::NAN)),
            ),
        }
    }

    /// The tasks' means of finite values, one a rollout; NaN for none.
    fn means<I: Iterator<Item = f64> + Clone>(&self, values: &I) -> (Exact, u64) {
        if values.clone().next().is_none() {
            return (Exact::default(), 0);
        }
        let rows = || self.arrays.task.iter().zip(values.clone()).filter(|(_, value)| !value.is_nan());
        // Two floats hold the sum of a few scores exactly; what does not fit is left over, as of an overflow.
        let mut sums = vec![(0.0, 0.0, 0u32); self.counts.len()];
        let mut exact = true;
        for (&task, value) in rows() {
            let Some((high, low, n)) = sums.get_mut(task as usize) else { continue };
            let (next, rest) = two_sum(*high, value);
            let (rest, over) = two_sum(*low, rest);
            exact &= over == 0.0;
            (*high, *low, *n) = (next, rest, *n + 1);
        }
        if exact {
            return total(sums.iter().map(|&(high, low, n)| match n {
                0 => f64::NAN,
                _ if low == 0.0 => high / f64::from(n),
                _ => {
                    let mut sum = Exact::default();
                    sum.add(high);
                    sum.add(low);
                    sum.mean(u64::from(n))
                }
            }));
        }
        let mut sums = vec![(Exact::default(), 0u32); self.counts.len()];
        for (&task, value) in rows() {
            let Some((sum, n)) = sums.get_mut(task as usize) else { continue };
            sum.add(value);
            *n += 1;
        }
        total(sums.iter().map(|(sum, n)| sum.mean(u64::from(*n))))
    }

    fn mean_tokens(&self) -> (Exact, u64) {
        if self.arrays.tokens.is_empty() {
            return (Exact::default(), 0);
        }
        let mut sums = vec![(0i128, 0u32); self.counts.len()];
        for (&task, &tokens) in self.arrays.task.iter().zip(self.arrays.tokens).filter(|(_, tokens)| **tokens >= 0) {
            let Some((sum, n)) = sums.get_mut(task as usize) else { continue };
            (*sum, *n) = (*sum + i128::from(tokens), *n + 1);
        }
        total(sums.iter().map(|&(sum, n)| if n == 0 { f64::NAN } else { exact::quotient(sum, u64::from(n)) }))
    }

    /// Best or worst of k; the sums of all ks that are asked for come from one sorting.
    fn of_scores(&mut self, k: u64, order: Order) -> Result<(Exact, u64), Refused> {
        self.check_short(k)?;
        let at = usize::from(order == Order::Worst);
        let found = match self.extremes[at].take() {
            Some(extremes) => extremes,
            None => self.extremes(order)?,
        };
        let column = found.ks.iter().position(|&known| known == k).ok_or(Refused)?;
        let sum = found.sums.get(column).cloned().ok_or(Refused)?;
        self.extremes[at] = Some(found);
        Ok(sum)
    }

    fn extremes(&self, order: Order) -> Result<Extremes, Refused> {
        let planned = statistics(&self.setup.plan, self.n.as_deref());
        let mut ks: Vec<u64> = planned
            .into_iter()
            .filter_map(|(statistic, _)| match (statistic, order) {
                (Statistic::BestOfK(k), Order::Best) | (Statistic::WorstOfK(k), Order::Worst) => Some(k),
                _ => None,
            })
            .collect();
        ks.dedup();
        let Arrays { task, scores, valid, .. } = *self.arrays;
        let copied: Vec<f64>;
        let scores = match scores {
            Floats::F64(scores) if valid.is_empty() => scores,
            scores => {
                let score = |row: usize| scores.get(row).filter(|_| valid.get(row) != Some(&false));
                copied = (0..scores.len()).map(|row| score(row).unwrap_or(f64::NAN)).collect();
                &copied
            }
        };
        // A task of fewer rollouts than k has no value, however many scores it has.
        let most = ks.iter().copied().max().unwrap_or(0);
        let short = self.n.as_ref().filter(|n| n.iter().any(|&n| n < most));
        // Tasks of one size that stand in order are rows as they are.
        let width = scores.len() / self.counts.len().max(1);
        let rows = width > 0
            && width * self.counts.len() == scores.len()
            && task.chunks_exact(width).zip(0..).all(|(row, i)| row.iter().all(|&task| task == i));
        let sums = if rows && short.is_none() {
            of_rows(order, scores, width, &ks)?
        } else {
            let mut values = vec![f64::NAN; self.counts.len() * ks.len()];
            if !scores.is_empty() {
                order.of_groups(scores, task, &ks, &mut values).map_err(|_| Refused)?;
            }
            for (row, &n) in values.chunks_exact_mut(ks.len().max(1)).zip(short.into_iter().flatten()) {
                row.iter_mut().zip(&ks).filter(|(_, k)| n < **k).for_each(|(value, _)| *value = f64::NAN);
            }
            column_sums(&values, ks.len())
        };
        Ok(Extremes { ks, sums })
    }
}

/// Sums of best or worst of k over tasks: their values need not all be kept.
fn of_rows(order: Order, scores: &[f64], width: usize, ks: &[u64]) -> Result<Vec<(Exact, u64)>, Refused> {
    /// Values that are kept for a moment.
    const PART: usize = 1 << 16;
    let rows = (PART / width.max(ks.len())).max(1);
    let work = |scores: &[f64]| {
        let mut values = vec![f64::NAN; scores.len() / width * ks.len()];
        order.of_rows(scores, width, ks, &mut values).map_err(|_| Refused)?;
        Ok(column_sums(&values, ks.len()))
    };
    let mut sums = vec![(Exact::default(), 0); ks.len()];
    for part in threads::map(scores.chunks(rows * width).collect(), work) {
        for ((sum, n), (more, tasks)) in sums.iter_mut().zip(part?) {
            sum.merge(&more);
            *n += tasks;
        }
    }
    Ok(sums)
}

/// Best or worst of k: the sum over tasks for each k, and how many have a value.
struct Extremes {
    ks: Vec<u64>,
    sums: Vec<(Exact, u64)>,
}

/// The exact sum of the values that are there, and their number.
fn total(values: impl Iterator<Item = f64>) -> (Exact, u64) {
    let mut sum = Exact::default();
    let n = sum.add_all(values);
    (sum, n)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Plan;

    #[test]
    fn only_what_needs_a_report_is_left_to_one() {
        let columns = Arrays { task: &[0, 1, 0, 1], passed: &[1, 0, 1, 1], ..Arrays::default() };
        let uneven = Arrays { task: &[0, 1, 0, 0], ..columns };
        let setup = |labels: &[&str], requested| {
            let labels: Vec<String> = labels.iter().map(|label| (*label).to_owned()).collect();
            let plan = Plan::new((!labels.is_empty()).then_some(&labels[..]), &[], None).expect("labels");
            Setup { requested, ..Setup::new(plan) }
        };
        let alone = |setup: &Setup, columns| unnamed(setup, columns, 2).is_some();
        let all = ["pass@2", "pass^1", "pass_rate", "coverage", "mean_score", "best_of_2", "mean_duration"];
        assert!(alone(&setup(&all, None), &columns));
        assert!(alone(&setup(&[], Some(Requested::Each(3))), &uneven));
        assert!(!alone(&setup(&[], Some(Requested::Each(2))), &uneven));
        assert!(!alone(&setup(&["pass@1"], None), &uneven));
        assert!(!alone(&setup(&["pass@3"], None), &columns));
        assert!(!alone(&setup(&["agreement:answer"], None), &columns));
        assert!(!alone(&setup(&[], Some(Requested::PerTask(Vec::new()))), &columns));
    }
}
