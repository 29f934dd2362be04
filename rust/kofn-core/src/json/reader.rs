//! The reader's entry: sources in, batches out.

use std::io::Read;

use super::archive::{Archive, seekable};
use super::array;
use super::lines::{self, Found};
use super::mapping::{Layout, Mapping};
use super::project::Projector;
use super::source::{Input, Opened, Source, failed};
use super::trie::Trie;
use super::window::{Fill, Window};
use crate::batch::Batch;
use crate::error::{Error, Result, Unit};
use crate::names::Dictionary;
use crate::plan::Needs;
use crate::reading::Reading;
use crate::threads;

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
    /// What places in messages count, for sources that are lines; elements of an array are always records.
    pub unit: Unit,
}

/// The watch is called about this often, in bytes.
const WATCHED: usize = 1 << 20;

/// Read `sources` one after the other and give their rollouts to `take` in batches of bounded size (some thousand).
///
/// `dictionary` gets the sources' names, the tasks with their first places and all texts; it may already hold those of
/// an earlier read. `watch` is called about once a megabyte and may stop the read with its error. A read without any
/// rollout is not an error here.
pub fn read(
    sources: Vec<Source>,
    options: &Options<'_>,
    dictionary: &mut Dictionary,
    take: &mut dyn FnMut(Batch, &Dictionary) -> Result<()>,
    watch: &mut dyn FnMut() -> Result<()>,
) -> Result<Reading> {
    read_on(threads::available(), sources, options, dictionary, take, watch)
}

/// The same on at most so many threads.
pub(crate) fn read_on(
    threads: usize,
    sources: Vec<Source>,
    options: &Options<'_>,
    dictionary: &mut Dictionary,
    take: &mut dyn FnMut(Batch, &Dictionary) -> Result<()>,
    watch: &mut dyn FnMut() -> Result<()>,
) -> Result<Reading> {
    let trie = Trie::compile(options.mapping, options.needs)?;
    let mut projector = Projector::new(options, &trie, dictionary, take);
    let way = match &options.mapping.layout {
        Layout::Lines => Way::Lines(threads),
        Layout::Array(path) => Way::Array(array::steps(path)?),
    };
    for source in sources {
        projector.source(&source.name);
        watch()?;
        let hash = one(source.input, &source.name, options.mapping, &way, &mut projector, watch)?;
        projector.source_ends(source.name, hash);
    }
    projector.end()
}

/// Read one source; returns the hash of its bytes.
fn one(
    input: Input,
    name: &str,
    mapping: &Mapping,
    way: &Way,
    projector: &mut Projector<'_, '_>,
    watch: &mut dyn FnMut() -> Result<()>,
) -> Result<u64> {
    let again = input.again();
    let mut opened = Opened::new(name, input, watch)?;
    let mut unwatched = 0;
    let mut watched = |n: usize| {
        unwatched += n;
        if unwatched >= WATCHED {
            unwatched = 0;
            return watch();
        }
        Ok(())
    };
    if let Opened::Zip(mut stored) = opened {
        let bytes = if let Some(input) = again {
            seekable(name, input)?
        } else {
            let mut bytes = Vec::new();
            stored.read_to_end(&mut bytes).map_err(|error| failed(name, &error))?;
            Box::new(std::io::Cursor::new(bytes))
        };
        let hash = stored.digest().map_err(|error| failed(name, &error))?;
        let mut archive = Archive::new(name, bytes, &mapping.members, &mapping.name)?;
        let mut stand = Stand::default();
        for position in 0..archive.len() {
            stand = archive.member(position, |file| {
                let mut fill = |buffer: &mut [u8]| {
                    let n = file.read(buffer).map_err(|error| Error::Source {
                        source: name.to_owned(),
                        reason: format!("damaged zip archive: {error}"),
                    })?;
                    watched(n)?;
                    Ok(n)
                };
                document(&mut fill, stand, way, name, projector)
            })?;
        }
        return Ok(hash);
    }
    let mut fill = |buffer: &mut [u8]| loop {
        match opened.some(name, buffer) {
            // A signal came while a pipe was silent: the watch decides whether to go on.
            Err(Error::Interrupted) => watched(WATCHED)?,
            Err(error) => return Err(error),
            Ok(n) => {
                watched(n)?;
                return Ok(n);
            }
        }
    };
    document(&mut fill, Stand::default(), way, name, projector)?;
    opened.digest(name)
}

/// Records and bytes that came before, in earlier members of the same archive.
#[derive(Clone, Copy, Default)]
struct Stand {
    records: u64,
    bytes: u64,
}

/// Where the records of a stream stand.
enum Way {
    /// In lines, read on so many threads.
    Lines(usize),
    /// In the array at this path.
    Array(Vec<array::Step>),
}

/// Read one stream to its end.
fn document<'f>(
    fill: &'f mut Fill<'f>,
    before: Stand,
    way: &Way,
    name: &'f str,
    projector: &mut Projector<'_, '_>,
) -> Result<Stand> {
    let steps = match way {
        Way::Lines(threads) => {
            let (records, bytes) = lines::lines(*threads, fill, name, (before.records, before.bytes), projector)?;
            return Ok(Stand { records, bytes });
        }
        Way::Array(steps) => steps,
    };
    let mut window = Window::new(name, fill)?;
    let (mut desk, buffer) = projector.desk();
    desk.begin(projector.before());
    let mut each =
        |found: Found<'_>| projector.record(&mut desk, Found { offset: found.offset + before.bytes, ..found });
    let records = array::elements(&mut window, steps, name, before.records, &mut each)?;
    projector.merge(&mut desk, 0, 0)?;
    projector.release(desk, buffer);
    Ok(Stand { records, bytes: before.bytes + window.offset() })
}
