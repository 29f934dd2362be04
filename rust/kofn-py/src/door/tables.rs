//! Plain tables on their way out: lists of text and arrays.

use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, BooleanArray, Float64Array, Int64Array, LargeStringArray, RecordBatch, RecordBatchIterator,
};
use arrow_schema::{Field, Schema};
use kofn_core::Error;
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use super::arrow::export;
use crate::errors::to_python;

/// One column; NaN and counts below 0 say that a row has no value.
#[derive(FromPyObject)]
pub enum Column<'py> {
    /// Figures.
    Figures(PyReadonlyArray1<'py, f64>),
    /// Counts.
    Counts(PyReadonlyArray1<'py, i64>),
    /// Flags.
    Flags(PyReadonlyArray1<'py, bool>),
    /// Texts.
    Texts(Vec<Option<String>>),
}

impl Column<'_> {
    fn array(&self) -> ArrayRef {
        match self {
            Self::Figures(values) => Arc::new(
                values.as_array().iter().map(|&value| (!value.is_nan()).then_some(value)).collect::<Float64Array>(),
            ),
            Self::Counts(values) => {
                Arc::new(values.as_array().iter().map(|&count| (count >= 0).then_some(count)).collect::<Int64Array>())
            }
            Self::Flags(values) => Arc::new(values.as_array().iter().map(|&flag| Some(flag)).collect::<BooleanArray>()),
            Self::Texts(texts) => Arc::new(texts.iter().map(Option::as_deref).collect::<LargeStringArray>()),
        }
    }
}

/// Columns of one length as the capsule of an Arrow stream, of one batch.
#[pyfunction]
#[pyo3(signature = (columns, requested_schema = None))]
pub fn arrow_stream<'py>(
    py: Python<'py>,
    columns: Vec<(String, Column<'py>)>,
    requested_schema: Option<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyCapsule>> {
    // A consumer's wish for other types may be passed over: it casts.
    drop(requested_schema);
    let (fields, arrays): (Vec<Field>, Vec<ArrayRef>) = columns
        .iter()
        .map(|(name, column)| {
            let array = column.array();
            (Field::new(name, array.data_type().clone(), true), array)
        })
        .unzip();
    let schema = Arc::new(Schema::new(fields));
    let batch = RecordBatch::try_new(Arc::clone(&schema), arrays)
        .map_err(|error| to_python(py, &Error::argument("columns", error.to_string())))?;
    export(py, Box::new(RecordBatchIterator::new([Ok(batch)], schema)))
}
