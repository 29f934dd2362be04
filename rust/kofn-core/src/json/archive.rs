//! Sources that are zip archives: which members hold the records, and their bytes.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};

use zip::{CompressionMethod, ZipArchive};

use super::source::{Input, failed};
use crate::error::{Error, Result};

/// What an archive needs of its bytes.
pub(crate) trait Seekable: Read + Seek + Send {}
impl<T: Read + Seek + Send> Seekable for T {}

/// An archive and those of its members that hold records, in order.
pub(crate) struct Archive {
    name: String,
    zip: ZipArchive<Box<dyn Seekable>>,
    members: Vec<usize>,
}

/// The input's bytes with random access; a stream has to be held.
pub(crate) fn seekable(name: &str, input: Input) -> Result<Box<dyn Seekable>> {
    Ok(match input {
        Input::Path(path) => Box::new(BufReader::new(File::open(path).map_err(|error| failed(name, &error))?)),
        Input::Memory(bytes) => Box::new(io::Cursor::new(bytes)),
        Input::Stream(mut stream) => {
            let mut bytes = Vec::new();
            stream.read_to_end(&mut bytes).map_err(|error| failed(name, &error))?;
            Box::new(io::Cursor::new(bytes))
        }
    })
}

fn damaged(name: &str, error: &impl std::fmt::Display) -> Error {
    Error::Source { source: name.to_owned(), reason: format!("damaged zip archive: {error}") }
}

impl Archive {
    /// Open an archive; `patterns` as in `Mapping::members`.
    pub fn new(name: &str, bytes: Box<dyn Seekable>, patterns: &[String], format: &str) -> Result<Self> {
        let refuse = |reason: String| Err(Error::Source { source: name.to_owned(), reason });
        if patterns.is_empty() {
            return refuse(format!(
                "is a zip archive, and the format {format:?} is not kept in archives; unpack it first"
            ));
        }
        let zip = ZipArchive::new(bytes).map_err(|error| damaged(name, &error))?;
        for pattern in patterns {
            let mut found: Vec<_> = (0..zip.len())
                .filter_map(|at| Some((at, zip.name_for_index(at)?.ok()?)))
                .filter(|(_, member)| matches(pattern, member))
                .map(|(at, member)| (order(&member), at))
                .collect();
            if !found.is_empty() {
                found.sort();
                let members = found.into_iter().map(|(_, at)| at).collect();
                return Ok(Self { name: name.to_owned(), zip, members });
            }
        }
        refuse(format!("is a zip archive without a member {}, so it is no {format:?} file", patterns.join(" or ")))
    }

    /// How many members hold records.
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Read through a member; its checksum is verified at its end.
    pub fn member<T>(&mut self, position: usize, read: impl FnOnce(&mut dyn Read) -> Result<T>) -> Result<T> {
        let Some(&at) = self.members.get(position) else {
            return Err(damaged(&self.name, &"a member is missing"));
        };
        let mut file = self.zip.by_index(at).map_err(|error| damaged(&self.name, &error))?;
        read(&mut file)
    }

    /// All members one after the other as a stream of its own, for reading records again.
    pub fn stream(mut self, input: impl Fn() -> Result<Box<dyn Seekable>>) -> Result<Box<dyn Read + Send>> {
        let mut all: Box<dyn Read + Send> = Box::new(io::empty());
        for &at in &self.members {
            let (start, length, method) = {
                let file = self.zip.by_index(at).map_err(|error| damaged(&self.name, &error))?;
                let start = file.data_start().ok_or_else(|| damaged(&self.name, &"a member has no data"))?;
                (start, file.compressed_size(), file.compression())
            };
            let mut bytes = input()?;
            bytes.seek(SeekFrom::Start(start)).map_err(|error| failed(&self.name, &error))?;
            let bytes = bytes.take(length);
            let member: Box<dyn Read + Send> = match method {
                CompressionMethod::Stored => Box::new(bytes),
                CompressionMethod::Deflated => Box::new(flate2::read::DeflateDecoder::new(bytes)),
                CompressionMethod::Zstd => {
                    Box::new(zstd::stream::read::Decoder::new(bytes).map_err(|error| failed(&self.name, &error))?)
                }
                other => return Err(damaged(&self.name, &format!("compression {other} is not known"))),
            };
            all = Box::new(all.chain(member));
        }
        Ok(all)
    }
}

/// Whether a name fits a pattern with at most one `*`.
fn matches(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((before, after)) => {
            name.len() >= before.len() + after.len() && name.starts_with(before) && name.ends_with(after)
        }
    }
}

/// Sorts names with numbers by value: `2.json` before `10.json`.
fn order(name: &str) -> Vec<(u64, String)> {
    let mut parts = Vec::new();
    let mut rest = name;
    while !rest.is_empty() {
        let text = rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len());
        let (before, after) = rest.split_at(text);
        let digits = after.find(|c: char| !c.is_ascii_digit()).unwrap_or(after.len());
        let (number, after) = after.split_at(digits);
        if !before.is_empty() {
            parts.push((0, before.to_owned()));
        }
        if !number.is_empty() {
            parts.push((number.parse().unwrap_or(u64::MAX), String::new()));
        }
        rest = after;
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_found_and_ordered_by_their_numbers() {
        assert!(matches("summaries.json", "summaries.json"));
        assert!(matches("_journal/summaries/*.json", "_journal/summaries/12.json"));
        assert!(!matches("ab*ba", "aba"));
        let mut names = ["s/10.json", "s/9.json", "s/1.json"];
        names.sort_by_key(|name| order(name));
        assert_eq!(names, ["s/1.json", "s/9.json", "s/10.json"]);
    }
}
