//! Rows of values copied from a table that holds each distinct one once.

use crate::arch::{self, Kernel};

/// Numbers the (n, c) of tasks whose n lie close together.
#[derive(Clone, Copy)]
pub(super) struct Numbering {
    /// The smallest n, and one more than the largest.
    pub(super) least: u64,
    pub(super) by: u64,
}

impl Numbering {
    /// The number of a pair that was checked.
    #[inline(always)]
    pub(super) fn of(self, n: i64, c: i64) -> usize {
        let number = n.cast_unsigned().wrapping_sub(self.least).wrapping_mul(self.by).wrapping_add(c.cast_unsigned());
        usize::try_from(number).unwrap_or(usize::MAX)
    }
}

/// Rows of `width` values, by number.
pub(super) struct Table {
    width: usize,
    /// Each row padded to `stride`, whole groups of W.
    values: Vec<f64>,
    stride: usize,
}

impl Table {
    /// Room for `rows` of them.
    pub(super) fn new(rows: usize, width: usize) -> Self {
        let stride = width.div_ceil(group(width)) * group(width);
        Self { width, values: vec![0.0; rows * stride], stride }
    }

    /// One of them, to be filled.
    pub(super) fn row_mut(&mut self, row: usize) -> &mut [f64] {
        &mut self.values[row * self.stride..][..self.width]
    }

    /// Write the rows of tasks with these n and c into `out`, one after another, which has room
    /// for less than a group more.
    pub(super) fn spread(&self, [n, c]: [&[i64]; 2], numbering: Numbering, out: &mut [f64]) {
        match group(self.width) {
            1 => arch::run(Spread::<1> { table: self, n, c, numbering, out }),
            2 => arch::run(Spread::<2> { table: self, n, c, numbering, out }),
            4 => arch::run(Spread::<4> { table: self, n, c, numbering, out }),
            _ => arch::run(Spread::<8> { table: self, n, c, numbering, out }),
        }
    }
}

/// How many values of a row are copied at once.
fn group(width: usize) -> usize {
    width.clamp(1, 8).next_power_of_two()
}

struct Spread<'a, const W: usize> {
    table: &'a Table,
    n: &'a [i64],
    c: &'a [i64],
    numbering: Numbering,
    out: &'a mut [f64],
}

impl<const W: usize> Kernel for Spread<'_, W> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        let Self { table, n, c, numbering, out } = self;
        let groups = table.stride / W;
        let (rows, _) = table.values.as_chunks::<W>();
        // The last group of a row may reach beyond it: it comes first, so that the first of the next row is written
        // over that.
        for group in (0..groups).rev() {
            let mut at = group * W;
            for (&n, &c) in n.iter().zip(c) {
                let Some(room) = out.get_mut(at..).and_then(|out| out.first_chunk_mut::<W>()) else { break };
                *room = rows[numbering.of(n, c) * groups + group];
                at += table.width;
            }
        }
    }
}
