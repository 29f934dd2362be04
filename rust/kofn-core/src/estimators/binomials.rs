//! Tables of binomials C(j, k) and their inverses as double-doubles, shared by all tasks of a call.

use super::hypergeometric::{Kind, STEP_ERROR, unchecked};
use crate::dd::Double;

/// Larger tables would no longer fit the caches, and products over few factors are as fast.
const MOST: usize = 1 << 14;
/// Fewer tasks than this do not pay for the tables.
const FEWEST: usize = 64;

/// C(j, k) and 1 / C(j, k) for j from 0 to `most`, one row a j, one column a k.
pub(super) struct Binomials<'a> {
    ks: &'a [u64],
    values: Columns,
    inverses: Columns,
    relative_error: f64,
}

/// Double-doubles with their parts apart, so that a row is worked on as vectors.
struct Columns {
    high: Vec<f64>,
    low: Vec<f64>,
}

impl Columns {
    fn new(len: usize) -> Self {
        Self { high: vec![0.0; len], low: vec![0.0; len] }
    }

    fn set(&mut self, at: usize, value: Double) {
        self.high[at] = value.high;
        self.low[at] = value.low;
    }
}

impl<'a> Binomials<'a> {
    /// Tables for tasks of at most `most` rollouts, unless there are too few tasks or a binomial leaves the range in
    /// which its inverse and their products are exact to double-double.
    pub(super) fn new(most: usize, ks: &'a [u64], tasks: usize) -> Option<Self> {
        if most > MOST || tasks < FEWEST || most > 4 * tasks {
            return None;
        }
        let width = ks.len();
        let (mut values, mut inverses) = (Columns::new((most + 1) * width), Columns::new((most + 1) * width));
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
                values.set(j * width + column, value);
                inverses.set(j * width + column, value.inverse());
            }
        }
        // Two table entries of at most `most` steps each, an inverse and a product.
        let relative_error = (2 * most + 16) as f64 * STEP_ERROR;
        Some(Self { ks, values, inverses, relative_error })
    }

    /// The values of one task for every k.
    pub(super) fn row(&self, kind: Kind, n: u64, c: u64, out: &mut [f64]) {
        let width = self.ks.len();
        let row = |j: u64| usize::try_from(j).unwrap_or(0) * width..(usize::try_from(j).unwrap_or(0) + 1) * width;
        let (top, bottom) = (row(n - kind.unwanted(n, c)), row(n));
        let (top_high, top_low) = (&self.values.high[top.clone()], &self.values.low[top]);
        let (bottom_high, bottom_low) = (&self.inverses.high[bottom.clone()], &self.inverses.low[bottom]);
        let mut settled = true;
        for i in 0..width.min(out.len()) {
            let product = Double { high: top_high[i], low: top_low[i] }
                .times(Double { high: bottom_high[i], low: bottom_low[i] });
            let (value, error) = match kind {
                Kind::AtLeastOne => (product.one_minus(), (product.high + 1.0) * self.relative_error),
                Kind::All => (product, product.high * self.relative_error),
            };
            // As `Double::rounded`, without a branch a value.
            let (below, above) = (value.high + (value.low - error), value.high + (value.low + error));
            settled &= below == above;
            out[i] = below;
        }
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
