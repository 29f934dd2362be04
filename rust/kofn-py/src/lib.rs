//! `kofn._core`: takes inputs, detaches from the interpreter, calls `kofn_core`, wraps the result.

use pyo3::prelude::*;

mod errors;

#[pymodule(gil_used = false)]
mod _core {
    use super::PyResult;
    use pyo3::prelude::*;
    use pyo3::types::PyModule;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
