//! Some rollouts and some verifications of a batch, as a batch.

use crate::batch::{Batch, Checks, Readings, Tags, Verifications, range};

/// The rollouts and the verifications (by position) that are wanted. A column that was not decoded stays empty.
#[must_use]
pub fn filter(batch: &Batch, rollouts: &dyn Fn(usize) -> bool, verifications: &dyn Fn(usize) -> bool) -> Batch {
    let rows: Vec<usize> = (0..batch.len()).filter(|&i| rollouts(i)).collect();
    // Positions of the nested rows that stay, outer level first: each level's offsets are cut by the one above.
    let (offsets, kept) = cut(&batch.verifications.offsets, &rows, verifications);
    let all = |_: usize| true;
    let (check_offsets, checks) = cut(&batch.checks.offsets, &kept, &all);
    let (reading_offsets, readings) = cut(&batch.readings.offsets, &kept, &all);
    let (tag_offsets, tags) = cut(&batch.tags.offsets, &rows, &all);
    Batch {
        task: pick(&batch.task, &rows),
        index: pick(&batch.index, &rows),
        status: pick(&batch.status, &rows),
        verifications: Verifications {
            offsets,
            name: pick(&batch.verifications.name, &kept),
            score: pick(&batch.verifications.score, &kept),
            verdict: pick(&batch.verifications.verdict, &kept),
        },
        checks: Checks {
            offsets: check_offsets,
            label: pick(&batch.checks.label, &checks),
            flags: pick(&batch.checks.flags, &checks),
        },
        readings: Readings {
            offsets: reading_offsets,
            subject: pick(&batch.readings.subject, &readings),
            metric: pick(&batch.readings.metric, &readings),
            value: pick(&batch.readings.value, &readings),
        },
        tags: Tags { offsets: tag_offsets, name: pick(&batch.tags.name, &tags), value: pick(&batch.tags.value, &tags) },
        duration: pick(&batch.duration, &rows),
        tokens: pick(&batch.tokens, &rows),
        tool_calls: pick(&batch.tool_calls, &rows),
        tool_errors: pick(&batch.tool_errors, &rows),
        origin: pick(&batch.origin, &rows),
        hash: pick(&batch.hash, &rows),
    }
}

/// The entries at `rows`; empty stays empty.
fn pick<T: Copy>(column: &[T], rows: &[usize]) -> Vec<T> {
    if column.is_empty() { Vec::new() } else { rows.iter().map(|&row| column[row]).collect() }
}

/// New offsets for the outer `rows`, and the inner positions that stay. Offsets that were not decoded stay empty.
fn cut(offsets: &[u32], rows: &[usize], keep: &dyn Fn(usize) -> bool) -> (Vec<u32>, Vec<usize>) {
    if offsets.is_empty() {
        return (Vec::new(), Vec::new());
    }
    let mut ends = vec![0];
    let mut kept = Vec::new();
    let mut count = 0;
    for &row in rows {
        for at in range(offsets, row).filter(|&at| keep(at)) {
            kept.push(at);
            count += 1;
        }
        ends.push(count);
    }
    (ends, kept)
}
