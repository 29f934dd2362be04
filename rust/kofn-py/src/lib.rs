//! `kofn._core`: takes inputs, detaches from the interpreter, calls `kofn_core`, wraps the result.

use pyo3::prelude::*;

mod checks;
mod errors;

#[pymodule(gil_used = false)]
mod _core {
    use super::PyResult;
    use pyo3::prelude::*;
    use pyo3::types::PyModule;

    #[pymodule_export]
    use super::checks::{failed_required, grade_checks, grade_csr, grade_rows, score_agrees};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
