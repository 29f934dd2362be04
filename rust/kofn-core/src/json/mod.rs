//! The JSON projector: one reader for every format that is JSON lines, one big array, or such members of a zip archive.
//!
//! A [`Mapping`] is plain data that says which key path is which column; the native form is the built-in one. Syntax
//! and UTF-8 of everything are always checked, and only what a plan asks for is decoded.

pub mod mapping;
pub mod reader;
pub mod source;

pub use mapping::{Field, Layout, Mapping, Required, Target};
pub use reader::{Options, read};
pub use source::{Input, Records, Source};
