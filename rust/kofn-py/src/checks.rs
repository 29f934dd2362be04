//! Grading of one rollout's checks and of millions.

use kofn_core::checks::{self, Columns, OnUngradable};
use kofn_core::{Error, Result};
use numpy::{PyReadonlyArray1, PyReadwriteArray1};
use pyo3::prelude::*;

use crate::errors::{detached, to_python};

/// Grade one rollout's checks, given as two byte strings of 0 and 1: (passed, reward, failed required checks).
// A handful of bytes: detaching would cost more than the work.
#[pyfunction]
pub fn grade_checks(py: Python<'_>, passed: &[u8], required: &[u8]) -> PyResult<(bool, f64, u32)> {
    let checks = required.iter().zip(passed).map(|(&required, &passed)| (required != 0, passed != 0));
    match checks::grade(checks) {
        Some(grade) => Ok((grade.passed, grade.reward, grade.failed_required)),
        None => Err(to_python(py, &checks::ungradable(None, passed.len() as u64))),
    }
}

/// Whether a recorded score agrees with the reward of its checks.
#[pyfunction]
pub fn score_agrees(recorded: f64, reward: f64) -> bool {
    checks::agrees(recorded, reward)
}

/// Positions of the failed required checks of one rollout.
#[pyfunction]
pub fn failed_required(passed: &[u8], required: &[u8]) -> Vec<usize> {
    checks::failed_required(passed, required)
}

/// Arrays of offsets as they come: NumPy's int64, Arrow's int32, and the unsigned ones.
#[derive(FromPyObject)]
pub enum Offsets<'py> {
    /// NumPy's default.
    I64(PyReadonlyArray1<'py, i64>),
    /// Arrow's list offsets.
    I32(PyReadonlyArray1<'py, i32>),
    /// The unsigned ones.
    U64(PyReadonlyArray1<'py, u64>),
    /// The unsigned ones.
    U32(PyReadonlyArray1<'py, u32>),
}

/// Output arrays: passed, reward, failed required, indeterminate.
pub type Out<'py> =
    (PyReadwriteArray1<'py, u8>, PyReadwriteArray1<'py, f64>, PyReadwriteArray1<'py, u32>, PyReadwriteArray1<'py, u8>);

fn layout(name: &str) -> Error {
    Error::argument(name, "the array is not contiguous")
}

fn slice<'a, T: numpy::Element>(name: &str, array: &'a PyReadonlyArray1<'_, T>) -> Result<&'a [T]> {
    array.as_slice().map_err(|_| layout(name))
}

fn columns<'a>(out: &'a mut Out<'_>) -> Result<Columns<'a>> {
    let fail = |_| layout("out");
    Ok(Columns {
        passed: out.0.as_slice_mut().map_err(fail)?,
        reward: out.1.as_slice_mut().map_err(fail)?,
        failed_required: out.2.as_slice_mut().map_err(fail)?,
        indeterminate: out.3.as_slice_mut().map_err(fail)?,
    })
}

const fn mode(keep_ungradable: bool) -> OnUngradable {
    if keep_ungradable { OnUngradable::Indeterminate } else { OnUngradable::Raise }
}

/// Grade rollouts given as CSR arrays into `out`.
#[pyfunction]
pub fn grade_csr(
    py: Python<'_>,
    passed: PyReadonlyArray1<'_, u8>,
    required: PyReadonlyArray1<'_, u8>,
    offsets: Offsets<'_>,
    keep_ungradable: bool,
    mut out: Out<'_>,
) -> PyResult<()> {
    let convert = |error: Error| to_python(py, &error);
    let passed = slice("passed", &passed).map_err(convert)?;
    let required = slice("required", &required).map_err(convert)?;
    let mut out = columns(&mut out).map_err(convert)?;
    let mode = mode(keep_ungradable);
    match &offsets {
        Offsets::I64(array) => run(py, passed, required, slice("offsets", array).map_err(convert)?, mode, &mut out),
        Offsets::I32(array) => run(py, passed, required, slice("offsets", array).map_err(convert)?, mode, &mut out),
        Offsets::U64(array) => run(py, passed, required, slice("offsets", array).map_err(convert)?, mode, &mut out),
        Offsets::U32(array) => run(py, passed, required, slice("offsets", array).map_err(convert)?, mode, &mut out),
    }
}

fn run<O: checks::Offset>(
    py: Python<'_>,
    passed: &[u8],
    required: &[u8],
    offsets: &[O],
    mode: OnUngradable,
    out: &mut Columns<'_>,
) -> PyResult<()> {
    detached(py, || checks::grade_csr(passed, required, offsets, mode, out))
}

/// Grade rollouts given as a row-major matrix of `columns` checks each into `out`.
#[pyfunction]
pub fn grade_rows(
    py: Python<'_>,
    passed: PyReadonlyArray1<'_, u8>,
    required: PyReadonlyArray1<'_, u8>,
    columns: usize,
    keep_ungradable: bool,
    mut out: Out<'_>,
) -> PyResult<()> {
    let convert = |error: Error| to_python(py, &error);
    let passed = slice("passed", &passed).map_err(convert)?;
    let required = slice("required", &required).map_err(convert)?;
    let mut out = self::columns(&mut out).map_err(convert)?;
    detached(py, || checks::grade_rows(passed, required, columns, mode(keep_ungradable), &mut out))
}
