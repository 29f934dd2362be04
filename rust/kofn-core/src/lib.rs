//! The arithmetic of `kofn`, without Python: grading, policies, tallies, estimators, and the reader that feeds them.
//!
//! The way of the data: bytes and tables become [`batch::Batch`]es (columns of rollouts); a policy turns a batch into
//! [`tally::Observations`]; a [`tally::Tally`] adds them up exactly and in any order; [`estimates`] reads a tally.

pub mod arch;
pub mod batch;
pub mod checks;
pub mod dd;
pub mod error;
pub mod estimates;
pub mod estimators;
pub mod exact;
pub mod header;
pub mod inference;
pub mod json;
pub mod names;
pub mod nearest;
pub mod plan;
pub mod policies;
pub mod random;
pub mod reading;
pub mod run;
pub mod seen;
pub mod table;
pub mod tally;
pub mod tasks;
pub mod threads;

pub use error::{Error, Result};
