//! Core errors as Python exceptions: the only match between the two.

use std::cell::Cell;

use kofn_core::Error;
use kofn_core::error::Place;
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyDict};

/// Turn a core error into the exception of `kofn.errors` that stands for it, with its fields as attributes.
pub fn to_python(py: Python<'_>, error: &Error) -> PyErr {
    match build(py, error) {
        Ok(error) | Err(error) => error,
    }
}

fn build(py: Python<'_>, error: &Error) -> PyResult<PyErr> {
    if matches!(error, Error::Interrupted) {
        // The signal handler that stopped the work has set its own exception; this one is for hand-made watches.
        return Ok(PyKeyboardInterrupt::new_err(()));
    }
    let fields = PyDict::new(py);
    let place = |place: &Place| -> PyResult<()> {
        fields.set_item("source", &place.source)?;
        fields.set_item("line", place.number)
    };
    let class = match error {
        Error::Source { source, .. } => {
            fields.set_item("source", source)?;
            "SourceError"
        }
        Error::Record { place: at, field, .. } => {
            place(at)?;
            fields.set_item("field", field)?;
            "InputError"
        }
        Error::Header { second, .. } => {
            place(second)?;
            "InputError"
        }
        Error::NoRollouts { .. } => "InputError",
        Error::Duplicate { task, second, .. } => {
            fields.set_item("task", task)?;
            if let Some(second) = second {
                place(second)?;
            }
            "DuplicateError"
        }
        Error::Task { task, place: at, .. } => {
            fields.set_item("task", task)?;
            if let Some(at) = at {
                place(at)?;
            }
            "InputError"
        }
        Error::Grading { index, .. } => {
            fields.set_item("index", index)?;
            "GradingError"
        }
        Error::Argument { name, .. } => {
            fields.set_item("argument", name)?;
            "ArgumentError"
        }
        Error::Refused { label, .. } => {
            fields.set_item("label", label)?;
            "RefusedError"
        }
        Error::Merge { .. } => "MergeError",
        Error::Encoding { .. } => "EncodingError",
        _ => "KofnError",
    };
    let exception = py.import("kofn.errors")?.getattr(class)?.call1((error.to_string(),))?;
    for (name, value) in fields.into_py_dict(py)? {
        exception.setattr(name.extract::<String>()?.as_str(), value)?;
    }
    Ok(PyErr::from_value(exception))
}

/// Run `work` detached from the interpreter and convert its error.
pub fn detached<T: Send>(py: Python<'_>, work: impl FnOnce() -> kofn_core::Result<T> + Send) -> PyResult<T> {
    py.detach(work).map_err(|error| to_python(py, &error))
}

thread_local! {
    /// What a signal's handler raised while this thread worked detached.
    static STOPPED: Cell<Option<PyErr>> = const { Cell::new(None) };
}

/// Run the handlers of signals that came in. What one raises is kept for [`watched`] around this.
pub fn signals() -> kofn_core::Result<()> {
    #[expect(clippy::redundant_closure_for_method_calls, reason = "the method itself is not general enough")]
    let handled = Python::attach(|py| py.check_signals());
    handled.map_err(|error| {
        STOPPED.set(Some(error));
        Error::Interrupted
    })
}

/// As [`detached`], for long work that asks its watch now and then whether to stop: Ctrl-C and other signals reach the
/// caller as the exception that their handler raised.
pub fn watched<T: Send>(
    py: Python<'_>,
    work: impl FnOnce(&mut dyn FnMut() -> kofn_core::Result<()>) -> kofn_core::Result<T> + Send,
) -> PyResult<T> {
    let result = py.detach(|| work(&mut signals));
    match STOPPED.take() {
        Some(error) => Err(error),
        None => result.map_err(|error| to_python(py, &error)),
    }
}
