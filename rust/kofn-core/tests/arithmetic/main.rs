//! Exact sums, counts and order statistics against plain rational arithmetic.
#![expect(clippy::unwrap_used, reason = "a test that meets an error has failed")]

mod counts;
mod oracle;
mod scores;
mod sums;
