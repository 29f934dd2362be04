//! pass@k and its family: what k rollouts drawn without replacement from n, of which c pass, are expected to show.
//!
//! Each is the unique unbiased estimator of its figure (estimators, 1.1). pass@k and pass^k are correctly rounded: a
//! double-double product, whose error bound is checked against the midpoint of the neighbouring floats, and a wide
//! integer product in the rare case that it is too close to tell. Every route to a value therefore gives its bits.

use super::domain::check;
use super::tails::{half_excess, tails};
use super::wide;
use crate::dd::Double;
use crate::error::{Error, Result};
use crate::exact::{power_of_two, ratio};

/// One step of a double-double product errs by less than this, relative to it.
pub(super) const STEP_ERROR: f64 = 1.0 / (1u128 << 101) as f64;
/// Below it 1 - x rounds to 1.
const NOTHING: f64 = 1.0 / (1u64 << 55) as f64;
/// Products are scaled up by 2^512 when they fall below 2^-512, so that their low parts never underflow.
const SCALE: i32 = 512;
/// Products below 2^-1536 are 0 as floats many times over.
const VANISHED: i32 = -2 * SCALE;

/// Probability that at least one of k rollouts passes: 1 - C(n-c, k) / C(n, k) (Chen et al. 2021, arXiv 2107.03374).
///
/// ```
/// assert_eq!(kofn_core::estimators::hypergeometric::pass_at_k(5, 2, 3).unwrap(), 0.9);
/// ```
pub fn pass_at_k(n: u64, c: u64, k: u64) -> Result<f64> {
    check(n, c, Some(k), None)?;
    Ok(unchecked::pass_at_k(n, c, k))
}

/// Probability that all of k rollouts pass: C(c, k) / C(n, k) (Yao et al. 2024, arXiv 2406.12045).
pub fn pass_hat_k(n: u64, c: u64, k: u64) -> Result<f64> {
    check(n, c, Some(k), None)?;
    Ok(unchecked::pass_hat_k(n, c, k))
}

/// 4 (c/n) (1 - c/n), correctly rounded: 1 where half of the rollouts pass.
pub fn learnability(n: u64, c: u64) -> Result<f64> {
    check(n, c, None, None)?;
    Ok(unchecked::learnability(n, c))
}

/// 4 c (n-c) / (n (n-1)), correctly rounded: unbiased for 4 p (1-p); needs n >= 2.
pub fn learnability_unbiased(n: u64, c: u64) -> Result<f64> {
    check(n, c, None, None)?;
    if n < 2 {
        return Err(Error::argument("n", "n = 1: the unbiased form needs at least 2 rollouts"));
    }
    Ok(unchecked::learnability_unbiased(n, c))
}

/// Probability that at least `m` of k rollouts pass, 0 <= m <= k.
pub fn at_least_m_of_k(n: u64, c: u64, k: u64, m: u64) -> Result<f64> {
    check(n, c, Some(k), None)?;
    check_m(m, k)?;
    Ok(unchecked::at_least_m_of_k(n, c, k, m))
}

/// Probability that exactly `m` of k rollouts pass, 0 <= m <= k.
pub fn exactly_m_of_k(n: u64, c: u64, k: u64, m: u64) -> Result<f64> {
    check(n, c, Some(k), None)?;
    check_m(m, k)?;
    Ok(unchecked::exactly_m_of_k(n, c, k, m))
}

/// G-Pass@k: probability that at least a share `tau` of k rollouts pass (Liu et al. 2024, arXiv 2412.13147).
pub fn g_pass_at_k(n: u64, c: u64, k: u64, tau: f64) -> Result<f64> {
    check(n, c, Some(k), None)?;
    Ok(unchecked::at_least_m_of_k(n, c, k, passes_needed(k, tau)?))
}

/// mG-Pass@k: G-Pass@k averaged over tau from 1/2 to 1, as published: (2/k) Σ over i = ceil(k/2)+1..k of
/// `at_least_m_of_k(i)`, whose maximum is (k-1)/k for odd k. `normalize` divides by floor(k/2) instead (k >= 2).
pub fn mg_pass_at_k(n: u64, c: u64, k: u64, normalize: bool) -> Result<f64> {
    check(n, c, Some(k), None)?;
    if normalize && k < 2 {
        return Err(Error::argument("normalize", "k = 1 leaves no share above 1/2 to average; it needs k >= 2"));
    }
    Ok(unchecked::mg_pass_at_k(n, c, k, normalize))
}

/// Mean number of rollouts drawn until the first that passes, at most k: Σ over j < k of C(n-c, j) / C(n, j).
pub fn expected_attempts(n: u64, c: u64, k: u64) -> Result<f64> {
    check(n, c, Some(k), None)?;
    Ok(unchecked::expected_attempts(n, c, k))
}

/// How many of k must pass for a share `tau`: ceil(tau k), at least 1, where tau k within 1e-9 of a whole number
/// counts as that number. The published code takes the plain ceiling, which float noise raises for 0.55 · 100.
pub fn passes_needed(k: u64, tau: f64) -> Result<u64> {
    if !(0.0..=1.0).contains(&tau) {
        return Err(Error::argument("tau", format!("tau = {tau} is not from 0 to 1")));
    }
    let share = tau * k as f64;
    let near = share.round();
    let needed = if (share - near).abs() <= 1e-9 * near.max(1.0) { near } else { share.ceil() };
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 0 to k, which is at most 2^53")]
    Ok((needed as u64).clamp(1, k))
}

fn check_m(m: u64, k: u64) -> Result<()> {
    if m > k {
        return Err(Error::argument("m", format!("m = {m} is more than k = {k}")));
    }
    Ok(())
}

/// The same functions for counts that were checked: 0 <= c <= n <= 2^53 and 1 <= k <= n.
pub mod unchecked {
    use super::{
        Double, Kind, NOTHING, Product, ceil_half, check_order, half_excess, power_of_two, ratio, tails, wide,
    };

    /// See [`super::pass_at_k`].
    #[must_use]
    pub fn pass_at_k(n: u64, c: u64, k: u64) -> f64 {
        debug_assert!(check_order(n, c, k));
        if k == 1 { c as f64 / n as f64 } else { Kind::AtLeastOne.value(n, c, k) }
    }

    /// See [`super::pass_hat_k`].
    #[must_use]
    pub fn pass_hat_k(n: u64, c: u64, k: u64) -> f64 {
        debug_assert!(check_order(n, c, k));
        if k == 1 { c as f64 / n as f64 } else { Kind::All.value(n, c, k) }
    }

    /// See [`super::learnability`].
    #[must_use]
    pub fn learnability(n: u64, c: u64) -> f64 {
        ratio(4 * u128::from(c) * u128::from(n - c), n, n)
    }

    /// See [`super::learnability_unbiased`].
    #[must_use]
    pub fn learnability_unbiased(n: u64, c: u64) -> f64 {
        ratio(4 * u128::from(c) * u128::from(n - c), n, n - 1)
    }

    /// See [`super::at_least_m_of_k`].
    #[must_use]
    pub fn at_least_m_of_k(n: u64, c: u64, k: u64, m: u64) -> f64 {
        // The ends are pass@k and pass^k: one value each, to the last bit.
        match m {
            0 => 1.0,
            1 => pass_at_k(n, c, k),
            m if m == k => pass_hat_k(n, c, k),
            m => tails(n, c, k, m).at_least(),
        }
    }

    /// Probability that fewer than `m` of k rollouts pass.
    #[must_use]
    pub fn below_m_of_k(n: u64, c: u64, k: u64, m: u64) -> f64 {
        match m {
            0 => 0.0,
            1 => pass_hat_k(n, n - c, k),
            m if m == k => pass_at_k(n, n - c, k),
            m => tails(n, c, k, m).below(),
        }
    }

    /// See [`super::exactly_m_of_k`].
    #[must_use]
    pub fn exactly_m_of_k(n: u64, c: u64, k: u64, m: u64) -> f64 {
        match m {
            0 => pass_hat_k(n, n - c, k),
            m if m == k => pass_hat_k(n, c, k),
            m => tails(n, c, k, m).exactly(),
        }
    }

    /// See [`super::mg_pass_at_k`].
    #[must_use]
    pub fn mg_pass_at_k(n: u64, c: u64, k: u64, normalize: bool) -> f64 {
        let (half, excess) = (ceil_half(k), half_excess(n, c, k));
        // Σ of tails above half the rollouts is the mean excess over that half.
        let value = if normalize { excess / (k - half) as f64 } else { 2.0 * excess / k as f64 };
        value.clamp(0.0, 1.0)
    }

    /// See [`super::expected_attempts`].
    #[must_use]
    pub fn expected_attempts(n: u64, c: u64, k: u64) -> f64 {
        if c == 0 {
            return k as f64;
        }
        // All n + 1 terms make (n+1)/(c+1); those from k on are F_k times the same sum for n - k rollouts.
        let all = Double { high: (n + 1) as f64, low: 0.0 };
        if n - c < k {
            return ratio(u128::from(n) + 1, c + 1, 1);
        }
        let product = Product::new(n, c, k, NOTHING * NOTHING);
        if product.exponent != 0 || product.value.high < NOTHING * NOTHING {
            return ratio(u128::from(n) + 1, c + 1, 1);
        }
        let rest = product.value.times_ratio((n - k + 1) as f64, 1.0);
        let error = product.relative_error() * rest.high + all.high * power_of_two(-100);
        let difference = all.plus_double(Double { high: -rest.high, low: -rest.low });
        let value = difference.times_ratio(1.0, (c + 1) as f64);
        let error = error / (c + 1) as f64 * 2.0;
        value.rounded(error).unwrap_or_else(|| wide::attempts(n, c, k, c.max(k), c.min(k)))
    }
}

#[inline]
const fn check_order(n: u64, c: u64, k: u64) -> bool {
    c <= n && 1 <= k && k <= n
}

const fn ceil_half(k: u64) -> u64 {
    k.div_ceil(2)
}

/// C(n-c, k) / C(n, k) as value · 2^exponent, and how many factors made it.
#[derive(Clone, Copy)]
struct Product {
    value: Double,
    exponent: i32,
    factors: u64,
}

impl Product {
    const ONE: Self = Self { value: Double::ONE, exponent: 0, factors: 0 };

    /// The product over the smaller of c and k factors; it stops early below `enough`, which is at least 2^-512, or
    /// goes on down to where floats end if that is 0. Needs n - c >= k.
    fn new(n: u64, c: u64, k: u64, enough: f64) -> Self {
        let (m, o) = (c.min(k), c.max(k));
        let (top, below) = ((n - o) as f64, n as f64);
        let mut product = Self::ONE;
        for i in 0..m {
            product.step(top - i as f64, below - i as f64);
            if product.value.high < enough || product.exponent < VANISHED {
                break;
            }
        }
        product
    }

    #[inline]
    fn step(&mut self, a: f64, b: f64) {
        self.value = self.value.times_ratio(a, b);
        self.factors += 1;
        if self.value.high < power_of_two(-SCALE) {
            let scale = power_of_two(SCALE);
            self.value = Double { high: self.value.high * scale, low: self.value.low * scale };
            self.exponent -= SCALE;
        }
    }

    fn relative_error(&self) -> f64 {
        (self.factors + 2) as f64 * STEP_ERROR
    }
}

/// The two figures that one product gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// pass@k: 1 minus the probability that all k fail.
    AtLeastOne,
    /// pass^k: the probability that all k pass.
    All,
}

impl Kind {
    /// The outcome whose absence from the k draws the product measures.
    pub(super) const fn unwanted(self, n: u64, c: u64) -> u64 {
        match self {
            Self::AtLeastOne => c,
            Self::All => n - c,
        }
    }

    fn value(self, n: u64, c: u64, k: u64) -> f64 {
        let u = self.unwanted(n, c);
        if n - u < k {
            return self.impossible();
        }
        let enough = if self == Self::AtLeastOne { NOTHING } else { 0.0 };
        self.finish(&Product::new(n, u, k, enough), n, u, k)
    }

    /// The value where the product is 0.
    const fn impossible(self) -> f64 {
        match self {
            Self::AtLeastOne => 1.0,
            Self::All => 0.0,
        }
    }

    /// Round the product to its figure.
    fn finish(self, product: &Product, n: u64, u: u64, k: u64) -> f64 {
        let Product { value, exponent, .. } = *product;
        let error = product.relative_error() * value.high;
        match self {
            Self::AtLeastOne if exponent != 0 || value.high < NOTHING => 1.0,
            Self::AtLeastOne => value
                .one_minus()
                .rounded(error + STEP_ERROR)
                .unwrap_or_else(|| wide::one_minus_product(n, u.max(k), u.min(k))),
            Self::All if exponent < VANISHED => 0.0,
            // Subnormal values have fewer bits, and only the wide product rounds there.
            Self::All if exponent < -SCALE || exponent < 0 && value.high < power_of_two(10 - SCALE) => {
                wide::product(n, u.max(k), u.min(k))
            }
            Self::All => value
                .rounded(error)
                .map_or_else(|| wide::product(n, u.max(k), u.min(k)), |value| value * power_of_two(exponent)),
        }
    }

    /// The figure of one cell for every k of `ks` into `out`, NaN where k > n. The same bits as one by one; ascending
    /// `ks` that lie close take one pass.
    pub fn curve(self, n: u64, c: u64, ks: &[u64], out: &mut [f64]) {
        let u = self.unwanted(n, c);
        let steps: u64 = ks.iter().fold(0, |sum, &k| sum.saturating_add(k.min(u)));
        let dense = ks.is_sorted() && ks.last().is_some_and(|&k| k.min(n) < steps);
        let mut product = Product::ONE;
        let mut reached = 0;
        for (&k, out) in ks.iter().zip(out) {
            *out = if k > n || k == 0 {
                f64::NAN
            } else if k == 1 {
                c as f64 / n as f64
            } else if n - u < k {
                self.impossible()
            } else if dense {
                while reached < k && product.exponent >= VANISHED {
                    product.step((n - u - reached) as f64, (n - reached) as f64);
                    reached += 1;
                }
                self.finish(&product, n, u, k)
            } else {
                self.value(n, c, k)
            };
        }
    }
}
