//! Task ids of rollouts as dense codes: integers or text, from arrays, series and lists.

use std::sync::Arc;

use hashbrown::HashMap;
use kofn_core::names::{IdKind, Names};
use kofn_core::{Error, Result};
use numpy::{PyArray1, PyArrayDescrMethods, PyReadonlyArray1, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyInt, PyList, PyString};

use crate::errors::{detached, to_python};

/// Task ids interned once: `ids[codes[i]]` is the task of rollout i.
///
/// Parameters
/// ----------
/// groups : array_like, shape (R,)
///     The task id of each rollout: integers or text, not both.
#[pyclass(frozen, module = "kofn")]
pub struct TaskIndex {
    /// Distinct ids as text, in order of first appearance.
    pub names: Arc<Names>,
    /// Text or integers.
    pub kind: IdKind,
    /// The code of each rollout.
    pub codes: Vec<u32>,
}

#[pymethods]
impl TaskIndex {
    #[new]
    fn new(py: Python<'_>, groups: &Bound<'_, PyAny>) -> PyResult<Self> {
        index(py, "groups", groups)
    }

    /// Distinct task ids in order of first appearance: a list of int or of str.
    #[getter]
    fn ids<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        match self.kind {
            IdKind::Text => PyList::new(py, self.names.iter()),
            // Integer ids are kept as decimal text; Python reads any size.
            IdKind::Integer => {
                let int = py.get_type::<PyInt>();
                let ids = self.names.iter().map(|name| int.call1((name,))).collect::<PyResult<Vec<_>>>()?;
                PyList::new(py, ids)
            }
        }
    }

    /// The position in `ids` of each rollout's task: uint32, shape (R,).
    #[getter]
    fn codes<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u32>> {
        PyArray1::from_slice(py, &self.codes)
    }

    fn __len__(&self) -> usize {
        self.codes.len()
    }

    fn __repr__(&self) -> String {
        format!("TaskIndex({} rollouts of {} tasks)", self.codes.len(), self.names.len())
    }
}

/// Equal groups of consecutive rollouts, numbered from 0.
#[pyfunction]
pub fn consecutive_groups(py: Python<'_>, rollouts: usize, group_size: usize) -> PyResult<TaskIndex> {
    let grouped = || -> Result<TaskIndex> {
        if group_size == 0 || !rollouts.is_multiple_of(group_size) {
            return Err(Error::argument(
                "group_size",
                format!("{rollouts} rollouts cannot be cut into groups of {group_size}"),
            ));
        }
        let mut names = Names::default();
        let tasks = rollouts / group_size;
        let mut codes = Vec::with_capacity(rollouts);
        for task in 0..tasks {
            let code = names.intern(&task.to_string());
            codes.extend(std::iter::repeat_n(code, group_size));
        }
        Ok(TaskIndex { names: Arc::new(names), kind: IdKind::Integer, codes })
    };
    detached(py, grouped)
}

/// Intern the ids in `values`, which the caller calls `name`.
pub fn index(py: Python<'_>, name: &str, values: &Bound<'_, PyAny>) -> PyResult<TaskIndex> {
    if let Ok(known) = values.cast::<TaskIndex>() {
        let known = known.get();
        return Ok(TaskIndex { names: Arc::clone(&known.names), kind: known.kind, codes: known.codes.clone() });
    }
    if let Ok(list) = values.cast::<PyList>() {
        return from_list(py, name, list);
    }
    // Series of pandas, polars and pyarrow, tensors, tuples: all become arrays by NumPy's own protocol.
    let array = py.import("numpy")?.call_method1("asarray", (values,))?;
    let untyped = array.cast::<PyUntypedArray>()?;
    if untyped.ndim() != 1 {
        let error = Error::argument(name, format!("has {} dimensions, ids are one a rollout", untyped.ndim()));
        return Err(to_python(py, &error));
    }
    match untyped.dtype().kind() {
        b'i' => from_integers::<i64>(py, &array, "int64"),
        b'u' => from_integers::<u64>(py, &array, "uint64"),
        b'U' | b'O' | b'T' => from_list(py, name, array.call_method0("tolist")?.cast::<PyList>()?),
        _ => Err(to_python(
            py,
            &Error::argument(name, format!("ids are integers or text, not {}", untyped.dtype().str()?)),
        )),
    }
}

fn from_integers<T>(py: Python<'_>, array: &Bound<'_, PyAny>, dtype: &str) -> PyResult<TaskIndex>
where
    T: numpy::Element + Copy + Eq + std::hash::Hash + std::fmt::Display + Sync,
{
    let contiguous = py.import("numpy")?.call_method1("ascontiguousarray", (array, dtype))?;
    let array: PyReadonlyArray1<'_, T> = contiguous.extract()?;
    let values = array.as_slice()?;
    detached(py, || Ok(intern_integers(values)))
}

fn intern_integers<T: Copy + Eq + std::hash::Hash + std::fmt::Display>(values: &[T]) -> TaskIndex {
    let mut names = Names::default();
    let mut text = String::new();
    let mut known: HashMap<T, u32, foldhash::fast::FixedState> = HashMap::default();
    let mut codes = Vec::with_capacity(values.len());
    let mut rest = values;
    while let Some(&value) = rest.first() {
        // Rollouts of one task mostly stand together: one look-up a run of equal ids.
        let run = rest.iter().take_while(|&&other| other == value).count();
        let code = *known.entry(value).or_insert_with(|| {
            text.clear();
            // Writing to a String cannot fail.
            let _ = std::fmt::Write::write_fmt(&mut text, format_args!("{value}"));
            names.intern(&text)
        });
        codes.extend(std::iter::repeat_n(code, run));
        rest = &rest[run..];
    }
    TaskIndex { names: Arc::new(names), kind: IdKind::Integer, codes }
}

fn from_list(py: Python<'_>, name: &str, list: &Bound<'_, PyList>) -> PyResult<TaskIndex> {
    let mut names = Names::default();
    let mut kind = None;
    let mut codes = Vec::with_capacity(list.len());
    let refuse = |problem: String| Err(to_python(py, &Error::argument(name, problem)));
    for (i, item) in list.iter().enumerate() {
        let (text, found) = if let Ok(text) = item.cast::<PyString>() {
            (text.clone(), IdKind::Text)
        } else if item.is_instance_of::<PyInt>() && !item.is_instance_of::<PyBool>() {
            (item.str()?, IdKind::Integer)
        } else if item.hasattr("__index__")? && !item.is_instance_of::<PyBool>() && item.get_type().name()? != "bool" {
            (item.call_method0("__index__")?.str()?, IdKind::Integer)
        } else {
            return refuse(format!("entry {i} is {}; ids are integers or text", item.repr()?));
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
    Ok(TaskIndex { names: Arc::new(names), kind: kind.unwrap_or(IdKind::Integer), codes })
}
