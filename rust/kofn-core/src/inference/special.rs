//! The special functions of inference: normal, Student and beta distributions.
//!
//! Everything stands on the pure-Rust `libm` and on correctly rounded operations, so that a bound has the same bits on
//! every platform. Shapes may be large: densities go by Stirling's series and deviances, never by differences of
//! log-gammas.

use libm::{erf, erfc, exp, log, log1p};
use std::f64::consts::{FRAC_1_SQRT_2, SQRT_2, TAU};

use crate::dd::two_product;

/// 1 / sqrt(2 π).
const PHI_0: f64 = 0.398_942_280_401_432_7;
/// sqrt(2) minus `SQRT_2`.
const SQRT_2_LOW: f64 = -9.667_293_313_452_913e-17;
/// Stirling's series in 1 / x², times x.
const STIRLING: [f64; 7] =
    [1.0 / 12.0, -1.0 / 360.0, 1.0 / 1260.0, -1.0 / 1680.0, 1.0 / 1188.0, -691.0 / 360_360.0, 1.0 / 156.0];
/// Newton's steps at most; it converges in about ten.
const STEPS: usize = 200;

/// ln Γ(x) for x > 0.
#[must_use]
pub fn ln_gamma(x: f64) -> f64 {
    libm::lgamma(x)
}

/// Density of the standard normal.
#[must_use]
pub fn normal_density(x: f64) -> f64 {
    PHI_0 * exp(-0.5 * x * x)
}

/// P(Z <= x) of a standard normal Z, precise in the lower tail; P(Z > x) is `normal_cdf(-x)`.
#[must_use]
pub fn normal_cdf(x: f64) -> f64 {
    if x.abs() < 1.0 {
        return 0.5 + 0.5 * erf(x * FRAC_1_SQRT_2);
    }
    if x.abs() > 40.0 {
        return if x < 0.0 { 0.0 } else { 1.0 };
    }
    // erfc magnifies the rounding of its argument by its square: give back what was lost.
    let at = x * FRAC_1_SQRT_2;
    let (back, error) = two_product(at, SQRT_2);
    let lost = (((x - back) - error) - at * SQRT_2_LOW) * FRAC_1_SQRT_2;
    let tail = 0.5 * erfc(-at);
    if x < 0.0 { tail + tail * (-2.0 * at * lost) } else { tail }
}

/// The x with P(Z <= x) = p: ±∞ at 1 and 0, NaN outside. For a small upper tail q take `-normal_quantile(q)`.
#[must_use]
pub fn normal_quantile(p: f64) -> f64 {
    if !(0.0..=1.0).contains(&p) {
        return f64::NAN;
    }
    if p > 0.75 {
        return -lower_normal_quantile(1.0 - p);
    }
    if p < 0.25 { lower_normal_quantile(p) } else { central_normal_quantile(p - 0.5) }
}

/// x from Φ(x) - 1/2, which keeps its precision around 0.
fn central_normal_quantile(beyond: f64) -> f64 {
    let mut x = beyond / PHI_0;
    for _ in 0..STEPS {
        let step = (0.5 * erf(x * FRAC_1_SQRT_2) - beyond) / normal_density(x);
        x -= step;
        if step.abs() <= 1e-16 * x.abs() {
            break;
        }
    }
    x
}

/// x from a small Φ(x). ln Φ is concave: Newton's steps on it cannot leave the right way.
fn lower_normal_quantile(p: f64) -> f64 {
    if p == 0.0 {
        return f64::NEG_INFINITY;
    }
    let target = log(p);
    let mut x = -(-2.0 * target).sqrt();
    for _ in 0..STEPS {
        let tail = normal_cdf(x);
        let density = normal_density(x);
        // Below the least float the tail is its own asymptote, φ(x) / |x|.
        let step =
            if tail < 1e-307 { (-0.5 * x * x + log(PHI_0 / -x) - target) / -x } else { log(tail / p) * tail / density };
        x -= step;
        if step.abs() <= 1e-15 * x.abs() {
            break;
        }
    }
    x
}

/// P(X <= x) and P(X > x) of a beta variable with shapes a, b > 0: the lower to its last digits below the mean, the
/// upper above it.
#[must_use]
pub fn beta_cdf(a: f64, b: f64, x: f64) -> (f64, f64) {
    incomplete_beta(a, b, x, 1.0 - x)
}

/// The x with P(X <= x) = p of a beta variable.
#[must_use]
pub fn beta_quantile(a: f64, b: f64, p: f64) -> f64 {
    let (x, _) = split(beta_logit(a, b, p, 1.0 - p));
    x
}

/// P(T <= t) of Student's t with `freedom` > 0 degrees of freedom, precise in the lower tail.
#[must_use]
pub fn student_cdf(freedom: f64, t: f64) -> f64 {
    let tail = 0.5 * student_tails(freedom, t);
    if t < 0.0 { tail } else { 1.0 - tail }
}

/// P(|T| >= |t|): the two-sided p-value.
#[must_use]
pub fn student_tails(freedom: f64, t: f64) -> f64 {
    if t.is_infinite() {
        return 0.0;
    }
    // t² may exceed a float.
    let scaled = t / freedom.sqrt();
    let (x, y) = if scaled.abs() < 1.0 {
        let square = scaled * scaled;
        (1.0 / (1.0 + square), square / (1.0 + square))
    } else {
        let inverse = (1.0 / scaled) * (1.0 / scaled);
        (inverse / (1.0 + inverse), 1.0 / (1.0 + inverse))
    };
    incomplete_beta(0.5 * freedom, 0.5, x, y).0
}

/// The t with P(T <= t) = p: ±∞ at 1 and 0, NaN outside.
#[must_use]
pub fn student_quantile(freedom: f64, p: f64) -> f64 {
    if !(0.0..=1.0).contains(&p) {
        return f64::NAN;
    }
    if freedom.is_infinite() {
        return normal_quantile(p);
    }
    if p == 0.5 {
        return 0.0;
    }
    let tail = p.min(1.0 - p);
    let size = if tail == 0.0 {
        f64::INFINITY
    } else {
        // Both tails are I_x(freedom/2, 1/2) with x = freedom / (freedom + t²).
        freedom.sqrt() * exp(-0.5 * beta_logit(0.5 * freedom, 0.5, 2.0 * tail, 2.0 * (0.5 - tail)))
    };
    if p < 0.5 { -size } else { size }
}

/// `I_x(a, b)` and what is left to 1, with y = 1 - x given for its own precision.
fn incomplete_beta(a: f64, b: f64, x: f64, y: f64) -> (f64, f64) {
    if x.is_nan() || y.is_nan() {
        return (f64::NAN, f64::NAN);
    }
    if x <= 0.0 {
        return (0.0, 1.0);
    }
    if y <= 0.0 {
        return (1.0, 0.0);
    }
    let front = exp(ln_beta_front(a, b, x, y));
    let lambda = beta_excess(a, b, x, y);
    // The fraction converges fast on this side of the mean.
    if lambda >= 0.0 {
        let lower = (front * fraction(a, b, x, y, lambda)).clamp(0.0, 1.0);
        (lower, 1.0 - lower)
    } else {
        let upper = (front * fraction(b, a, y, x, -lambda)).clamp(0.0, 1.0);
        (1.0 - upper, upper)
    }
}

/// a y - b x, from whichever form cancels less.
fn beta_excess(a: f64, b: f64, x: f64, y: f64) -> f64 {
    let n = a + b;
    if a <= b { a - n * x } else { n * y - b }
}

/// ln(x^a y^b / B(a, b)): by deviances from the mean and Stirling's remainders, so that large shapes keep their digits
/// (as TOMS 708 and Loader do).
fn ln_beta_front(a: f64, b: f64, x: f64, y: f64) -> f64 {
    let n = a + b;
    let lambda = beta_excess(a, b, x, y);
    let deviance = a * deviance(-lambda / a, x / a * n) + b * deviance(lambda / b, y / b * n);
    let remainder = stirling_remainder(n) - stirling_remainder(a) - stirling_remainder(b);
    0.5 * log(a / n * b / TAU) + remainder - deviance
}

/// r - 1 - ln r for r > 0, with x = r - 1 given for its own precision.
fn deviance(x: f64, r: f64) -> f64 {
    if x.abs() > 0.5 {
        return x - log(r);
    }
    // ln(1 + x) = 2 artanh(x / (2 + x)).
    let half = x / (2.0 + x);
    let square = half * half;
    let mut sum = 0.0;
    for i in (0..17).rev() {
        sum = sum * square + 1.0 / f64::from(2 * i + 3);
    }
    half * (x - 2.0 * square * sum)
}

/// ln Γ(x) - (x - 1/2) ln x + x - ln(2 π) / 2 for x > 0.
fn stirling_remainder(mut x: f64) -> f64 {
    let mut sum = 0.0;
    // The remainder at x is that at x + 1 and this.
    while x < 10.0 {
        sum += (x + 0.5) * log1p(1.0 / x) - 1.0;
        x += 1.0;
    }
    let inverse = 1.0 / (x * x);
    sum + STIRLING.iter().rev().fold(0.0, |series, term| series * inverse + term) / x
}

/// `I_x(a, b)` B(a, b) / (x^a y^b) for x at most the mean, lambda = a y - b x: the continued fraction of Didonato and
/// Morris (TOMS 708), whose terms do not cancel where 1 - x is small.
fn fraction(a: f64, b: f64, x: f64, y: f64, lambda: f64) -> f64 {
    let c = 1.0 + lambda;
    let first = 1.0 + 1.0 / a;
    // Two consecutive convergents, numerator and denominator.
    let ((mut over, mut last_over), (mut under, mut last_under)) = ((1.0, 0.0), (c / first, 1.0));
    let mut value = over / under;
    let (mut p, mut s) = (1.0, a + 1.0);
    // It takes about sqrt(max(a, b)) steps at worst.
    let most = 1e4 + 20.0 * a.max(b).sqrt();
    let mut n = 1.0;
    while n < most {
        let share = n / a;
        let w = n * (b - n) * x;
        let e = a / s;
        let alpha = p * (p + b / a) * e * e * (w * x);
        let beta = n + w / s + (1.0 + share) / (first + 2.0 * share) * (c + n * (1.0 + y));
        p = 1.0 + share;
        s += 2.0;
        (over, last_over) = (alpha * last_over + beta * over, over);
        (under, last_under) = (alpha * last_under + beta * under, under);
        let before = value;
        value = over / under;
        if (value - before).abs() <= 1e-16 * value {
            break;
        }
        last_over /= under;
        last_under /= under;
        over = value;
        under = 1.0;
        n += 1.0;
    }
    value
}

/// ln(x / (1 - x)) for the x with `I_x(a, b)` = p, where q = 1 - p. On this scale both tails are log-concave: Newton's
/// steps on the logarithm of the smaller one cannot leave the right way.
fn beta_logit(a: f64, b: f64, p: f64, q: f64) -> f64 {
    if p.is_nan() || p < 0.0 || q < 0.0 {
        return f64::NAN;
    }
    if p == 0.0 {
        return f64::NEG_INFINITY;
    }
    if q == 0.0 {
        return f64::INFINITY;
    }
    if p > q {
        return -beta_logit(b, a, q, p);
    }
    let mut logit = log(a / b);
    for _ in 0..STEPS {
        let (x, y) = split(logit);
        let ln_front = ln_beta_front(a, b, x, y);
        let lambda = beta_excess(a, b, x, y);
        // ln I, and I over its derivative; far out I itself would underflow.
        let (ln_lower, slope) = if lambda >= 0.0 {
            let fraction = fraction(a, b, x, y, lambda);
            (ln_front + log(fraction), fraction)
        } else {
            let front = exp(ln_front);
            let lower = 1.0 - front * fraction(b, a, y, x, -lambda);
            (log(lower), lower / front)
        };
        let step = (ln_lower - log(p)) * slope;
        if !step.is_finite() {
            break;
        }
        logit -= step;
        if step.abs() <= 1e-15 * logit.abs().max(0.1) {
            break;
        }
    }
    logit
}

/// x and 1 - x from ln(x / (1 - x)), each to its last digits.
fn split(logit: f64) -> (f64, f64) {
    let odds = exp(-logit.abs());
    let (small, large) = (odds / (1.0 + odds), 1.0 / (1.0 + odds));
    if logit < 0.0 { (small, large) } else { (large, small) }
}

#[cfg(test)]
mod tests;
