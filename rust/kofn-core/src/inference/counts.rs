//! One task that passes or not: intervals on its probability to pass, and the variance of what is estimated from its
//! counts (estimators, 1.3 and 3.1).

use libm::{expm1, log1p};

use super::special::{beta_quantile, normal_quantile};
use crate::dd::Double;
use crate::estimators::hypergeometric::unchecked;

/// Binomial weights further than this many standard deviations from the mean are below 1e-30 of the whole.
const FAR: f64 = 13.0;

/// Wilson's score interval on the probability behind `c` of `n`.
#[must_use]
pub fn wilson(n: f64, c: f64, confidence: f64) -> (f64, f64) {
    let z = -normal_quantile(0.5 - 0.5 * confidence);
    let square = z * z;
    let centre = c + 0.5 * square;
    let half = z * (c * (n - c) / n + 0.25 * square).sqrt();
    let low = if c == 0.0 { 0.0 } else { (centre - half) / (n + square) };
    let high = if c == n { 1.0 } else { (centre + half) / (n + square) };
    (low.max(0.0), high.min(1.0))
}

/// Clopper and Pearson's interval: covers at least `confidence` at every probability.
#[must_use]
pub fn clopper_pearson(n: f64, c: f64, confidence: f64) -> (f64, f64) {
    let tail = 0.5 - 0.5 * confidence;
    let low = if c == 0.0 { 0.0 } else { beta_quantile(c, n - c + 1.0, tail) };
    let high = if c == n { 1.0 } else { 1.0 - beta_quantile(n - c, c + 1.0, tail) };
    (low, high)
}

/// The equal-tailed interval of the posterior under Jeffreys' prior; 0 and 1 at the ends of the range.
#[must_use]
pub fn jeffreys(n: f64, c: f64, confidence: f64) -> (f64, f64) {
    let tail = 0.5 - 0.5 * confidence;
    let low = if c == 0.0 { 0.0 } else { beta_quantile(c + 0.5, n - c + 0.5, tail) };
    let high = if c == n { 1.0 } else { 1.0 - beta_quantile(n - c + 0.5, c + 0.5, tail) };
    (low, high)
}

/// What is estimated from a task's n and c.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// At least one of k passes.
    AtLeastOne(u64),
    /// All of k pass.
    All(u64),
    /// c / n.
    Rate,
    /// 4 (c/n) (1 - c/n).
    Learnability,
    /// Some of k pass and some do not: pass@k - pass^k.
    Gap(u64),
}

impl Kind {
    /// The estimate from counts, the bits of the report's.
    #[must_use]
    pub fn estimate(self, n: u64, c: u64) -> f64 {
        match self {
            Self::AtLeastOne(k) => unchecked::pass_at_k(n, c, k),
            Self::All(k) => unchecked::pass_hat_k(n, c, k),
            Self::Rate => c as f64 / n as f64,
            Self::Learnability => unchecked::learnability(n, c),
            Self::Gap(k) => unchecked::pass_at_k(n, c, k) - unchecked::pass_hat_k(n, c, k),
        }
    }

    /// The true figure where the probability to pass is p.
    #[must_use]
    pub fn at(self, p: f64) -> f64 {
        match self {
            Self::AtLeastOne(1) | Self::All(1) | Self::Rate => p,
            Self::AtLeastOne(k) => -expm1(k as f64 * log1p(-p)),
            Self::All(k) => libm::exp(k as f64 * libm::log(p)),
            Self::Learnability => 4.0 * p * (1.0 - p),
            Self::Gap(k) => Self::AtLeastOne(k).at(p) - Self::All(k).at(p),
        }
    }

    /// The interval of the figure of one task: Wilson's on p, its ends transformed, which keeps its coverage at every k.
    #[must_use]
    pub fn interval(self, n: u64, c: u64, confidence: f64) -> (f64, f64) {
        let (low, high) = wilson(n as f64, c as f64, confidence);
        let (from, to) = (self.at(low), self.at(high));
        match self {
            // Both rise up to 1/2 and fall from there on.
            Self::Learnability | Self::Gap(_) if low <= 0.5 && high >= 0.5 => (from.min(to), self.at(0.5)),
            Self::Learnability | Self::Gap(_) => (from.min(to), from.max(to)),
            _ => (from, to),
        }
    }

    /// The variance of the estimate over repeated runs of the task, at the shrunk rate (c + 1/2) / (n + 1): never 0.
    #[must_use]
    pub fn shrunk_variance(self, n: u64, c: u64) -> f64 {
        let p = (c as f64 + 0.5) / (n as f64 + 1.0);
        if matches!(self, Self::Rate | Self::AtLeastOne(1) | Self::All(1)) {
            return p * (1.0 - p) / n as f64;
        }
        let weights = Binomial::new(n, p);
        let estimates: Vec<f64> = (weights.low..).zip(&weights.weights).map(|(c, _)| self.estimate(n, c)).collect();
        let weighted = |value: &dyn Fn(f64) -> f64| -> f64 {
            weights.weights.iter().zip(&estimates).map(|(weight, &estimate)| weight * value(estimate)).sum()
        };
        let mean = weighted(&|estimate| estimate) / weights.total;
        weighted(&|estimate| (estimate - mean) * (estimate - mean)) / weights.total
    }

    /// The unbiased estimate of that variance: none where n < 2 k, and for what is not itself unbiased. Of a gap, which
    /// does not rise with c throughout, it can be a little below 0.
    #[must_use]
    pub fn unbiased_variance(self, n: u64, c: u64) -> Option<f64> {
        let k = match self {
            Self::AtLeastOne(k) | Self::All(k) | Self::Gap(k) => k,
            Self::Rate => 1,
            Self::Learnability => return None,
        };
        if n < k.saturating_mul(2) {
            return None;
        }
        if let Self::Gap(k) = self {
            let apart = Self::AtLeastOne(k).unbiased_variance(n, c)? + Self::All(k).unbiased_variance(n, c)?;
            // F G estimates E[F G]; k that fail and k others that pass estimate q^k p^k without bias.
            let (none, every) = (draws(n, n - c, 0, k).high, draws(n, c, 0, k).high);
            let both = if none > 0.0 { none * (every - draws(n - k, c, 0, k).high) } else { 0.0 };
            return Some(apart + 2.0 * both);
        }
        if k == 1 {
            return Some(c as f64 * (n - c) as f64 / (n as f64 * n as f64 * (n as f64 - 1.0)));
        }
        // F_k² - F_2k for failures, G_k² - G_2k for passes: one function of how many are left to draw from.
        let left = if matches!(self, Self::All(_)) { c } else { n - c };
        let first = draws(n, left, 0, k);
        let second = draws(n, left, k, 2 * k);
        let difference = first.plus_double(Double { high: -second.high, low: -second.low });
        Some(first.times(difference).high.max(0.0))
    }
}

/// Π of (left - i) / (n - i) for i from `from` to `to`.
fn draws(n: u64, left: u64, from: u64, to: u64) -> Double {
    if left < to {
        return Double::ZERO;
    }
    (from..to).fold(Double::ONE, |product, i| product.times_ratio((left - i) as f64, (n - i) as f64))
}

/// Binomial probabilities up to a factor, around their mode: from correctly rounded operations alone.
struct Binomial {
    low: u64,
    weights: Vec<f64>,
    total: f64,
}

impl Binomial {
    fn new(n: u64, p: f64) -> Self {
        let mean = n as f64 * p;
        let reach = FAR * (mean * (1.0 - p)).sqrt() + 40.0;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "counts from 0 to n, below 2^53")]
        let (low, mode, high) = (
            (mean - reach).max(0.0) as u64,
            (((n as f64 + 1.0) * p) as u64).min(n),
            ((mean + reach).min(n as f64)) as u64,
        );
        let odds = p / (1.0 - p);
        let mut below = Vec::new();
        let mut weight = 1.0;
        for c in (low..mode).rev() {
            weight *= (c + 1) as f64 / ((n - c) as f64 * odds);
            below.push(weight);
        }
        let mut weights: Vec<f64> = below.into_iter().rev().collect();
        weights.push(1.0);
        weight = 1.0;
        for c in mode..high {
            weight *= (n - c) as f64 * odds / (c + 1) as f64;
            weights.push(weight);
        }
        let total = weights.iter().sum();
        Self { low, weights, total }
    }
}
