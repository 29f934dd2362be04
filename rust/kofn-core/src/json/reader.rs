//! The reader's entry: sources in, batches out.

use crate::batch::Batch;
use crate::error::{Error, Result, Unit};
use crate::json::mapping::Mapping;
use crate::json::source::Source;
use crate::names::Dictionary;
use crate::plan::Needs;
use crate::reading::Reading;

/// How to read.
#[derive(Clone, Copy, Debug)]
pub struct Options<'a> {
    /// The format.
    pub mapping: &'a Mapping,
    /// What to decode beyond what the counts always need.
    pub needs: Needs,
    /// Pass over bad records and count them (`on_error="skip"`).
    pub skip_errors: bool,
    /// Keep rollouts whose checks cannot be graded, as indeterminate (`on_ungradable="indeterminate"`).
    pub keep_ungradable: bool,
    /// What places in messages count.
    pub unit: Unit,
}

/// Read `sources` one after the other and give their rollouts to `take` in batches of bounded size (some thousand).
///
/// `dictionary` gets the sources' names, the tasks with their first places and all texts; it may already hold those of
/// an earlier read. `watch` is called about once a megabyte and may stop the read with its error.
pub fn read(
    sources: Vec<Source>,
    options: &Options<'_>,
    dictionary: &mut Dictionary,
    take: &mut dyn FnMut(Batch, &Dictionary) -> Result<()>,
    watch: &mut dyn FnMut() -> Result<()>,
) -> Result<Reading> {
    let _ = (options, dictionary, take);
    watch()?;
    let name = sources.first().map(|source| source.name.clone()).unwrap_or_default();
    Err(Error::Source { source: name, reason: "this build cannot read yet".to_owned() })
}
