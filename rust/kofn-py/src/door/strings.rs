//! Lists of Python strings and integers, read where they are.
#![expect(
    unsafe_code,
    reason = "items are borrowed from their list, many at a time: counting references to each would write to all of them"
)]

use std::ptr;

use kofn_core::Result;
use kofn_core::arch;
use kofn_core::table::BATCH;
use kofn_core::tasks::{Coder, Sink};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyList};

/// Give a coder the strings of a list; false where an item is none, or holds what UTF-8 cannot.
///
/// The list must be one that nobody else changes meanwhile: see [`settled`].
pub fn feed<'a, S: Sink>(list: &'a Bound<'_, PyList>, coder: &mut Coder<'a, S>) -> Result<bool> {
    let len = list.len();
    // Fetched many at a time: their memory comes while others are read.
    let mut items = [ptr::null_mut::<ffi::PyObject>(); BATCH];
    let mut texts: [&'a [u8]; BATCH] = [&[]; BATCH];
    // The same object as before is the same text.
    let (mut last, mut text): (*mut ffi::PyObject, &'a [u8]) = (ptr::null_mut(), &[]);
    for start in (0..len).step_by(BATCH) {
        let items = &mut items[..BATCH.min(len - start)];
        for (at, item) in (start..).zip(items.iter_mut()) {
            // SAFETY: `list` is a list; the item is there, or null is returned with an exception.
            *item = unsafe { ffi::PyList_GetItem(list.as_ptr(), at.cast_signed()) };
            if !item.is_null() {
                // SAFETY: the list owns the item; the object is at least this large, and only its address is used.
                arch::prefetch(unsafe { &**item });
            }
        }
        for (&mut item, to) in items.iter_mut().zip(&mut texts) {
            if item != last {
                let Some(found) = (unsafe { utf8(item) }) else {
                    drop(PyErr::take(list.py()));
                    return Ok(false);
                };
                (last, text) = (item, found);
            }
            *to = text;
        }
        coder.take(texts[..BATCH.min(len - start)].iter().copied())?;
    }
    Ok(true)
}

/// The UTF-8 of a string, which the string keeps; none, perhaps with an exception set, of anything else.
///
/// # Safety
/// `item` is null or an object that lives for `'a`.
unsafe fn utf8<'a>(item: *mut ffi::PyObject) -> Option<&'a [u8]> {
    // SAFETY: it is an object where it is not null; the pointer and size that come back are of the string's own cache.
    unsafe {
        if item.is_null() || (ffi::PyUnicode_CheckExact(item) == 0 && ffi::PyUnicode_Check(item) == 0) {
            return None;
        }
        let mut size = 0;
        let bytes = ffi::PyUnicode_AsUTF8AndSize(item, &raw mut size);
        let size = usize::try_from(size).ok()?;
        (!bytes.is_null()).then(|| std::slice::from_raw_parts(bytes.cast(), size))
    }
}

/// The list itself where the interpreter's lock keeps it as it is, else a copy that nobody else knows.
pub fn settled<'py>(list: &Bound<'py, PyList>) -> PyResult<Bound<'py, PyList>> {
    let sys = list.py().import("sys")?;
    let locked = match sys.getattr_opt("_is_gil_enabled")? {
        Some(enabled) => enabled.call0()?.is_truthy()?,
        None => true,
    };
    Ok(if locked { list.clone() } else { list.get_slice(0, list.len()) })
}

/// The integers of a list that holds nothing else, and none beyond 64 bits.
pub fn integers(list: &Bound<'_, PyList>) -> Option<Vec<i64>> {
    if list.is_empty() {
        return None;
    }
    let mut integers = Vec::new();
    for item in list.iter() {
        if !item.is_exact_instance_of::<PyInt>() {
            return None;
        }
        if integers.is_empty() {
            integers.reserve_exact(list.len());
        }
        integers.push(item.extract().ok()?);
    }
    Some(integers)
}
