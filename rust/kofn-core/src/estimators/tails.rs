//! Tails of the hypergeometric law: how many of k rollouts pass, drawn without replacement from n of which c pass.
//!
//! Weights relative to the mode by recurrence, positive terms only (estimators, 1.2 C): relative error about 1e-15 up
//! to n = 10^6, no logarithms, so the same bits everywhere.

use crate::dd::two_sum;

/// A term below this share of its own sum cannot change it.
const NEGLIGIBLE: f64 = 1e-40;

/// Sums of weights below, at, and above m.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tails {
    below: f64,
    at: f64,
    above: f64,
}

impl Tails {
    pub(super) fn at_least(&self) -> f64 {
        share(self.at + self.above, self.below)
    }

    pub(super) fn below(&self) -> f64 {
        share(self.below, self.at + self.above)
    }

    pub(super) fn exactly(&self) -> f64 {
        share(self.at, self.below + self.above)
    }
}

fn share(part: f64, rest: f64) -> f64 {
    part / (part + rest)
}

/// A sum of positive terms with its rounding errors kept (Neumaier).
#[derive(Default)]
struct Sum {
    high: f64,
    low: f64,
}

impl Sum {
    fn add(&mut self, x: f64) {
        let (high, error) = two_sum(self.high, x);
        self.high = high;
        self.low += error;
    }

    fn total(&self) -> f64 {
        self.high + self.low
    }
}

/// The law's support and mode, as integers that may be subtracted freely.
struct Law {
    n: i64,
    c: i64,
    k: i64,
    low: i64,
    high: i64,
    mode: i64,
}

impl Law {
    fn new(n: u64, c: u64, k: u64) -> Self {
        let mode = (u128::from(k) + 1) * (u128::from(c) + 1) / (u128::from(n) + 2);
        let [n, c, k] = [n, c, k].map(u64::cast_signed);
        let (low, high) = ((k - (n - c)).max(0), k.min(c));
        let mode = i64::try_from(mode).unwrap_or(high).clamp(low, high);
        Self { n, c, k, low, high, mode }
    }

    /// Weight at j + 1 over weight at j.
    fn up(&self, j: i64) -> (f64, f64) {
        let &Self { n, c, k, .. } = self;
        ((c - j) as f64 * (k - j) as f64, (j + 1) as f64 * (n - c - k + j + 1) as f64)
    }

    /// Visit (j, weight) from the mode up, and then from below the mode down, until the visitor has enough.
    fn walk(&self, mut visit: impl FnMut(i64, f64) -> bool) {
        let mut weight = 1.0;
        for j in self.mode..=self.high {
            if weight == 0.0 || !visit(j, weight) {
                break;
            }
            let (a, b) = self.up(j);
            weight = weight * a / b;
        }
        weight = 1.0;
        for j in (self.low..self.mode).rev() {
            let (a, b) = self.up(j);
            weight = weight * b / a;
            if weight == 0.0 || !visit(j, weight) {
                break;
            }
        }
    }
}

/// The tails around `m`; exact 0 and 1 where the support ends.
pub(super) fn tails(n: u64, c: u64, k: u64, m: u64) -> Tails {
    let law = Law::new(n, c, k);
    let m = m.cast_signed();
    if m < law.low {
        return Tails { above: 1.0, ..Tails::default() };
    }
    if m > law.high {
        return Tails { below: 1.0, ..Tails::default() };
    }
    let (mut below, mut above, mut at) = (Sum::default(), Sum::default(), 0.0);
    law.walk(|j, weight| {
        // Walking up, the terms past m are the last; walking down, those before it.
        let (sum, last) = match j.cmp(&m) {
            std::cmp::Ordering::Less => (&mut below, j < law.mode),
            std::cmp::Ordering::Equal => {
                at = weight;
                return true;
            }
            std::cmp::Ordering::Greater => (&mut above, j >= law.mode),
        };
        sum.add(weight);
        !last || weight >= NEGLIGIBLE * sum.high
    });
    Tails { below: below.total(), at, above: above.total() }
}

/// The least number of passes with a weight, and the weights from there on, relative to each other: the law itself,
/// but for values so rare that no float can hold their weight.
pub(crate) fn weights(n: u64, c: u64, k: u64) -> (i64, Vec<f64>) {
    let law = Law::new(n, c, k);
    let (mut up, mut down) = (Vec::new(), Vec::new());
    law.walk(|j, weight| {
        let side = if j >= law.mode { &mut up } else { &mut down };
        side.push(weight);
        true
    });
    down.reverse();
    let first = law.mode - i64::try_from(down.len()).unwrap_or(0);
    down.append(&mut up);
    (first, down)
}

/// E max(0, J - ceil(k/2)) for the number J of passes among k.
pub(super) fn half_excess(n: u64, c: u64, k: u64) -> f64 {
    let law = Law::new(n, c, k);
    let half = k.div_ceil(2).cast_signed();
    let (mut total, mut excess) = (Sum::default(), Sum::default());
    law.walk(|j, weight| {
        total.add(weight);
        let term = (j - half).max(0) as f64 * weight;
        excess.add(term);
        // Up to half nothing is in excess yet; beyond it the terms of the excess decide.
        if j <= half && j >= law.mode {
            true
        } else {
            weight >= NEGLIGIBLE * total.high || term > NEGLIGIBLE * excess.high
        }
    });
    excess.total() / total.total()
}
