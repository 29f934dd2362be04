//! How sure a figure is: intervals, noise and decomposition of a column of task values.

pub mod special;
