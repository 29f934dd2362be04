//! The way back from a rollout to its record: read again where it stands, or written from the columns.

use std::collections::HashMap;
use std::fmt::Write;

use super::Run;
use crate::batch::{Batch, NO_COUNT, NO_INDEX, PASSED, REQUIRED, Value, range};
use crate::error::{Error, Result};
use crate::json::value::write_text;
use crate::json::{Mapping, Records, Source};
use crate::names::{Dictionary, IdKind};

/// Reads records of a run again; keeps its sources open between calls.
#[derive(Debug, Default)]
pub struct Details {
    records: HashMap<u32, Records>,
}

impl Details {
    /// The record of a rollout: as it stands in its source, or in the native form where the run was made of arrays.
    pub fn record(&mut self, run: &Run, row: usize) -> Result<String> {
        let Some((batch, i)) = run.locate(row) else {
            return Err(Error::argument("row", format!("{row} is not below {}", run.len())));
        };
        let Some(origin) = run.origin(row) else { return Ok(native(batch, i, &run.dictionary)) };
        let name = || run.dictionary.sources.get(origin.source as usize).cloned().unwrap_or_default();
        let records = self.records.entry(origin.source).or_insert_with(|| {
            let input = run.inputs[origin.source as usize].input();
            Records::new(Source { name: name(), input }, &Mapping::native())
        });
        let bytes = records.get(origin)?;
        let changed = || Error::Source {
            source: name(),
            reason: format!("record {} is not what it was when the run was read; read the run again", origin.line),
        };
        let same = batch.hash.get(i).is_none_or(|&hash| hash == xxhash_rust::xxh3::xxh3_64(&bytes));
        if !same {
            return Err(changed());
        }
        String::from_utf8(bytes).map_err(|_| changed())
    }
}

/// A rollout in the native form, from its columns alone.
#[must_use]
pub fn native(batch: &Batch, i: usize, dictionary: &Dictionary) -> String {
    let mut out = String::from("{");
    key("task", &mut out);
    let task = dictionary.tasks.names.get(batch.task[i]);
    match dictionary.tasks.kind {
        Some(IdKind::Integer) => out.push_str(task),
        _ => write_text(task, &mut out),
    }
    if batch.index[i] != NO_INDEX {
        member("rollout", batch.index[i], &mut out);
    }
    key("status", &mut out);
    write_text(batch.status[i].word(), &mut out);
    let mut open = false;
    for v in batch.verifications_of(i) {
        if open {
            out.push(',');
        } else {
            key("verifiers", &mut out);
            out.push('[');
        }
        open = true;
        verification(batch, v, dictionary, &mut out);
    }
    if open {
        out.push(']');
    }
    if let Some(seconds) = batch.duration.get(i).filter(|seconds| !seconds.is_nan()) {
        member("duration_s", format_args!("{seconds:?}"), &mut out);
    }
    let count = |column: &[i64]| column.get(i).copied().filter(|&count| count != NO_COUNT);
    if let Some(tokens) = count(&batch.tokens) {
        member("usage", format_args!("{{\"total_tokens\":{tokens}}}"), &mut out);
    }
    if let Some(calls) = count(&batch.tool_calls) {
        member("tool_calls", calls, &mut out);
    }
    if let Some(errors) = count(&batch.tool_errors) {
        member("tool_errors", errors, &mut out);
    }
    let tags = range(&batch.tags.offsets, i);
    if !tags.is_empty() {
        key("tags", &mut out);
        out.push('{');
        for at in tags {
            key(dictionary.texts.get(batch.tags.name[at]), &mut out);
            write_text(dictionary.texts.get(batch.tags.value[at]), &mut out);
        }
        out.push('}');
    }
    out.push('}');
    out
}

fn verification(batch: &Batch, v: usize, dictionary: &Dictionary, out: &mut String) {
    out.push('{');
    key("name", out);
    write_text(dictionary.texts.get(batch.verifications.name[v]), out);
    let checks = range(&batch.checks.offsets, v);
    if !checks.is_empty() {
        key("checks", out);
        out.push('[');
        for at in checks {
            out.push_str(if out.ends_with('[') { "{" } else { ",{" });
            key("label", out);
            write_text(dictionary.texts.get(batch.checks.label[at]), out);
            member("required", batch.checks.flags[at] & REQUIRED != 0, out);
            member("passed", batch.checks.flags[at] & PASSED != 0, out);
            out.push('}');
        }
        out.push(']');
    }
    let score = batch.verifications.score[v];
    if !score.is_nan() {
        member("score", format_args!("{score:?}"), out);
    }
    if let Some(verdict) = batch.verifications.verdict[v].word() {
        key("verdict", out);
        write_text(verdict, out);
    }
    let readings = range(&batch.readings.offsets, v);
    if !readings.is_empty() {
        key("readings", out);
        out.push('[');
        for at in readings {
            out.push_str(if out.ends_with('[') { "{" } else { ",{" });
            key("subject", out);
            write_text(dictionary.texts.get(batch.readings.subject[at]), out);
            key("metric", out);
            write_text(dictionary.texts.get(batch.readings.metric[at]), out);
            match batch.readings.value[at] {
                Value::Number(value) => member("value", format_args!("{value:?}"), out),
                Value::Bool(value) => member("value", value, out),
                Value::Text(text) => {
                    key("value", out);
                    write_text(dictionary.texts.get(text), out);
                }
            }
            out.push('}');
        }
        out.push(']');
    }
    out.push('}');
}

fn key(name: &str, out: &mut String) {
    if !out.ends_with('{') {
        out.push(',');
    }
    write_text(name, out);
    out.push(':');
}

fn member(name: &str, value: impl std::fmt::Display, out: &mut String) {
    key(name, out);
    // Writing to a String cannot fail.
    let _ = write!(out, "{value}");
}
