//! Estimators of one task: from its counts (n, c), or from the sorted scores of its rollouts.

mod domain;
pub mod hypergeometric;
pub mod order;
mod tails;
mod wide;

pub use domain::{check, check_k};
