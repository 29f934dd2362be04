//! Reading a tally: counts, one column a statistic, run-level means, omissions with reasons, notes, groups.

mod cells;
mod certainty;
mod columns;
mod figures;
mod notes;
mod requested;

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::estimators::order;
use crate::inference::ALONE;
use crate::plan::{Plan, Refusal, Statistic};
use crate::policies::{Policy, flags};
use crate::tally::{Counts, Denominator, Groups, Tally};

pub use certainty::{Certainties, Certainty, Decomposition, How, NoNoise, Sure, TaskSpreads};
pub use columns::{Cells, Column};
pub use figures::{Figures, figures};
pub use requested::RequestedFrom;

/// What to work on in a task whose rollouts differ (spec 6.9).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Diagnosis {
    /// All of n succeed.
    Reliable = 0,
    /// It can solve the task, not reliably.
    Unreliable = 1,
    /// No success.
    Incapable = 2,
    /// No rollout has a score or a determinate verdict.
    Unscorable = 3,
}

/// The tasks of a report as columns, in report order.
#[derive(Clone, Debug, Default)]
pub struct TaskTable {
    /// Ids.
    pub names: Vec<String>,
    /// n under the chosen denominator, if known.
    pub n: Option<Vec<u64>>,
    /// Rollouts requested, if known.
    pub requested: Option<Vec<u64>>,
    /// Rollouts recorded.
    pub recorded: Vec<u64>,
    /// Successes, where a policy decides.
    pub successes: Option<Vec<u64>>,
    /// Diagnoses; none for n = 1. Absent where n or the successes are unknown.
    pub diagnosis: Option<Vec<Option<Diagnosis>>>,
    /// Rollouts with a score.
    pub scored: Vec<u64>,
    /// Mean score, NaN for none.
    pub mean: Vec<f64>,
    /// Best score, NaN for none.
    pub best: Vec<f64>,
    /// Worst score, NaN for none.
    pub worst: Vec<f64>,
    /// Best - worst, NaN for none or beyond the range of a float.
    pub spread: Vec<f64>,
}

/// The denominators and other counts that stand beside a headline.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Tasks.
    pub tasks: u64,
    /// Rollouts requested, if known.
    pub requested: Option<u64>,
    /// Rollouts recorded.
    pub recorded: u64,
    /// Requested rollouts without a record, if known.
    pub missing: Option<u64>,
    /// Recorded rollouts by status.
    pub status: [u64; 4],
    /// With a score.
    pub scored: u64,
    /// With an indeterminate verdict.
    pub indeterminate: u64,
    /// That the policy can decide, where one decides.
    pub scorable: Option<u64>,
    /// That the policy calls successes, where one decides.
    pub successes: Option<u64>,
    /// Passed, failed, unscorable; where the run has verdicts.
    pub registry: Option<[u64; 3]>,
    /// Tasks by [`Diagnosis`], where it is known.
    pub diagnosis: Option<[u64; 4]>,
}

/// The figures over all tasks, or over those of one group.
#[derive(Clone, Debug, Default)]
pub struct View {
    /// Positions of its tasks in the table; none for all.
    pub rows: Option<Vec<u32>>,
    /// Counts.
    pub counts: Summary,
    /// Statistic, value, tasks that produced it.
    pub statistics: Vec<(Statistic, f64, u64)>,
    /// k, pass@k - pass^k and the tasks behind it, where both were asked for.
    pub gaps: Vec<(u64, f64, u64)>,
    /// Label and why it is absent.
    pub omitted: Vec<(String, String)>,
}

/// Everything a report shows.
pub struct Estimates {
    /// The policy; none where none decides (spec 5.3).
    pub policy: Option<Policy>,
    /// What n counts.
    pub denominator: Denominator,
    /// Where the requested counts come from.
    pub requested_from: RequestedFrom,
    /// The tasks.
    pub tasks: TaskTable,
    /// Their numbers in the tally; none for tasks without a record.
    ids: Vec<Option<u32>>,
    /// One column a produced statistic.
    pub columns: Vec<Column>,
    /// pass@k - pass^k of each task, for each k that both were asked for with; the label is that of pass@k.
    pub gaps: Vec<Column>,
    /// The cluster of each task, where a tag says it.
    pub clusters: Option<Clusters>,
    /// The figures over all tasks.
    pub all: View,
    /// The figures of each value of the grouping tag, sorted; tasks without it last.
    pub groups: Option<Vec<(Option<String>, View)>>,
    /// Remarks.
    pub notes: Vec<String>,
}

/// Tasks that are not independent of each other.
#[derive(Clone, Debug, Default)]
pub struct Clusters {
    /// The tag that says it.
    pub tag: String,
    /// The names of the clusters.
    pub names: Vec<String>,
    /// The cluster of each task in report order, or [`ALONE`].
    pub of: Vec<u32>,
}

impl Clusters {
    /// The clusters of tasks by their numbers in the tally; an error where no task is in one.
    fn new(groups: &Groups, ids: &[Option<u32>]) -> Result<Self> {
        if groups.names.is_empty() {
            return Err(Error::argument(
                "cluster",
                format!("no rollout carries the tag {:?}; leave it out, or name a tag of the run", groups.tag),
            ));
        }
        let of = ids.iter().map(|id| id.and_then(|id| groups.of.get(id as usize)).copied().unwrap_or(ALONE)).collect();
        Ok(Self { tag: groups.tag.clone(), names: groups.names.iter().map(str::to_owned).collect(), of })
    }

    /// How many tasks are in no cluster, and how many clusters there are with those.
    fn units(&self) -> (u64, u64) {
        let alone = self.of.iter().filter(|&&cluster| cluster == ALONE).count() as u64;
        (alone, alone + self.names.len() as u64)
    }
}

/// A planned statistic, computed or refused.
enum Planned {
    Column(Column),
    Refused(String, Refusal),
}

impl Tally {
    /// Compute a report. A refused statistic that was asked for is an error; a default one is omitted.
    pub fn estimate(&mut self) -> Result<Estimates> {
        self.scores.compact();
        let tally = &*self;
        let resolved = requested::resolve(tally).map_err(|error| tally.placed(error))?;
        let totals = |count: fn(&Counts) -> u32| tally.counts.iter().map(|c| u64::from(count(c))).sum::<u64>();
        let has_verdicts = totals(|c| c.of(flags::VERDICT)) > 0;
        let undecided = !tally.setup.chosen && !has_verdicts && totals(|c| c.of(flags::SCORED)) > 0;
        let tasks = table(tally, resolved.names, &resolved.ids, resolved.requested, undecided);
        let cells = match (&tasks.n, &tasks.successes) {
            (Some(n), Some(c)) => Some(Arc::new(Cells::new(n, c))),
            _ => None,
        };
        let source =
            columns::Source { tally, tasks: &tasks, ids: &resolved.ids, cells, undecided, because: &resolved.because };
        let mut planned = Vec::new();
        for (statistic, asked) in statistics(&tally.setup.plan, tasks.n.as_deref()) {
            match source.column(&statistic) {
                Ok(column) => planned.push(Planned::Column(column)),
                Err(why) if asked => return Err(Error::Refused { label: statistic.to_string(), why }),
                Err(why) => planned.push(Planned::Refused(statistic.to_string(), why)),
            }
        }
        let clusters = tally.clusters.as_ref().map(|groups| Clusters::new(groups, &resolved.ids)).transpose()?;
        let gaps = gaps(&planned);
        let viewer = Viewer {
            tally,
            tasks: &tasks,
            ids: &resolved.ids,
            undecided,
            has_verdicts,
            planned: &planned,
            gaps: &gaps,
        };
        let all = viewer.view(None);
        let groups = viewer.groups();
        let mut notes = notes::notes(tally, &all, &planned, tasks.names.len(), resolved.note);
        notes.extend(clusters.iter().flat_map(notes::of_clusters));
        let columns = planned
            .into_iter()
            .filter_map(|planned| match planned {
                Planned::Column(column) if column.mean(None).is_some() => Some(column),
                _ => None,
            })
            .collect();
        Ok(Estimates {
            policy: (!undecided).then(|| tally.setup.policy.clone()),
            denominator: tally.setup.denominator,
            requested_from: resolved.from,
            tasks,
            ids: resolved.ids,
            columns,
            gaps,
            clusters,
            all,
            groups,
            notes,
        })
    }
}

/// The planned statistics, completed by pass@n and pass^n where no list was given (spec 6.10).
fn statistics(plan: &Plan, n: Option<&[u64]>) -> Vec<(Statistic, bool)> {
    let mut statistics = plan.statistics.clone();
    let smallest = || n.into_iter().flatten().copied().filter(|&n| n > 1).min();
    if plan.defaults
        && let Some(n) = smallest()
    {
        let mut at = statistics.iter().position(|(s, _)| *s == Statistic::MeanScore).unwrap_or(statistics.len());
        for statistic in [Statistic::PassAtK(n), Statistic::PassHatK(n)] {
            if !statistics.iter().any(|(known, _)| *known == statistic) {
                statistics.insert(at, (statistic, false));
                at += 1;
            }
        }
    }
    statistics
}

/// pass@k - pass^k of each task, for each k > 1 that both are planned with: of one rollout they are the same.
fn gaps(planned: &[Planned]) -> Vec<Column> {
    let column = |wanted: &Statistic| {
        planned.iter().find_map(|planned| match planned {
            Planned::Column(column) if column.statistic == *wanted => Some(column),
            _ => None,
        })
    };
    let of = |planned: &Planned| {
        let Planned::Column(some) = planned else { return None };
        let Statistic::PassAtK(k) = some.statistic else { return None };
        let all = column(&Statistic::PassHatK(k)).filter(|_| k > 1)?;
        let values = some.values.iter().zip(&all.values).map(|(some, all)| some - all).collect();
        Some(Column { statistic: some.statistic.clone(), values, cells: some.cells.clone(), short: 0 })
    };
    planned.iter().filter_map(of).collect()
}

fn table(
    tally: &Tally,
    names: Vec<String>,
    ids: &[Option<u32>],
    requested: Option<Vec<u64>>,
    undecided: bool,
) -> TaskTable {
    let counts = |id: &Option<u32>| id.map_or_else(Counts::default, |id| tally.counts[id as usize]);
    let column = |count: fn(&Counts) -> u32| ids.iter().map(|id| u64::from(count(&counts(id)))).collect::<Vec<u64>>();
    let recorded = column(Counts::recorded);
    let successes = (!undecided).then(|| column(|c| c.of(flags::SUCCESS)));
    let n = match tally.setup.denominator {
        Denominator::Requested => requested.clone(),
        Denominator::Recorded => Some(recorded.clone()),
        Denominator::Scorable => (!undecided).then(|| column(|c| c.of(flags::SCORABLE))),
    };
    let diagnosis = match (&n, &successes) {
        (Some(n), Some(successes)) => Some(
            ids.iter()
                .zip(n.iter().zip(successes))
                .map(|(id, (&n, &c))| match (counts(id).of(flags::JUDGED), n, c) {
                    (_, 1, _) => None,
                    (0, ..) => Some(Diagnosis::Unscorable),
                    (_, _, 0) => Some(Diagnosis::Incapable),
                    (_, n, c) if c == n => Some(Diagnosis::Reliable),
                    _ => Some(Diagnosis::Unreliable),
                })
                .collect(),
        ),
        _ => None,
    };
    let levels = |id: &Option<u32>| id.map_or(&[][..], |id| tally.scores.of(id as usize));
    let of_scores = |value: fn(&[order::Level]) -> Option<f64>| {
        ids.iter().map(|id| value(levels(id)).unwrap_or(f64::NAN)).collect::<Vec<f64>>()
    };
    let best = of_scores(|levels| levels.last().map(|level| level.value));
    let worst = of_scores(|levels| levels.first().map(|level| level.value));
    let spread =
        best.iter().zip(&worst).map(|(best, worst)| best - worst).map(|d| if d.is_finite() { d } else { f64::NAN });
    TaskTable {
        spread: spread.collect(),
        mean: of_scores(|levels| (!levels.is_empty()).then(|| order::mean(levels))),
        best,
        worst,
        scored: column(|c| c.of(flags::SCORED)),
        names,
        n,
        requested,
        recorded,
        successes,
        diagnosis,
    }
}

struct Viewer<'a> {
    tally: &'a Tally,
    tasks: &'a TaskTable,
    ids: &'a [Option<u32>],
    undecided: bool,
    has_verdicts: bool,
    planned: &'a [Planned],
    gaps: &'a [Column],
}

impl Viewer<'_> {
    fn view(&self, rows: Option<Vec<u32>>) -> View {
        let mut view = View { counts: self.counts(rows.as_deref()), ..View::default() };
        for planned in self.planned {
            match planned {
                Planned::Refused(label, why) => view.omitted.push((label.clone(), why.to_string())),
                Planned::Column(column) => {
                    let statistic = &column.statistic;
                    match column.mean(rows.as_deref()) {
                        Some((value, n)) => view.statistics.push((statistic.clone(), value, n)),
                        None => view.omitted.push((statistic.to_string(), columns::nothing(statistic))),
                    }
                }
            }
        }
        let known =
            |gap: &Column| gap.mean(rows.as_deref()).map(|(value, n)| (gap.statistic.k().unwrap_or(0), value, n));
        view.gaps = self.gaps.iter().filter_map(known).collect();
        view.rows = rows;
        view
    }

    fn counts(&self, rows: Option<&[u32]>) -> Summary {
        let every: Vec<u32>;
        let rows = if let Some(rows) = rows {
            rows
        } else {
            every = (0u32..).take(self.ids.len()).collect();
            &every
        };
        let pick = |column: &[u64]| rows.iter().map(|&row| column[row as usize]).sum::<u64>();
        let total = |flag: u16| {
            let of =
                |row: &u32| self.ids[*row as usize].map_or(0, |id| u64::from(self.tally.counts[id as usize].of(flag)));
            rows.iter().map(of).sum::<u64>()
        };
        let requested = self.tasks.requested.as_deref().map(pick);
        let recorded = pick(&self.tasks.recorded);
        Summary {
            tasks: rows.len() as u64,
            requested,
            recorded,
            missing: requested.map(|requested| requested - recorded),
            status: flags::STATUS.map(total),
            scored: total(flags::SCORED),
            indeterminate: total(flags::INDETERMINATE),
            scorable: (!self.undecided).then(|| total(flags::SCORABLE)),
            successes: (!self.undecided).then(|| total(flags::SUCCESS)),
            registry: self.has_verdicts.then(|| [flags::PASSED, flags::FAILED, flags::UNSCORABLE].map(total)),
            diagnosis: self.tasks.diagnosis.as_ref().map(|diagnosis| {
                let mut counts = [0; 4];
                for diagnosis in rows.iter().filter_map(|&row| diagnosis[row as usize]) {
                    counts[diagnosis as usize] += 1;
                }
                counts
            }),
        }
    }

    fn groups(&self) -> Option<Vec<(Option<String>, View)>> {
        let groups = self.tally.groups.as_ref()?;
        let mut rows: std::collections::BTreeMap<(bool, &str), Vec<u32>> = std::collections::BTreeMap::new();
        for (row, id) in (0u32..).zip(self.ids) {
            let value = id.and_then(|id| groups.value(id as usize));
            let key = value.map_or((true, ""), |value| (false, value));
            rows.entry(key).or_default().push(row);
        }
        let view = |((untagged, value), rows): ((bool, &str), Vec<u32>)| {
            ((!untagged).then(|| value.to_owned()), self.view(Some(rows)))
        };
        Some(rows.into_iter().map(view).collect())
    }
}
