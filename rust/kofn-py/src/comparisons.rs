//! Tests of two runs against each other, posteriors and plans: arrays in, arrays and numbers out.

use kofn_core::Result;
use kofn_core::inference::bootstrap::Ends;
use kofn_core::inference::planning::{Goal, Planner, Within};
use kofn_core::inference::posterior::Prior;
use kofn_core::inference::{
    Range, Wanted, bootstrap, multiple, paired as pairs, sign_flip as flips, stratified as strata, tables,
};
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::detached;

type Array<'py> = Bound<'py, PyArray1<f64>>;
type Integers<'py> = PyReadonlyArray1<'py, i64>;
type Floats<'py> = PyReadonlyArray1<'py, f64>;

/// Means of both runs, mean difference, tasks, tasks or clusters, standard error, unpaired standard error, interval, and
/// how it came about or why there is none; nothing where no task has both values. NaN stands for "none".
#[pyfunction]
pub fn paired<'py>(
    py: Python<'py>,
    a: Floats<'py>,
    b: Floats<'py>,
    clusters: Option<PyReadonlyArray1<'py, u32>>,
    confidence: f64,
    interval: &str,
    seed: u64,
) -> PyResult<Option<Bound<'py, PyDict>>> {
    let (a, b) = (a.as_slice()?, b.as_slice()?);
    let clusters = clusters.as_ref().map(|codes| codes.as_slice()).transpose()?;
    let Some(found) = detached(py, || pairs::paired(a, b, clusters, confidence, Wanted::of(interval, seed)?))? else {
        return Ok(None);
    };
    let out = PyDict::new(py);
    out.set_item("a", found.a)?;
    out.set_item("b", found.b)?;
    out.set_item("value", found.difference.mean)?;
    out.set_item("n_tasks", found.difference.tasks)?;
    out.set_item("units", found.difference.units)?;
    out.set_item("standard_error", found.difference.standard_error)?;
    out.set_item("unpaired", found.unpaired)?;
    match found.interval {
        Ok(interval) => {
            out.set_item("interval", (interval.low, interval.high))?;
            out.set_item("method", interval.method.word())?;
            out.set_item("replicates", interval.method.replicates())?;
        }
        Err(why) => {
            out.set_item("interval", py.None())?;
            out.set_item("method", py.None())?;
            out.set_item("why", why.to_string())?;
        }
    }
    Ok(Some(out))
}

/// Standard error of the difference of a label over repeated runs of these tasks, where it counts successes.
#[pyfunction]
pub fn difference_noise(py: Python<'_>, label: &str, counts: Counts<'_>) -> PyResult<Option<f64>> {
    let plan = detached(py, || kofn_core::plan::Plan::new(Some(&[label.to_owned()]), &[], None))?;
    of_tables(py, &counts, |tables| plan.statistics.first().and_then(|(statistic, _)| pairs::noise(statistic, tables)))
}

/// p, how it was found, and the replicates that were drawn for it.
#[pyfunction]
pub fn sign_flip(py: Python<'_>, differences: Floats<'_>, scale: f64, seed: u64) -> PyResult<(f64, String, u64)> {
    let differences = differences.as_slice()?;
    let (p, method) = py.detach(|| flips::sign_flip(differences, scale, seed));
    Ok(match method {
        flips::Method::Convolution => (p, "convolution".to_owned(), 0),
        flips::Method::Enumeration => (p, "enumeration".to_owned(), 0),
        flips::Method::MonteCarlo { replicates } => (p, "monte carlo".to_owned(), replicates),
    })
}

/// The counts of both runs, c and n each.
type Counts<'py> = (Integers<'py>, Integers<'py>, Integers<'py>, Integers<'py>);

fn of_tables<T: Send>(
    py: Python<'_>,
    (c_a, n_a, c_b, n_b): &Counts<'_>,
    work: impl FnOnce(&[tables::Table]) -> T + Send,
) -> PyResult<T> {
    let (c_a, n_a, c_b, n_b) = (c_a.as_slice()?, n_a.as_slice()?, c_b.as_slice()?, n_b.as_slice()?);
    detached(py, || Ok(work(&tables::tables(c_a, n_a, c_b, n_b)?)))
}

/// p, and whether it is exact.
#[pyfunction]
pub fn stratified(py: Python<'_>, counts: Counts<'_>) -> PyResult<(f64, bool)> {
    let (p, method) = of_tables(py, &counts, strata::stratified)?;
    Ok((p, method == strata::Method::Exact))
}

#[pyfunction]
pub fn fisher<'py>(py: Python<'py>, counts: Counts<'py>) -> PyResult<Array<'py>> {
    Ok(PyArray1::from_vec(py, of_tables(py, &counts, tables::fisher_each)?))
}

#[pyfunction]
pub fn mcnemar(py: Python<'_>, gained: u64, lost: u64, mid: bool) -> PyResult<f64> {
    detached(py, || tables::mcnemar_checked(gained, lost, mid))
}

#[pyfunction]
pub fn holm<'py>(py: Python<'py>, p: Floats<'py>) -> PyResult<Array<'py>> {
    Ok(PyArray1::from_vec(py, multiple::holm(p.as_slice()?)))
}

#[pyfunction]
pub fn benjamini_hochberg<'py>(py: Python<'py>, p: Floats<'py>) -> PyResult<Array<'py>> {
    let p = p.as_slice()?;
    Ok(PyArray1::from_vec(py, py.detach(|| multiple::benjamini_hochberg(p))))
}

/// Means and variances.
type Moments<'py> = (Array<'py>, Array<'py>);

/// A prior, n, c, k and m to a mean and a variance.
type Value = fn(Prior, u64, u64, u64, u64) -> Result<(f64, f64)>;

/// Means and variances of a figure under a Beta prior, for each task; `m` alone needs its own number.
#[pyfunction]
pub fn posterior<'py>(
    py: Python<'py>,
    n: Integers<'py>,
    c: Integers<'py>,
    which: &str,
    k: u64,
    m: u64,
    prior: (f64, f64),
) -> PyResult<Moments<'py>> {
    let value: Value = match which {
        "pass@k" => |prior, n, c, k, _| prior.pass_at_k(n, c, k),
        "pass^k" => |prior, n, c, k, _| prior.pass_hat_k(n, c, k),
        "at_least_m" => |prior, n, c, k, m| prior.at_least_m_of_k(n, c, k, m),
        _ => return Err(PyTypeError::new_err(format!("no posterior is called {which:?}"))),
    };
    let (n, c) = (n.as_slice()?, c.as_slice()?);
    let (means, variances) =
        detached(py, || Prior::new(prior.0, prior.1)?.each(n, c, |prior, n, c| value(prior, n, c, k, m)))?;
    Ok((PyArray1::from_vec(py, means), PyArray1::from_vec(py, variances)))
}

/// P(the first task's chance of success > the second's) for each pair of tasks.
#[pyfunction]
pub fn probability_above<'py>(py: Python<'py>, counts: Counts<'py>, prior: (f64, f64)) -> PyResult<Array<'py>> {
    let prior = detached(py, || Prior::new(prior.0, prior.1))?;
    Ok(PyArray1::from_vec(py, of_tables(py, &counts, |tables| prior.probabilities_above(tables))?))
}

/// What a pilot shows, and the designs that reach a goal.
#[pyclass(frozen)]
pub struct Plan(Planner);

#[pymethods]
impl Plan {
    /// `pilots` are columns n and c; `variance` is that of the figure, or of the difference, over their tasks;
    /// the goal is a size, a confidence, and a power where an effect of that size is to be detected.
    #[new]
    #[pyo3(signature = (pilots, k, every, variance, goal))]
    fn new(
        py: Python<'_>,
        pilots: Vec<(Integers<'_>, Integers<'_>)>,
        k: u64,
        every: bool,
        variance: f64,
        goal: (f64, f64, Option<f64>),
    ) -> PyResult<Self> {
        let (size, confidence, power) = goal;
        let columns: Vec<(&[i64], &[i64])> =
            pilots.iter().map(|(n, c)| Ok((n.as_slice()?, c.as_slice()?))).collect::<PyResult<_>>()?;
        detached(py, || {
            let within: Vec<Within> =
                columns.iter().map(|(n, c)| Within::of_columns(n, c, k, every)).collect::<Result<_>>()?;
            Ok(Self(Planner::new(variance, within, Goal { size, confidence, power })?))
        })
    }

    /// The variance between tasks, which rollouts cannot reduce.
    #[getter]
    fn between(&self) -> f64 {
        self.0.between
    }

    fn reach(&self, py: Python<'_>, tasks: u64, rollouts: u64) -> f64 {
        py.detach(|| self.0.reach(tasks, rollouts))
    }

    fn tasks(&self, py: Python<'_>, rollouts: u64) -> Option<u64> {
        py.detach(|| self.0.tasks(rollouts))
    }

    fn rollouts(&self, py: Python<'_>, tasks: u64) -> Option<u64> {
        py.detach(|| self.0.rollouts(tasks))
    }

    fn cheapest(&self, py: Python<'_>, task: f64, rollout: f64) -> Option<(u64, u64)> {
        py.detach(|| self.0.cheapest(task, rollout))
    }
}

/// Means of the columns of a table, a row a task, with both ends of the bootstrap interval of each (NaN for none), and how
/// it came about or why there is none.
type Means<'py> = (Array<'py>, Array<'py>, Array<'py>, Vec<Option<&'static str>>, Vec<Option<String>>);

/// See `kofn.estimators.bootstrap_mean`.
#[pyfunction]
pub fn bootstrap_mean<'py>(
    py: Python<'py>,
    values: Floats<'py>,
    width: usize,
    clusters: Option<PyReadonlyArray1<'py, u32>>,
    confidence: f64,
    percentile: bool,
    seed: u64,
) -> PyResult<Means<'py>> {
    let values = values.as_slice()?;
    let clusters = clusters.as_ref().map(|codes| codes.as_slice()).transpose()?;
    let ends = if percentile { Ends::Percentile } else { Ends::Bca };
    let found = detached(py, || bootstrap::means(values, width, clusters, confidence, ends, seed))?;
    let column = |of: fn(&bootstrap::Mean) -> f64| PyArray1::from_vec(py, found.iter().map(of).collect());
    Ok((
        column(|it| it.value),
        column(|it| it.interval.map_or(f64::NAN, |it| it.low)),
        column(|it| it.interval.map_or(f64::NAN, |it| it.high)),
        found.iter().map(|it| it.interval.ok().map(|it| it.method.word())).collect(),
        found.iter().map(|it| it.interval.err().map(|why| why.to_string())).collect(),
    ))
}

/// Both ends of the band around the means of shares: `columns` one after the other, whose row t is what `counts[t]` tasks
/// have. NaN for none.
#[pyfunction]
pub fn band<'py>(
    py: Python<'py>,
    columns: Floats<'py>,
    counts: Vec<u64>,
    confidence: f64,
    seed: u64,
) -> PyResult<(Array<'py>, Array<'py>)> {
    let columns = columns.as_slice()?;
    let found = py.detach(|| {
        let columns: Vec<&[f64]> = columns.chunks_exact(counts.len().max(1)).collect();
        bootstrap::band(&columns, &counts, Range::SHARE, confidence, seed)
    });
    Ok((PyArray1::from_vec(py, found.low), PyArray1::from_vec(py, found.high)))
}

/// Labels in their canonical spelling, the letter k replaced by each of `ks`.
#[pyfunction]
pub fn labels(py: Python<'_>, statistics: Vec<String>, ks: Vec<u64>) -> PyResult<Vec<String>> {
    let plan = detached(py, || kofn_core::plan::Plan::new(Some(&statistics), &ks, None))?;
    Ok(plan.statistics.iter().map(|(statistic, _)| statistic.to_string()).collect())
}
