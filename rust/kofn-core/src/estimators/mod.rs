//! Estimators of one task: from its counts (n, c), or from the sorted scores of its rollouts.

mod arrange;
pub mod batch;
mod binomials;
mod blocks;
mod domain;
pub mod hypergeometric;
mod lanes;
mod network;
pub mod order;
mod repeats;
pub mod rows;
mod shared;
mod spread;
pub(crate) mod tails;
mod wide;

pub use domain::{check, check_k};
