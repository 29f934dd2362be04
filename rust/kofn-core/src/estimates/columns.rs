//! One value a task for each statistic, or why there is none.

use std::sync::Arc;

use hashbrown::HashMap;

use super::TaskTable;
use crate::estimators::hypergeometric::unchecked as hypergeometric;
use crate::estimators::rows::Order;
use crate::exact::{self, Exact};
use crate::plan::{Refusal, Statistic};
use crate::policies::flags;
use crate::tally::{Durations, OnShort, Tally, Tokens, full_series_name};

/// Distinct (n, c) of the tasks: estimators run once for each.
pub struct Cells {
    /// The distinct pairs, in order of first appearance.
    pub pairs: Vec<(u64, u64)>,
    /// The pair of each task.
    pub codes: Vec<u32>,
    /// How many tasks have each pair.
    pub counts: Vec<u64>,
}

impl Cells {
    /// Code n and c of the tasks.
    #[must_use]
    pub fn new(n: &[u64], c: &[u64]) -> Self {
        let mut cells = Self { pairs: Vec::new(), codes: Vec::with_capacity(n.len()), counts: Vec::new() };
        let least = n.iter().copied().min().unwrap_or(0);
        let most = n.iter().chain(c).copied().max().unwrap_or(0);
        // Most tasks of a run have about as many rollouts: then a table of all pairs there can be is short.
        let possible = (most - least).checked_add(1).zip(most.checked_add(1)).and_then(|(a, b)| a.checked_mul(b));
        let table = possible.and_then(|size| usize::try_from(size).ok()).filter(|&size| size <= n.len() + 64);
        let pairs = n.iter().copied().zip(c.iter().copied());
        if let Some(size) = table {
            let mut known = vec![NO_CODE; size];
            for (n, c) in pairs {
                // Below `size`, which is a usize.
                let slot = &mut known[usize::try_from((n - least) * (most + 1) + c).unwrap_or(usize::MAX)];
                if *slot == NO_CODE {
                    *slot = cells.add((n, c));
                }
                cells.count(*slot);
            }
        } else {
            let mut known: HashMap<(u64, u64), u32, foldhash::fast::FixedState> = HashMap::default();
            for pair in pairs {
                let code = *known.entry(pair).or_insert_with(|| cells.add(pair));
                cells.count(code);
            }
        }
        cells
    }

    /// A pair not met before.
    fn add(&mut self, pair: (u64, u64)) -> u32 {
        self.pairs.push(pair);
        self.counts.push(0);
        // At most one pair a task, and tasks are numbered by u32.
        u32::try_from(self.pairs.len() - 1).unwrap_or(u32::MAX)
    }

    /// One more task, of a pair that was met.
    fn count(&mut self, code: u32) {
        self.counts[code as usize] += 1;
        self.codes.push(code);
    }
}

/// No pair has this code.
const NO_CODE: u32 = u32::MAX;

/// A value a task, dictionary-coded where many tasks share it. NaN is "none".
pub struct Column {
    /// The statistic.
    pub statistic: Statistic,
    /// Distinct values, or one a task.
    pub values: Vec<f64>,
    /// Which of `values` each task has; none: each its own.
    pub cells: Option<Arc<Cells>>,
    /// Tasks left out because n < k.
    pub short: u64,
}

impl Column {
    /// The value of a task; NaN for none.
    #[must_use]
    pub fn value(&self, task: usize) -> f64 {
        match &self.cells {
            Some(cells) => self.values[cells.codes[task] as usize],
            None => self.values[task],
        }
    }

    /// Exact mean over the tasks that have a value, and their number; over `rows` or all tasks.
    #[must_use]
    pub fn mean(&self, rows: Option<&[u32]>) -> Option<(f64, u64)> {
        let mut sum = Exact::default();
        let mut n = 0;
        match (rows, &self.cells) {
            (None, Some(cells)) => {
                for (&value, &count) in self.values.iter().zip(&cells.counts) {
                    if !value.is_nan() {
                        sum.add_times(value, count);
                        n += count;
                    }
                }
            }
            (None, None) => n = sum.add_all(self.values.iter().copied()),
            (Some(rows), _) => n = sum.add_all(rows.iter().map(|&row| self.value(row as usize))),
        }
        (n > 0).then(|| (sum.mean(n), n))
    }
}

/// The values of a column, what they are shared by, and how many tasks fell short of k.
type Values = (Vec<f64>, Option<Arc<Cells>>, u64);

/// What the columns are computed from.
pub struct Source<'a> {
    /// The tally.
    pub tally: &'a Tally,
    /// Tasks in report order.
    pub tasks: &'a TaskTable,
    /// Their numbers in the tally.
    pub ids: &'a [Option<u32>],
    /// Their (n, c), where both are known.
    pub cells: Option<Arc<Cells>>,
    /// Whether no policy decides (spec 5.3).
    pub undecided: bool,
    /// What stands against inferring the requested counts.
    pub because: &'a str,
}

impl Source<'_> {
    /// The values of one statistic.
    pub fn column(&self, statistic: &Statistic) -> Result<Column, Refusal> {
        let (values, cells, short) = match statistic {
            Statistic::PassAtK(_) | Statistic::PassHatK(_) | Statistic::PassRate | Statistic::Learnability => {
                self.of_cells(statistic)?
            }
            Statistic::Coverage => (self.coverage()?, None, 0),
            Statistic::MeanScore => (self.tasks.mean.clone(), None, 0),
            Statistic::BestOfK(k) => self.of_scores(*k, Order::Best)?,
            Statistic::WorstOfK(k) => self.of_scores(*k, Order::Worst)?,
            Statistic::MeanDuration => (self.per_task(&self.tally.durations, Durations::mean), None, 0),
            Statistic::MeanTotalTokens => (self.per_task(&self.tally.tokens, Tokens::mean), None, 0),
            Statistic::MetricMean(series) | Statistic::MetricVariance(series) | Statistic::Agreement(series) => {
                (self.of_series(statistic, series)?, None, 0)
            }
        };
        Ok(Column { statistic: statistic.clone(), values, cells, short })
    }

    /// Refuse what needs successes where no policy decides, and what needs n where n is unknown.
    fn cells(&self) -> Result<&Arc<Cells>, Refusal> {
        if self.undecided {
            return Err(Refusal::NoPolicy);
        }
        self.cells.as_ref().ok_or_else(|| Refusal::UnknownRequested { because: self.because.to_owned() })
    }

    fn of_cells(&self, statistic: &Statistic) -> Result<Values, Refusal> {
        let cells = self.cells()?;
        let k = statistic.k();
        let least = k.unwrap_or(1);
        let is_short = |&(n, _): &(u64, u64)| n < least;
        let short = cells.pairs.iter().zip(&cells.counts).filter(|(pair, _)| is_short(pair)).map(|(_, n)| n).sum();
        if let Some(k) = k {
            self.check_short(k, short, |task| cells.pairs[cells.codes[task] as usize].0)?;
        }
        let values = cells.pairs.iter().map(|&(n, c)| of_counts(statistic, n, c)).collect();
        Ok((values, Some(Arc::clone(cells)), if k.is_some() { short } else { 0 }))
    }

    fn check_short(&self, k: u64, short: u64, n: impl Fn(usize) -> u64) -> Result<(), Refusal> {
        if short == 0 || self.tally.setup.on_short == OnShort::Omit {
            return Ok(());
        }
        // The first short task in report order, so that the message does not depend on the order of rollouts.
        let task = (0..self.ids.len()).find(|&task| n(task) < k).unwrap_or(0);
        Err(Refusal::Short { task: self.tasks.names[task].clone(), n: n(task), k, tasks: short })
    }

    fn coverage(&self) -> Result<Vec<f64>, Refusal> {
        if self.undecided {
            return Err(Refusal::NoPolicy);
        }
        let Some(requested) = &self.tasks.requested else {
            return Err(Refusal::UnknownRequested { because: self.because.to_owned() });
        };
        Ok(self
            .ids
            .iter()
            .zip(requested)
            .map(|(id, &requested)| {
                let scorable = id.map_or(0, |id| self.tally.counts[id as usize].of(flags::SCORABLE));
                exact::quotient(i128::from(scorable), requested)
            })
            .collect())
    }

    fn of_scores(&self, k: u64, order: Order) -> Result<Values, Refusal> {
        let mut short = 0;
        // k > n is an error for every k label; where n is unknown only the scores decide.
        let n = self.tasks.n.as_ref();
        if let Some(n) = n {
            short = n.iter().filter(|&&n| n < k).count() as u64;
            self.check_short(k, short, |task| n[task])?;
        }
        let levels = self.ids.iter().enumerate().map(|(task, id)| match id {
            Some(id) if self.tasks.scored[task] >= k && n.is_none_or(|n| n[task] >= k) => {
                self.tally.scores.of(*id as usize)
            }
            _ => &[],
        });
        let values = order.of_levels(levels, k);
        Ok((values, None, short))
    }

    fn per_task<T>(&self, states: &[T], value: impl Fn(&T) -> f64) -> Vec<f64> {
        self.ids.iter().map(|id| id.and_then(|id| states.get(id as usize)).map_or(f64::NAN, &value)).collect()
    }

    fn of_series(&self, statistic: &Statistic, asked: &str) -> Result<Vec<f64>, Refusal> {
        let series = &self.tally.series;
        let at = self.tally.setup.plan.series.iter().position(|name| name == asked);
        let states = at.map(|at| &series.states[at]).filter(|states| !states.is_empty());
        let Some(states) = states else { return Err(Refusal::NoSeries { existing: series.existing() }) };
        let mut values = Vec::with_capacity(self.ids.len());
        for (task, id) in self.ids.iter().enumerate() {
            let Some(state) = id.and_then(|id| states.get(&id)) else {
                values.push(f64::NAN);
                continue;
            };
            let mut candidates: Vec<String> =
                state.which.iter().map(|&number| full_series_name(&series.names[number as usize])).collect();
            let name = || self.tasks.names[task].clone();
            if candidates.len() > 1 {
                candidates.sort_unstable();
                return Err(Refusal::Ambiguous { task: name(), candidates });
            }
            let one = candidates.pop().unwrap_or_default();
            if state.repeated {
                return Err(Refusal::Repeated { task: name(), series: one });
            }
            if state.text && !matches!(statistic, Statistic::Agreement(_)) {
                return Err(Refusal::Text { task: name(), series: one });
            }
            values.push(match statistic {
                Statistic::MetricVariance(_) => exact::variance(&state.sum, &state.squares, state.n),
                Statistic::MetricMean(_) => state.sum.mean(state.n),
                _ if state.n < 2 => f64::NAN,
                _ => {
                    let modal = state.kinds.values().copied().max().unwrap_or(0);
                    exact::quotient(i128::from(modal), state.n)
                }
            });
        }
        Ok(values)
    }
}

/// A statistic that counts successes, of one task; NaN for too small an n.
pub(super) fn of_counts(statistic: &Statistic, n: u64, c: u64) -> f64 {
    match statistic {
        _ if n < statistic.k().unwrap_or(1) => f64::NAN,
        Statistic::PassAtK(k) => hypergeometric::pass_at_k(n, c, *k),
        Statistic::PassHatK(k) => hypergeometric::pass_hat_k(n, c, *k),
        Statistic::PassRate => exact::quotient(i128::from(c), n),
        Statistic::Learnability => hypergeometric::learnability(n, c),
        _ => f64::NAN,
    }
}

/// Why no task produced a statistic.
#[must_use]
pub fn nothing(statistic: &Statistic) -> String {
    match statistic {
        Statistic::PassAtK(k) | Statistic::PassHatK(k) => format!("no task has {k} rollouts"),
        Statistic::PassRate | Statistic::Learnability => "no task has a rollout to count".to_owned(),
        Statistic::Coverage => "no rollouts were requested".to_owned(),
        Statistic::MeanScore => "no rollout has a score".to_owned(),
        Statistic::BestOfK(k) | Statistic::WorstOfK(k) => format!("no task has {k} scored rollouts"),
        Statistic::MeanDuration => "no rollout recorded a duration".to_owned(),
        Statistic::MeanTotalTokens => "no rollout reported its token usage".to_owned(),
        Statistic::MetricMean(series) | Statistic::MetricVariance(series) => format!("no task recorded {series}"),
        Statistic::Agreement(series) => format!("no task has 2 readings of {series}"),
    }
}
