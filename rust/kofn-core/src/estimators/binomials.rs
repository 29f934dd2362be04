//! Tables of binomials C(j, k) and their inverses to about 79 bits, shared by all tasks of a call.
//!
//! Each is cut into a high part of 26 bits and the rest. The product of two high parts is exact, and the other products
//! are so small that their own rounding hardly counts: a task costs three products a k. A value is taken when
//! everything within the error rounds to one float, which is then the correctly rounded value.

use super::hypergeometric::{Kind, STEP_ERROR, unchecked};
use crate::dd::Double;
use crate::exact::power_of_two;

/// Larger tables would no longer fit the caches, and products over few factors are as fast.
const MOST: usize = 1 << 14;
/// Fewer tasks than this do not pay for the tables.
const FEWEST: usize = 64;

/// Columns worked on together.
const GROUP: usize = 4;

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

    /// The values of one task for every k.
    pub(super) fn row(&self, kind: Kind, n: u64, c: u64, out: &mut [f64]) {
        let u = kind.unwanted(n, c);
        if u == 0 {
            // What is not there cannot be drawn; 1 minus 1 is no value to round.
            let certain = if kind == Kind::All { 1.0 } else { 0.0 };
            return out.fill(certain);
        }
        let groups = self.ks.len().div_ceil(GROUP);
        let row = |j: u64| {
            let at = usize::try_from(j).unwrap_or(0) * groups;
            at..at + groups
        };
        let (top, bottom, error) = (&self.values[row(n - u)], &self.inverses[row(n)], self.relative_error);
        let settled = match kind {
            Kind::AtLeastOne => each(top, bottom, out, |product, rest| {
                // Exact, for the product is at most 1 but for the cuts.
                let value = 1.0 - product;
                (value, ((1.0 - value) - product) - rest, error)
            }),
            Kind::All => each(top, bottom, out, |product, rest| (product, rest, product * error)),
        };
        if !settled {
            for (out, &k) in out.iter_mut().zip(self.ks) {
                *out = match kind {
                    Kind::AtLeastOne => unchecked::pass_at_k(n, c, k),
                    Kind::All => unchecked::pass_hat_k(n, c, k),
                };
            }
        }
    }
}

/// Round every product's `figure`, given as value, low part and error; whether each was settled.
#[inline(always)]
#[expect(clippy::inline_always, reason = "the closure must become part of the loop")]
fn each(top: &[Cut], bottom: &[Cut], out: &mut [f64], figure: impl Fn(f64, f64) -> (f64, f64, f64)) -> bool {
    // No branch a value, and groups of a fixed size: compilers make vectors of that.
    let rounded = |(top, bottom): (&Cut, &Cut)| {
        let (mut values, mut unlike) = (Group::default(), [0; GROUP]);
        for i in 0..GROUP {
            let product = top.high[i] * bottom.high[i];
            let rest = top.high[i] * bottom.low[i] + top.low[i] * (bottom.high[i] + bottom.low[i]);
            let (value, low, error) = figure(product, rest);
            let (below, above) = (value + (low - error), value + (low + error));
            unlike[i] = below.to_bits() ^ above.to_bits();
            values[i] = below;
        }
        (values, unlike)
    };
    // Kept in registers, which a closure's captures are not.
    let mut unlike = [0; GROUP];
    let mut groups = top.iter().zip(bottom);
    let (whole, part) = out.as_chunks_mut();
    // By the chunks first: a zip that ends takes one more from its first.
    for (out, group) in whole.iter_mut().zip(&mut groups) {
        let (values, bits) = rounded(group);
        *out = values;
        unlike = std::array::from_fn(|i| unlike[i] | bits[i]);
    }
    if let Some(group) = groups.next() {
        let (values, bits) = rounded(group);
        part.copy_from_slice(&values[..part.len()]);
        unlike = std::array::from_fn(|i| unlike[i] | bits[i]);
    }
    unlike == [0; GROUP]
}
