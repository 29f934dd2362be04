//! Sorting many columns at once: the comparisons of a network do not depend on what is compared, so that a vector of
//! columns goes through each of them together.
//!
//! Up to sixteen rows are sorted where the processor computes, without a detour through memory; longer columns are made of
//! such pieces by bitonic merges.

use std::array::from_fn;

use super::lanes::Lanes;
use crate::arch::{self, Kernel};

/// Rows of a piece.
pub(super) const PIECE: usize = 16;

/// How many rows columns of n scores need: a piece or several, or a short piece. Those beyond the scores are infinity.
pub(super) const fn rows(n: usize) -> usize {
    match n {
        0..=4 => 4,
        5..=8 => 8,
        _ => n.next_multiple_of(PIECE),
    }
}

/// Rows after comparisons of pairs, each of which ends with the lower value first in every column.
macro_rules! exchange {
    ($rows:ident: $($a:literal $b:literal),* $(,)?) => {{
        // A copy of its own, which compilers keep in registers.
        let mut v = *$rows;
        $(
            let (a, b) = (v[$a], v[$b]);
            v[$a] = from_fn(|lane| if b[lane] < a[lane] { b[lane] } else { a[lane] });
            v[$b] = from_fn(|lane| if b[lane] < a[lane] { a[lane] } else { b[lane] });
        )*
        *$rows = v;
    }};
}

/// Sort each column of rows as many as [`rows`] says. One copy a level serves all kernels: it is long.
pub(super) fn sort(rows: &mut [Lanes]) {
    arch::run(Sort(rows));
}

/// See [`sort`].
struct Sort<'a>(&'a mut [Lanes]);

impl Kernel for Sort<'_> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        let Self(rows) = self;
        if let Ok(rows) = <&mut [Lanes; 4]>::try_from(&mut *rows) {
            sort_4(rows);
        } else if let Ok(rows) = <&mut [Lanes; 8]>::try_from(&mut *rows) {
            sort_8(rows);
        } else {
            for piece in rows.as_chunks_mut().0 {
                sort_16(piece);
            }
            let mut sorted = PIECE;
            while sorted < rows.len() {
                for part in rows.chunks_mut(2 * sorted) {
                    merge(part, sorted);
                }
                sorted *= 2;
            }
        }
    }
}

/// Merge the first `sorted` rows, a power of two, with the rest, which are no more: as if rows of infinity followed.
#[inline(always)]
fn merge(rows: &mut [Lanes], sorted: usize) {
    if rows.len() <= sorted {
        return;
    }
    let (first, second) = rows.split_at_mut(sorted);
    for (a, b) in first.iter_mut().rev().zip(second) {
        order(a, b);
    }
    let mut step = sorted / 2;
    while step > 0 {
        for part in rows.chunks_mut(2 * step) {
            let (first, second) = part.split_at_mut(step.min(part.len()));
            for (a, b) in first.iter_mut().zip(second) {
                order(a, b);
            }
        }
        step /= 2;
    }
}

#[inline(always)]
fn order(a: &mut Lanes, b: &mut Lanes) {
    let (x, y) = (*a, *b);
    *a = from_fn(|lane| if y[lane] < x[lane] { y[lane] } else { x[lane] });
    *b = from_fn(|lane| if y[lane] < x[lane] { x[lane] } else { y[lane] });
}

#[inline(always)]
fn sort_4(rows: &mut [Lanes; 4]) {
    exchange!(rows: 0 1, 2 3, 0 2, 1 3, 1 2);
}

#[inline(always)]
fn sort_8(rows: &mut [Lanes; 8]) {
    exchange!(rows:
        0 1, 2 3, 4 5, 6 7, 0 2, 1 3, 4 6, 5 7, 1 2, 5 6, 0 4, 3 7, 1 5, 2 6, 1 4, 3 6, 2 4, 3 5, 3 4
    );
}

/// Green's network (Knuth, TAOCP 5.3.4).
#[inline(always)]
fn sort_16(rows: &mut [Lanes; PIECE]) {
    exchange!(rows:
        0 1, 2 3, 4 5, 6 7, 8 9, 10 11, 12 13, 14 15, 0 2, 4 6, 8 10, 12 14, 1 3, 5 7, 9 11, 13 15, 0 4, 8 12, 1 5, 9 13,
        2 6, 10 14, 3 7, 11 15, 0 8, 1 9, 2 10, 3 11, 4 12, 5 13, 6 14, 7 15, 5 10, 6 9, 3 12, 13 14, 4 8, 7 11, 1 2, 1 4,
        7 13, 2 8, 11 14, 2 4, 5 6, 9 10, 11 13, 3 8, 7 12, 6 8, 10 12, 3 5, 7 9, 3 4, 5 6, 7 8, 9 10, 11 12, 6 7, 8 9
    );
}

#[cfg(test)]
mod tests {
    use super::super::lanes::{LANES, LONGEST};
    use super::*;
    use crate::arch::{Level, run_at};

    /// Whether columns of these values end sorted, at every level.
    fn is_sorted(n: usize, value: impl Fn(usize, usize) -> f64) -> bool {
        let mut columns = vec![[f64::INFINITY; LANES]; rows(n)];
        for (i, row) in columns[..n].iter_mut().enumerate() {
            *row = from_fn(|lane| value(i, lane));
        }
        let sorted: [Vec<f64>; LANES] = from_fn(|lane| {
            let mut column: Vec<f64> = columns.iter().map(|row| row[lane]).collect();
            column.sort_unstable_by(f64::total_cmp);
            column
        });
        [Level::Baseline, Level::V3, Level::V4].into_iter().all(|level| {
            let mut columns = columns.clone();
            run_at(level, Sort(&mut columns));
            (0..LANES).all(|lane| columns.iter().map(|row| row[lane]).eq(sorted[lane].iter().copied()))
        })
    }

    #[test]
    fn every_sequence_of_two_values_is_sorted_in_a_piece() {
        // What sorts these sorts everything (Knuth, TAOCP 5.3.4, theorem Z).
        for n in [4, 8, PIECE] {
            for case in (0..1usize << n).step_by(LANES) {
                assert!(is_sorted(n, |i, lane| f64::from(u8::from((case + lane) >> i & 1 == 1))), "{n}: {case:b}");
            }
        }
    }

    #[test]
    fn every_pair_of_sorted_parts_is_merged() {
        // Ones from some row on in each part, at every place, make all sequences of two values that a merge can meet.
        for n in [17, 31, 32, 33, 48, 100, 255, LONGEST] {
            for case in 0..40 {
                let value = |i: usize, lane: usize| ((i + 1) * (2 * (case * LANES + lane) + 1) * 7919 % 101) as f64;
                assert!(is_sorted(n, value), "{n}: {case}");
            }
            for ones in (0..n).step_by(LANES) {
                assert!(is_sorted(n, |i, lane| f64::from(u8::from(i < ones + lane))), "{n}: {ones} ones first");
            }
        }
    }
}
