//! Task ids as callers have them: which of the ways that borrow them fits, and the slow one that takes all others.

use kofn_core::names::{IdKind, Names};
use kofn_core::tasks::{Coder, Id, Sink};
use kofn_core::{Error, Result};
use numpy::{PyArray1, PyArrayDescrMethods, PyArrayMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyList, PyString};

use super::groups::Ids;
use super::strings;
use super::texts::{self, Texts};
use crate::errors::{detached, to_python};

/// What is done with ids.
pub trait Job: Send + Sized {
    /// What comes of it.
    type Output: Send;
    /// What takes the codes of texts.
    type Sink: Sink + Send;
    /// Do it with integers.
    fn integers<T: Id>(self, ids: &[T]) -> Result<Self::Output>
    where
        Ids: From<Vec<T>>;
    /// What takes the codes of so many rollouts whose ids are texts, integers of any size among them.
    fn sink(&self, rollouts: usize) -> Self::Sink;
    /// What comes of texts.
    fn texts(self, names: Names, kind: IdKind, sink: Self::Sink) -> Result<Self::Output>;
}

/// Do a job with the ids in `values`, which the caller calls `name`.
pub fn run<J: Job>(py: Python<'_>, name: &str, values: &Bound<'_, PyAny>, job: J) -> PyResult<J::Output> {
    if let Ok(list) = values.cast::<PyList>() {
        return from_list(py, name, list, job);
    }
    if !values.is_instance_of::<PyUntypedArray>()
        && let Some(texts) = texts::import(values)
    {
        return detached(py, || {
            let mut coder = Coder::new(name, job.sink(texts.iter().map(Texts::len).sum()));
            texts.iter().try_for_each(|texts| texts.feed(&mut coder))?;
            let (names, sink) = coder.finish();
            job.texts(names, IdKind::Text, sink)
        });
    }
    // Series of pandas, polars and pyarrow, tensors, tuples: all become arrays as every other column does.
    let array = if values.is_exact_instance_of::<PyUntypedArray>() {
        values.clone()
    } else {
        py.import("kofn._columns")?.call_method1("array", (name, values))?
    };
    let untyped = array.cast::<PyUntypedArray>()?;
    if untyped.ndim() != 1 {
        let error = Error::argument(name, format!("has {} dimensions, ids are one a rollout", untyped.ndim()));
        return Err(to_python(py, &error));
    }
    let wide = match untyped.dtype().kind() {
        b'i' => "int64",
        b'u' => "uint64",
        b'U' | b'O' | b'T' => return from_list(py, name, array.call_method0("tolist")?.cast::<PyList>()?, job),
        _ => {
            let problem = format!("ids are integers or text, not {}", untyped.dtype().str()?);
            return Err(to_python(py, &Error::argument(name, problem)));
        }
    };
    // As they are where they can be borrowed, else copied and widened.
    macro_rules! borrow {
        ($array:expr, $($id:ty),*) => {$(
            if let Ok(array) = $array.cast::<PyArray1<$id>>()
                && let Ok(array) = array.try_readonly()
                && let Ok(ids) = array.as_slice()
            {
                return detached(py, || job.integers(ids));
            }
        )*};
    }
    borrow!(array, i64, i32, u64, u32);
    let array = py.import("numpy")?.call_method1("ascontiguousarray", (array, wide))?;
    borrow!(array, i64, u64);
    Err(to_python(py, &Error::argument(name, "this array cannot be read".to_owned())))
}

fn from_list<J: Job>(py: Python<'_>, name: &str, list: &Bound<'_, PyList>, job: J) -> PyResult<J::Output> {
    let list = &strings::settled(list)?;
    if let Some(integers) = strings::integers(list) {
        return detached(py, || job.integers(&integers));
    }
    let refused = |error: Error| to_python(py, &error);
    let mut coder = Coder::new(name, job.sink(list.len()));
    if strings::feed(list, &mut coder).map_err(refused)? {
        let (names, sink) = coder.finish();
        return job.texts(names, IdKind::Text, sink).map_err(refused);
    }
    let (names, kind, codes) = one_by_one(py, name, list)?;
    let mut sink = job.sink(codes.len());
    sink.take(codes.len(), codes.iter().map(|&code| (code, 1)), names.len());
    job.texts(names, kind, sink).map_err(refused)
}

/// Ids that are neither plain strings nor plain integers of 64 bits; says what is wrong with what is no id.
fn one_by_one(py: Python<'_>, name: &str, list: &Bound<'_, PyList>) -> PyResult<(Names, IdKind, Vec<u32>)> {
    let mut names = Names::default();
    let mut kind = None;
    let mut codes = Vec::with_capacity(list.len());
    let refuse = |problem: String| Err(to_python(py, &Error::argument(name, problem)));
    for (i, item) in list.iter().enumerate() {
        let whole;
        let (text, found) = if let Ok(text) = item.cast::<PyString>() {
            (text, IdKind::Text)
        } else {
            let bool = item.is_instance_of::<PyBool>() || item.get_type().name()? == "bool";
            if bool || !item.hasattr("__index__")? {
                let shown: String = py.import("kofn._values")?.call_method1("shown", (item,))?.extract()?;
                return refuse(format!("entry {i} is {shown}; ids are integers or text"));
            }
            // Enumerations and other kinds of `int` may show themselves otherwise than by their digits.
            whole = match item.call_method0("__index__").and_then(|whole| whole.str()) {
                Ok(digits) => digits,
                // Arrays say that they are whole numbers, and are none.
                Err(error) if error.is_instance_of::<PyTypeError>(py) => {
                    let shown: String = py.import("kofn._values")?.call_method1("shown", (item,))?.extract()?;
                    return refuse(format!("entry {i} is {shown}; ids are integers or text"));
                }
                // Python writes no integer of more than 4300 digits.
                Err(error) if error.is_instance_of::<PyValueError>(py) => {
                    return refuse(format!("entry {i} has too many digits for an id"));
                }
                Err(error) => return Err(error),
            };
            (&whole, IdKind::Integer)
        };
        if *kind.get_or_insert(found) != found {
            return refuse(format!(
                "entry {i} is {}, entries before it are not: ids are all integers or all text",
                found.noun()
            ));
        }
        let Ok(text) = text.to_str() else { return refuse(format!("entry {i} is not valid Unicode text")) };
        if text.is_empty() {
            return refuse(format!("entry {i} is empty; a task needs a name"));
        }
        codes.push(names.intern(text));
    }
    Ok((names, kind.unwrap_or(IdKind::Integer), codes))
}
