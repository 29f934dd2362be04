//! Sources on their way in: paths, bytes, and tables that become lines of the native form.

use std::path::PathBuf;

use arrow_schema::ArrowError;
use kofn_core::error::{Error, Place, Unit};
use kofn_core::json::{Input, Source};
use kofn_core::run::Group;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::door::arrow::{self, Reader};
use crate::door::rows;

/// A source as Python gives it: kind, name, payload, and the header that a table has lost on its way. The kinds are a
/// "path", "bytes", "stdin", "records" (bytes again, whose lines count as records) and a "table" (an Arrow object).
pub type SourceParts<'py> = (String, String, Bound<'py, PyAny>, Option<String>);

/// A source before it is read.
pub enum Pending {
    /// Bytes as they are stored, and what their records are counted in.
    Bytes(Source, Unit),
    /// A table, its name, and its header where its schema has none.
    Table(String, Reader, Option<String>),
}

/// What a producer said on one line, without the traceback that a Python producer adds.
fn brief(error: &ArrowError) -> String {
    let text = error.to_string();
    let said = text.split_once(". Detail: Python exception").map_or(&*text, |(said, _)| said);
    said.split_whitespace().collect::<Vec<_>>().join(" ")
}

impl Pending {
    /// Sources as Python gives them: (kind, name, payload).
    pub fn all(sources: Vec<SourceParts<'_>>) -> PyResult<Vec<Self>> {
        sources.into_iter().map(|(kind, name, payload, header)| Self::new(&kind, name, &payload, header)).collect()
    }

    /// What the core reads: neighbours whose records are counted alike together, so that their headers are compared
    /// before their rollouts are.
    pub fn groups(
        pending: Vec<Self>,
        watch: &mut dyn FnMut() -> kofn_core::Result<()>,
    ) -> kofn_core::Result<Vec<Group>> {
        let mut groups: Vec<Group> = Vec::new();
        for one in pending {
            let group = one.group(watch)?;
            match groups.last_mut() {
                Some(last) if last.unit == group.unit => last.sources.extend(group.sources),
                _ => groups.push(group),
            }
        }
        Ok(groups)
    }

    fn new(kind: &str, name: String, payload: &Bound<'_, PyAny>, header: Option<String>) -> PyResult<Self> {
        let memory = |payload: &Bound<'_, PyAny>| Ok::<_, PyErr>(Input::Memory(payload.extract::<&[u8]>()?.into()));
        Ok(match kind {
            "path" => Self::Bytes(Source { name, input: Input::Path(payload.extract::<PathBuf>()?) }, Unit::Line),
            "bytes" => Self::Bytes(Source { name, input: memory(payload)? }, Unit::Line),
            // The process's standard input itself: Python has read nothing of it.
            "stdin" => Self::Bytes(Source { name, input: Input::Stream(Box::new(std::io::stdin())) }, Unit::Line),
            "records" => Self::Bytes(Source { name, input: memory(payload)? }, Unit::Record),
            "table" => Self::Table(name, arrow::import(payload)?, header),
            other => return Err(PyValueError::new_err(format!("no kind of source: {other}"))),
        })
    }

    /// Tables become lines of the native form, so that one reader judges everything.
    fn group(self, watch: &mut dyn FnMut() -> kofn_core::Result<()>) -> kofn_core::Result<Group> {
        let (name, reader, header) = match self {
            Self::Bytes(source, unit) => return Ok(Group { unit, sources: vec![source] }),
            Self::Table(name, reader, header) => (name, reader, header),
        };
        let wrong = |row: Option<usize>, problem: String| {
            let number = row.map(|row| row as u64);
            Error::record(Place { source: name.clone(), number, unit: Unit::Row }, "", problem)
        };
        let schema = reader.schema();
        let header = schema.metadata().get(rows::HEADER).cloned().or(header);
        let header = header.map(|header| rows::header(&header)).transpose().map_err(|problem| wrong(None, problem))?;
        let mut text = String::new();
        let mut first = 0;
        for batch in reader {
            watch()?;
            let batch = batch.map_err(|error| Error::Source { source: name.clone(), reason: brief(&error) })?;
            arrow::check(&batch).map_err(|problem| wrong(None, problem))?;
            rows::write(&batch, &mut text).map_err(|(row, problem)| wrong(row.map(|row| first + row), problem))?;
            first += batch.num_rows();
        }
        // The header stands apart, so that rows keep their numbers.
        let source = |text: String| Source { name: name.clone(), input: Input::Memory(text.into_bytes().into()) };
        Ok(Group { unit: Unit::Row, sources: header.into_iter().chain([text]).map(source).collect() })
    }
}
