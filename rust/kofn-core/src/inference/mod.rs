//! How sure a figure is: intervals, noise and decomposition of a column of task values.

pub mod convolution;
pub mod lattice;
pub mod multiple;
pub mod planning;
pub mod posterior;
pub mod sign_flip;
pub mod special;
pub mod stratified;
pub mod tables;
