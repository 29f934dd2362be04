//! Remarks of a report: everything that was passed over, dropped, or rests on fewer tasks.

use super::{Clusters, Planned, View};
use crate::inference::intervals::FEW;
use crate::policies::flags;
use crate::reading::count;
use crate::tally::Tally;

/// The remarks in a fixed order.
pub(super) fn notes(
    tally: &Tally,
    all: &View,
    planned: &[Planned],
    tasks: usize,
    requested: Option<String>,
) -> Vec<String> {
    let mut notes: Vec<String> = requested.into_iter().collect();
    for planned in planned {
        if let Planned::Column(column) = planned
            && column.short > 0
            && let Some((_, n)) = column.mean(None)
        {
            notes.push(format!(
                "{} is over {n} of {}: {} n < {}",
                column.statistic,
                count(tasks as u64, "task"),
                if column.short == 1 { "1 has".to_owned() } else { format!("{} have", column.short) },
                column.statistic.k().unwrap_or_default(),
            ));
        }
    }
    notes.extend(task_sets(all, planned, tasks));
    if let (Some(groups), Some(by)) = (&tally.groups, &tally.setup.plan.by)
        && groups.names.is_empty()
    {
        notes.push(format!("no rollout carries the tag {by:?}"));
    }
    notes.extend(tally.reading.notes());
    let mut remark = |n: u64, one: &str, many: &str, rest: &str| {
        if n > 0 {
            notes.push(format!("{n} {} {rest}", if n == 1 { one } else { many }));
        }
    };
    remark(tally.skipped_parts, "part", "parts", "merged before with equal content: skipped");
    let overruled = tally.counts.iter().map(|counts| u64::from(counts.of(flags::OVERRULED))).sum();
    remark(overruled, "rollout", "rollouts", "called a success by the policy did not succeed: no success");
    notes
}

/// What clusters of tasks mean for the intervals.
pub(super) fn of_clusters(clusters: &Clusters) -> Vec<String> {
    let (alone, units) = clusters.units();
    let mut notes = Vec::new();
    if alone > 0 {
        let (carry, each) = if alone == 1 {
            ("carries", "it is a cluster of its own")
        } else {
            ("carry", "each is a cluster of its own")
        };
        notes.push(format!("{} {carry} no tag {:?}: {each}", count(alone, "task"), clusters.tag));
    }
    if units < FEW {
        let are = if units == 1 { "is" } else { "are" };
        notes.push(format!(
            "{} of {} {are} few: intervals over clusters are rough",
            count(units, "cluster"),
            clusters.tag
        ));
    }
    notes
}

/// Labels that rest on different task sets (spec 6.4).
fn task_sets(all: &View, planned: &[Planned], tasks: usize) -> Option<String> {
    let columns: Vec<_> = planned
        .iter()
        .filter_map(|planned| match planned {
            Planned::Column(column) if column.mean(None).is_some() => Some(column),
            _ => None,
        })
        .collect();
    let first = columns.first()?;
    let same = |task: usize| columns.iter().all(|column| column.value(task).is_nan() == first.value(task).is_nan());
    if (0..tasks).all(same) {
        return None;
    }
    let list: Vec<String> = all.statistics.iter().map(|(label, _, n)| format!("{label} {n}")).collect();
    Some(format!("labels rest on different task sets (tasks: {})", list.join(", ")))
}
