//! Remarks of a report: everything that was passed over, dropped, or rests on fewer tasks.

use super::{Planned, View};
use crate::reading::LISTED;
use crate::tally::Tally;

/// "1 task", "2 tasks".
fn count(n: u64, noun: &str) -> String {
    if n == 1 { format!("1 {noun}") } else { format!("{n} {noun}s") }
}

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
    let reading = &tally.reading;
    if reading.skipped > 0 {
        let listed =
            if reading.skipped > LISTED as u64 { format!(" (the first {LISTED} follow)") } else { String::new() };
        notes.push(format!("{} skipped{listed}", count(reading.skipped, "bad record")));
        notes.extend(reading.skipped_first.iter().map(|message| format!("skipped: {message}")));
    }
    for place in &reading.cut {
        notes.push(format!("{place} is cut off: its rollout is missing"));
    }
    let mut remark = |n: u64, one: &str, many: &str, rest: &str| {
        if n > 0 {
            notes.push(format!("{n} {} {rest}", if n == 1 { one } else { many }));
        }
    };
    remark(reading.dropped, "copy", "copies", "of rollouts dropped, as on_duplicate says");
    remark(reading.skewed_durations, "duration", "durations", "in [-1, 0) s not recorded: clock skew");
    remark(reading.half_usages, "rollout", "rollouts", "reported only half of the token usage: not recorded");
    remark(tally.skipped_parts, "part", "parts", "merged before with equal content: skipped");
    let overruled = tally.counts.iter().map(|counts| u64::from(counts.overruled)).sum();
    remark(overruled, "rollout", "rollouts", "called a success by the policy did not succeed: no success");
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
