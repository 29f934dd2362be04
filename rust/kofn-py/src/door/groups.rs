//! Task ids of rollouts as dense codes: integers or text, from arrays, series and lists.

use std::fmt::{Display, Write};
use std::sync::{Arc, OnceLock};

use kofn_core::names::{IdKind, Names};
use kofn_core::{Error, Result, tasks};
use numpy::{PyArray1, PyArrayDescrMethods, PyArrayMethods, PyReadonlyArray1, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
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
    ids: Ids,
    /// Distinct ids as text, made when somebody asks.
    names: OnceLock<Arc<Names>>,
    /// The code of each rollout.
    pub codes: Vec<u32>,
}

/// Distinct ids in order of first appearance.
enum Ids {
    Signed(Vec<i64>),
    Unsigned(Vec<u64>),
    /// Text, or integers of any size as decimal text.
    Named(IdKind),
}

impl TaskIndex {
    fn named(names: Names, kind: IdKind, codes: Vec<u32>) -> Self {
        Self { ids: Ids::Named(kind), names: OnceLock::from(Arc::new(names)), codes }
    }

    /// How many distinct ids there are.
    pub fn tasks(&self) -> usize {
        match &self.ids {
            Ids::Signed(ids) => ids.len(),
            Ids::Unsigned(ids) => ids.len(),
            Ids::Named(_) => self.names().len(),
        }
    }

    /// Text or integers.
    pub const fn kind(&self) -> IdKind {
        match self.ids {
            Ids::Named(kind) => kind,
            _ => IdKind::Integer,
        }
    }

    /// Distinct ids as text, in order of first appearance.
    pub fn names(&self) -> &Arc<Names> {
        self.names.get_or_init(|| {
            Arc::new(match &self.ids {
                Ids::Signed(ids) => decimal(ids),
                Ids::Unsigned(ids) => decimal(ids),
                Ids::Named(_) => Names::default(),
            })
        })
    }
}

fn decimal<T: Display>(ids: &[T]) -> Names {
    let mut names = Names::default();
    let mut text = String::new();
    for id in ids {
        text.clear();
        // Writing to a String cannot fail.
        let _ = write!(text, "{id}");
        names.intern(&text);
    }
    names
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
        match &self.ids {
            Ids::Signed(ids) => PyList::new(py, ids),
            Ids::Unsigned(ids) => PyList::new(py, ids),
            Ids::Named(IdKind::Text) => PyList::new(py, self.names().iter()),
            // Integers of any size: Python reads them.
            Ids::Named(IdKind::Integer) => {
                let int = py.get_type::<PyInt>();
                let ids = self.names().iter().map(|name| int.call1((name,))).collect::<PyResult<Vec<_>>>()?;
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
        format!("TaskIndex({} rollouts of {} tasks)", self.codes.len(), self.tasks())
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
        let tasks = i64::try_from(rollouts / group_size).unwrap_or(i64::MAX);
        let codes = (0u32..).take(rollouts / group_size).flat_map(|code| std::iter::repeat_n(code, group_size));
        let codes = codes.take(rollouts).collect();
        Ok(TaskIndex { ids: Ids::Signed((0..tasks).collect()), names: OnceLock::new(), codes })
    };
    detached(py, grouped)
}

/// A `TaskIndex` of what the caller calls `name`.
#[pyfunction]
pub fn task_index(py: Python<'_>, name: &str, values: &Bound<'_, PyAny>) -> PyResult<TaskIndex> {
    index(py, name, values)
}

/// A `TaskIndex` of the ids in an array of any shape, which the caller calls `name`.
pub fn flat_index(py: Python<'_>, name: &str, values: &Bound<'_, PyAny>) -> PyResult<TaskIndex> {
    let array = py.import("kofn._columns")?.call_method1("array", (name, values))?;
    index(py, name, &array.call_method1("reshape", (-1,))?)
}

/// Intern the ids in `values`, which the caller calls `name`.
pub fn index(py: Python<'_>, name: &str, values: &Bound<'_, PyAny>) -> PyResult<TaskIndex> {
    if let Ok(known) = values.cast::<TaskIndex>() {
        let known = known.get();
        let codes = known.codes.clone();
        return Ok(TaskIndex::named(known.names().as_ref().clone(), known.kind(), codes));
    }
    if let Ok(list) = values.cast::<PyList>() {
        return from_list(py, name, list);
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
    match untyped.dtype().kind() {
        b'i' => from_integers(py, &array, "int64", Ids::Signed),
        b'u' => from_integers(py, &array, "uint64", Ids::Unsigned),
        b'U' | b'O' | b'T' => from_list(py, name, array.call_method0("tolist")?.cast::<PyList>()?),
        _ => Err(to_python(
            py,
            &Error::argument(name, format!("ids are integers or text, not {}", untyped.dtype().str()?)),
        )),
    }
}

fn from_integers<T>(
    py: Python<'_>,
    array: &Bound<'_, PyAny>,
    dtype: &str,
    ids: fn(Vec<T>) -> Ids,
) -> PyResult<TaskIndex>
where
    T: numpy::Element + tasks::Id + Sync + Send,
{
    let plain = array.cast::<PyArray1<T>>().ok().and_then(|array| array.try_readonly().ok());
    let array = match plain.filter(|array| array.as_slice().is_ok()) {
        Some(array) => array,
        None => py.import("numpy")?.call_method1("ascontiguousarray", (array, dtype))?.extract()?,
    };
    let values = array.as_slice()?;
    detached(py, || {
        let (distinct, codes) = tasks::index(values);
        Ok(TaskIndex { ids: ids(distinct), names: OnceLock::new(), codes })
    })
}

/// A count of each task.
type Counted<'py> = Bound<'py, PyArray1<i64>>;

/// Rollouts and passes of each task: int64 arrays.
#[pyfunction]
pub fn count<'py>(
    py: Python<'py>,
    index: &TaskIndex,
    passed: PyReadonlyArray1<'py, i8>,
) -> PyResult<(Counted<'py>, Counted<'py>)> {
    let passed = passed.as_slice()?;
    let (n, c) = detached(py, || tasks::count(&index.codes, passed, index.tasks()))?;
    Ok((PyArray1::from_vec(py, n), PyArray1::from_vec(py, c)))
}

fn from_list(py: Python<'_>, name: &str, list: &Bound<'_, PyList>) -> PyResult<TaskIndex> {
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
            whole = match item.call_method0("__index__")?.str() {
                Ok(digits) => digits,
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
    Ok(TaskIndex::named(names, kind.unwrap_or(IdKind::Integer), codes))
}
