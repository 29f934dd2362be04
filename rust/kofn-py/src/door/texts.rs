//! Columns of text by Arrow's C interface, read where they are: in every layout that text has, sliced and in chunks.

use arrow_buffer::ArrowNativeType;
use arrow_data::ArrayData;
use arrow_schema::DataType;
use kofn_core::table::BATCH;
use kofn_core::tasks::{Coder, Sink};
use kofn_core::{Error, Result};
use numpy::PyArrayDescr;
use pyo3::prelude::*;

use super::arrow;

/// One chunk of a column.
pub struct Texts(ArrayData);

/// The chunks of a column of text without nulls; none of anything else, which goes the way of arrays.
pub fn import(source: &Bound<'_, PyAny>) -> Option<Vec<Texts>> {
    // What has a dtype of NumPy's is an array already: its objects would be copied to make Arrow of them.
    if source.getattr_opt("dtype").ok()?.is_some_and(|dtype| dtype.is_instance_of::<PyArrayDescr>()) {
        return None;
    }
    let chunks = arrow::column(source, is_text_or_coded).ok()??;
    let whole = |data: &ArrayData| data.null_count() == 0 && data.child_data().iter().all(|it| it.null_count() == 0);
    chunks.iter().all(whole).then(|| chunks.into_iter().map(Texts).collect())
}

fn is_text_or_coded(found: &DataType) -> bool {
    is_text(found) || matches!(found, DataType::Dictionary(key, value) if key.is_integer() && is_text(value))
}

fn is_text(found: &DataType) -> bool {
    matches!(found, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
}

impl Texts {
    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Give all of them to a coder.
    pub fn feed<'a, S: Sink>(&'a self, coder: &mut Coder<'a, S>) -> Result<()> {
        match self.0.data_type() {
            DataType::Dictionary(key, _) => {
                let texts = values(self.0.child_data().first())?;
                match **key {
                    DataType::Int8 => coded::<i8, S>(&self.0, &texts, coder),
                    DataType::Int16 => coded::<i16, S>(&self.0, &texts, coder),
                    DataType::Int32 => coded::<i32, S>(&self.0, &texts, coder),
                    DataType::Int64 => coded::<i64, S>(&self.0, &texts, coder),
                    DataType::UInt8 => coded::<u8, S>(&self.0, &texts, coder),
                    DataType::UInt16 => coded::<u16, S>(&self.0, &texts, coder),
                    DataType::UInt32 => coded::<u32, S>(&self.0, &texts, coder),
                    _ => coded::<u64, S>(&self.0, &texts, coder),
                }
            }
            _ => each(&self.0, coder),
        }
    }
}

/// What takes texts, [`BATCH`] at most at a time.
trait Taker<'a> {
    fn take(&mut self, texts: impl Iterator<Item = &'a [u8]>) -> Result<()>;
}

impl<'a, S: Sink> Taker<'a> for Coder<'a, S> {
    #[inline]
    fn take(&mut self, texts: impl Iterator<Item = &'a [u8]>) -> Result<()> {
        Coder::take(self, texts)
    }
}

impl<'a> Taker<'a> for Vec<&'a [u8]> {
    fn take(&mut self, texts: impl Iterator<Item = &'a [u8]>) -> Result<()> {
        self.extend(texts);
        Ok(())
    }
}

/// Texts that rows refer to by number.
fn values(data: Option<&ArrayData>) -> Result<Vec<&[u8]>> {
    let mut texts = Vec::new();
    data.map_or(Ok(()), |data| each(data, &mut texts))?;
    Ok(texts)
}

fn coded<'a, K: ArrowNativeType, S: Sink>(
    data: &ArrayData,
    texts: &[&'a [u8]],
    coder: &mut Coder<'a, S>,
) -> Result<()> {
    let keys = data.buffer::<K>(0).get(..data.len()).ok_or_else(broken)?;
    coder.extend_coded(texts, keys.iter().map(|key| key.to_usize().unwrap_or(usize::MAX)))
}

/// Give all texts of a column that is not coded to a taker.
fn each<'a>(data: &'a ArrayData, taker: &mut impl Taker<'a>) -> Result<()> {
    match data.data_type() {
        _ if data.is_empty() => Ok(()),
        DataType::Utf8 => by_offsets::<i32>(data, taker),
        DataType::LargeUtf8 => by_offsets::<i64>(data, taker),
        _ => by_views(data, taker),
    }
}

fn by_offsets<'a, O: ArrowNativeType>(data: &'a ArrayData, taker: &mut impl Taker<'a>) -> Result<()> {
    let (offsets, bytes) = (data.buffer::<O>(0), data.buffers().get(1).ok_or_else(broken)?.as_slice());
    let offsets = offsets.get(..=data.len()).ok_or_else(broken)?;
    let (mut start, mut lost) = (offsets.first().map_or(0, |offset| offset.as_usize()), Lost(false));
    for ends in offsets[1..].chunks(BATCH) {
        let taken = taker.take(ends.iter().map(|end| {
            let from = std::mem::replace(&mut start, end.as_usize());
            bytes.get(from..start).unwrap_or_else(|| lost.one())
        }));
        lost.check()?;
        taken?;
    }
    Ok(())
}

/// A view is a length of 32 bits and up to 12 bytes of text, or its first 4, the number of a buffer and an offset.
fn by_views<'a>(data: &'a ArrayData, taker: &mut impl Taker<'a>) -> Result<()> {
    const VIEW: usize = 16;
    let (views, buffers) = data.buffers().split_first().ok_or_else(broken)?;
    let views = views.as_slice().get(data.offset() * VIEW..).ok_or_else(broken)?;
    let (views, _) = views.as_chunks::<VIEW>();
    let mut lost = Lost(false);
    for views in views.get(..data.len()).ok_or_else(broken)?.chunks(BATCH) {
        let taken = taker.take(views.iter().map(|view| {
            let word = |at: usize| {
                view.get(at..at + 4).and_then(|word| word.try_into().ok()).map_or(0, u32::from_ne_bytes) as usize
            };
            let len = word(0);
            let text = if len <= VIEW - 4 {
                view.get(4..4 + len)
            } else {
                buffers.get(word(8)).and_then(|buffer| buffer.as_slice().get(word(12)..word(12) + len))
            };
            text.unwrap_or_else(|| lost.one())
        }));
        lost.check()?;
        taken?;
    }
    Ok(())
}

/// Whether a text lay outside its buffer: loops go on without it, so that they need not look.
struct Lost(bool);

impl Lost {
    // Out of the way: a branch that is never taken costs less than choosing between two texts each time.
    #[cold]
    #[inline(never)]
    fn one<'a>(&mut self) -> &'a [u8] {
        self.0 = true;
        &[]
    }

    fn check(&self) -> Result<()> {
        if self.0 { Err(broken()) } else { Ok(()) }
    }
}

#[cold]
fn broken() -> Error {
    Error::argument("groups", "this Arrow column points outside its own buffers".to_owned())
}
