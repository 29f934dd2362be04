//! Where bytes come from: paths, memory and streams, compressed or not, hashed as they are stored.

use std::fmt;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::PathBuf;
use std::sync::Arc;

use flate2::read::MultiGzDecoder;
use xxhash_rust::xxh3::Xxh3Default;

use crate::error::{Error, Result};

/// The bytes of a source as they are stored; gzip and zstd are recognised by their magic bytes.
pub enum Input {
    /// A file.
    Path(PathBuf),
    /// Bytes in memory.
    Memory(Arc<[u8]>),
    /// Bytes that can be read once, such as standard input.
    Stream(Box<dyn Read + Send>),
}

impl fmt::Debug for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path(path) => f.debug_tuple("Path").field(path).finish(),
            Self::Memory(bytes) => f.debug_tuple("Memory").field(&bytes.len()).finish(),
            Self::Stream(_) => f.write_str("Stream"),
        }
    }
}

impl Input {
    /// The same bytes once more; none for a stream.
    pub(crate) fn again(&self) -> Option<Self> {
        match self {
            Self::Path(path) => Some(Self::Path(path.clone())),
            Self::Memory(bytes) => Some(Self::Memory(Arc::clone(bytes))),
            Self::Stream(_) => None,
        }
    }
}

/// Something to read, under the name that messages and reports give it.
#[derive(Debug)]
pub struct Source {
    /// The name as the user gave it.
    pub name: String,
    /// Its bytes.
    pub input: Input,
}

impl Source {
    /// A file under its own name.
    pub fn path(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        Self { name: path.display().to_string(), input: Input::Path(path) }
    }

    /// Bytes in memory.
    pub fn memory(name: impl Into<String>, bytes: impl Into<Arc<[u8]>>) -> Self {
        Self { name: name.into(), input: Input::Memory(bytes.into()) }
    }
}

/// What the system said, without the number that it adds.
pub(crate) fn failed(name: &str, error: &io::Error) -> Error {
    let reason = match error.kind() {
        io::ErrorKind::NotFound => "no such file".to_owned(),
        io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        io::ErrorKind::IsADirectory => "is a directory".to_owned(),
        _ => error.to_string(),
    };
    Error::Source { source: name.to_owned(), reason }
}

/// Do what a signal may interrupt: then the watch decides whether to go on.
fn patient<T>(name: &str, watch: &mut dyn FnMut() -> Result<()>, mut work: impl FnMut() -> io::Result<T>) -> Result<T> {
    loop {
        match work() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => watch()?,
            result => return result.map_err(|error| failed(name, &error)),
        }
    }
}

/// Bytes as they are stored; hashes what is read of them.
pub(crate) struct Stored {
    input: Box<dyn Read + Send>,
    hash: Box<Xxh3Default>,
    /// Bytes that were read to recognise the form, and how many of them were given out.
    head: Vec<u8>,
    given: usize,
}

impl Stored {
    fn new(input: Box<dyn Read + Send>) -> Self {
        Self { input, hash: Box::default(), head: Vec::new(), given: 0 }
    }

    /// The first bytes (fewer than four only if there are no more), which will be read again.
    fn peek(&mut self) -> io::Result<()> {
        while self.head.len() < 4 {
            let mut bytes = [0; 4];
            let room = bytes.len() - self.head.len();
            let n = self.fetch(&mut bytes[..room])?;
            if n == 0 {
                break;
            }
            self.head.extend(bytes.iter().take(n));
        }
        Ok(())
    }

    fn fetch(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.input.read(buffer)?;
        self.hash.update(buffer.get(..n).unwrap_or_default());
        Ok(n)
    }

    /// The hash of everything, what was not read yet included.
    pub fn digest(&mut self) -> io::Result<u64> {
        let mut rest = vec![0; 1 << 16];
        loop {
            match self.fetch(&mut rest) {
                Ok(0) => return Ok(self.hash.digest()),
                Err(error) if error.kind() != io::ErrorKind::Interrupted => return Err(error),
                _ => {}
            }
        }
    }
}

impl Read for Stored {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.head.get(self.given..) {
            Some(left) if !left.is_empty() => {
                let n = left.len().min(buffer.len());
                for (to, from) in buffer.iter_mut().zip(left) {
                    *to = *from;
                }
                self.given += n;
                Ok(n)
            }
            _ => self.fetch(buffer),
        }
    }
}

/// The decompressed bytes of a source.
pub(crate) enum Opened {
    Plain(Stored),
    Gzip(Box<MultiGzDecoder<Stored>>),
    Zstd(Box<zstd::stream::read::Decoder<'static, BufReader<Stored>>>),
    /// A zip archive, to be opened again with seeking.
    Zip(Stored),
}

impl Opened {
    /// Open an input by its magic bytes.
    pub fn new(name: &str, input: Input, watch: &mut dyn FnMut() -> Result<()>) -> Result<Self> {
        let mut stored = Stored::new(match input {
            Input::Path(path) => Box::new(File::open(path).map_err(|error| failed(name, &error))?),
            Input::Memory(bytes) => Box::new(io::Cursor::new(bytes)),
            Input::Stream(stream) => stream,
        });
        patient(name, watch, || stored.peek())?;
        Ok(match &*stored.head {
            [0x1F, 0x8B, ..] => Self::Gzip(Box::new(MultiGzDecoder::new(stored))),
            [0x28, 0xB5, 0x2F, 0xFD] | [0x50..=0x5F, 0x2A, 0x4D, 0x18] => {
                let decoder = zstd::stream::read::Decoder::new(stored).map_err(|error| failed(name, &error))?;
                Self::Zstd(Box::new(decoder))
            }
            [b'P', b'K', 3, 4] | [b'P', b'K', 5, 6] => Self::Zip(stored),
            _ => Self::Plain(stored),
        })
    }

    /// xxh3-64 of the source's bytes as they are stored.
    pub fn digest(&mut self, name: &str) -> Result<u64> {
        match self {
            Self::Plain(stored) | Self::Zip(stored) => stored.digest(),
            Self::Gzip(decoder) => decoder.get_mut().digest(),
            Self::Zstd(decoder) => decoder.get_mut().get_mut().digest(),
        }
        .map_err(|error| failed(name, &error))
    }

    /// Read some bytes; a compressed stream that was cut is an error. [`Error::Interrupted`] where a signal came
    /// while waiting: nothing is lost, and the caller may read on.
    pub fn some(&mut self, name: &str, buffer: &mut [u8]) -> Result<usize> {
        let (read, form) = match self {
            Self::Plain(stored) | Self::Zip(stored) => (stored.read(buffer), ""),
            Self::Gzip(decoder) => (decoder.read(buffer), "gzip"),
            Self::Zstd(decoder) => (decoder.read(buffer), "zstd"),
        };
        read.map_err(|error| match (error.kind(), form) {
            (io::ErrorKind::Interrupted, _) => Error::Interrupted,
            (_, "") => failed(name, &error),
            (io::ErrorKind::UnexpectedEof, form) => Error::Source {
                source: name.to_owned(),
                reason: format!("the {form} stream ends too early; the file was cut"),
            },
            (_, form) => Error::Source { source: name.to_owned(), reason: format!("damaged {form} stream: {error}") },
        })
    }
}
