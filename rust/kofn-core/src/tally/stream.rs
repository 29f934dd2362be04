//! Whole runs into a tally: one that is in memory, or one that is read and forgotten batch by batch.

use super::{Feed, Tally};
use crate::batch::Batch;
use crate::error::{Error, Result};
use crate::json::{Input, Options, Source, read};
use crate::names::Dictionary;
use crate::plan::Needs;
use crate::reading::Reading;
use crate::run::dedupe::{Dedupe, OnDuplicate, locate};
use crate::run::{Group, Run};

impl Tally {
    /// Add a run. `mask` holds the successes of a custom policy, one a rollout. On error nothing has changed.
    pub fn add_run(&mut self, run: &Run, mask: Option<&[bool]>) -> Result<()> {
        self.reserve(0)?;
        if self.rows == 0 && self.names.is_empty() && self.reading == Reading::default() {
            // Nothing to protect: build it here, and start anew if it fails.
            let empty = Self::new(self.setup.clone(), self.part.clone());
            return self.fill(run, mask).inspect_err(|_| *self = empty);
        }
        let mut fresh = Self::new(self.setup.clone(), None);
        fresh.fill(run, mask)?;
        self.absorb(&fresh)
    }

    fn fill(&mut self, run: &Run, mask: Option<&[bool]>) -> Result<()> {
        let mut feed = Feed::default();
        let mut at = 0;
        for batch in &run.batches {
            let mask = mask.and_then(|mask| mask.get(at..at + batch.len()));
            self.add_batch(&mut feed, batch, &run.dictionary, mask)?;
            at += batch.len();
        }
        let Dictionary { tasks, sources, units, .. } = &run.dictionary;
        self.places = Some(Dictionary {
            tasks: tasks.clone(),
            sources: sources.clone(),
            units: units.clone(),
            ..Dictionary::default()
        });
        let mut reading = run.reading.clone();
        if let (Some(given), None) = (&run.given, &self.setup.requested) {
            // What came with the sources stands for what they declare.
            reading.header.get_or_insert_default().requested = Some(given.clone());
        }
        self.add_reading(reading)
    }

    /// Read sources into an empty tally: memory is the tasks and their distinct scores, whatever the sources' size.
    /// `options.needs` and `options.unit` are not looked at.
    pub fn read(
        &mut self,
        groups: Vec<Group>,
        options: &Options<'_>,
        on_duplicate: OnDuplicate,
        watch: &mut dyn FnMut() -> Result<()>,
    ) -> Result<()> {
        if on_duplicate == OnDuplicate::Last {
            // Only the end of the last source tells which record is the last.
            return self.add_run(&Run::read(groups, options, on_duplicate, watch)?, None);
        }
        let mut dictionary = Dictionary::default();
        let mut feed = Feed::default();
        let mut dedupe = (on_duplicate != OnDuplicate::Raise).then(|| Dedupe::new(on_duplicate));
        let hashes = dedupe.as_ref().is_some_and(|dedupe| dedupe.needs().hashes);
        let needs = Needs { hashes, ..self.setup.plan.needs() };
        for Group { unit, sources } in groups {
            let again = sources.iter().map(again).collect::<Option<Vec<Source>>>();
            dictionary.units.extend(std::iter::repeat_n(unit, sources.len()));
            let options = Options { needs, unit, ..*options };
            let mut take = |mut batch: Batch, dictionary: &Dictionary| {
                if let Some(dedupe) = &mut dedupe {
                    dedupe.apply(&mut batch, dictionary)?;
                }
                self.add_batch(&mut feed, &batch, dictionary, None)
            };
            match read(sources, &options, &mut dictionary, &mut take, watch) {
                Ok(reading) => self.add_reading(reading)?,
                Err(error @ Error::Duplicate { .. }) => {
                    return Err(match again {
                        Some(sources) => locate(error, sources, &options, watch),
                        None => error,
                    });
                }
                Err(error) => return Err(error),
            }
        }
        self.reading.dropped += dedupe.map_or(0, |dedupe| dedupe.dropped);
        self.places = Some(dictionary);
        Ok(())
    }
}

/// The same source for a second read; none for a stream.
fn again(source: &Source) -> Option<Source> {
    let input = match &source.input {
        Input::Path(path) => Input::Path(path.clone()),
        Input::Memory(bytes) => Input::Memory(bytes.clone()),
        Input::Stream(_) => return None,
    };
    Some(Source { name: source.name.clone(), input })
}
