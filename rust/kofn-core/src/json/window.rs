//! A window over a stream: one reused buffer that holds at least the record being read.

use crate::error::{Error, Result};

/// Bytes asked for at once, and the size of a piece of lines: large enough to hide the calls, small enough to stay in a
/// core's own cache. Tests are to meet many ends of pieces.
pub(crate) const CHUNK: usize = if cfg!(test) { 4 << 10 } else { 256 << 10 };

/// The longest record that is held. A small compressed file can unfold into one without end.
pub(crate) const LONGEST: usize = 1 << 30;

/// Gives some bytes; 0 at the end.
pub(crate) type Fill<'f> = dyn FnMut(&mut [u8]) -> Result<usize> + 'f;

/// The buffer, and where in the stream it stands.
pub(crate) struct Window<'f> {
    fill: &'f mut Fill<'f>,
    /// The source's name, for messages.
    name: &'f str,
    longest: usize,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    /// Offset of `start` in the stream.
    offset: u64,
    ended: bool,
}

impl<'f> Window<'f> {
    /// At the start of a stream, past a byte-order mark.
    pub fn new(name: &'f str, fill: &'f mut Fill<'f>) -> Result<Self> {
        let mut window =
            Self { fill, name, longest: LONGEST, buffer: vec![0; CHUNK], start: 0, end: 0, offset: 0, ended: false };
        while window.bytes().len() < 3 && window.more()? {}
        if window.bytes().starts_with(b"\xEF\xBB\xBF") {
            window.consume(3);
        }
        Ok(window)
    }

    /// What is held and was not dropped.
    pub fn bytes(&self) -> &[u8] {
        self.buffer.get(self.start..self.end).unwrap_or_default()
    }

    /// Offset of the first of them in the stream.
    pub const fn offset(&self) -> u64 {
        self.offset
    }

    /// Done with the first `n` bytes.
    pub fn consume(&mut self, n: usize) {
        let n = n.min(self.end - self.start);
        self.start += n;
        self.offset += n as u64;
    }

    /// Hold more bytes; `false` at the end of the stream. The buffer grows only for a record that fills it.
    pub fn more(&mut self) -> Result<bool> {
        if self.ended {
            return Ok(false);
        }
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        if self.end >= self.longest {
            return Err(too_long(self.name, self.offset));
        }
        if self.end == self.buffer.len() {
            self.buffer.resize(self.buffer.len() * 2, 0);
        }
        let stop = self.buffer.len().min(self.end + CHUNK);
        let n = match self.buffer.get_mut(self.end..stop) {
            Some(room) => (self.fill)(room)?.min(room.len()),
            None => 0,
        };
        self.end += n;
        self.ended = n == 0;
        Ok(n > 0)
    }
}

/// The error of a record that is not held any more.
pub(crate) fn too_long(name: &str, offset: u64) -> Error {
    let reason = format!("a record after byte {offset} is longer than 1 GiB; is it one rollout a line?");
    Error::Source { source: name.to_owned(), reason }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_without_end_stops_the_read_and_one_that_was_consumed_does_not_count() -> Result<()> {
        let mut endless = |bytes: &mut [u8]| {
            bytes.fill(b'x');
            Ok(bytes.len())
        };
        let mut window = Window::new("bomb.gz", &mut endless)?;
        window.longest = 4 * CHUNK;
        for _ in 0..100 {
            window.consume(window.bytes().len());
            assert!(window.more()?);
        }
        let stopped = std::iter::repeat_with(|| window.more()).take(100).find_map(Result::err);
        let message = stopped.map(|error| error.to_string()).unwrap_or_default();
        assert!(message.starts_with("bomb.gz: a record after byte ") && message.contains("1 GiB"), "{message}");
        assert!(window.bytes().len() <= 4 * CHUNK);
        Ok(())
    }
}
