//! `kofn._core`: takes inputs, detaches from the interpreter, calls `kofn_core`, wraps the result.

#![allow(clippy::needless_pass_by_value, reason = "what Python passes is extracted into values of their own")]

use pyo3::prelude::*;

mod checks;
mod comparisons;
mod door;
mod errors;
mod estimators;
mod run;
mod snapshot;
mod sources;
mod tally;

#[pymodule(gil_used = false)]
mod _core {
    use super::PyResult;
    use pyo3::prelude::*;
    use pyo3::types::PyModule;

    #[pymodule_export]
    use super::checks::{failed_required, grade_checks, grade_csr, grade_rows, score_agrees};

    #[pymodule_export]
    use super::comparisons::{
        Plan, band, benjamini_hochberg, bootstrap_mean, difference_noise, fisher, holm, labels, mcnemar, paired,
        posterior, probability_above, sign_flip, stratified,
    };

    #[pymodule_export]
    use super::door::groups::{TaskIndex, consecutive_groups, count, restore_index};
    #[pymodule_export]
    use super::door::tables::arrow_stream;
    #[pymodule_export]
    use super::run::{Run, read, run_from_arrays};
    #[pymodule_export]
    use super::tally::{Tally, ascii_label, canonical_label, metrics};

    #[pymodule_export]
    use super::estimators::{
        at_least_m_of_k, exactly_m_of_k, expected_attempts, g_pass_at_k, learnability, mg_pass_at_k, order_of_groups,
        order_of_rows, order_of_task, pass_at_k, pass_hat_k,
    };

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
