//! The reader as its callers see it.

mod formats;
mod hostile;
mod native;
mod pieces;
mod properties;
mod sources;

use super::{Mapping, Options, Source, reader};
use crate::batch::Batch;
use crate::error::{Result, Unit};
use crate::names::Dictionary;
use crate::plan::Needs;
use crate::reading::Reading;

/// Everything that a read gave.
#[derive(Debug)]
struct Outcome {
    batches: Vec<Batch>,
    dictionary: Dictionary,
    reading: Reading,
}

impl Outcome {
    fn batch(&self) -> &Batch {
        &self.batches[0]
    }

    fn rollouts(&self) -> usize {
        self.batches.iter().map(Batch::len).sum()
    }

    fn origins(&self) -> Vec<crate::batch::Origin> {
        self.batches.iter().flat_map(|batch| batch.origin.iter().copied()).collect()
    }

    fn text(&self, id: u32) -> &str {
        self.dictionary.texts.get(id)
    }

    /// Every rollout in words: independent of the order in which names were met.
    fn rows(&self) -> Vec<String> {
        use std::fmt::Write as _;
        let mut rows = Vec::new();
        for batch in &self.batches {
            for i in 0..batch.len() {
                let mut row = format!(
                    "{} {} {}",
                    self.dictionary.tasks.names.get(batch.task[i]),
                    batch.index[i].cast_signed(),
                    batch.status[i].word()
                );
                for v in batch.verifications_of(i) {
                    let rows = &batch.verifications;
                    write!(row, " {}={}/{:?}", self.text(rows.name[v]), rows.score[v], rows.verdict[v]).expect("write");
                    for c in crate::batch::range(&batch.checks.offsets, v) {
                        write!(row, " [{} {}]", self.text(batch.checks.label[c]), batch.checks.flags[c])
                            .expect("write");
                    }
                    for r in crate::batch::range(&batch.readings.offsets, v) {
                        let readings = &batch.readings;
                        let value = match readings.value[r] {
                            crate::batch::Value::Text(id) => format!("{:?}", self.text(id)),
                            other => format!("{other:?}"),
                        };
                        write!(row, " {}/{}={value}", self.text(readings.subject[r]), self.text(readings.metric[r]))
                            .expect("write");
                    }
                }
                for t in crate::batch::range(&batch.tags.offsets, i) {
                    write!(row, " #{}={}", self.text(batch.tags.name[t]), self.text(batch.tags.value[t]))
                        .expect("write");
                }
                if let Some(seconds) = batch.duration.get(i) {
                    write!(row, " {seconds}s {}tok", batch.tokens[i]).expect("write");
                    write!(row, " tools {}/{}", batch.tool_errors[i], batch.tool_calls[i]).expect("write");
                }
                rows.push(row);
            }
        }
        rows
    }
}

/// How to read in a test.
#[derive(Clone, Copy, Default)]
struct How<'m> {
    mapping: Option<&'m Mapping>,
    needs: Option<Needs>,
    skip_errors: bool,
    keep_ungradable: bool,
}

fn read_with(sources: Vec<Source>, how: How<'_>) -> Result<Outcome> {
    read_on(2, sources, how)
}

fn read_on(threads: usize, sources: Vec<Source>, how: How<'_>) -> Result<Outcome> {
    let native = Mapping::native();
    let options = Options {
        mapping: how.mapping.unwrap_or(&native),
        needs: how.needs.unwrap_or(Needs::ALL),
        skip_errors: how.skip_errors,
        keep_ungradable: how.keep_ungradable,
        unit: Unit::Line,
    };
    let mut batches = Vec::new();
    let mut dictionary = Dictionary::default();
    let mut take = |batch: Batch, _: &Dictionary| {
        batches.push(batch);
        Ok(())
    };
    let reading = reader::read_on(threads, sources, &options, &mut dictionary, &mut take, &mut || Ok(()))?;
    Ok(Outcome { batches, dictionary, reading })
}

fn bytes(text: impl AsRef<[u8]>) -> Vec<Source> {
    vec![Source::memory("run.jsonl", text.as_ref().to_vec())]
}

/// Read native lines, everything decoded.
fn native(text: impl AsRef<[u8]>) -> Result<Outcome> {
    read_with(bytes(text), How::default())
}

/// The message with which a read fails.
#[track_caller]
fn message(text: impl AsRef<[u8]>) -> String {
    let text = text.as_ref();
    match native(text) {
        Ok(outcome) => panic!("{} was read: {outcome:?}", String::from_utf8_lossy(text)),
        Err(error) => error.to_string(),
    }
}
