//! Runs: sources and arrays in, rollouts and summaries out.

use std::sync::{Arc, Mutex, PoisonError};

use kofn_core::batch::{NO_COUNT, NO_INDEX, range};
use kofn_core::error::Unit;
use kofn_core::header::Requested as CoreRequested;
use kofn_core::json::{Mapping, Options};
use kofn_core::plan::Needs;
use kofn_core::policies::{Classified, flags};
use kofn_core::run::select::Selection;
use kofn_core::run::{Details, OnDuplicate, Run as CoreRun, summary};
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict};

use crate::door::arrays::Columns;
use crate::door::arrow;
use crate::door::columns;
use crate::door::groups::TaskIndex;
use crate::errors::{detached, to_python, watched};
use crate::sources::{Pending, SourceParts};
use crate::tally::{PolicyParts, RequestedParts, policy as core_policy};

/// Requested counts on their way out: a number or a dict.
struct Requested<'a>(&'a CoreRequested);

impl<'py> IntoPyObject<'py> for Requested<'_> {
    type Target = PyAny;
    type Output = Bound<'py, PyAny>;
    type Error = PyErr;
    fn into_pyobject(self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match self.0 {
            CoreRequested::Each(n) => Ok(n.into_pyobject(py)?.into_any()),
            CoreRequested::PerTask(list) => {
                let dict = PyDict::new(py);
                list.iter().try_for_each(|(task, n)| dict.set_item(task, n))?;
                Ok(dict.into_any())
            }
        }
    }
}

/// A run in memory.
#[pyclass(frozen, module = "kofn._core")]
pub struct Run {
    run: Arc<CoreRun>,
    details: Mutex<Details>,
}

impl Run {
    fn new(run: CoreRun) -> Self {
        Self { run: Arc::new(run), details: Mutex::default() }
    }

    /// The core's run, for whatever works on one.
    pub fn core(&self) -> &Arc<CoreRun> {
        &self.run
    }
}

/// Read sources into a run.
#[pyfunction]
#[pyo3(signature = (sources, *, given, skip_errors, keep_ungradable, on_duplicate))]
pub fn read(
    py: Python<'_>,
    sources: Vec<SourceParts<'_>>,
    given: Option<RequestedParts>,
    skip_errors: bool,
    keep_ungradable: bool,
    on_duplicate: &str,
) -> PyResult<Run> {
    let on_duplicate = OnDuplicate::parse(on_duplicate).map_err(|error| to_python(py, &error))?;
    let pending = Pending::all(sources)?;
    watched(py, |watch| {
        let groups = Pending::groups(pending, watch)?;
        let mapping = Mapping::native();
        let options = Options { mapping: &mapping, needs: Needs::ALL, skip_errors, keep_ungradable, unit: Unit::Line };
        let mut run = CoreRun::read(groups, &options, on_duplicate, watch)?;
        run.given = given.map(RequestedParts::into_core);
        Ok(Run::new(run))
    })
}

/// A run of the arrays of a training loop; see `Run.from_arrays`.
#[pyfunction]
pub fn run_from_arrays(py: Python<'_>, index: &TaskIndex, columns: Columns<'_>) -> PyResult<Run> {
    let arrays = columns.borrow(index, None)?;
    detached(py, || CoreRun::from_arrays(&arrays, index.names(), index.kind()).map(Run::new))
}

#[pymethods]
impl Run {
    fn __len__(&self) -> usize {
        self.run.len()
    }

    /// What the run declares: id, requested, tasks, score range; None without a header.
    fn header<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let Some(header) = &self.run.reading.header else { return Ok(None) };
        let fields = PyDict::new(py);
        fields.set_item("id", &header.id)?;
        fields.set_item("requested", header.requested.as_ref().map(Requested))?;
        fields.set_item("tasks", &header.tasks)?;
        fields.set_item("score_range", header.score_range)?;
        Ok(Some(fields))
    }

    /// The requested counts given with the sources.
    fn given<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.run.given.as_ref().map(|given| Requested(given).into_pyobject(py)).transpose()
    }

    /// Names of the sources, and what was met beside rollouts.
    fn sources_and_notes(&self) -> (Vec<String>, Vec<String>) {
        let reading = &self.run.reading;
        (reading.sources.iter().map(|(name, _)| name.clone()).collect(), reading.notes())
    }

    /// Per rollout under a policy: success, registry outcome (1 passed, 2 failed, 3 unscorable, 0 not terminal) and
    /// mean score (NaN for none); and whether the run holds scores and no verdict. `mask` holds the successes of a
    /// custom policy.
    #[expect(clippy::type_complexity, reason = "named in the lines above")]
    fn classify<'py>(
        &self,
        py: Python<'py>,
        policy: PolicyParts,
        mask: Option<PyReadonlyArray1<'py, bool>>,
    ) -> PyResult<(Bound<'py, PyArray1<bool>>, Bound<'py, PyArray1<u8>>, Bound<'py, PyArray1<f64>>, bool)> {
        let mask = mask.as_ref().map(PyReadonlyArray1::as_slice).transpose()?;
        let (success, registry, score, scores_alone) = detached(py, || {
            let Classified { flags, score } = self.run.classify(&core_policy(policy)?, mask);
            let any = |bit: u16| flags.iter().any(|word| word & bit != 0);
            let scores_alone = any(flags::SCORED) && !any(flags::VERDICT);
            let success: Vec<bool> = flags.iter().map(|word| word & flags::SUCCESS != 0).collect();
            let outcomes = [flags::PASSED, flags::FAILED, flags::UNSCORABLE];
            let code = |word: &u16| (1..).zip(outcomes).find(|(_, bit)| word & bit != 0).map_or(0, |(code, _)| code);
            Ok((success, flags.iter().map(code).collect::<Vec<u8>>(), score, scores_alone))
        })?;
        Ok((success.into_pyarray(py), registry.into_pyarray(py), score.into_pyarray(py), scores_alone))
    }

    /// All tasks in the report's order.
    fn tasks(&self) -> Vec<String> {
        self.run.tasks(None)
    }

    /// Verifiers that a selection kept; None: all.
    fn verifiers(&self) -> Option<Vec<String>> {
        self.run.verifiers.clone()
    }

    /// Position of a recorded task in the codes of `keys`.
    fn task_code(&self, task: &str) -> Option<u32> {
        self.run.dictionary.tasks.names.find(task)
    }

    /// Per rollout: the task's code, the index or -1, the status.
    #[expect(clippy::type_complexity, reason = "three arrays, named in the line above")]
    fn keys<'py>(
        &self,
        py: Python<'py>,
    ) -> (Bound<'py, PyArray1<u32>>, Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<u8>>) {
        let (task, index, status) = py.detach(|| {
            let batches = &self.run.batches;
            let task: Vec<u32> = batches.iter().flat_map(|batch| batch.task.iter().copied()).collect();
            let number = |&index: &u64| if index == NO_INDEX { -1 } else { i64::try_from(index).unwrap_or(i64::MAX) };
            let index: Vec<i64> = batches.iter().flat_map(|batch| batch.index.iter().map(number)).collect();
            let status: Vec<u8> =
                batches.iter().flat_map(|batch| batch.status.iter().map(|&status| status as u8)).collect();
            (task, index, status)
        });
        (task.into_pyarray(py), index.into_pyarray(py), status.into_pyarray(py))
    }

    /// What the columns know of one rollout.
    fn facts<'py>(&self, py: Python<'py>, row: usize) -> PyResult<Bound<'py, PyDict>> {
        let run = &self.run;
        let (batch, i) = run.locate(row).ok_or_else(|| PyValueError::new_err(format!("no rollout {row}")))?;
        let text = |id: u32| run.dictionary.texts.get(id);
        let count = |column: &[i64]| column.get(i).copied().filter(|&count| count != NO_COUNT);
        let number = |value: f64| (!value.is_nan()).then_some(value);
        let index = batch.index[i];
        let facts = PyDict::new(py);
        facts.set_item("task", run.dictionary.tasks.names.get(batch.task[i]))?;
        facts.set_item("index", (index != NO_INDEX).then_some(index))?;
        facts.set_item("status", batch.status[i].word())?;
        facts.set_item("failed_required", summary::failed_required(batch, i, &run.dictionary))?;
        facts.set_item("duration_s", batch.duration.get(i).copied().and_then(number))?;
        facts.set_item("total_tokens", count(&batch.tokens))?;
        facts.set_item("tool_calls", count(&batch.tool_calls))?;
        facts.set_item("tool_errors", count(&batch.tool_errors))?;
        let tags = range(&batch.tags.offsets, i);
        facts.set_item(
            "tags",
            tags.map(|at| (text(batch.tags.name[at]), text(batch.tags.value[at]))).collect::<Vec<_>>(),
        )?;
        let origin = run.origin(row).and_then(|origin| run.dictionary.place(origin.source, origin.line));
        facts.set_item("place", origin.map(|place| place.to_string()))?;
        Ok(facts)
    }

    /// The record of one rollout, as JSON text.
    fn record(&self, py: Python<'_>, row: usize) -> PyResult<String> {
        detached(py, || self.details.lock().unwrap_or_else(PoisonError::into_inner).record(&self.run, row))
    }

    /// The part of the run with these tasks, verifiers and tags.
    #[pyo3(signature = (*, tasks, verifiers, tags))]
    fn select(
        &self,
        py: Python<'_>,
        tasks: Option<Vec<String>>,
        verifiers: Option<Vec<String>>,
        tags: Vec<(String, Vec<String>)>,
    ) -> PyResult<Self> {
        let selection = Selection { tasks, verifiers, tags };
        detached(py, || self.run.select(&selection).map(Self::new))
    }

    /// Per check: verifier, label, required, ran, passed, blocked.
    fn checks(&self, py: Python<'_>) -> Vec<(String, String, bool, u64, u64, u64)> {
        py.detach(|| self.run.checks())
            .into_iter()
            .map(|row| (row.verifier, row.label, row.required, row.ran, row.passed, row.blocked))
            .collect()
    }

    /// Per task with missing rollouts: its id, how many, and which as ranges of indices or None.
    #[expect(clippy::type_complexity, reason = "one row, named in the line above")]
    fn missing(
        &self,
        py: Python<'_>,
        given: Option<RequestedParts>,
    ) -> PyResult<Vec<(String, u64, Option<Vec<(u64, u64)>>)>> {
        let given = given.map(RequestedParts::into_core);
        let rows = detached(py, || self.run.missing(given.as_ref()))?;
        let ends = |gaps: Vec<std::ops::Range<u64>>| gaps.into_iter().map(|gap| (gap.start, gap.end)).collect();
        Ok(rows.into_iter().map(|row| (row.task, row.count, row.indices.map(ends))).collect())
    }

    /// The run as a table in the native form.
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // A consumer's wish for other types may be passed over: it casts.
        drop(requested_schema);
        let header = self.run.reading.header.as_ref();
        let header = header.map(|header| header.line(self.run.dictionary.tasks.kind));
        arrow::export(py, Box::new(columns::RunTable::new(Arc::clone(&self.run), header)))
    }
}
