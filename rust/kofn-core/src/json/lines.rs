//! Records as lines: split on `\n` only (spec 7.1).

use memchr::memchr;

use super::window::Window;
use crate::error::Result;

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

/// Give every line that is not blank to `each`; lines are counted on from `number`, and their count returned.
pub(crate) fn lines(
    window: &mut Window<'_>,
    mut number: u64,
    each: &mut dyn FnMut(Found<'_>) -> Result<()>,
) -> Result<u64> {
    let mut searched = 0;
    loop {
        let (offset, mut consumed) = (window.offset(), 0);
        let held = window.bytes();
        while let Some(length) = held.get(searched..).and_then(|rest| memchr(b'\n', rest)) {
            let line = held.get(consumed..searched + length).unwrap_or_default();
            number += 1;
            line_of(line, number, offset + consumed as u64, false, each)?;
            consumed = searched + length + 1;
            searched = consumed;
        }
        searched = held.len() - consumed;
        window.consume(consumed);
        if !window.more()? {
            break;
        }
    }
    let last = window.bytes();
    if !last.is_empty() {
        number += 1;
        line_of(last, number, window.offset(), true, each)?;
        window.consume(window.bytes().len());
    }
    Ok(number)
}

/// One line, without the white space around it.
fn line_of(
    line: &[u8],
    number: u64,
    offset: u64,
    unfinished: bool,
    each: &mut dyn FnMut(Found<'_>) -> Result<()>,
) -> Result<()> {
    let bytes = line.trim_ascii_start();
    if bytes.is_empty() {
        return Ok(());
    }
    let offset = offset + (line.len() - bytes.len()) as u64;
    each(Found { bytes: bytes.trim_ascii_end(), number, offset, unfinished })
}
