//! Columns of rollouts as NumPy arrays.
//!
//! Arrays that are plain already are borrowed as they lie; for everything else, and to say what is wrong with it,
//! there is `kofn._columns`, which makes plain ones.

use std::ops::Deref;

use kofn_core::plan::MAX_COUNT;
use kofn_core::tally::{Arrays, Floats};
use numpy::{Element, PyArrayDyn, PyArrayMethods, PyReadonlyArrayDyn, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyInt, PyString};

use super::groups::{self, TaskIndex};
use crate::errors::to_python;

/// Arguments that name columns and say which task each rollout belongs to, as Python gave them.
pub struct Given<'a, 'py> {
    /// Ids, a `TaskIndex`, or None.
    pub groups: &'a Bound<'py, PyAny>,
    /// A size, or None.
    pub group_size: &'a Bound<'py, PyAny>,
    /// In the order of [`NAMES`]; None where not given.
    pub columns: [&'a Bound<'py, PyAny>; 5],
}

/// The columns' names.
pub const NAMES: [&str; 5] = ["passed", "scores", "durations", "tokens", "valid"];

/// The tasks of rollouts: the caller's own index, or one made for this call.
pub enum Index<'py> {
    /// The caller's.
    Known(Bound<'py, TaskIndex>),
    /// Made here.
    New(TaskIndex),
}

impl Deref for Index<'_> {
    type Target = TaskIndex;

    fn deref(&self) -> &TaskIndex {
        match self {
            Self::Known(index) => index.get(),
            Self::New(index) => index,
        }
    }
}

impl<'py> Given<'_, 'py> {
    /// The tasks of the rollouts and the columns that were given, each checked.
    pub fn read(&self, py: Python<'py>) -> PyResult<(Index<'py>, Columns<'py>)> {
        if let Some(plain) = self.plain(py)? {
            return Ok(plain);
        }
        let columns = PyDict::new(py);
        for (name, column) in NAMES.into_iter().zip(self.columns) {
            columns.set_item(name, column)?;
        }
        let grouped = py.import("kofn._columns")?.getattr("grouped")?.call1((self.groups, self.group_size, columns))?;
        let (index, columns): (Bound<'py, TaskIndex>, Columns<'py>) = grouped.extract()?;
        Ok((Index::Known(index), columns))
    }

    /// The same where nothing needs to be converted and nothing is wrong.
    fn plain(&self, py: Python<'py>) -> PyResult<Option<(Index<'py>, Columns<'py>)>> {
        let mut shape = None;
        for column in self.columns.into_iter().filter(|column| !column.is_none()) {
            if !column.is_exact_instance_of::<PyUntypedArray>() {
                return Ok(None);
            }
            let array = column.cast::<PyUntypedArray>()?;
            if !array.is_c_contiguous() || *shape.get_or_insert_with(|| array.shape().to_vec()) != array.shape() {
                return Ok(None);
            }
        }
        let Some(shape) = shape else { return Ok(None) };
        let rollouts = shape.iter().product();
        let index = match *shape {
            [_] if !self.groups.is_none() && self.group_size.is_none() => match self.groups.cast::<TaskIndex>() {
                Ok(index) => Index::Known(index.clone()),
                Err(_) => Index::New(groups::index(py, "groups", self.groups)?),
            },
            [_] | [_, _] if self.groups.is_none() => {
                let row = shape.get(1).copied();
                let size = match (self.group_size.is_none(), whole(self.group_size)) {
                    (true, _) => row,
                    (false, size) => size.and_then(|size| usize::try_from(size).ok()),
                };
                match size {
                    Some(size) if size > 0 && row.is_none_or(|row| row == size) && rollouts % size == 0 => {
                        Index::New(TaskIndex::consecutive(rollouts, size).map_err(|error| to_python(py, &error))?)
                    }
                    _ => return Ok(None),
                }
            }
            _ => return Ok(None),
        };
        if index.owners().len() != rollouts {
            return Ok(None);
        }
        let [passed, scores, durations, tokens, valid] = self.columns;
        let Some(columns) = Columns::plain(passed, scores, durations, tokens, valid) else { return Ok(None) };
        Ok(Some((index, columns)))
    }
}

/// A whole number that is an `int` and nothing else.
pub fn whole(value: &Bound<'_, PyAny>) -> Option<u64> {
    value.is_exact_instance_of::<PyInt>().then(|| value.extract().ok()).flatten()
}

/// Text that UTF-8 can hold.
pub fn text(value: &Bound<'_, PyAny>) -> Option<String> {
    value.is_exact_instance_of::<PyString>().then(|| value.extract().ok()).flatten()
}

/// The columns that were given.
#[derive(Default)]
pub struct Columns<'py> {
    passed: Option<Verdicts<'py>>,
    scores: Option<Scores<'py>>,
    durations: Option<PyReadonlyArrayDyn<'py, f64>>,
    tokens: Option<PyReadonlyArrayDyn<'py, i64>>,
    valid: Option<PyReadonlyArrayDyn<'py, bool>>,
}

/// 1, 0 or -1 for none; or bools, of which no byte is anything but 0 and 1.
enum Verdicts<'py> {
    I8(PyReadonlyArrayDyn<'py, i8>),
    Bool(PyReadonlyArrayDyn<'py, bool>),
}

enum Scores<'py> {
    F64(PyReadonlyArrayDyn<'py, f64>),
    F32(PyReadonlyArrayDyn<'py, f32>),
}

/// What `kofn._columns.grouped` gives.
impl<'a, 'py> FromPyObject<'a, 'py> for Columns<'py> {
    type Error = PyErr;

    fn extract(columns: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        let columns = columns.cast::<PyDict>()?;
        let [passed, scores, durations, tokens, valid] = NAMES.map(|name| columns.get_item(name));
        Ok(Self {
            passed: column(passed?)?.map(Verdicts::I8),
            scores: column(scores?)?.map(Scores::F64),
            durations: column(durations?)?,
            tokens: column(tokens?)?,
            valid: column(valid?)?,
        })
    }
}

fn column<T: Element>(column: Option<Bound<'_, PyAny>>) -> PyResult<Option<PyReadonlyArrayDyn<'_, T>>> {
    column.map(|column| Ok(column.cast_into::<PyArrayDyn<T>>()?.try_readonly()?)).transpose()
}

/// A plain array as it lies, if it holds `T`.
fn lent<'py, T: Element>(array: &Bound<'py, PyAny>) -> Option<PyReadonlyArrayDyn<'py, T>> {
    let array = array.cast::<PyArrayDyn<T>>().ok()?.try_readonly().ok()?;
    array.as_slice().is_ok().then_some(array)
}

impl<'py> Columns<'py> {
    /// Of plain arrays or None; none where one is of another type, or holds what the core must not see.
    fn plain(
        passed: &Bound<'py, PyAny>,
        scores: &Bound<'py, PyAny>,
        durations: &Bound<'py, PyAny>,
        tokens: &Bound<'py, PyAny>,
        valid: &Bound<'py, PyAny>,
    ) -> Option<Self> {
        let mut columns = Self::default();
        if !passed.is_none() {
            columns.passed = Some(Verdicts::Bool(truths(passed)?));
        }
        if !scores.is_none() {
            columns.scores = Some(match lent(scores) {
                Some(scores) => Scores::F32(scores),
                None => Scores::F64(lent(scores)?),
            });
        }
        if !durations.is_none() {
            columns.durations = Some(lent(durations)?);
        }
        if !tokens.is_none() {
            let counts: PyReadonlyArrayDyn<'_, i64> = lent(tokens)?;
            let is_count = |&count: &i64| u64::try_from(count).is_ok_and(|count| count <= MAX_COUNT);
            if !counts.as_slice().ok()?.iter().all(is_count) {
                return None;
            }
            columns.tokens = Some(counts);
        }
        if !valid.is_none() {
            columns.valid = Some(truths(valid)?);
        }
        Some(columns)
    }

    /// Borrow them as the core takes them.
    pub fn borrow<'a>(&'a self, index: &'a TaskIndex, by: Option<&'a TaskIndex>) -> PyResult<Arrays<'a>> {
        Ok(Arrays {
            task: index.owners(),
            passed: match &self.passed {
                None => &[],
                Some(Verdicts::I8(verdicts)) => slice(verdicts)?,
                Some(Verdicts::Bool(truths)) => bytes(truths)?,
            },
            scores: match &self.scores {
                None => Floats::default(),
                Some(Scores::F64(scores)) => Floats::F64(slice(scores)?),
                Some(Scores::F32(scores)) => Floats::F32(slice(scores)?),
            },
            valid: self.valid.as_ref().map_or(Ok(&[][..]), slice)?,
            durations: self.durations.as_ref().map_or(Ok(&[][..]), slice)?,
            tokens: self.tokens.as_ref().map_or(Ok(&[][..]), slice)?,
            by: by.map(|by| (by.codes(), &**by.names())),
        })
    }
}

/// Bools as they lie, unless they are none: `view` makes bytes that NumPy calls true and Rust cannot hold.
fn truths<'py>(array: &Bound<'py, PyAny>) -> Option<PyReadonlyArrayDyn<'py, bool>> {
    let array = array.cast::<PyArrayDyn<bool>>().ok()?.try_readonly().ok()?;
    bytes(&array).ok()?.iter().fold(true, |all, byte| all & matches!(byte, 0 | 1)).then_some(array)
}

/// The bytes of bools, whatever they are.
#[expect(unsafe_code, reason = "what NumPy calls a bool may be any byte, which must be looked at before it is one")]
fn bytes<'a>(array: &'a PyReadonlyArrayDyn<'_, bool>) -> PyResult<&'a [i8]> {
    if array.is_empty() {
        return Ok(&[]);
    }
    if !array.is_c_contiguous() {
        return Err(PyValueError::new_err("the array is not contiguous"));
    }
    // SAFETY: a contiguous array of `len` items of one byte; the borrow keeps it alive and unwritten.
    Ok(unsafe { std::slice::from_raw_parts(array.data().cast_const().cast(), array.len()) })
}

fn slice<'a, T: Element>(array: &'a PyReadonlyArrayDyn<'_, T>) -> PyResult<&'a [T]> {
    Ok(array.as_slice()?)
}
