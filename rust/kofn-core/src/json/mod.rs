//! The JSON projector: one reader for every format that is JSON lines, one big array, or such members of a zip archive.
//!
//! A [`Mapping`] is plain data that says which key path is which column; the native form is the built-in one. Syntax
//! and UTF-8 of everything are always checked, and only what a plan asks for is decoded.
//!
//! The way of a record: [`source`] opens and decompresses, `window` holds the bytes at hand, `lines` or `array` find a
//! record in them, `walk` follows the `trie` that a [`mapping`] compiles to over the `cursor`, `native` and `scalars`
//! take what stands there, `verification` and `commit` settle what follows from it, `project` collects the rows.
//!
//! Records are mostly like those before: `tracks` follows a whole one step by step, with values read by `slot` and
//! `quick` and what the walk would have done by `effect`; where no track leads on, `routes` do from value to value; and
//! where these do not, the record is walked, from which both learn.

mod archive;
mod array;
mod commit;
mod cursor;
mod declare;
mod desk;
mod effect;
mod fault;
mod form;
mod habit;
mod hints;
mod lines;
pub mod mapping;
mod native;
mod number;
mod project;
mod quick;
pub mod reader;
mod records;
mod routes;
mod scalars;
mod scan;
mod slot;
pub mod source;
mod tracks;
mod trie;
pub mod value;
mod verification;
mod walk;
mod window;

#[cfg(test)]
mod tests;

pub use mapping::{Field, Layout, Mapping, Required, Target};
pub use reader::{Options, read};
pub use records::Records;
pub use source::{Input, Source};
