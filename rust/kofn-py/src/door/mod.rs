//! What comes in from Python: the only place that knows dtypes and layouts.

pub mod groups;
