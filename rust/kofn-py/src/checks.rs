//! Grading of one rollout's checks and of millions.

use kofn_core::checks::{self, Columns, OnUngradable};
use kofn_core::{Error, Result};
use numpy::{PyArray1, PyArrayMethods, PyReadonlyArray1, PyReadwriteArray1};
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
    I64(Bound<'py, PyArray1<i64>>),
    /// Arrow's list offsets.
    I32(Bound<'py, PyArray1<i32>>),
    /// The unsigned ones.
    U64(Bound<'py, PyArray1<u64>>),
    /// The unsigned ones.
    U32(Bound<'py, PyArray1<u32>>),
}

/// Output arrays: passed, reward, failed required, indeterminate.
pub type Out<'py> =
    (Bound<'py, PyArray1<u8>>, Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<u32>>, Bound<'py, PyArray1<u8>>);

// Borrows are tried, not taken: arrays that overlap, or that another thread is writing to, are an error, no panic.
fn lend<'py, T: numpy::Element>(name: &str, array: &Bound<'py, PyArray1<T>>) -> PyResult<PyReadonlyArray1<'py, T>> {
    array.try_readonly().map_err(|_| unfit(array.py(), name, "the array is being written to, by `out` or elsewhere"))
}

fn lend_out<'py, T: numpy::Element>(array: &Bound<'py, PyArray1<T>>) -> PyResult<PyReadwriteArray1<'py, T>> {
    let problem = "an array is read-only, overlaps another one, or is in use elsewhere";
    array.try_readwrite().map_err(|_| unfit(array.py(), "out", problem))
}

fn slice<'a, T: numpy::Element>(name: &str, array: &'a PyReadonlyArray1<'_, T>) -> PyResult<&'a [T]> {
    array.as_slice().map_err(|_| unfit(array.py(), name, "the array is not contiguous"))
}

fn slice_out<'a, T: numpy::Element>(array: &'a mut PyReadwriteArray1<'_, T>) -> PyResult<&'a mut [T]> {
    let py = array.py();
    array.as_slice_mut().map_err(|_| unfit(py, "out", "an array is not contiguous"))
}

fn unfit(py: Python<'_>, name: &str, problem: &str) -> PyErr {
    to_python(py, &Error::argument(name, problem))
}

/// Borrow everything, and grade detached from the interpreter.
fn graded(
    py: Python<'_>,
    passed: &Bound<'_, PyArray1<u8>>,
    required: &Bound<'_, PyArray1<u8>>,
    out: &Out<'_>,
    work: impl FnOnce(&[u8], &[u8], &mut Columns<'_>) -> Result<()> + Send,
) -> PyResult<()> {
    let (passed, required) = (lend("passed", passed)?, lend("required", required)?);
    let (passed, required) = (slice("passed", &passed)?, slice("required", &required)?);
    let (mut a, mut b) = (lend_out(&out.0)?, lend_out(&out.1)?);
    let (mut c, mut d) = (lend_out(&out.2)?, lend_out(&out.3)?);
    let mut columns = Columns {
        passed: slice_out(&mut a)?,
        reward: slice_out(&mut b)?,
        failed_required: slice_out(&mut c)?,
        indeterminate: slice_out(&mut d)?,
    };
    detached(py, || work(passed, required, &mut columns))
}

const fn mode(keep_ungradable: bool) -> OnUngradable {
    if keep_ungradable { OnUngradable::Indeterminate } else { OnUngradable::Raise }
}

/// Grade rollouts given as CSR arrays into `out`.
#[pyfunction]
pub fn grade_csr(
    passed: &Bound<'_, PyArray1<u8>>,
    required: &Bound<'_, PyArray1<u8>>,
    offsets: Offsets<'_>,
    keep_ungradable: bool,
    out: Out<'_>,
) -> PyResult<()> {
    fn run<O: checks::Offset + numpy::Element>(
        passed: &Bound<'_, PyArray1<u8>>,
        required: &Bound<'_, PyArray1<u8>>,
        offsets: &Bound<'_, PyArray1<O>>,
        mode: OnUngradable,
        out: &Out<'_>,
    ) -> PyResult<()> {
        let offsets = lend("offsets", offsets)?;
        let slice = slice("offsets", &offsets)?;
        graded(passed.py(), passed, required, out, |passed, required, out| {
            checks::grade_csr(passed, required, slice, mode, out)
        })
    }
    let mode = mode(keep_ungradable);
    match &offsets {
        Offsets::I64(offsets) => run(passed, required, offsets, mode, &out),
        Offsets::I32(offsets) => run(passed, required, offsets, mode, &out),
        Offsets::U64(offsets) => run(passed, required, offsets, mode, &out),
        Offsets::U32(offsets) => run(passed, required, offsets, mode, &out),
    }
}

/// Grade rollouts given as a row-major matrix of `columns` checks each into `out`.
#[pyfunction]
pub fn grade_rows(
    py: Python<'_>,
    passed: &Bound<'_, PyArray1<u8>>,
    required: &Bound<'_, PyArray1<u8>>,
    columns: usize,
    keep_ungradable: bool,
    out: Out<'_>,
) -> PyResult<()> {
    graded(py, passed, required, &out, |passed, required, out| {
        checks::grade_rows(passed, required, columns, mode(keep_ungradable), out)
    })
}
