//! Single records read again, when someone looks at one rollout.

use std::fmt;
use std::io::{self, Read, Seek, SeekFrom};

use super::archive::{Archive, seekable};
use super::mapping::Mapping;
use super::source::{Input, Opened, Source, failed};
use crate::batch::Origin;
use crate::error::{Error, Result};

/// Reads single records of one source again, by the place where they were read: forward only inside a compressed
/// source, which is opened anew when an earlier record is asked for.
pub struct Records {
    source: Source,
    members: Vec<String>,
    format: String,
    stream: Option<Stream>,
}

enum Stream {
    /// Bytes that can be sought.
    Plain(Box<dyn super::archive::Seekable>),
    /// Decompressed bytes, and how many of them were read.
    Forward(Box<dyn Read + Send>, u64),
}

impl fmt::Debug for Records {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Records").field("source", &self.source).finish_non_exhaustive()
    }
}

impl Records {
    /// Over a source that was read with `mapping`.
    #[must_use]
    pub fn new(source: Source, mapping: &Mapping) -> Self {
        Self { source, members: mapping.members.clone(), format: mapping.name.clone(), stream: None }
    }

    /// The record's bytes as they stand in the decompressed source; `origin.source` is not looked at. A source that
    /// can be read only once, and one that changed so that the record is not there any more, are errors.
    pub fn get(&mut self, origin: Origin) -> Result<Vec<u8>> {
        let stream = match self.stream.take() {
            Some(Stream::Forward(_, at)) if at > origin.offset => self.open()?,
            Some(stream) => stream,
            None => self.open()?,
        };
        let mut record = vec![0; origin.length as usize];
        let (read, stream) = match stream {
            Stream::Plain(mut bytes) => {
                let read = bytes.seek(SeekFrom::Start(origin.offset)).and_then(|_| bytes.read_exact(&mut record));
                (read, Stream::Plain(bytes))
            }
            Stream::Forward(mut bytes, at) => {
                let read = io::copy(&mut bytes.by_ref().take(origin.offset - at), &mut io::sink())
                    .and_then(|_| bytes.read_exact(&mut record));
                (read, Stream::Forward(bytes, origin.offset + u64::from(origin.length)))
            }
        };
        read.map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => {
                self.error("it has changed since it was read: the record is not there any more")
            }
            _ => failed(&self.source.name, &error),
        })?;
        self.stream = Some(stream);
        Ok(record)
    }

    fn error(&self, reason: &str) -> Error {
        Error::Source { source: self.source.name.clone(), reason: reason.to_owned() }
    }

    fn input(&self) -> Result<Input> {
        self.source.input.again().ok_or_else(|| self.error("it was a stream and cannot be read twice"))
    }

    fn open(&self) -> Result<Stream> {
        let name = &self.source.name;
        Ok(match Opened::new(name, self.input()?, &mut || Ok(()))? {
            Opened::Plain(_) => Stream::Plain(seekable(name, self.input()?)?),
            Opened::Gzip(decoder) => Stream::Forward(decoder, 0),
            Opened::Zstd(decoder) => Stream::Forward(decoder, 0),
            Opened::Zip(_) => {
                let archive = Archive::new(name, seekable(name, self.input()?)?, &self.members, &self.format)?;
                Stream::Forward(archive.stream(|| seekable(name, self.input()?))?, 0)
            }
        })
    }
}
