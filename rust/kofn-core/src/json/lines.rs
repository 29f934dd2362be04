//! Records as lines: split on `\n` only (spec 7.1), read in pieces of whole lines.

use memchr::{memchr, memrchr};

use super::desk::{Before, Desk};
use super::project::Projector;
use super::reader::Options;
use super::trie::Trie;
use super::window::{CHUNK, Fill, LONGEST, too_long};
use crate::error::{Error, Result};
use crate::threads::{self, Flow};

/// A record as it was found.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Found<'b> {
    pub bytes: &'b [u8],
    /// Its line, or its number, from 1.
    pub number: u64,
    /// Its offset in the stream.
    pub offset: u64,
    /// It is a last line without a line break, so perhaps half-written.
    pub unfinished: bool,
}

/// The byte-order mark, which is tolerated at the start of a stream.
const MARK: &[u8] = b"\xEF\xBB\xBF";

/// Some whole lines of a stream.
pub(crate) struct Piece {
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    /// Where it starts in the stream.
    pub offset: u64,
}

impl Piece {
    /// Read its lines at a desk; numbers and offsets count from its start.
    pub fn read(&self, desk: &mut Desk, before: Before, trie: &Trie, options: &Options<'_>) {
        desk.begin(before);
        let bytes = self.buffer.get(self.start..self.end).unwrap_or_default();
        // A line break is no part of a character: the lines are text if the piece is.
        let text = simdutf8::basic::from_utf8(bytes).ok();
        let mut start = 0;
        while start < bytes.len() && !desk.stopped {
            let rest = bytes.get(start..).unwrap_or_default();
            let length = memchr(b'\n', rest);
            let line = rest.get(..length.unwrap_or(rest.len())).unwrap_or_default();
            desk.records += 1;
            let begun = line.trim_ascii_start();
            if !begun.is_empty() {
                let blank = line.len() - begun.len();
                let record = begun.trim_ascii_end();
                let from = start + blank;
                let found =
                    Found { bytes: record, number: desk.records, offset: from as u64, unfinished: length.is_none() };
                desk.record(found, text.and_then(|text| text.get(from..)), trie, options);
            }
            start += line.len() + 1;
        }
    }
}

/// A stream cut into pieces: of about the same size, wherever the stream's own reads end.
struct Lines<'l, 'f, 'r, 'o> {
    fill: &'l mut Fill<'f>,
    name: &'l str,
    projector: &'l mut Projector<'r, 'o>,
    /// The bytes after the last line break that was read.
    rest: Vec<u8>,
    offset: u64,
    /// Bytes of earlier streams of the source, and lines of all pieces that were taken.
    bytes: u64,
    records: u64,
    ended: bool,
}

/// Give every line that is not blank to the projector. Lines and bytes are counted on from those before, and their
/// counts returned.
pub(crate) fn lines(
    threads: usize,
    fill: &mut Fill<'_>,
    name: &str,
    (records, bytes): (u64, u64),
    projector: &mut Projector<'_, '_>,
) -> Result<(u64, u64)> {
    let (trie, options) = (projector.trie, projector.options);
    let rest = Vec::new();
    let mut lines = Lines { fill, name, projector, rest, offset: 0, bytes, records, ended: false };
    threads::flow_on(threads, &mut lines, |(mut desk, piece, before): (Box<Desk>, Piece, Before)| {
        piece.read(&mut desk, before, trie, options);
        (desk, piece)
    })?;
    Ok((lines.records, lines.bytes + lines.offset))
}

impl Flow for Lines<'_, '_, '_, '_> {
    type Part = (Box<Desk>, Piece, Before);
    type Done = (Box<Desk>, Piece);
    type Error = Error;

    fn next(&mut self) -> Result<Option<Self::Part>> {
        if self.ended {
            return Ok(None);
        }
        let (desk, buffer) = self.projector.desk();
        // Pieces under way will have had rollouts.
        let mut before = self.projector.before();
        before.rollouts |= self.offset > 0;
        let piece = self.piece(buffer)?;
        Ok(Some((desk, piece, before)))
    }

    fn take(&mut self, (mut desk, mut piece): Self::Done) -> Result<()> {
        piece.offset += self.bytes;
        self.projector.piece(&mut desk, &piece, self.records)?;
        self.records += desk.records;
        // What one very long record needed is not kept.
        let buffer = if piece.buffer.len() > 2 * CHUNK { Vec::new() } else { piece.buffer };
        self.projector.release(desk, buffer);
        Ok(())
    }
}

impl Lines<'_, '_, '_, '_> {
    fn piece(&mut self, mut buffer: Vec<u8>) -> Result<Piece> {
        if buffer.len() < CHUNK {
            buffer.resize(CHUNK, 0);
        }
        let mut end = self.rest.len();
        if buffer.len() < end + CHUNK / 2 {
            buffer.resize(end + CHUNK, 0);
        }
        if let Some(room) = buffer.get_mut(..end) {
            room.copy_from_slice(&self.rest);
        }
        self.rest.clear();
        // No line break stands before this.
        let mut searched = end;
        loop {
            let n = match buffer.get_mut(end..) {
                Some(room) => (self.fill)(room)?.min(room.len()),
                None => 0,
            };
            end += n;
            self.ended = n == 0;
            if n > 0 && end < buffer.len() {
                continue;
            }
            let whole = match memrchr(b'\n', buffer.get(searched..end).unwrap_or_default()) {
                _ if self.ended => end,
                Some(at) => searched + at + 1,
                None => {
                    if end >= LONGEST {
                        return Err(too_long(self.name, self.offset));
                    }
                    searched = end;
                    buffer.resize(buffer.len() * 2, 0);
                    continue;
                }
            };
            self.rest.extend_from_slice(buffer.get(whole..end).unwrap_or_default());
            let marked = self.offset == 0 && buffer.get(..whole).is_some_and(|held| held.starts_with(MARK));
            let start = if marked { MARK.len() } else { 0 };
            let piece = Piece { buffer, start, end: whole, offset: self.offset + start as u64 };
            self.offset += whole as u64;
            return Ok(piece);
        }
    }
}
