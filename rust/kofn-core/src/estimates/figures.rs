//! The run-level figures of a training loop's columns, for small calls made often.
//!
//! A report keeps every count of every task and its scores in order, names the tasks and says why a label is absent.
//! The figures alone need less: n and c of each task, and sums. They come from the same functions and from sums that
//! are as exact, so their bits are those of the report. Whatever is refused, or needs a task's name, is left to it.

use std::sync::Arc;

use super::cells::{self, Cells, Count};
use super::columns::of_counts;
use super::statistics;
use crate::dd::two_sum;
use crate::error::Result;
use crate::estimators::rows::Order;
use crate::exact::{self, Exact, column_sums};
use crate::header::Requested;
use crate::names::{IdKind, Names};
use crate::plan::Statistic;
use crate::tally::{Arrays, Denominator, Floats, OnShort, Owners, Setup, Tally};
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
    let mut counts = Vec::new();
    let cells = cells::of_rows(setup, arrays).unwrap_or_else(|| {
        counts = Count::of_tasks(setup, arrays, tasks);
        cells::of_counts(&counts)
    });
    let (first, _) = cells.first()?;
    let any = |what: &dyn Fn(&Count) -> bool| cells.iter().any(|(count, _)| what(count));
    if any(&|count| count.recorded == 0) {
        return None;
    }
    let requested = match setup.requested {
        Some(Requested::PerTask(_)) => return None,
        Some(Requested::Each(each)) if any(&|count| u64::from(count.recorded) > each) => return None,
        Some(Requested::Each(each)) => Some(each),
        // As many of each task were requested as are recorded, where those are alike.
        None => (!any(&|count| count.recorded != first.recorded)).then_some(u64::from(first.recorded)),
    };
    let undecided = !setup.chosen && any(&|count| count.scored > 0) && !arrays.any_verdict();
    let n = match setup.denominator {
        Denominator::Requested => requested.map(N::Same),
        Denominator::Recorded => Some(N::Recorded),
        Denominator::Scorable => (!undecided).then_some(N::Scorable),
    };
    let sizes: Option<Vec<u64>> = n.map(|n| cells.iter().map(|(count, _)| n.of(count)).collect());
    let planned = statistics(&setup.plan, sizes.as_deref());
    let mut source = Source { setup, arrays, tasks, counts, cells, requested, undecided, n, extremes: [None, None] };
    let mut values = Vec::new();
    for (statistic, asked) in &planned {
        match source.figure(statistic, &planned) {
            Ok((_, 0)) => {}
            Ok((sum, tasks)) => values.push((statistic.clone(), sum.mean(tasks))),
            Err(Refused) if *asked => return None,
            Err(Refused) => {}
        }
    }
    Some(values)
}

/// What a task's n is.
#[derive(Clone, Copy)]
enum N {
    /// The same for all.
    Same(u64),
    Recorded,
    Scorable,
}

impl N {
    fn of(self, count: &Count) -> u64 {
        match self {
            Self::Same(n) => n,
            Self::Recorded => count.recorded.into(),
            Self::Scorable => count.scorable.into(),
        }
    }
}

/// A report may omit the statistic, or refuse it.
struct Refused;

/// What figures are computed from.
struct Source<'a> {
    setup: &'a Setup,
    arrays: &'a Arrays<'a>,
    tasks: usize,
    /// Of each task; none where only the cells are known.
    counts: Vec<Count>,
    cells: Cells,
    /// Of every task, where it is known.
    requested: Option<u64>,
    undecided: bool,
    /// Where it is known.
    n: Option<N>,
    /// Of best and of worst of k.
    extremes: [Option<Extremes>; 2],
}

impl Source<'_> {
    /// The sum over the tasks that have the statistic, one of the planned, and how many those are.
    fn figure(&mut self, statistic: &Statistic, planned: &[(Statistic, bool)]) -> Result<(Exact, u64), Refused> {
        match statistic {
            Statistic::PassAtK(_) | Statistic::PassHatK(_) | Statistic::PassRate | Statistic::Learnability => {
                let of = self.n.filter(|_| !self.undecided).ok_or(Refused)?;
                if let Some(k) = statistic.k() {
                    self.check_short(k)?;
                }
                Ok(self.of_cells(|count| of_counts(statistic, of.of(count), count.success.into())))
            }
            Statistic::Coverage => {
                let requested = self.requested.filter(|_| !self.undecided).ok_or(Refused)?;
                Ok(self.of_cells(|count| exact::quotient(count.scorable.into(), requested)))
            }
            Statistic::MeanScore => Ok(self.mean_score()),
            Statistic::BestOfK(k) => self.of_scores(*k, Order::Best, planned),
            Statistic::WorstOfK(k) => self.of_scores(*k, Order::Worst, planned),
            Statistic::MeanDuration => {
                // A clock may go back by a moment: such a duration is none.
                let durations = self.arrays.durations.iter().map(|&d| if d < 0.0 { f64::NAN } else { d });
                Ok(self.means(&durations))
            }
            Statistic::MeanTotalTokens => Ok(self.mean_tokens()),
            Statistic::MetricMean(_) | Statistic::MetricVariance(_) | Statistic::Agreement(_) => Err(Refused),
        }
    }

    /// The sum of a value of each task's count, NaN for none, and how many have one.
    fn of_cells(&self, value: impl Fn(&Count) -> f64) -> (Exact, u64) {
        let (mut sum, mut n) = (Exact::default(), 0);
        for (count, tasks) in &self.cells {
            let value = value(count);
            if !value.is_nan() {
                sum.add_times(value, *tasks);
                n += tasks;
            }
        }
        (sum, n)
    }

    /// Whether some task falls short of k.
    fn is_short(&self, k: u64) -> bool {
        self.n.is_some_and(|n| self.cells.iter().any(|(count, _)| n.of(count) < k))
    }

    /// Refuse a k label that some task falls short of, unless such tasks are to be left out.
    fn check_short(&self, k: u64) -> Result<(), Refused> {
        let short = self.setup.on_short == OnShort::Raise && self.is_short(k);
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
        let task = match self.arrays.task {
            Owners::Rows { tasks, size } => {
                let mut rest = values.clone();
                return total((0..tasks).map(|_| {
                    let row = rest.clone();
                    let mut sum = Sum::default();
                    rest.by_ref().take(size).for_each(|value| sum.add(value));
                    sum.mean().unwrap_or_else(|| exact::mean(row.take(size).filter(|value| !value.is_nan())))
                }));
            }
            Owners::Each(task) => task,
        };
        let mut sums = vec![Sum::default(); self.tasks];
        for (&task, value) in task.iter().zip(values.clone()) {
            if let Some(sum) = sums.get_mut(task as usize) {
                sum.add(value);
            }
        }
        if !sums.iter().any(|sum| sum.unfit) {
            return total(sums.iter().map(|sum| sum.mean().unwrap_or(f64::NAN)));
        }
        let mut sums = vec![(Exact::default(), 0u32); self.tasks];
        for (&task, value) in task.iter().zip(values.clone()).filter(|(_, value)| !value.is_nan()) {
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
        let mut sums = vec![(0i128, 0u32); self.tasks];
        let task = self.arrays.task.each();
        for (&task, &tokens) in task.iter().zip(self.arrays.tokens).filter(|(_, tokens)| **tokens >= 0) {
            let Some((sum, n)) = sums.get_mut(task as usize) else { continue };
            (*sum, *n) = (*sum + i128::from(tokens), *n + 1);
        }
        total(sums.iter().map(|&(sum, n)| if n == 0 { f64::NAN } else { exact::quotient(sum, u64::from(n)) }))
    }

    /// Best or worst of k; the sums of all ks that are asked for come from one sorting.
    fn of_scores(&mut self, k: u64, order: Order, planned: &[(Statistic, bool)]) -> Result<(Exact, u64), Refused> {
        self.check_short(k)?;
        let at = usize::from(order == Order::Worst);
        let found = match self.extremes[at].take() {
            Some(extremes) => extremes,
            None => self.extremes(order, planned)?,
        };
        let column = found.ks.iter().position(|&known| known == k).ok_or(Refused)?;
        let sum = found.sums.get(column).cloned().ok_or(Refused)?;
        self.extremes[at] = Some(found);
        Ok(sum)
    }

    fn extremes(&self, order: Order, planned: &[(Statistic, bool)]) -> Result<Extremes, Refused> {
        let mut ks: Vec<u64> = planned
            .iter()
            .filter_map(|(statistic, _)| match (statistic, order) {
                (Statistic::BestOfK(k), Order::Best) | (Statistic::WorstOfK(k), Order::Worst) => Some(*k),
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
        let short = self.is_short(ks.iter().copied().max().unwrap_or(0));
        // Tasks of one size that stand in order are rows as they are.
        let sums = match task.size(self.tasks) {
            Some(size) if !short && !scores.is_empty() => of_rows(order, scores, size, &ks)?,
            _ => {
                let mut values = vec![f64::NAN; self.tasks * ks.len()];
                if !scores.is_empty() {
                    order.of_groups(scores, &task.each(), &ks, &mut values).map_err(|_| Refused)?;
                }
                if short {
                    self.leave_out_short(&ks, &mut values);
                }
                column_sums(&values, ks.len())
            }
        };
        Ok(Extremes { ks, sums })
    }

    /// Tasks of fewer rollouts than k have no value.
    fn leave_out_short(&self, ks: &[u64], values: &mut [f64]) {
        let Some(n) = self.n else { return };
        let made: Vec<Count>;
        let counts = if self.counts.is_empty() {
            made = Count::of_tasks(self.setup, self.arrays, self.tasks);
            &made
        } else {
            &self.counts
        };
        for (row, count) in values.chunks_exact_mut(ks.len().max(1)).zip(counts) {
            row.iter_mut().zip(ks).filter(|(_, k)| n.of(count) < **k).for_each(|(value, _)| *value = f64::NAN);
        }
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

/// A sum of values that are not NaN. Two floats hold that of a few exactly; what does not fit is left over, as of an
/// overflow.
#[derive(Clone, Copy, Default)]
struct Sum {
    high: f64,
    low: f64,
    n: u32,
    unfit: bool,
}

impl Sum {
    #[inline]
    fn add(&mut self, value: f64) {
        if value.is_nan() {
            return;
        }
        let (high, rest) = two_sum(self.high, value);
        let (low, over) = two_sum(self.low, rest);
        // Not a number either, where a sum overflowed.
        self.unfit |= over != 0.0;
        (self.high, self.low, self.n) = (high, low, self.n + 1);
    }

    /// The mean, NaN of nothing; none where the sum does not fit.
    fn mean(&self) -> Option<f64> {
        if self.unfit {
            return None;
        }
        Some(match self.n {
            0 => f64::NAN,
            n if self.low == 0.0 => self.high / f64::from(n),
            n => {
                let mut sum = Exact::default();
                sum.add(self.high);
                sum.add(self.low);
                sum.mean(u64::from(n))
            }
        })
    }
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
    use crate::policies::Policy;
    use proptest::prelude::*;

    #[test]
    fn only_what_needs_a_report_is_left_to_one() {
        let columns = Arrays { task: Owners::Each(&[0, 1, 0, 1]), passed: &[1, 0, 1, 1], ..Arrays::default() };
        let uneven = Arrays { task: Owners::Each(&[0, 1, 0, 0]), ..columns };
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

    proptest! {
        #[test]
        fn rows_are_what_codes_say(
            size in 1usize..20,
            picks in prop::collection::vec(0u8..9, 0..200),
            columns in 0usize..6,
            valid in any::<bool>(),
            denominator in prop_oneof![
                Just(Denominator::Requested), Just(Denominator::Recorded), Just(Denominator::Scorable)
            ],
            requested in prop::option::of(1u64..25),
        ) {
            let tasks = picks.len() / size;
            let picks = &picks[..tasks * size];
            let codes = Owners::Rows { tasks, size }.each().into_owned();
            let passed: Vec<i8> = picks.iter().map(|pick| [1, 0, -1][usize::from(pick % 3)]).collect();
            let scores: Vec<f64> = picks.iter().map(|pick| [0.1, 0.5, 0.7, f64::NAN][usize::from(pick % 4)]).collect();
            let narrow: Vec<f32> = picks.iter().map(|pick| [0.25, 0.5, f32::NAN][usize::from(pick % 3)]).collect();
            let durations: Vec<f64> = scores.iter().zip((0..40).cycle()).map(|(score, i)| score * 10f64.powi(i)).collect();
            let valid: Vec<bool> = picks.iter().map(|pick| *pick != 8).take(if valid { usize::MAX } else { 0 }).collect();
            let all = Arrays { task: Owners::Rows { tasks, size }, valid: &valid, durations: &durations, ..Arrays::default() };
            let arrays = match columns {
                0 => Arrays { passed: &passed, ..all },
                1 => Arrays { scores: Floats::F64(&scores), ..all },
                2 => Arrays { scores: Floats::F32(&narrow), ..all },
                3 => Arrays { passed: &passed, scores: Floats::F64(&scores), ..all },
                _ => all,
            };
            let labels = ["pass@k", "pass^k", "pass_rate", "coverage", "learnability", "mean_score", "best_of_k", "mean_duration"];
            let labels = labels.map(str::to_owned);
            let mut setup = Setup {
                requested: requested.map(Requested::Each),
                denominator,
                on_short: OnShort::Omit,
                ..Setup::new(Plan::new(Some(&labels), &[1, 3], None).expect("labels"))
            };
            for policy in [Policy::VerifierVerdict, Policy::ScoreThreshold(0.5)] {
                setup.chosen = policy != Policy::VerifierVerdict;
                setup.policy = policy;
                let bits = |values: Option<Values>| {
                    values.map(|values| values.into_iter().map(|(label, value)| (label, value.to_bits())).collect::<Vec<_>>())
                };
                let coded = Arrays { task: Owners::Each(&codes), ..arrays };
                prop_assert_eq!(bits(unnamed(&setup, &arrays, tasks)), bits(unnamed(&setup, &coded, tasks)));
            }
        }
    }
}
