//! Columns of rollouts as NumPy arrays, each of one dtype and contiguous: `kofn._columns` sees to that.

use kofn_core::tally::Arrays;
use numpy::{PyArray1, PyArrayMethods, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::groups::TaskIndex;

/// The columns that were given, out of a dict by their names.
pub struct Columns<'py> {
    passed: Option<PyReadonlyArray1<'py, i8>>,
    scores: Option<PyReadonlyArray1<'py, f64>>,
    durations: Option<PyReadonlyArray1<'py, f64>>,
    tokens: Option<PyReadonlyArray1<'py, i64>>,
    valid: Option<PyReadonlyArray1<'py, bool>>,
}

impl<'a, 'py> FromPyObject<'a, 'py> for Columns<'py> {
    type Error = PyErr;

    fn extract(columns: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        let columns = columns.cast::<PyDict>()?;
        Ok(Self {
            passed: column(&columns, "passed")?,
            scores: column(&columns, "scores")?,
            durations: column(&columns, "durations")?,
            tokens: column(&columns, "tokens")?,
            valid: column(&columns, "valid")?,
        })
    }
}

fn column<'py, T: numpy::Element>(
    columns: &Bound<'py, PyDict>,
    name: &str,
) -> PyResult<Option<PyReadonlyArray1<'py, T>>> {
    columns.get_item(name)?.map(|column| Ok(column.cast_into::<PyArray1<T>>()?.try_readonly()?)).transpose()
}

impl Columns<'_> {
    /// Borrow them as the core takes them.
    pub fn borrow<'a>(&'a self, index: &'a TaskIndex, by: Option<&'a TaskIndex>) -> PyResult<Arrays<'a>> {
        Ok(Arrays {
            task: &index.codes,
            passed: slice(self.passed.as_ref())?,
            scores: slice(self.scores.as_ref())?,
            valid: slice(self.valid.as_ref())?,
            durations: slice(self.durations.as_ref())?,
            tokens: slice(self.tokens.as_ref())?,
            by: by.map(|by| (by.codes.as_slice(), &**by.names())),
        })
    }
}

/// A column as a slice; empty where it was not given.
fn slice<'a, T: numpy::Element>(array: Option<&'a PyReadonlyArray1<'_, T>>) -> PyResult<&'a [T]> {
    array.map_or(Ok(&[]), |array| Ok(array.as_slice()?))
}
