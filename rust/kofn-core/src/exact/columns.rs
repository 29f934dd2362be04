//! Exact sums of all columns of a table at once.

use std::array::from_fn;

use super::Exact;
use crate::arch::{self, Kernel};

/// Columns worked on together: a vector of the widest machines.
const LANES: usize = 8;

type Lanes = [f64; LANES];

/// The exact sum of each column of rows of `width` values, and how many of it are there: NaN is none, others must be
/// finite.
#[must_use]
pub fn column_sums(values: &[f64], width: usize) -> Vec<(Exact, u64)> {
    let mut sums = vec![(Exact::default(), 0); width];
    for (tile, sums) in sums.chunks_mut(LANES).enumerate() {
        arch::run(Tile { values, width, first: tile * LANES, sums });
    }
    sums
}

/// Some columns, from `first` on.
struct Tile<'a> {
    values: &'a [f64],
    width: usize,
    first: usize,
    sums: &'a mut [(Exact, u64)],
}

impl Kernel for Tile<'_> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        let Self { values, width, first, sums } = self;
        // Two floats hold most sums exactly, as in `Exact::add_all`.
        let (mut high, mut low, mut n) = ([0.0; LANES], [0.0; LANES], [0u64; LANES]);
        for at in (first..values.len()).step_by(width) {
            let mut end: Lanes = [0.0; LANES];
            let rest = &values[at..];
            // Lanes beyond the columns hold values of others, which nobody looks at.
            let row = rest.first_chunk().unwrap_or_else(|| {
                end.iter_mut().zip(rest).for_each(|(end, value)| *end = *value);
                &end
            });
            let x: Lanes = from_fn(|lane| if row[lane].is_nan() { 0.0 } else { row[lane] });
            n = from_fn(|lane| n[lane] + u64::from(!row[lane].is_nan()));
            let next: Lanes = from_fn(|lane| high[lane] + x[lane]);
            let error = two_sum_error(&high, &x, &next);
            let sum: Lanes = from_fn(|lane| low[lane] + error[lane]);
            let over = two_sum_error(&low, &error, &sum);
            let unfit = |lane: usize| over[lane] != 0.0 || !next[lane].is_finite();
            if (0..LANES).fold(false, |any, lane| any | unfit(lane)) {
                flush(sums, &high, &low);
                (high, low) = (x, [0.0; LANES]);
            } else {
                (high, low) = (next, sum);
            }
        }
        flush(sums, &high, &low);
        sums.iter_mut().zip(n).for_each(|(sum, n)| sum.1 = n);
    }
}

/// What is lost in sum = a + b (Knuth).
#[inline(always)]
fn two_sum_error(a: &Lanes, b: &Lanes, sum: &Lanes) -> Lanes {
    from_fn(|lane| {
        let b_part = sum[lane] - a[lane];
        let a_part = sum[lane] - b_part;
        (a[lane] - a_part) + (b[lane] - b_part)
    })
}

#[cold]
#[inline(never)]
fn flush(sums: &mut [(Exact, u64)], high: &Lanes, low: &Lanes) {
    for ((sum, _), (high, low)) in sums.iter_mut().zip(high.iter().zip(low)) {
        sum.add(*high);
        sum.add(*low);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arch::{Level, run_at};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn columns_are_summed_as_one_by_one(
            width in 1usize..20,
            values in prop::collection::vec(prop_oneof![
                prop::num::f64::NORMAL | prop::num::f64::SUBNORMAL | prop::num::f64::ZERO,
                Just(f64::MAX), Just(f64::MIN), Just(f64::NAN), Just(5e-324), -1.0..1.0, 0.0..1.0, 0.0..1.0,
            ], 0..200),
        ) {
            let values = &values[..values.len() / width * width];
            let each = |column: usize| {
                let mut sum = Exact::default();
                let n = sum.add_all(values.iter().skip(column).step_by(width).copied());
                (sum, n)
            };
            let expected: Vec<_> = (0..width).map(each).collect();
            prop_assert_eq!(&column_sums(values, width), &expected);
            for level in [Level::Baseline, Level::V3] {
                let mut sums = vec![(Exact::default(), 0); width.min(LANES)];
                run_at(level, Tile { values, width, first: 0, sums: &mut sums });
                prop_assert_eq!(&sums[..], &expected[..sums.len()]);
            }
        }
    }
}
