//! Where bytes come from: paths, memory and streams, compressed or not.

use std::fmt;
use std::io::Read;
use std::path::PathBuf;
use std::sync::Arc;

use crate::batch::Origin;
use crate::error::{Error, Result};
use crate::json::mapping::Mapping;

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

/// Something to read, under the name that messages and reports give it.
#[derive(Debug)]
pub struct Source {
    /// The name as the user gave it.
    pub name: String,
    /// Its bytes.
    pub input: Input,
}

/// Reads single records of one source again, by the place where they were read: forward only inside a compressed
/// source, which is opened anew when an earlier record is asked for.
#[derive(Debug)]
pub struct Records {
    source: Source,
}

impl Records {
    /// Over a source that was read with `mapping`.
    #[must_use]
    pub fn new(source: Source, mapping: &Mapping) -> Self {
        let _ = mapping;
        Self { source }
    }

    /// The record's bytes as they stand in the decompressed source; `origin.source` is not looked at.
    pub fn get(&mut self, origin: Origin) -> Result<Vec<u8>> {
        let _ = origin;
        Err(Error::Source { source: self.source.name.clone(), reason: "cannot be read again yet".to_owned() })
    }
}
