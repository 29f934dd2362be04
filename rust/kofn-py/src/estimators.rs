//! Estimators over arrays: `NumPy` allocates what comes back, the core fills it.

#![expect(clippy::needless_pass_by_value, reason = "pyo3 hands arguments over by value")]

use kofn_core::estimators::batch::Counts;
use kofn_core::estimators::hypergeometric::{self as counts, Kind};
use kofn_core::estimators::rows::Order;
use kofn_core::{Error, Result};
use numpy::{PyArray1, PyArrayMethods, PyReadonlyArray1};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use crate::door::groups::TaskIndex;
use crate::errors::{detached, to_python};

type Array<'py> = Bound<'py, PyArray1<f64>>;
type Integers<'py> = PyReadonlyArray1<'py, i64>;
type Floats<'py> = PyReadonlyArray1<'py, f64>;

/// An array of `len` values that `work` fills, detached: the caller's or a new one.
fn filled<'py>(
    py: Python<'py>,
    len: usize,
    out: Option<Array<'py>>,
    work: impl FnOnce(&mut [f64]) -> Result<()> + Send,
) -> PyResult<Array<'py>> {
    let array = out.unwrap_or_else(|| PyArray1::zeros(py, len, false));
    {
        // Tried, not taken: an array that overlaps an input, or that is in use elsewhere, is an error, no panic.
        let mut out =
            array.try_readwrite().map_err(|_| unfit(py, "the array is read-only, overlaps an input, or is in use"))?;
        let out = out.as_slice_mut()?;
        if out.len() != len {
            return Err(unfit(py, &format!("the array has {} values; there are {len}", out.len())));
        }
        detached(py, || work(out))?;
    }
    Ok(array)
}

fn unfit(py: Python<'_>, problem: &str) -> PyErr {
    to_python(py, &Error::argument("out", problem))
}

/// As [`filled`], from counts and one row of `width` values a task.
fn of_counts<'py>(
    py: Python<'py>,
    n: &Integers<'py>,
    c: &Integers<'py>,
    width: usize,
    out: Option<Array<'py>>,
    work: impl FnOnce(Counts<'_>, &mut [f64]) -> Result<()> + Send,
) -> PyResult<Array<'py>> {
    let counts = Counts { n: n.as_slice()?, c: c.as_slice()? };
    filled(py, counts.len() * width, out, |out| work(counts, out))
}

#[pyfunction]
#[pyo3(signature = (n, c, ks, out=None))]
pub fn pass_at_k<'py>(
    py: Python<'py>,
    n: Integers<'py>,
    c: Integers<'py>,
    ks: Vec<u64>,
    out: Option<Array<'py>>,
) -> PyResult<Array<'py>> {
    of_counts(py, &n, &c, ks.len(), out, |counts, out| counts.pass(Kind::AtLeastOne, &ks, out))
}

#[pyfunction]
#[pyo3(signature = (n, c, ks, out=None))]
pub fn pass_hat_k<'py>(
    py: Python<'py>,
    n: Integers<'py>,
    c: Integers<'py>,
    ks: Vec<u64>,
    out: Option<Array<'py>>,
) -> PyResult<Array<'py>> {
    of_counts(py, &n, &c, ks.len(), out, |counts, out| counts.pass(Kind::All, &ks, out))
}

#[pyfunction]
pub fn g_pass_at_k<'py>(
    py: Python<'py>,
    n: Integers<'py>,
    c: Integers<'py>,
    ks: Vec<u64>,
    tau: f64,
) -> PyResult<Array<'py>> {
    of_counts(py, &n, &c, ks.len(), None, |all, out| all.each(&ks, out, |n, c, k| counts::g_pass_at_k(n, c, k, tau)))
}

#[pyfunction]
pub fn mg_pass_at_k<'py>(
    py: Python<'py>,
    n: Integers<'py>,
    c: Integers<'py>,
    ks: Vec<u64>,
    normalize: bool,
) -> PyResult<Array<'py>> {
    of_counts(py, &n, &c, ks.len(), None, |all, out| {
        all.each(&ks, out, |n, c, k| counts::mg_pass_at_k(n, c, k, normalize))
    })
}

#[pyfunction]
pub fn at_least_m_of_k<'py>(
    py: Python<'py>,
    n: Integers<'py>,
    c: Integers<'py>,
    ks: Vec<u64>,
    m: u64,
) -> PyResult<Array<'py>> {
    of_counts(py, &n, &c, ks.len(), None, |all, out| all.each(&ks, out, |n, c, k| counts::at_least_m_of_k(n, c, k, m)))
}

#[pyfunction]
pub fn exactly_m_of_k<'py>(
    py: Python<'py>,
    n: Integers<'py>,
    c: Integers<'py>,
    ks: Vec<u64>,
    m: u64,
) -> PyResult<Array<'py>> {
    of_counts(py, &n, &c, ks.len(), None, |all, out| all.each(&ks, out, |n, c, k| counts::exactly_m_of_k(n, c, k, m)))
}

#[pyfunction]
pub fn expected_attempts<'py>(
    py: Python<'py>,
    n: Integers<'py>,
    c: Integers<'py>,
    ks: Vec<u64>,
) -> PyResult<Array<'py>> {
    of_counts(py, &n, &c, ks.len(), None, |all, out| all.each(&ks, out, counts::expected_attempts))
}

#[pyfunction]
pub fn learnability<'py>(py: Python<'py>, n: Integers<'py>, c: Integers<'py>, unbiased: bool) -> PyResult<Array<'py>> {
    let value = if unbiased { counts::learnability_unbiased } else { counts::learnability };
    of_counts(py, &n, &c, 1, None, |all, out| all.without_k(out, value))
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
    filled(py, ks.len(), None, |out| order.of_task(scores, &ks, out))
}

#[pyfunction]
#[pyo3(signature = (scores, rows, ks, which, at, out=None))]
pub fn order_of_rows<'py>(
    py: Python<'py>,
    scores: Floats<'py>,
    rows: usize,
    ks: Vec<u64>,
    which: &str,
    at: f64,
    out: Option<Array<'py>>,
) -> PyResult<Array<'py>> {
    let (order, scores) = (order(which, at)?, scores.as_slice()?);
    filled(py, rows * ks.len(), out, |out| order.of_rows(scores, scores.len() / rows.max(1), &ks, out))
}

#[pyfunction]
#[pyo3(signature = (scores, groups, ks, which, at, out=None))]
pub fn order_of_groups<'py>(
    py: Python<'py>,
    scores: Floats<'py>,
    groups: &Bound<'py, TaskIndex>,
    ks: Vec<u64>,
    which: &str,
    at: f64,
    out: Option<Array<'py>>,
) -> PyResult<Array<'py>> {
    let (order, scores, groups) = (order(which, at)?, scores.as_slice()?, groups.get());
    filled(py, groups.tasks() * ks.len(), out, |out| order.of_groups(scores, groups.codes(), &ks, out))
}
