//! What comes in from Python and goes out: the only place that knows dtypes, layouts and capsules.

pub mod arrays;
pub mod arrow;
pub mod columns;
pub mod groups;
mod ids;
pub mod rows;
mod strings;
pub mod tables;
mod texts;
