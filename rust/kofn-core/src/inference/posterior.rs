//! What a Beta prior and the counts of one task say together: model-based, for any k, also beyond n.

use hashbrown::HashMap;

use super::convolution::normalise;
use super::special::ln_gamma;
use super::tables::Table;
use crate::dd::{Double, two_sum};
use crate::error::{Error, Result};
use crate::estimators::hypergeometric::unchecked::{at_least_m_of_k, below_m_of_k};
use crate::plan::MAX_COUNT;

/// Rollouts drawn, at the most: the work grows with them.
pub const MOST_K: u64 = 10_000_000;
/// The same where every m counts.
pub const MOST_K_OF_M: u64 = 100_000;

/// A Beta law of a task's chance of success: shapes a and b, before any rollout.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prior {
    a: f64,
    b: f64,
}

impl Prior {
    /// Shapes are positive.
    pub fn new(a: f64, b: f64) -> Result<Self> {
        let fits = |x: f64| x > 0.0 && x <= 1e15;
        if fits(a) && fits(b) {
            Ok(Self { a, b })
        } else {
            Err(Error::argument("prior", format!("({a}, {b}): two numbers above 0 are needed, such as (0.5, 0.5)")))
        }
    }

    /// Mean and variance of the chance that at least one of k rollouts succeeds.
    pub fn pass_at_k(self, n: u64, c: u64, k: u64) -> Result<(f64, f64)> {
        check(k, MOST_K)?;
        let (once, twice) = self.moments(self.b + (n - c) as f64, n, k);
        Ok((once.one_minus().high, variance(once, twice)))
    }

    /// Mean and variance of the chance that all of k rollouts succeed.
    pub fn pass_hat_k(self, n: u64, c: u64, k: u64) -> Result<(f64, f64)> {
        check(k, MOST_K)?;
        let (once, twice) = self.moments(self.a + c as f64, n, k);
        Ok((once.high, variance(once, twice)))
    }

    /// E x^k and E x^2k of the chance x whose shape is `shape`.
    fn moments(self, shape: f64, n: u64, k: u64) -> (Double, Double) {
        let total = self.a + self.b + n as f64;
        let mut product = Double::ONE;
        let mut once = product;
        for i in 0..2 * k {
            product = product.times_ratio(shape + i as f64, total + i as f64);
            if i + 1 == k {
                once = product;
            }
        }
        (once, product)
    }

    /// Mean and variance of the chance that at least m of k rollouts succeed.
    pub fn at_least_m_of_k(self, n: u64, c: u64, k: u64, m: u64) -> Result<(f64, f64)> {
        check(k, MOST_K_OF_M)?;
        if m > k {
            return Err(Error::argument("m", format!("m = {m} is more than k = {k}")));
        }
        if m == 0 {
            return Ok((1.0, 0.0));
        }
        let (a, b) = (self.a + c as f64, self.b + (n - c) as f64);
        let mean: f64 = sum(law(a, b, k).into_iter().skip(to_usize(m)));
        // The square of a chance is that of two independent draws of k, which are one of 2k dealt out in two hands.
        // E (1 - x)² for the complement, whichever is smaller, so that little is lost to cancellation.
        let both = law(a, b, 2 * k).into_iter().zip(0u64..);
        let square = |both: &mut dyn Iterator<Item = (f64, u64)>, hands: &dyn Fn(u64) -> f64| {
            sum(both.map(|(weight, s)| weight * hands(s)))
        };
        let n = 2 * k;
        if mean <= 0.5 {
            let hands = |s: u64| {
                if s < 2 * m {
                    return 0.0;
                }
                // m <= J <= s - m for the first hand's J successes.
                let high = s - m + 1;
                let above = if high > k { 0.0 } else { at_least_m_of_k(n, s, k, high) };
                (at_least_m_of_k(n, s, k, m) - above).max(0.0)
            };
            Ok((mean.min(1.0), (square(&mut both.into_iter(), &hands) - mean * mean).max(0.0)))
        } else {
            let rest: f64 = sum(law(a, b, k).into_iter().take(to_usize(m)));
            // s - m < J < m.
            let hands = |s: u64| {
                if s > 2 * (m - 1) {
                    return 0.0;
                }
                let low = (s + 1).saturating_sub(m);
                (below_m_of_k(n, s, k, m) - if low == 0 { 0.0 } else { below_m_of_k(n, s, k, low) }).max(0.0)
            };
            Ok(((1.0 - rest).clamp(0.0, 1.0), (square(&mut both.into_iter(), &hands) - rest * rest).max(0.0)))
        }
    }

    /// Means and variances of many tasks, of which many share their counts.
    pub fn each(
        self,
        n: &[i64],
        c: &[i64],
        value: impl Fn(Self, u64, u64) -> Result<(f64, f64)>,
    ) -> Result<(Vec<f64>, Vec<f64>)> {
        let mut known: HashMap<(i64, i64), (f64, f64), foldhash::fast::FixedState> = HashMap::default();
        let (mut means, mut variances) = (Vec::with_capacity(n.len()), Vec::with_capacity(n.len()));
        for (at, (&n, &c)) in n.iter().zip(c).enumerate() {
            if !(0..=n).contains(&c) || n.cast_unsigned() > MAX_COUNT {
                return Err(Error::argument("n", format!("c = {c}, n = {n} at position {at}: 0 <= c <= n is needed")));
            }
            let (mean, variance) = if let Some(&found) = known.get(&(n, c)) {
                found
            } else {
                let found = value(self, n.cast_unsigned(), c.cast_unsigned())?;
                known.insert((n, c), found);
                found
            };
            means.push(mean);
            variances.push(variance);
        }
        Ok((means, variances))
    }

    /// [`Self::probability_above`] of each task's two pairs of counts.
    #[must_use]
    pub fn probabilities_above(self, tables: &[Table]) -> Vec<f64> {
        let mut known: HashMap<Table, f64, foldhash::fast::FixedState> = HashMap::default();
        let value = |table: Table| self.probability_above((table.n_a, table.c_a), (table.n_b, table.c_b));
        tables.iter().map(|&table| *known.entry(table).or_insert_with(|| value(table))).collect()
    }

    /// P(a's chance > b's chance) for two tasks' counts (n, c), by Cook's recurrence: from the prior alone, where it is
    /// 1/2, each rollout moves it by a known step. In double-doubles, so that small probabilities keep their digits.
    #[must_use]
    pub fn probability_above(self, first: (u64, u64), second: (u64, u64)) -> f64 {
        let [mut a, mut b, mut c, mut d] = [self.a, self.b, self.a, self.b];
        let mut value = Double { high: 0.5, low: 0.0 };
        // B(a + c, b + d) / (B(a, b) B(c, d)), which all steps share.
        let mut step = self.start();
        let totals = [first.1, first.0 - first.1, second.1, second.0 - second.1];
        let mut done = [0u64; 4];
        let all: u64 = totals.iter().sum();
        for taken in 1..=all {
            // All four in proportion, so that the value stays near where it ends and no step is wild.
            let due = |i: usize| {
                let [total, taken, done, all] = [totals[i], taken, done[i], all].map(i128::from);
                if done < total { total * taken - done * all } else { i128::MIN }
            };
            let which = (1..4).fold(0, |best, i| if due(i) > due(best) { i } else { best });
            done[which] += 1;
            let sum = a + b + c + d;
            let (shape, sign, own, facing) = match which {
                0 => (&mut a, 1.0, b, c),
                1 => (&mut b, -1.0, a, d),
                2 => (&mut c, -1.0, d, a),
                _ => (&mut d, 1.0, c, b),
            };
            value = value.plus_double(step.times_ratio(sign, *shape));
            step = step.times_ratio(*shape + own, *shape).times_ratio(*shape + facing, sum);
            *shape += 1.0;
        }
        value.high.clamp(0.0, 1.0)
    }

    /// B(2a, 2b) / B(a, b)².
    fn start(self) -> Double {
        let Self { a, b } = self;
        if (a, b) == (0.5, 0.5) {
            // 1 / π²
            return Double { high: 0.101_321_183_642_337_78, low: -3.966_289_879_439_441_4e-18 };
        }
        if (a, b) == (1.0, 1.0) {
            return Double::ONE.times_ratio(1.0, 6.0);
        }
        let beta = |a: f64, b: f64| ln_gamma(a) + ln_gamma(b) - ln_gamma(a + b);
        Double { high: (beta(2.0 * a, 2.0 * b) - 2.0 * beta(a, b)).exp(), low: 0.0 }
    }
}

fn check(k: u64, most: u64) -> Result<()> {
    if (1..=most).contains(&k) { Ok(()) } else { Err(Error::argument("k", format!("k = {k} is not from 1 to {most}"))) }
}

fn variance(once: Double, twice: Double) -> f64 {
    let square = once.times(once);
    twice.plus_double(Double { high: -square.high, low: -square.low }).high.max(0.0)
}

/// The beta-binomial law of the successes among k rollouts.
fn law(a: f64, b: f64, k: u64) -> Vec<f64> {
    let ratio = |j: f64| (k as f64 - j) * (a + j) / ((j + 1.0) * (b + k as f64 - j - 1.0));
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 0 to k")]
    let start = ((k as f64 * (a / (a + b))) as usize).min(to_usize(k));
    let mut weights = vec![0.0; to_usize(k) + 1];
    weights[start] = 1.0;
    for j in start..to_usize(k) {
        weights[j + 1] = weights[j] * ratio(j as f64);
    }
    for j in (0..start).rev() {
        weights[j] = weights[j + 1] / ratio(j as f64);
    }
    normalise(&mut weights);
    weights
}

fn sum(values: impl Iterator<Item = f64>) -> f64 {
    let (high, low) = values.fold((0.0, 0.0), |(high, low), x| {
        let (sum, error) = two_sum(high, x);
        (sum, low + error)
    });
    high + low
}

/// k is at most [`MOST_K_OF_M`] wherever it counts values.
fn to_usize(k: u64) -> usize {
    usize::try_from(k).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: f64, b: f64, share: f64) {
        assert!((a - b).abs() <= share * b, "{a} {b}");
    }

    fn prior(a: f64, b: f64) -> Prior {
        Prior::new(a, b).expect("positive")
    }

    #[test]
    fn published_moments() {
        for (n, c, k, shape, mean, variance) in [
            (5, 0, 10, 1.0, 0.625, 75.0 / 832.0),
            (8, 2, 100, 1.0, 34975.0 / 34989.0, 8_545_114_375.0 / 153_006_728_982_822.0),
            (8, 2, 4, 0.5, 8473.0 / 12672.0, 28_762_181.0 / 642_318_336.0),
            (0, 0, 3, 1.0, 0.75, 9.0 / 112.0),
            (10, 10, 5, 0.5, 36605.0 / 36608.0, 20305.0 / 21_442_330_624.0),
        ] {
            let (m, v) = prior(shape, shape).pass_at_k(n, c, k).expect("in range");
            close(m, mean, 1e-15);
            close(v, variance, 1e-14);
            let (m, v) = prior(shape, shape).pass_hat_k(n, n - c, k).expect("in range");
            close(1.0 - m, mean, 1e-14);
            close(v, variance, 1e-14);
            for (found, right) in [
                (prior(shape, shape).at_least_m_of_k(n, c, k, 1), (mean, variance)),
                (prior(shape, shape).at_least_m_of_k(n, n - c, k, k), (1.0 - mean, variance)),
            ] {
                let (m, v) = found.expect("in range");
                assert!((m - right.0).abs() < 1e-14 && (v - right.1).abs() < 1e-13, "{m} {v} {right:?}");
            }
        }
    }

    #[test]
    fn half_of_the_rollouts_or_more() {
        // Uniform prior, no rollouts: P(S >= m) = (k + 1 - m) / (k + 1); the variance by integrating (3p² - 2p³)².
        let (m, v) = prior(1.0, 1.0).at_least_m_of_k(0, 0, 3, 2).expect("in range");
        close(m, 0.5, 1e-15);
        close(v, 13.0 / 35.0 - 0.25, 1e-14);
    }

    #[test]
    fn published_probabilities() {
        for (first, second, p) in [
            ((8, 3), (8, 5), 4217.0 / 24310.0),
            ((8, 8), (8, 8), 0.5),
            ((10, 0), (10, 1), 5.0 / 21.0),
            ((16, 12), (8, 2), 2159.0 / 2185.0),
        ] {
            close(prior(1.0, 1.0).probability_above(first, second), p, 1e-15);
            close(prior(1.0, 1.0).probability_above(second, first), 1.0 - p, 1e-13);
        }
        // A uniform prior is Beta(1, 1): the same by the law of a hypergeometric draw.
        let tail = |(n_a, c_a): (u64, u64), (n_b, c_b): (u64, u64)| {
            below_m_of_k(n_a + n_b + 2, n_a + 1, c_a + c_b + 1, c_a + 1)
        };
        for (first, second) in [((50, 3), (40, 30)), ((1000, 10), (1000, 60)), ((3, 0), (0, 0)), ((700, 350), (2, 1))] {
            close(prior(1.0, 1.0).probability_above(first, second), tail(first, second), 1e-9);
        }
    }

    #[test]
    fn other_priors_are_symmetric_and_continuous() {
        for (a, b) in [(0.5, 0.5), (1.0, 1.0), (0.3, 2.5), (7.0, 1.5)] {
            let [up, down] = [((9, 7), (6, 1)), ((6, 1), (9, 7))].map(|(x, y)| prior(a, b).probability_above(x, y));
            assert!((up + down - 1.0).abs() < 1e-14);
            let near = prior(a + 1e-9, b).probability_above((9, 7), (6, 1));
            assert!((up - near).abs() < 1e-8, "{up} {near}");
        }
    }

    #[test]
    fn what_cannot_be_is_refused() {
        for (a, b) in [(0.0, 1.0), (1.0, -1.0), (f64::NAN, 1.0), (f64::INFINITY, 1.0)] {
            assert!(Prior::new(a, b).is_err());
        }
        let prior = prior(0.5, 0.5);
        assert!(prior.pass_at_k(1, 1, 0).is_err() && prior.pass_hat_k(1, 1, MOST_K + 1).is_err());
        assert!(prior.at_least_m_of_k(1, 1, 2, 3).is_err());
    }
}
