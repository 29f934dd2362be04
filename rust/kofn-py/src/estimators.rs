//! Estimators over arrays: `NumPy` allocates what comes back, the core fills it.

#![expect(clippy::needless_pass_by_value, reason = "pyo3 hands arguments over by value")]

use kofn_core::Result;
use kofn_core::estimators::batch::Counts;
use kofn_core::estimators::hypergeometric::{self as counts, Kind};
use kofn_core::estimators::rows::Order;
use numpy::{PyArray1, PyArrayMethods, PyReadonlyArray1};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use crate::door::groups::TaskIndex;
use crate::errors::detached;

type Array<'py> = Bound<'py, PyArray1<f64>>;
type Integers<'py> = PyReadonlyArray1<'py, i64>;
type Floats<'py> = PyReadonlyArray1<'py, f64>;

/// A new array of `len` values that `work` fills, detached.
fn filled(py: Python<'_>, len: usize, work: impl FnOnce(&mut [f64]) -> Result<()> + Send) -> PyResult<Array<'_>> {
    let array = PyArray1::zeros(py, len, false);
    {
        let mut out = array.readwrite();
        let out = out.as_slice_mut()?;
        detached(py, || work(out))?;
    }
    Ok(array)
}

/// As [`filled`], from counts and one row of `width` values a task.
fn of_counts<'py>(
    py: Python<'py>,
    n: &Integers<'py>,
    c: &Integers<'py>,
    width: usize,
    work: impl FnOnce(Counts<'_>, &mut [f64]) -> Result<()> + Send,
) -> PyResult<Array<'py>> {
    let counts = Counts { n: n.as_slice()?, c: c.as_slice()? };
    filled(py, counts.len() * width, |out| work(counts, out))
}

#[pyfunction]
pub fn pass_at_k<'py>(py: Python<'py>, n: Integers<'py>, c: Integers<'py>, ks: Vec<u64>) -> PyResult<Array<'py>> {
    of_counts(py, &n, &c, ks.len(), |counts, out| counts.pass(Kind::AtLeastOne, &ks, out))
}

#[pyfunction]
pub fn pass_hat_k<'py>(py: Python<'py>, n: Integers<'py>, c: Integers<'py>, ks: Vec<u64>) -> PyResult<Array<'py>> {
    of_counts(py, &n, &c, ks.len(), |counts, out| counts.pass(Kind::All, &ks, out))
}

#[pyfunction]
pub fn g_pass_at_k<'py>(
    py: Python<'py>,
    n: Integers<'py>,
    c: Integers<'py>,
    ks: Vec<u64>,
    tau: f64,
) -> PyResult<Array<'py>> {
    of_counts(py, &n, &c, ks.len(), |all, out| all.each(&ks, out, |n, c, k| counts::g_pass_at_k(n, c, k, tau)))
}

#[pyfunction]
pub fn mg_pass_at_k<'py>(
    py: Python<'py>,
    n: Integers<'py>,
    c: Integers<'py>,
    ks: Vec<u64>,
    normalize: bool,
) -> PyResult<Array<'py>> {
    of_counts(py, &n, &c, ks.len(), |all, out| all.each(&ks, out, |n, c, k| counts::mg_pass_at_k(n, c, k, normalize)))
}

#[pyfunction]
pub fn at_least_m_of_k<'py>(
    py: Python<'py>,
    n: Integers<'py>,
    c: Integers<'py>,
    ks: Vec<u64>,
    m: u64,
) -> PyResult<Array<'py>> {
    of_counts(py, &n, &c, ks.len(), |all, out| all.each(&ks, out, |n, c, k| counts::at_least_m_of_k(n, c, k, m)))
}

#[pyfunction]
pub fn exactly_m_of_k<'py>(
    py: Python<'py>,
    n: Integers<'py>,
    c: Integers<'py>,
    ks: Vec<u64>,
    m: u64,
) -> PyResult<Array<'py>> {
    of_counts(py, &n, &c, ks.len(), |all, out| all.each(&ks, out, |n, c, k| counts::exactly_m_of_k(n, c, k, m)))
}

#[pyfunction]
pub fn expected_attempts<'py>(
    py: Python<'py>,
    n: Integers<'py>,
    c: Integers<'py>,
    ks: Vec<u64>,
) -> PyResult<Array<'py>> {
    of_counts(py, &n, &c, ks.len(), |all, out| all.each(&ks, out, counts::expected_attempts))
}

#[pyfunction]
pub fn learnability<'py>(py: Python<'py>, n: Integers<'py>, c: Integers<'py>, unbiased: bool) -> PyResult<Array<'py>> {
    let value = if unbiased { counts::learnability_unbiased } else { counts::learnability };
    of_counts(py, &n, &c, 1, |all, out| all.without_k(out, value))
}

/// Which order statistic Python asks for: a word, and for two of them a number.
fn order(which: &str, at: f64) -> PyResult<Order> {
    Ok(match which {
        "best" => Order::Best,
        "worst" => Order::Worst,
        "median" => Order::Median,
        "quantile" => Order::Quantile(at),
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "Python sends a count up to 2^53")]
        "nth" => Order::Nth(at as u64),
        _ => return Err(PyTypeError::new_err(format!("no order statistic is called {which:?}"))),
    })
}

#[pyfunction]
pub fn order_of_task<'py>(
    py: Python<'py>,
    scores: Floats<'py>,
    ks: Vec<u64>,
    which: &str,
    at: f64,
) -> PyResult<Array<'py>> {
    let (order, scores) = (order(which, at)?, scores.as_slice()?);
    filled(py, ks.len(), |out| order.of_task(scores, &ks, out))
}

#[pyfunction]
pub fn order_of_rows<'py>(
    py: Python<'py>,
    scores: Floats<'py>,
    rows: usize,
    ks: Vec<u64>,
    which: &str,
    at: f64,
) -> PyResult<Array<'py>> {
    let (order, scores) = (order(which, at)?, scores.as_slice()?);
    filled(py, rows * ks.len(), |out| order.of_rows(scores, scores.len() / rows.max(1), &ks, out))
}

#[pyfunction]
pub fn order_of_groups<'py>(
    py: Python<'py>,
    scores: Floats<'py>,
    groups: &Bound<'py, TaskIndex>,
    ks: Vec<u64>,
    which: &str,
    at: f64,
) -> PyResult<Array<'py>> {
    let (order, scores, groups) = (order(which, at)?, scores.as_slice()?, groups.get());
    filled(py, groups.tasks() * ks.len(), |out| order.of_groups(scores, &groups.codes, &ks, out))
}
