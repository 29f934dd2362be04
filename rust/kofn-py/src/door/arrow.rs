//! Arrow's C interface through capsules: tables and columns in, tables out. The only place that touches its pointers.
#![expect(
    unsafe_code,
    reason = "the C interface passes structures by address inside capsules; each block says why the address is good"
)]

use std::ffi::{c_char, c_int, c_void};
use std::ptr;

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi};
use arrow_array::ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader};
use arrow_array::{Array, RecordBatch, RecordBatchIterator, RecordBatchReader, StructArray};
use arrow_data::ArrayData;
use arrow_schema::{ArrowError, DataType};
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

/// The chunks of a column from any object with one of the same two methods, if its type is `wanted`. The data is
/// whatever the producer sent: nothing of it was checked.
pub fn column(source: &Bound<'_, PyAny>, wanted: fn(&DataType) -> bool) -> PyResult<Option<Vec<ArrayData>>> {
    if source.hasattr("__arrow_c_stream__")? {
        let capsule = source.call_method0("__arrow_c_stream__")?;
        let pointer = capsule.cast::<PyCapsule>()?.pointer_checked(Some(c"arrow_array_stream"))?;
        // SAFETY: as in `import_stream`.
        let mut stream = unsafe { Stream::take(pointer.cast().as_ptr()) };
        let schema = stream.schema().map_err(unreadable)?;
        if !DataType::try_from(&schema).is_ok_and(|found| wanted(&found)) {
            return Ok(None);
        }
        let mut chunks = Vec::new();
        while let Some(array) = stream.next().map_err(unreadable)? {
            // SAFETY: the producer says that its schema describes its arrays.
            chunks.push(unsafe { from_ffi(array, &schema) }.map_err(unreadable)?);
        }
        return Ok(Some(chunks));
    }
    if !source.hasattr("__arrow_c_array__")? {
        return Ok(None);
    }
    let pair = source.call_method0("__arrow_c_array__")?;
    let (schema, array): (Bound<'_, PyAny>, Bound<'_, PyAny>) = pair.extract()?;
    let schema = schema.cast::<PyCapsule>()?.pointer_checked(Some(c"arrow_schema"))?;
    let array = array.cast::<PyCapsule>()?.pointer_checked(Some(c"arrow_array"))?;
    // SAFETY: as in `import_array`.
    let (schema, array) =
        unsafe { (FFI_ArrowSchema::from_raw(schema.cast().as_ptr()), FFI_ArrowArray::from_raw(array.cast().as_ptr())) };
    if !DataType::try_from(&schema).is_ok_and(|found| wanted(&found)) {
        return Ok(None);
    }
    // SAFETY: likewise.
    Ok(Some(vec![unsafe { from_ffi(array, &schema) }.map_err(unreadable)?]))
}

/// An `ArrowArrayStream`, whose arrays need not be the rows of a table as those of arrow's own reader must.
#[repr(C)]
struct Stream {
    get_schema: Option<unsafe extern "C" fn(*mut Stream, *mut FFI_ArrowSchema) -> c_int>,
    get_next: Option<unsafe extern "C" fn(*mut Stream, *mut FFI_ArrowArray) -> c_int>,
    get_last_error: Option<unsafe extern "C" fn(*mut Stream) -> *const c_char>,
    release: Option<unsafe extern "C" fn(*mut Stream)>,
    private_data: *mut c_void,
}

impl Stream {
    /// Move a stream out of where a producer put it.
    ///
    /// # Safety
    /// `at` is the address of an initialised `ArrowArrayStream`, or of one that was moved out.
    unsafe fn take(at: *mut Self) -> Self {
        let released = Self {
            get_schema: None,
            get_next: None,
            get_last_error: None,
            release: None,
            private_data: ptr::null_mut(),
        };
        // SAFETY: the caller's promise.
        unsafe { ptr::replace(at, released) }
    }

    fn schema(&mut self) -> Result<FFI_ArrowSchema, ArrowError> {
        let mut schema = FFI_ArrowSchema::empty();
        // SAFETY: an initialised stream that was not released takes these calls; both places are valid.
        let code = self.get_schema.map(|get| unsafe { get(self, &raw mut schema) });
        if code == Some(0) { Ok(schema) } else { Err(failed(code)) }
    }

    fn next(&mut self) -> Result<Option<FFI_ArrowArray>, ArrowError> {
        let mut array = FFI_ArrowArray::empty();
        // SAFETY: likewise.
        let code = self.get_next.map(|get| unsafe { get(self, &raw mut array) });
        if code == Some(0) { Ok((!array.is_released()).then_some(array)) } else { Err(failed(code)) }
    }
}

fn failed(code: Option<c_int>) -> ArrowError {
    ArrowError::CDataInterface(
        code.map_or("it was read already".to_owned(), |code| format!("its stream fails, {code}")),
    )
}

impl Drop for Stream {
    fn drop(&mut self) {
        if let Some(release) = self.release {
            // SAFETY: it was not released yet, and is not used again.
            unsafe { release(self) }
        }
    }
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
