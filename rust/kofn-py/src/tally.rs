//! Tallies: what `Accumulator`, `Run.report` and `metrics` stand on.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kofn_core::error::Unit;
use kofn_core::estimates::How;
use kofn_core::header::Requested;
use kofn_core::inference::Wanted;
use kofn_core::json::{Mapping, Options};
use kofn_core::plan::{MAX_COUNT, Needs, Plan, Statistic};
use kofn_core::policies::Policy;
use kofn_core::run::OnDuplicate;
use kofn_core::tally::{self, Denominator, OnShort, Setup};
use kofn_core::{Error, Result, estimates};
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyFloat, PyList, PyTuple};

use crate::door::arrays::{Given, text, whole};
use crate::door::groups;
use crate::errors::{detached, to_python, watched};
use crate::run::Run;
use crate::snapshot;
use crate::sources::{Pending, SourceParts};

/// A policy as Python names it: id, threshold, parameters as JSON text.
pub type PolicyParts = (String, Option<f64>, Option<String>);

/// What to tally, compiled and checked.
#[pyclass(frozen, module = "kofn._core")]
pub struct Tally {
    inner: Mutex<tally::Tally>,
}

/// Read a policy as Python names it.
pub fn policy((id, threshold, parameters): PolicyParts) -> Result<Policy> {
    match (id.as_str(), threshold, parameters) {
        ("verifier_verdict.v1", None, None) => Ok(Policy::VerifierVerdict),
        ("score_threshold.v1", Some(threshold), None) => Policy::score_threshold(threshold),
        (_, None, Some(parameters)) => Ok(Policy::Custom { id, parameters }),
        _ => Err(Error::argument("policy", format!("{id:?} does not go with these parameters"))),
    }
}

/// Requested rollouts: one number, or one a task.
#[derive(FromPyObject)]
pub enum RequestedParts {
    /// One number for all.
    Each(u64),
    /// One a task.
    PerTask(Vec<(String, u64)>),
}

impl RequestedParts {
    /// As the core has it.
    pub fn into_core(self) -> Requested {
        match self {
            Self::Each(n) => Requested::Each(n),
            Self::PerTask(list) => Requested::PerTask(list),
        }
    }
}

fn word<T: Copy>(name: &str, given: &str, words: &[(&str, T)]) -> Result<T> {
    words.iter().find(|(word, _)| *word == given).map(|(_, value)| *value).ok_or_else(|| {
        let known: Vec<String> = words.iter().map(|(word, _)| format!("{word:?}")).collect();
        Error::argument(name, format!("{given:?} is not one of {}", known.join(", ")))
    })
}

impl Tally {
    /// The tally; a thread that panicked while holding it has left it sound, since every change is made last.
    pub fn lock(&self) -> MutexGuard<'_, tally::Tally> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl Tally {
    #[new]
    #[pyo3(signature = (statistics, k, by, policy, chosen, requested, denominator, on_short, part, also=Vec::new(), cluster=None))]
    #[expect(clippy::too_many_arguments, reason = "one call from Python that names every argument")]
    fn new(
        py: Python<'_>,
        statistics: Option<Vec<String>>,
        k: Vec<u64>,
        by: Option<String>,
        policy: PolicyParts,
        chosen: bool,
        requested: Option<RequestedParts>,
        denominator: &str,
        on_short: &str,
        part: Option<String>,
        also: Vec<String>,
        cluster: Option<String>,
    ) -> PyResult<Self> {
        let setup = setup(statistics, &k, by, policy, chosen, requested, denominator, on_short)
            .and_then(|setup| Ok(Setup { plan: setup.plan.also(&also)?.clustered(cluster), ..setup }));
        match setup {
            Ok(setup) => Ok(Self { inner: Mutex::new(tally::Tally::new(setup, part)) }),
            Err(error) => Err(to_python(py, &error)),
        }
    }

    /// Add columns of rollouts; see `Accumulator.update`.
    #[expect(clippy::too_many_arguments, reason = "one call from Python that names every argument")]
    fn add_arrays<'py>(
        &self,
        py: Python<'py>,
        groups: Bound<'py, PyAny>,
        group_size: Bound<'py, PyAny>,
        passed: Bound<'py, PyAny>,
        scores: Bound<'py, PyAny>,
        durations: Bound<'py, PyAny>,
        tokens: Bound<'py, PyAny>,
        valid: Bound<'py, PyAny>,
    ) -> PyResult<()> {
        let columns = [&passed, &scores, &durations, &tokens, &valid];
        let (index, columns) = Given { groups: &groups, group_size: &group_size, columns }.read(py)?;
        let (index, arrays) = (&*index, columns.borrow(&index, None)?);
        detached(py, || self.lock().add_arrays(&arrays, index.names(), index.kind()))
    }

    /// Add a run; `mask` holds the successes of a custom policy. Nothing changes on error.
    fn add_run(&self, py: Python<'_>, run: &Run, mask: Option<PyReadonlyArray1<'_, bool>>) -> PyResult<()> {
        let mask = mask.as_ref().map(PyReadonlyArray1::as_slice).transpose()?;
        detached(py, || self.lock().add_run(run.core(), mask))
    }

    /// Read sources into an empty tally and forget their rollouts batch by batch.
    #[pyo3(signature = (sources, *, skip_errors, keep_ungradable, on_duplicate))]
    fn read(
        &self,
        py: Python<'_>,
        sources: Vec<SourceParts<'_>>,
        skip_errors: bool,
        keep_ungradable: bool,
        on_duplicate: &str,
    ) -> PyResult<()> {
        let on_duplicate = OnDuplicate::parse(on_duplicate).map_err(|error| to_python(py, &error))?;
        let pending = Pending::all(sources)?;
        watched(py, |watch| {
            let groups = Pending::groups(pending, watch)?;
            let mapping = Mapping::native();
            let options =
                Options { mapping: &mapping, needs: Needs::default(), skip_errors, keep_ungradable, unit: Unit::Line };
            self.lock().read(groups, &options, on_duplicate, watch)
        })
    }

    /// Add another tally's content; nothing changes on error.
    fn merge(slf: &Bound<'_, Self>, other: &Bound<'_, Self>) -> PyResult<()> {
        if slf.is(other) {
            let error = Error::merge("an accumulator cannot be merged with itself");
            return Err(to_python(slf.py(), &error));
        }
        let (mine, theirs) = (slf.get(), other.get());
        detached(slf.py(), || {
            // Never two locks at once: two threads merging crosswise would wait for each other.
            let content = theirs.lock().clone();
            mine.lock().merge(&content)
        })
    }

    /// Canonical bytes.
    fn encode<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = detached(py, || Ok(self.lock().encode()))?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// The inverse of `encode`.
    #[staticmethod]
    fn decode(py: Python<'_>, bytes: &[u8]) -> PyResult<Self> {
        let inner = detached(py, || tally::Tally::decode(bytes))?;
        Ok(Self { inner: Mutex::new(inner) })
    }

    /// Everything a report shows, as plain data.
    #[pyo3(signature = (confidence=None, interval="default", seed=0))]
    fn report<'py>(
        &self,
        py: Python<'py>,
        confidence: Option<f64>,
        interval: &str,
        seed: u64,
    ) -> PyResult<Bound<'py, PyDict>> {
        let (estimates, sure, reading, by) = detached(py, || {
            let wanted = Wanted::of(interval, seed)?;
            let how = confidence.map(|confidence| How::new(confidence, wanted)).transpose()?;
            let mut tally = self.lock();
            let estimates = tally.estimate()?;
            let sure = how.map(|how| (how, estimates.certainties(&tally, &how)));
            Ok((estimates, sure, tally.reading.clone(), tally.setup.plan.by.clone()))
        })?;
        snapshot::snapshot(py, estimates, sure, &reading, by)
    }

    /// The tag that names clusters of tasks.
    #[getter]
    fn cluster(&self, py: Python<'_>) -> Option<String> {
        py.detach(|| self.lock().setup.plan.cluster.clone())
    }

    /// Rollouts added.
    #[getter]
    fn rollouts(&self, py: Python<'_>) -> u64 {
        py.detach(|| self.lock().rollouts())
    }

    /// The part's name.
    #[getter]
    fn part(&self, py: Python<'_>) -> Option<String> {
        py.detach(|| self.lock().part.clone())
    }

    /// The policy as (id, threshold, parameters as JSON text).
    #[getter]
    fn policy(&self, py: Python<'_>) -> PolicyParts {
        let policy = py.detach(|| self.lock().setup.policy.clone());
        let id = policy.id().to_owned();
        match policy {
            Policy::VerifierVerdict => (id, None, None),
            Policy::ScoreThreshold(threshold) => (id, Some(threshold), None),
            Policy::Custom { parameters, .. } => (id, None, Some(parameters)),
        }
    }
}

#[expect(clippy::too_many_arguments, reason = "one call from Python that names every argument")]
fn setup(
    statistics: Option<Vec<String>>,
    k: &[u64],
    by: Option<String>,
    policy: PolicyParts,
    chosen: bool,
    requested: Option<RequestedParts>,
    denominator: &str,
    on_short: &str,
) -> Result<Setup> {
    Ok(Setup {
        plan: Plan::new(statistics.as_deref(), k, by)?,
        policy: self::policy(policy)?,
        chosen,
        requested: requested.map(RequestedParts::into_core),
        denominator: word("denominator", denominator, &Denominator::WORDS)?,
        on_short: word("on_short", on_short, &[("raise", OnShort::Raise), ("omit", OnShort::Omit)])?,
    })
}

/// What one of `kofn`'s own functions makes of an argument that is not plain.
fn by_python<'py>(module: &str, function: &str, argument: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    argument.py().import(module)?.getattr(function)?.call1((argument,))
}

/// Every item of a list or tuple, or the one value, by `read`; none where it cannot read one.
fn items<T>(value: &Bound<'_, PyAny>, read: impl Fn(&Bound<'_, PyAny>) -> Option<T>) -> Option<Vec<T>> {
    if let Ok(list) = value.cast_exact::<PyList>() {
        list.iter().map(|item| read(&item)).collect()
    } else if let Ok(tuple) = value.cast_exact::<PyTuple>() {
        tuple.iter().map(|item| read(&item)).collect()
    } else {
        read(value).map(|value| vec![value])
    }
}

fn labels(statistics: &Bound<'_, PyAny>) -> PyResult<Option<Vec<String>>> {
    match items(statistics, text) {
        Some(labels) => Ok(Some(labels)),
        None => by_python("kofn._metrics", "label_list", statistics)?.extract(),
    }
}

fn ks(k: &Bound<'_, PyAny>) -> PyResult<Vec<u64>> {
    match items(k, |k| whole(k).filter(|k| (1..=MAX_COUNT).contains(k))) {
        Some(ks) => Ok(ks),
        None => by_python("kofn._metrics", "k_list", k)?.extract(),
    }
}

/// The policy that a threshold means, and whether it was chosen.
fn threshold_policy(threshold: &Bound<'_, PyAny>) -> PyResult<(PolicyParts, bool)> {
    if threshold.is_none() {
        return Ok((("verifier_verdict.v1".to_owned(), None, None), false));
    }
    let number = match threshold.cast_exact::<PyFloat>() {
        Ok(number) if number.value().is_finite() => number.value(),
        _ => by_python("kofn.policies", "ScoreThreshold", threshold)?.getattr("threshold")?.extract()?,
    };
    Ok((("score_threshold.v1".to_owned(), Some(number), None), true))
}

fn requested_parts(requested: &Bound<'_, PyAny>) -> PyResult<Option<RequestedParts>> {
    match whole(requested).filter(|count| (1..=MAX_COUNT).contains(count)) {
        Some(count) => Ok(Some(RequestedParts::Each(count))),
        None if requested.is_none() => Ok(None),
        None => by_python("kofn._metrics", "requested_parts", requested)?.extract(),
    }
}

/// A word for `what`.
fn key(value: &Bound<'_, PyAny>, what: &str) -> PyResult<String> {
    match text(value) {
        Some(text) => Ok(text),
        None => value.py().import("kofn._values")?.getattr("key")?.call1((value, what))?.extract(),
    }
}

/// The run-level figures of columns by their labels, ASCII ones or not; see `kofn.metrics`.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "one call from Python that names every argument")]
#[pyo3(signature = (groups, group_size, passed, scores, durations, tokens, valid, threshold, statistics, k, requested, denominator, by, on_short, ascii))]
pub fn metrics<'py>(
    py: Python<'py>,
    groups: Bound<'py, PyAny>,
    group_size: Bound<'py, PyAny>,
    passed: Bound<'py, PyAny>,
    scores: Bound<'py, PyAny>,
    durations: Bound<'py, PyAny>,
    tokens: Bound<'py, PyAny>,
    valid: Bound<'py, PyAny>,
    threshold: Bound<'py, PyAny>,
    statistics: Bound<'py, PyAny>,
    k: Bound<'py, PyAny>,
    requested: Bound<'py, PyAny>,
    denominator: Bound<'py, PyAny>,
    by: Bound<'py, PyAny>,
    on_short: Bound<'py, PyAny>,
    ascii: bool,
) -> PyResult<Bound<'py, PyDict>> {
    let given =
        Given { groups: &groups, group_size: &group_size, columns: [&passed, &scores, &durations, &tokens, &valid] };
    let (index, columns) = given.read(py)?;
    let (policy, chosen) = threshold_policy(&threshold)?;
    let out = PyDict::new(py);
    if index.owners().is_empty() {
        return Ok(out);
    }
    let labels = if statistics.is_none() { None } else { labels(&statistics)? };
    let ks = if k.is_none() { Vec::new() } else { ks(&k)? };
    let by = if by.is_none() { None } else { Some(groups::flat_index(py, "by", &by)?) };
    let requested = requested_parts(&requested)?;
    let denominator = match (&requested, denominator.is_none()) {
        (None, true) => "recorded".to_owned(),
        (Some(_), true) => "requested".to_owned(),
        _ => key(&denominator, "denominator")?,
    };
    let tag = by.as_ref().map(|_| "by".to_owned());
    let setup = setup(labels, &ks, tag, policy, chosen, requested, &denominator, &key(&on_short, "on_short")?)
        .map_err(|error| to_python(py, &error))?;
    let (index, arrays) = (&*index, columns.borrow(&index, by.as_ref())?);
    let figures = detached(py, || {
        let names = || (Arc::clone(index.names()), index.kind());
        estimates::figures(setup, &arrays, index.tasks(), names)
    })?;
    let name = |statistic: &Statistic| if ascii { statistic.ascii() } else { statistic.to_string() };
    for (statistic, value) in &figures.all {
        out.set_item(name(statistic), value)?;
    }
    for (group, values) in &figures.groups {
        for (statistic, value) in values {
            // A value for each rollout leaves no task without one.
            out.set_item(format!("{}/{}", group.as_deref().unwrap_or_default(), name(statistic)), value)?;
        }
    }
    Ok(out)
}

/// The canonical spelling of a label, such as `pass@5` for `pass_at_5`.
#[pyfunction]
pub fn canonical_label(py: Python<'_>, label: &str) -> PyResult<String> {
    match Plan::new(Some(&[label.to_owned()]), &[], None) {
        Ok(plan) => Ok(plan.statistics.first().map_or_else(String::new, |(statistic, _)| statistic.to_string())),
        Err(error) => Err(to_python(py, &error)),
    }
}

/// The spelling of a label for experiment trackers, such as `pass_at_5` for `pass@5`.
#[pyfunction]
pub fn ascii_label(py: Python<'_>, label: &str) -> PyResult<String> {
    match Plan::new(Some(&[label.to_owned()]), &[], None) {
        Ok(plan) => Ok(plan.statistics.first().map_or_else(String::new, |(statistic, _)| statistic.ascii())),
        Err(error) => Err(to_python(py, &error)),
    }
}
