//! One task's scores: the variance of its mean and of its expected best and worst of k (estimators, 2.2).
//!
//! Scores come as ascending levels, so every sum here has one order and needs no exact one.

use crate::estimators::order::{self, Level, scored};

/// The variance of the mean of the scores over repeated runs of the task, s² / n: unbiased; none for fewer than two.
#[must_use]
pub fn mean_variance(levels: &[Level]) -> Option<f64> {
    let n = scored(levels);
    if n < 2 {
        return None;
    }
    let mean = order::mean(levels);
    let squares: f64 =
        levels.iter().map(|level| level.count as f64 * (level.value - mean) * (level.value - mean)).sum();
    Some(squares / (n as f64 - 1.0) / n as f64)
}

/// A variance, and how far it can be trusted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// The variance.
    pub variance: f64,
    /// Whether it is unbiased (n >= 2 k), or by the jackknife, which errs upward (k < n < 2 k).
    pub unbiased: bool,
}

/// The variance of the expected best, or worst, of k over repeated runs of a task; made once for many tasks.
#[derive(Clone, Debug)]
pub struct Extremes {
    k: u64,
    worst: bool,
    /// Of tasks with `n` scores: C(i-1, k-1) / C(n, k) and C(i-1, k-1) / C(n-k, k), i from 1, or C(i, k) / C(n, k).
    n: u64,
    of_n: Vec<f64>,
    of_rest: Vec<f64>,
    scores: Vec<f64>,
}

impl Extremes {
    /// For the best of k, or the worst.
    #[must_use]
    pub fn new(k: u64, worst: bool) -> Self {
        Self { k, worst, n: 0, of_n: Vec::new(), of_rest: Vec::new(), scores: Vec::new() }
    }

    /// The variance; none for k = n, where nothing is left to compare with.
    pub fn spread(&mut self, levels: &[Level]) -> Option<Spread> {
        let n = scored(levels);
        if self.k == 0 || self.k >= n {
            return None;
        }
        let unbiased = n >= self.k.saturating_mul(2);
        if self.n != n {
            self.n = n;
            (self.of_n, self.of_rest) = if unbiased {
                (top_down(n, self.k), top_down(n - self.k, self.k))
            } else {
                (shares(n, self.k), Vec::new())
            };
        }
        self.scores.clear();
        if self.worst {
            for level in levels.iter().rev() {
                self.scores.extend((0..level.count).map(|_| -level.value));
            }
        } else {
            for level in levels {
                self.scores.extend((0..level.count).map(|_| level.value));
            }
        }
        let variance = if unbiased { self.unbiased() } else { self.jackknife() };
        Some(Spread { variance, unbiased })
    }

    /// -2 Σ over i < j of `y_i y_j` C(i-1, k-1) C(j-1-k, k-1) / (C(n, k) C(n-k, k)), y centred on the estimate.
    fn unbiased(&self) -> f64 {
        let centre: f64 = self.scores.iter().zip(&self.of_n).map(|(x, weight)| x * weight).sum();
        let mut rest = self.of_rest.iter();
        let (mut before, mut sum) = (0.0, 0.0);
        for (i, (x, weight)) in (0..).zip(self.scores.iter().zip(&self.of_n)) {
            let y = x - centre;
            if i >= self.k {
                sum += y * before * rest.next().copied().unwrap_or(0.0);
            }
            before += y * weight;
        }
        (-2.0 * sum).max(0.0)
    }

    /// (n-1)/n Σ `D_i`², where `D_i` is what the estimate loses without score i (estimators, 5.3).
    fn jackknife(&self) -> f64 {
        let (n, k) = (self.n as f64, self.k as f64);
        // t_l = (x_(l+1) - x_l) C(l, k) / C(n, k) k / (n - k); D_i is their sum below i minus, from i on, t_l (n-l) / l.
        let terms: Vec<(f64, f64)> = (1u64..)
            .zip(self.scores.windows(2).zip(&self.of_n))
            .map(|(l, (pair, share))| {
                let term = (pair[1] - pair[0]) * share * k / (n - k);
                (term, term * (n - l as f64) / l as f64)
            })
            .collect();
        let mut above: Vec<f64> = terms
            .iter()
            .rev()
            .scan(0.0, |sum, (_, term)| {
                *sum += term;
                Some(*sum)
            })
            .collect();
        above.reverse();
        above.push(0.0);
        let (mut below, mut squares) = (0.0, 0.0);
        for (i, above) in above.iter().enumerate() {
            let loss: f64 = below - above;
            squares += loss * loss;
            below += terms.get(i).map_or(0.0, |(term, _)| *term);
        }
        (n - 1.0) / n * squares
    }
}

/// C(i-1, k-1) / C(n, k) for i = 1..=n, by the running product from the top.
fn top_down(n: u64, k: u64) -> Vec<f64> {
    let mut weight = k as f64 / n as f64;
    let mut weights: Vec<f64> = (1..=n)
        .rev()
        .map(|i| {
            let this = weight;
            weight *= if i > k { (i - k) as f64 / (i as f64 - 1.0) } else { 0.0 };
            this
        })
        .collect();
    weights.reverse();
    weights
}

/// C(l, k) / C(n, k) for l = 1..=n-1.
fn shares(n: u64, k: u64) -> Vec<f64> {
    let mut weight = 1.0;
    let mut weights: Vec<f64> = (1..n)
        .rev()
        .map(|l| {
            weight *= if l >= k { (l + 1 - k) as f64 / (l + 1) as f64 } else { 0.0 };
            weight
        })
        .collect();
    weights.reverse();
    weights
}
