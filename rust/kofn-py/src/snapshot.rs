//! Estimates as plain Python data: what `kofn.reports` makes a report of.

use kofn_core::estimates::{
    Certainties, Certainty, Clusters, Column, Diagnosis, Estimates, How, Summary, Sure, TaskSpreads, TaskTable, View,
};
use kofn_core::inference::Wanted;
use kofn_core::policies::Policy;
use kofn_core::reading::Reading;
use numpy::{PyArray1, ToPyArray};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

/// "No diagnosis" in the column of diagnoses.
const NONE: u8 = u8::MAX;

/// The whole report.
pub fn snapshot<'py>(
    py: Python<'py>,
    estimates: Estimates,
    sure: Option<(How, Certainties)>,
    reading: &Reading,
    by: Option<String>,
) -> PyResult<Bound<'py, PyDict>> {
    let out = PyDict::new(py);
    out.set_item("policy", estimates.policy.as_ref().map(|it| policy(py, it)).transpose()?)?;
    out.set_item("denominator", estimates.denominator.word())?;
    out.set_item("requested_from", estimates.requested_from.word())?;
    let run = PyDict::new(py);
    run.set_item("id", reading.header.as_ref().and_then(|header| header.id.as_deref()))?;
    run.set_item("sources", reading.sources.iter().map(|(name, _)| name).collect::<Vec<_>>())?;
    out.set_item("run", run)?;
    let hashes = PyDict::new(py);
    for (name, hash) in &reading.sources {
        if let Some(hash) = hash {
            hashes.set_item(name, format!("{hash:016x}"))?;
        }
    }
    out.set_item("xxh3", hashes)?;
    let (tasks, columns) = (&estimates.tasks, &estimates.columns);
    let clusters = estimates.clusters.as_ref();
    fill(&out, &estimates.all, tasks, columns, clusters)?;
    if let Some((how, sure)) = &sure {
        fill_certainty(&out, &sure.all, &estimates.all, *how, columns, &sure.tasks)?;
    }
    out.set_item("notes", &estimates.notes)?;
    out.set_item("by", by)?;
    out.set_item("cluster", clusters.map(|clusters| &clusters.tag))?;
    let groups = PyList::empty(py);
    for (at, (value, view)) in estimates.groups.iter().flatten().enumerate() {
        let group = PyDict::new(py);
        fill(&group, view, tasks, columns, clusters)?;
        if let Some((how, sure)) = &sure
            && let Some(of_group) = sure.groups.get(at)
        {
            fill_certainty(&group, of_group, view, *how, columns, &sure.tasks)?;
        }
        groups.append((value, group))?;
    }
    out.set_item("groups", estimates.groups.is_some().then_some(groups))?;
    Ok(out)
}

fn policy<'py>(py: Python<'py>, policy: &Policy) -> PyResult<Bound<'py, PyDict>> {
    let out = PyDict::new(py);
    out.set_item("id", policy.id())?;
    match policy {
        Policy::VerifierVerdict => {}
        Policy::ScoreThreshold(threshold) => out.set_item("threshold", threshold)?,
        Policy::Custom { parameters, .. } => {
            let parameters = py.import("json")?.call_method1("loads", (parameters,))?;
            for (name, value) in parameters.cast::<PyDict>()?.iter() {
                if !out.contains(&name)? {
                    out.set_item(name, value)?;
                }
            }
        }
    }
    Ok(out)
}

fn certainty<'py>(py: Python<'py>, it: &Certainty, how: How) -> PyResult<Bound<'py, PyDict>> {
    let out = PyDict::new(py);
    match &it.interval {
        Ok(interval) => {
            out.set_item("interval", (interval.low, interval.high))?;
            out.set_item("confidence", how.confidence)?;
            out.set_item("method", interval.method.word())?;
            out.set_item("estimand", "population")?;
            if let (Some(replicates), Wanted::Bootstrap { seed, .. }) = (interval.method.replicates(), how.wanted) {
                out.set_item("replicates", replicates)?;
                out.set_item("seed", seed)?;
            }
        }
        Err(why) => out.set_item("no_interval", why.to_string())?,
    }
    out.set_item("standard_error", it.standard_error)?;
    out.set_item("n_clusters", it.clusters)?;
    match it.noise {
        Ok(noise) => out.set_item("noise", noise)?,
        Err(why) => out.set_item("no_noise", why.to_string())?,
    }
    if let Some(split) = &it.decomposition {
        out.set_item("decomposition", (split.between, split.within, split.approximate))?;
    }
    Ok(out)
}

/// The keys that the run and each group have alike.
fn fill(
    out: &Bound<'_, PyDict>,
    view: &View,
    tasks: &TaskTable,
    columns: &[Column],
    clusters: Option<&Clusters>,
) -> PyResult<()> {
    let py = out.py();
    out.set_item("counts", counts(py, &view.counts)?)?;
    let statistics = view.statistics.iter().map(|(label, value, n)| (label.to_string(), *value, *n));
    out.set_item("statistics", statistics.collect::<Vec<_>>())?;
    out.set_item("gaps", &view.gaps)?;
    out.set_item("omitted", &view.omitted)?;

    let rows = view.rows.as_deref();
    let table = PyDict::new(py);
    match rows {
        Some(rows) => table.set_item("task", rows.iter().map(|&row| &tasks.names[row as usize]).collect::<Vec<_>>())?,
        None => table.set_item("task", &tasks.names)?,
    }
    for (name, column) in [("n", &tasks.n), ("requested", &tasks.requested), ("successes", &tasks.successes)] {
        table.set_item(name, column.as_ref().map(|column| integers(py, column, rows)))?;
    }
    table.set_item("recorded", integers(py, &tasks.recorded, rows))?;
    table.set_item("scored", integers(py, &tasks.scored, rows))?;
    let diagnosis = tasks.diagnosis.as_ref().map(|column| {
        let code = |it: Option<Diagnosis>| it.map_or(NONE, |it| it as u8);
        picked(column, rows).map(code).collect::<Vec<u8>>().to_pyarray(py)
    });
    table.set_item("diagnosis", diagnosis)?;
    for (name, column) in
        [("mean", &tasks.mean), ("best", &tasks.best), ("worst", &tasks.worst), ("spread", &tasks.spread)]
    {
        table.set_item(name, PyArray1::from_vec(py, picked(column, rows).collect()))?;
    }
    let statistics = PyDict::new(py);
    for column in columns {
        let values: Vec<f64> = match rows {
            Some(rows) => rows.iter().map(|&row| column.value(row as usize)).collect(),
            None => (0..tasks.names.len()).map(|row| column.value(row)).collect(),
        };
        statistics.set_item(column.statistic.to_string(), PyArray1::from_vec(py, values))?;
    }
    table.set_item("statistics", statistics)?;
    if let Some(clusters) = clusters {
        let names = picked(&clusters.of, rows).map(|cluster| clusters.names.get(cluster as usize));
        table.set_item("cluster", names.collect::<Vec<_>>())?;
    }
    out.set_item("tasks", table)
}

/// How sure all that is.
fn fill_certainty(
    out: &Bound<'_, PyDict>,
    sure: &Sure,
    view: &View,
    how: How,
    columns: &[Column],
    spreads: &[TaskSpreads],
) -> PyResult<()> {
    let py = out.py();
    let known = |figures: &[Certainty]| figures.iter().map(|it| certainty(py, it, how)).collect::<PyResult<Vec<_>>>();
    out.set_item("certainty", known(&sure.statistics)?)?;
    out.set_item("certainty_of_gaps", known(&sure.gaps)?)?;
    let (intervals, noise) = (PyDict::new(py), PyDict::new(py));
    for (column, spreads) in columns.iter().zip(spreads) {
        let of = |values: &[f64]| {
            let sample = column.coded(values).within(view.rows.as_deref());
            PyArray1::from_vec(py, (0..sample.tasks()).map(|at| sample.at(at)).collect())
        };
        let label = column.statistic.to_string();
        // What n and successes give needs no column.
        if column.cells.is_none() {
            let errors: Vec<f64> = spreads.noise.iter().map(|variance| variance.sqrt()).collect();
            noise.set_item(&label, of(&errors))?;
        }
        intervals.set_item(label, (of(&spreads.low), of(&spreads.high)))?;
    }
    let Some(table) = out.get_item("tasks")? else { return Ok(()) };
    table.set_item("intervals", intervals)?;
    table.set_item("noise", noise)
}

fn picked<'a, T: Copy>(column: &'a [T], rows: Option<&'a [u32]>) -> Box<dyn Iterator<Item = T> + 'a> {
    match rows {
        Some(rows) => Box::new(rows.iter().map(|&row| column[row as usize])),
        None => Box::new(column.iter().copied()),
    }
}

fn integers<'py>(py: Python<'py>, column: &[u64], rows: Option<&[u32]>) -> Bound<'py, PyArray1<i64>> {
    PyArray1::from_vec(py, picked(column, rows).map(|n| i64::try_from(n).unwrap_or(i64::MAX)).collect())
}

fn counts<'py>(py: Python<'py>, counts: &Summary) -> PyResult<Bound<'py, PyDict>> {
    let out = PyDict::new(py);
    let known = |name: &str, value: Option<u64>| value.map_or(Ok(()), |value| out.set_item(name, value));
    out.set_item("tasks", counts.tasks)?;
    known("requested", counts.requested)?;
    out.set_item("recorded", counts.recorded)?;
    known("missing", counts.missing)?;
    for status in kofn_core::batch::Status::ALL {
        out.set_item(status.word(), counts.status[status as usize])?;
    }
    out.set_item("scored", counts.scored)?;
    out.set_item("indeterminate", counts.indeterminate)?;
    known("scorable", counts.scorable)?;
    known("successes", counts.successes)?;
    let nested = |name: &str, words: &[&str], values: Option<&[u64]>| -> PyResult<()> {
        let Some(values) = values else { return Ok(()) };
        let inner = PyDict::new(py);
        for (word, value) in words.iter().zip(values) {
            inner.set_item(word, value)?;
        }
        out.set_item(name, inner)
    };
    nested("registry", &["passed", "failed", "unscorable"], counts.registry.as_ref().map(|r| &r[..]))?;
    nested(
        "diagnosis",
        &["reliable", "unreliable", "incapable", "unscorable"],
        counts.diagnosis.as_ref().map(|d| &d[..]),
    )?;
    Ok(out)
}
