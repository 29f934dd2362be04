//! Task ids of rollouts as dense codes: integers or text, from arrays, series and lists.

use std::fmt::{Display, Write};
use std::sync::{Arc, OnceLock};

use kofn_core::arch;
use kofn_core::names::{IdKind, Names};
use kofn_core::tally::Owners;
use kofn_core::tasks::{self, Counting, Id};
use kofn_core::{Error, Result};
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyList};

use super::ids::{self, Job};
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
    codes: Codes,
}

/// The code of each rollout.
enum Codes {
    Each(Vec<u32>),
    /// Of rollouts that stand in rows of a task each; made when somebody asks for them one by one.
    Rows {
        size: usize,
        each: OnceLock<Vec<u32>>,
    },
}

/// Distinct ids in order of first appearance.
pub enum Ids {
    Signed(Vec<i64>),
    Unsigned(Vec<u64>),
    /// The numbers from 0 on.
    Counted(usize),
    /// Text, or integers of any size as decimal text.
    Named(IdKind),
}

impl TaskIndex {
    fn named(names: Names, kind: IdKind, codes: Vec<u32>) -> Self {
        Self { ids: Ids::Named(kind), names: OnceLock::from(Arc::new(names)), codes: Codes::Each(codes) }
    }

    /// Equal groups of consecutive rollouts, numbered from 0.
    pub fn consecutive(rollouts: usize, size: usize) -> Result<Self> {
        if size == 0 || !rollouts.is_multiple_of(size) {
            return Err(Error::argument(
                "group_size",
                format!("{rollouts} rollouts cannot be cut into groups of {size}"),
            ));
        }
        let codes = Codes::Rows { size, each: OnceLock::new() };
        Ok(Self { ids: Ids::Counted(rollouts / size), names: OnceLock::new(), codes })
    }

    /// The code of each rollout.
    pub fn codes(&self) -> &[u32] {
        match &self.codes {
            Codes::Each(codes) => codes,
            Codes::Rows { each, .. } => each.get_or_init(|| self.owners().each().into_owned()),
        }
    }

    /// The same without making them.
    pub fn owners(&self) -> Owners<'_> {
        match self.codes {
            Codes::Each(ref codes) => Owners::Each(codes),
            Codes::Rows { size, .. } => Owners::Rows { tasks: self.tasks(), size },
        }
    }

    /// How many distinct ids there are.
    pub fn tasks(&self) -> usize {
        match &self.ids {
            Ids::Signed(ids) => ids.len(),
            Ids::Unsigned(ids) => ids.len(),
            Ids::Counted(tasks) => *tasks,
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
                Ids::Counted(tasks) => decimal(0..*tasks),
                Ids::Named(_) => Names::default(),
            })
        })
    }
}

fn decimal<T: Display>(ids: impl IntoIterator<Item = T>) -> Names {
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

    /// Copies and pickles hold the ids and the codes.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Restored<'py>)> {
        let (py, index) = (slf.py(), slf.get());
        let restore = py.import("kofn._core")?.getattr("restore_index")?;
        Ok((restore, (index.ids(py)?, index.each(py), index.kind() == IdKind::Integer)))
    }

    /// Distinct task ids in order of first appearance: a list of int or of str.
    #[getter]
    fn ids<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        match &self.ids {
            Ids::Signed(ids) => PyList::new(py, ids),
            Ids::Unsigned(ids) => PyList::new(py, ids),
            Ids::Counted(tasks) => PyList::new(py, 0..*tasks),
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
    #[getter(codes)]
    fn each<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u32>> {
        PyArray1::from_slice(py, self.codes())
    }

    fn __len__(&self) -> usize {
        self.owners().len()
    }

    fn __repr__(&self) -> String {
        format!("TaskIndex({} rollouts of {} tasks)", self.owners().len(), self.tasks())
    }
}

/// Equal groups of consecutive rollouts, numbered from 0.
#[pyfunction]
pub fn consecutive_groups(py: Python<'_>, rollouts: usize, group_size: usize) -> PyResult<TaskIndex> {
    TaskIndex::consecutive(rollouts, group_size).map_err(|error| to_python(py, &error))
}

/// Distinct ids, the code of each rollout, and whether ids are integers: what `TaskIndex` is restored from.
type Restored<'py> = (Bound<'py, PyList>, Bound<'py, PyArray1<u32>>, bool);

/// The inverse of `TaskIndex.__reduce__`.
#[pyfunction]
pub fn restore_index(
    py: Python<'_>,
    ids: &Bound<'_, PyList>,
    codes: PyReadonlyArray1<'_, u32>,
    integers: bool,
) -> PyResult<TaskIndex> {
    let known = index(py, "ids", ids)?;
    let codes = codes.as_slice()?.to_vec();
    let restored = || {
        let tasks = known.tasks();
        let kind = if integers { IdKind::Integer } else { IdKind::Text };
        // Each id once, in order, and a code of it for each rollout: anything else was never an index.
        let whole = known.owners().len() == tasks && (tasks == 0 || known.kind() == kind);
        if !whole || codes.iter().any(|&code| code as usize >= tasks) {
            return Err(Error::argument("codes", "do not belong to these ids".to_owned()));
        }
        Ok(TaskIndex { codes: Codes::Each(codes), ..known })
    };
    detached(py, restored)
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
        let codes = known.codes().to_vec();
        return Ok(TaskIndex::named(known.names().as_ref().clone(), known.kind(), codes));
    }
    ids::run(py, name, values, Index)
}

/// Makes an index.
struct Index;

impl Job for Index {
    type Output = TaskIndex;
    type Sink = Vec<u32>;

    fn integers<T: Id>(self, ids: &[T]) -> Result<TaskIndex>
    where
        Ids: From<Vec<T>>,
    {
        let (distinct, codes) = tasks::index(ids);
        Ok(TaskIndex { ids: distinct.into(), names: OnceLock::new(), codes: Codes::Each(codes) })
    }

    fn sink(&self, rollouts: usize) -> Vec<u32> {
        arch::large_pages(Vec::with_capacity(rollouts))
    }

    fn texts(self, names: Names, kind: IdKind, codes: Vec<u32>) -> Result<TaskIndex> {
        Ok(TaskIndex::named(names, kind, codes))
    }
}

/// Counts rollouts and passes of each task, without their codes.
struct Count<'a>(&'a [i8]);

impl<'a> Job for Count<'a> {
    type Output = tasks::Counts;
    type Sink = Counting<'a>;

    fn integers<T: Id>(self, ids: &[T]) -> Result<tasks::Counts> {
        tasks::count_ids(ids, self.0)
    }

    fn sink(&self, _rollouts: usize) -> Counting<'a> {
        Counting::new(self.0)
    }

    fn texts(self, names: Names, _kind: IdKind, counting: Counting<'a>) -> Result<tasks::Counts> {
        counting.finish(names.len())
    }
}

macro_rules! from_integers {
    ($($id:ty => $variant:ident),*) => {$(
        impl From<Vec<$id>> for Ids {
            fn from(ids: Vec<$id>) -> Self {
                // What is as wide already stays where it is.
                Self::$variant(ids.into_iter().map(Into::into).collect())
            }
        }
    )*};
}
from_integers!(i8 => Signed, i16 => Signed, i32 => Signed, i64 => Signed);
from_integers!(u8 => Unsigned, u16 => Unsigned, u32 => Unsigned, u64 => Unsigned);

/// A count of each task.
type Counted<'py> = Bound<'py, PyArray1<i64>>;

/// Rollouts and passes of each task: int64 arrays. `groups` are ids, or a `TaskIndex` of them.
#[pyfunction]
pub fn count<'py>(
    py: Python<'py>,
    groups: &Bound<'py, PyAny>,
    passed: PyReadonlyArray1<'py, i8>,
) -> PyResult<(Counted<'py>, Counted<'py>)> {
    let passed = passed.as_slice()?;
    let (n, c) = if let Ok(index) = groups.cast::<TaskIndex>() {
        let index = index.get();
        detached(py, || tasks::count(index.codes(), passed, index.tasks()))?
    } else {
        ids::run(py, "groups", groups, Count(passed))?
    };
    Ok((PyArray1::from_vec(py, n), PyArray1::from_vec(py, c)))
}
