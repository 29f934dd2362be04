//! A run held in memory: everything a reader found, with the way back to each record.

pub mod arrays;
pub mod dedupe;
pub mod details;
pub mod filter;
pub mod select;
pub mod summary;
#[cfg(test)]
mod tests;

use std::io::Read;
use std::path::PathBuf;
use std::sync::Arc;

use crate::batch::{Batch, Origin};
use crate::error::{Error, Result, Unit};
use crate::header::Requested;
use crate::json::{Input, Options, Source, read};
use crate::names::Dictionary;
use crate::plan::Needs;
use crate::policies::{Classified, Policy, classify};
use crate::reading::Reading;

pub use dedupe::{Dedupe, OnDuplicate};
pub use details::Details;

/// Bytes that can be read any number of times.
#[derive(Clone, Debug)]
pub enum Again {
    /// A file.
    Path(PathBuf),
    /// Bytes in memory.
    Memory(Arc<[u8]>),
}

impl Again {
    /// For one more read.
    #[must_use]
    pub fn input(&self) -> Input {
        match self {
            Self::Path(path) => Input::Path(path.clone()),
            Self::Memory(bytes) => Input::Memory(Arc::clone(bytes)),
        }
    }
}

/// Sources whose records are counted alike. A run is read from a list of them, in order.
#[derive(Debug)]
pub struct Group {
    /// What the places of their records count.
    pub unit: Unit,
    /// The sources.
    pub sources: Vec<Source>,
}

/// Everything a reader found, with every column decoded.
#[derive(Clone, Debug, Default)]
pub struct Run {
    /// Task ids, source names and all other text.
    pub dictionary: Dictionary,
    /// The rollouts, in source order.
    pub batches: Vec<Batch>,
    /// What was found beside rollouts.
    pub reading: Reading,
    /// Requested counts that the caller gave with the sources; they win over declared ones.
    pub given: Option<Requested>,
    /// How to read each source again, by `Origin::source`; empty for runs made of arrays.
    pub inputs: Vec<Again>,
    /// The verifiers that a selection kept; none: all.
    pub verifiers: Option<Vec<String>>,
}

impl Run {
    /// Read everything. `options.needs` and `options.unit` are not looked at: a run keeps all columns, and each group
    /// has its unit.
    pub fn read(
        groups: Vec<Group>,
        options: &Options<'_>,
        on_duplicate: OnDuplicate,
        watch: &mut dyn FnMut() -> Result<()>,
    ) -> Result<Self> {
        let mut run = Self::default();
        let mut dedupe = Dedupe::new(on_duplicate);
        for Group { unit, sources } in groups {
            let sources = sources.into_iter().map(|source| run.keep(source, unit, watch)).collect::<Result<_>>()?;
            let options = Options { needs: Needs::ALL, unit, ..*options };
            let batches = &mut run.batches;
            let mut take = |mut batch: Batch, dictionary: &Dictionary| {
                if let Err(error) = dedupe.apply(&mut batch, dictionary) {
                    batches.push(batch);
                    return Err(dedupe::complete(error, batches, dictionary));
                }
                if !batch.is_empty() {
                    batches.push(batch);
                }
                Ok(())
            };
            let mut reading = read(sources, &options, &mut run.dictionary, &mut take, watch)?;
            if unit != Unit::Line {
                // The bytes of tables and lists were made here: their hash would say nothing about what was given.
                reading.sources.iter_mut().for_each(|(_, hash)| *hash = None);
            }
            run.reading.merge(reading)?;
        }
        dedupe.finish(&mut run.batches);
        run.reading.dropped += dedupe.dropped;
        run.must_not_be_empty()?;
        Ok(run)
    }

    /// Remember how to read a source again; what can be read once only is read now.
    fn keep(&mut self, source: Source, unit: Unit, watch: &mut dyn FnMut() -> Result<()>) -> Result<Source> {
        let Source { name, input } = source;
        let again = match input {
            Input::Path(path) => Again::Path(path),
            Input::Memory(bytes) => Again::Memory(bytes),
            Input::Stream(stream) => Again::Memory(drain(stream, &name, watch)?.into()),
        };
        let source = Source { name, input: again.input() };
        self.inputs.push(again);
        self.dictionary.units.push(unit);
        Ok(source)
    }

    /// Neither rollouts nor declared tasks: nothing to report on (spec 7.7).
    fn must_not_be_empty(&self) -> Result<()> {
        let declares = self.reading.header.as_ref().is_some_and(|header| !header.declared().is_empty());
        if self.is_empty() && !declares {
            return Err(self.reading.nothing());
        }
        Ok(())
    }

    /// How many rollouts it holds.
    #[must_use]
    pub fn len(&self) -> usize {
        self.batches.iter().map(Batch::len).sum()
    }

    /// Whether it holds none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.batches.iter().all(Batch::is_empty)
    }

    /// The batch that holds a row, and the row's position in it.
    #[must_use]
    pub fn locate(&self, row: usize) -> Option<(&Batch, usize)> {
        let mut left = row;
        for batch in &self.batches {
            match left.checked_sub(batch.len()) {
                Some(rest) => left = rest,
                None => return Some((batch, left)),
            }
        }
        None
    }

    /// Where a rollout was read; none where the run was made of arrays.
    #[must_use]
    pub fn origin(&self, row: usize) -> Option<Origin> {
        let (batch, i) = self.locate(row)?;
        let origin = *batch.origin.get(i)?;
        self.inputs.get(origin.source as usize).map(|_| origin)
    }

    /// Every rollout under a policy, in order. `mask` holds the successes of a custom one.
    #[must_use]
    pub fn classify(&self, policy: &Policy, mask: Option<&[bool]>) -> Classified {
        let mut all = Classified::default();
        let mut rest = mask;
        for batch in &self.batches {
            let (mine, others) = rest.map(|mask| mask.split_at(batch.len().min(mask.len()))).unzip();
            let one = classify(batch, policy, mine);
            all.flags.extend(one.flags);
            all.score.extend(one.score);
            rest = others;
        }
        all
    }
}

/// Read a stream to its end, asking now and then whether to stop.
fn drain(mut stream: Box<dyn Read + Send>, name: &str, watch: &mut dyn FnMut() -> Result<()>) -> Result<Vec<u8>> {
    const PIECE: u64 = 1 << 20;
    let mut bytes = Vec::new();
    loop {
        watch()?;
        let read = (&mut stream).take(PIECE).read_to_end(&mut bytes);
        match read {
            Ok(0) => return Ok(bytes),
            Ok(_) => {}
            Err(error) => return Err(Error::Source { source: name.to_owned(), reason: error.to_string() }),
        }
    }
}
