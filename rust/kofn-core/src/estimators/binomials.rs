//! Tables of binomials C(j, k) and their inverses to about 79 bits, shared by all tasks of a call.
//!
//! Each is cut into a high part of 26 bits and the rest. The product of two high parts is exact, and the other products
//! are so small that their own rounding hardly counts: a task costs three products a k. A value is taken when
//! everything within the error rounds to one float, which is then the correctly rounded value.

use super::hypergeometric::{Kind, STEP_ERROR, unchecked};
use crate::arch::{self, Kernel, stream};
use crate::dd::Double;
use crate::exact::power_of_two;

/// Larger tables would no longer fit the caches, and products over few factors are as fast.
const MOST: usize = 1 << 14;
/// Fewer tasks than this do not pay for the tables.
const FEWEST: usize = 64;

/// Columns worked on together: a vector of the widest machines.
const GROUP: usize = 8;
// What is written beyond the last row has room.
const _: () = assert!(GROUP <= stream::SPARE);

type Group = [f64; GROUP];

/// C(j, k) and 1 / C(j, k) for j from 0 to `most`, one row a j, one column a k; 0 where j < k, and in the columns that
/// fill up the last group.
pub(super) struct Binomials<'a> {
    ks: &'a [u64],
    values: Vec<Cut>,
    inverses: Vec<Cut>,
    relative_error: f64,
}

/// Numbers of one group, each the sum of its parts.
#[derive(Clone, Copy, Default)]
struct Cut {
    high: Group,
    low: Group,
}

/// The high part and the rest, which errs by less than 2^-78 of x.
fn cut(x: Double) -> (f64, f64) {
    // Veltkamp's split.
    let scaled = 134_217_729.0 * x.high;
    let high = scaled - (scaled - x.high);
    (high, (x.high - high) + x.low)
}

impl<'a> Binomials<'a> {
    /// Tables for tasks of at most `most` rollouts, unless there are too few tasks or a binomial leaves the range in
    /// which its inverse and their products are as exact as promised.
    pub(super) fn new(most: usize, ks: &'a [u64], tasks: usize) -> Option<Self> {
        if most > MOST || tasks < FEWEST || most > 4 * tasks {
            return None;
        }
        let groups = ks.len().div_ceil(GROUP);
        let (mut values, mut inverses) =
            (vec![Cut::default(); (most + 1) * groups], vec![Cut::default(); (most + 1) * groups]);
        for (column, &k) in ks.iter().enumerate() {
            let k = usize::try_from(k).ok()?;
            let mut value = Double::ONE;
            for j in k..=most {
                if j > k {
                    value = value.times_ratio(j as f64, (j - k) as f64);
                }
                if value.high > 1e280 {
                    return None;
                }
                let (group, column) = (j * groups + column / GROUP, column % GROUP);
                for (table, number) in [(&mut values, value), (&mut inverses, value.inverse())] {
                    (table[group].high[column], table[group].low[column]) = cut(number);
                }
            }
        }
        // Two table entries of at most `most` steps each, an inverse and a product; then, in units of 2^-79, at most 2
        // for each cut, 6 for the products with a rest and their sum, and 4 for adding that sum and the error itself.
        let relative_error = (2 * most + 16) as f64 * STEP_ERROR + power_of_two(-75);
        Some(Self { ks, values, inverses, relative_error })
    }

    /// The values of tasks with these n and c, a row each: `out[i * ks.len() + j]` for task i and `ks[j]`;
    /// `out` has room for less than a group more.
    pub(super) fn rows(&self, kind: Kind, n: &[i64], c: &[i64], out: &mut [f64]) {
        let open = match kind {
            Kind::AtLeastOne => arch::run(Rows { table: self, figure: AtLeastOne(self.relative_error), n, c, out }),
            Kind::All => arch::run(Rows { table: self, figure: All(self.relative_error), n, c, out }),
        };
        let width = self.ks.len();
        for i in open {
            let (n, c) = (n[i].cast_unsigned(), c[i].cast_unsigned());
            for (out, &k) in out[i * width..(i + 1) * width].iter_mut().zip(self.ks) {
                *out = match kind {
                    Kind::AtLeastOne => unchecked::pass_at_k(n, c, k),
                    Kind::All => unchecked::pass_hat_k(n, c, k),
                };
            }
        }
    }
}

/// What becomes of a product.
trait Figure: Copy {
    const KIND: Kind;
    /// The figure of a product and its low part, as value, low part and error.
    fn of(self, product: f64, rest: f64) -> (f64, f64, f64);
}

/// [`Kind::AtLeastOne`], with the products' relative error.
#[derive(Clone, Copy)]
struct AtLeastOne(f64);

impl Figure for AtLeastOne {
    const KIND: Kind = Kind::AtLeastOne;
    #[inline(always)]
    fn of(self, product: f64, rest: f64) -> (f64, f64, f64) {
        // Exact, for the product is at most 1 but for the cuts.
        let value = 1.0 - product;
        (value, ((1.0 - value) - product) - rest, self.0)
    }
}

/// [`Kind::All`], likewise.
#[derive(Clone, Copy)]
struct All(f64);

impl Figure for All {
    const KIND: Kind = Kind::All;
    #[inline(always)]
    fn of(self, product: f64, rest: f64) -> (f64, f64, f64) {
        (product, rest, product * self.0)
    }
}

/// See [`Binomials::rows`]; gives the tasks whose values do not settle.
struct Rows<'a, F> {
    table: &'a Binomials<'a>,
    figure: F,
    n: &'a [i64],
    c: &'a [i64],
    out: &'a mut [f64],
}

impl<F: Figure> Kernel for Rows<'_, F> {
    type Output = Vec<usize>;
    #[inline(always)]
    fn run(self) -> Vec<usize> {
        let Self { table, figure, n, c, out } = self;
        let (width, groups) = (table.ks.len(), table.ks.len().div_ceil(GROUP));
        // What is not there cannot be drawn; 1 minus 1 is no value to round.
        let certain: f64 = if F::KIND == Kind::All { 1.0 } else { 0.0 };
        let mut open = Vec::new();
        // The last group of a row may reach beyond it: it comes first, so that the first of the next row is written
        // over that.
        for group in (0..groups).rev() {
            let mut at = group * GROUP;
            for (i, (&n, &c)) in n.iter().zip(c).enumerate() {
                let (n, c) = (n.cast_unsigned(), c.cast_unsigned());
                let u = F::KIND.unwanted(n, c);
                let row = |j: u64| usize::try_from(j).unwrap_or(usize::MAX).wrapping_mul(groups).wrapping_add(group);
                let (top, bottom) = (&table.values[row(n - u)], &table.inverses[row(n)]);
                let Some(room) = out.get_mut(at..).and_then(|out| out.first_chunk_mut::<GROUP>()) else { break };
                at += width;
                // No branch between the reading and the writing, a choice by bits: compilers make vectors of that.
                let known = if u == 0 { u64::MAX } else { 0 };
                let (mut values, mut unlike) = ([0.0; GROUP], false);
                for (lane, chosen) in values.iter_mut().enumerate() {
                    let product = top.high[lane] * bottom.high[lane];
                    let rest =
                        top.high[lane] * bottom.low[lane] + top.low[lane] * (bottom.high[lane] + bottom.low[lane]);
                    let (value, low, error) = figure.of(product, rest);
                    let (below, above) = (value + (low - error), value + (low + error));
                    unlike |= below.to_bits() != above.to_bits();
                    *chosen = f64::from_bits(below.to_bits() & !known | certain.to_bits() & known);
                }
                *room = values;
                if unlike && u != 0 {
                    open.push(i);
                }
            }
        }
        open
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arch::{Level, run_at};

    #[test]
    fn levels_agree_to_the_bit() {
        let n: Vec<i64> = (0..500).map(|i| 20 + i % 300).collect();
        let c: Vec<i64> = n.iter().zip(0..).map(|(n, i)| i * 7 % (n + 1)).collect();
        let ks = [1, 2, 3, 4, 5, 8, 13, 19, 20, 20, 11];
        let table = Binomials::new(320, &ks, n.len());
        assert!(table.is_some());
        let Some(table) = table else { return };
        let figure = AtLeastOne(table.relative_error);
        let results = [Level::Baseline, Level::V3, Level::V4].map(|level| {
            let mut out = vec![0.0; n.len() * ks.len() + GROUP];
            let open = run_at(level, Rows { table: &table, figure, n: &n, c: &c, out: &mut out });
            (open, out.iter().map(|value| value.to_bits()).collect::<Vec<_>>())
        });
        assert!(results.iter().all(|result| *result == results[0]));
    }
}
