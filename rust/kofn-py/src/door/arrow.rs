//! Arrow's C interface through capsules: tables in, tables out. The only place that touches its pointers.
#![expect(
    unsafe_code,
    reason = "the C interface passes structures by address inside capsules; each block says why the address is good"
)]

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi};
use arrow_array::ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader};
use arrow_array::{Array, RecordBatch, RecordBatchIterator, RecordBatchReader, StructArray};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

/// Batches of a table, one after the other.
pub type Reader = Box<dyn RecordBatchReader + Send>;

/// A table from any object with `__arrow_c_stream__` or `__arrow_c_array__`.
pub fn import(source: &Bound<'_, PyAny>) -> PyResult<Reader> {
    if source.hasattr("__arrow_c_stream__")? {
        return import_stream(&source.call_method0("__arrow_c_stream__")?);
    }
    let pair = source.call_method0("__arrow_c_array__")?;
    let (schema, array): (Bound<'_, PyAny>, Bound<'_, PyAny>) = pair.extract()?;
    import_array(&schema, &array)
}

fn import_stream(capsule: &Bound<'_, PyAny>) -> PyResult<Reader> {
    let pointer = capsule.cast::<PyCapsule>()?.pointer_checked(Some(c"arrow_array_stream"))?;
    // SAFETY: a capsule of this name holds the address of an initialised ArrowArrayStream that the capsule owns until
    // a consumer moves it out; moving leaves a released one behind, which the capsule's destructor accepts.
    let stream = unsafe { FFI_ArrowArrayStream::from_raw(pointer.cast().as_ptr()) };
    let reader = RecordBatchStreamReader::try_new(stream).map_err(unreadable)?;
    Ok(Box::new(reader))
}

fn import_array(schema: &Bound<'_, PyAny>, array: &Bound<'_, PyAny>) -> PyResult<Reader> {
    let schema = schema.cast::<PyCapsule>()?.pointer_checked(Some(c"arrow_schema"))?;
    let array = array.cast::<PyCapsule>()?.pointer_checked(Some(c"arrow_array"))?;
    // SAFETY: as above, for an ArrowSchema and an ArrowArray; both are moved out.
    let (schema, array) =
        unsafe { (FFI_ArrowSchema::from_raw(schema.cast().as_ptr()), FFI_ArrowArray::from_raw(array.cast().as_ptr())) };
    // SAFETY: the producer made the pair together, so the schema describes the array.
    let data = unsafe { from_ffi(array, &schema) }.map_err(unreadable)?;
    if !matches!(data.data_type(), arrow_schema::DataType::Struct(_)) {
        return Err(PyTypeError::new_err(format!(
            "an Arrow array of {} is no table; a struct array, a record batch or a table is needed",
            data.data_type()
        )));
    }
    let metadata = schema.metadata().map_err(unreadable)?;
    let batch = RecordBatch::from(StructArray::from(data));
    let schema = batch.schema().as_ref().clone().with_metadata(metadata).into();
    let batch = batch.with_schema(schema).map_err(unreadable)?;
    let schema = batch.schema();
    Ok(Box::new(RecordBatchIterator::new([Ok(batch)], schema)))
}

/// Whether what the producer sent is what its types promise (text is UTF-8, offsets lie inside their buffers): nothing
/// after this looks twice.
pub fn check(batch: &RecordBatch) -> Result<(), String> {
    batch.columns().iter().zip(batch.schema().fields()).try_for_each(|(column, field)| {
        column
            .to_data()
            .validate_full()
            .map_err(|error| format!("column {:?} is no valid Arrow: {error}", field.name()))
    })
}

/// A table as the capsule that `__arrow_c_stream__` returns.
pub fn export(py: Python<'_>, reader: Reader) -> PyResult<Bound<'_, PyCapsule>> {
    PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(reader), c"arrow_array_stream")
}

#[expect(clippy::needless_pass_by_value, reason = "the shape that map_err wants")]
fn unreadable(error: arrow_schema::ArrowError) -> PyErr {
    PyTypeError::new_err(format!("this Arrow object cannot be read: {error}"))
}
