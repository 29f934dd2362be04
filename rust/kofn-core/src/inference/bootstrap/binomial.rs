//! Resamples of few distinct units: how many of each, by binomials of what is left; the number of units costs nothing.
//!
//! Binomials by transformed rejection (Hörmann 1993, BTRS), many replicates at once: what is undecided after a try is
//! tried again together, with the random numbers of its own replicate.

use std::ops::Range;

use libm::{exp, lgamma, log, log1p};

use crate::arch::Kernel;
use crate::random::{LANES, blocks, unit};

/// Expected successes below which tries would be rejected too often: the outcomes are gone through one by one.
const FEW: f64 = 10.0;
/// Which kind of number is drawn: the last word of the counter.
const BINOMIAL: u32 = 3;

/// Draws replicates; gives the sums of each column, one column after the other.
pub struct Replicates<'a> {
    /// A value for each distinct unit.
    pub columns: &'a [&'a [f64]],
    /// How many units are alike.
    pub counts: &'a [u64],
    /// Of the random numbers.
    pub seed: u64,
    /// Which replicates.
    pub numbers: Range<u32>,
}

impl Kernel for Replicates<'_> {
    type Output = Vec<f64>;

    #[inline(always)]
    fn run(self) -> Vec<f64> {
        let size = self.numbers.len();
        let mut sums = vec![0.0; self.columns.len() * size];
        let mut rest: u64 = self.counts.iter().sum();
        let (mut left, mut drawn) = (vec![rest as f64; size], vec![0.0; size]);
        for (level, (at, &count)) in (0u32..).zip(self.counts.iter().enumerate()) {
            if count == rest {
                drawn.copy_from_slice(&left);
            } else {
                let (p, others) = (count as f64 / rest as f64, (rest - count) as f64 / rest as f64);
                let place = Place { seed: self.seed, first: self.numbers.start, level };
                if p <= 0.5 {
                    place.binomials(&left, p, others, &mut drawn);
                } else {
                    place.binomials(&left, others, p, &mut drawn);
                    for (drawn, left) in drawn.iter_mut().zip(&left) {
                        *drawn = left - *drawn;
                    }
                }
            }
            rest -= count;
            for (left, drawn) in left.iter_mut().zip(&drawn) {
                *left -= drawn;
            }
            for (sums, column) in sums.chunks_exact_mut(size.max(1)).zip(self.columns) {
                let value = column[at];
                for (sum, times) in sums.iter_mut().zip(&drawn) {
                    *sum += times * value;
                }
            }
        }
        sums
    }
}

/// Whose random numbers are drawn.
#[derive(Clone, Copy)]
struct Place {
    seed: u64,
    first: u32,
    level: u32,
}

impl Place {
    /// Successes of each of `tries` with chance p <= 1/2, q = 1 - p.
    #[inline(always)]
    fn binomials(self, tries: &[f64], p: f64, q: f64, out: &mut [f64]) {
        let mut open: Vec<u32> = (0u32..).take(tries.len()).collect();
        let mut attempt = 0;
        while !open.is_empty() {
            let mut kept = 0;
            for start in (0..open.len()).step_by(LANES) {
                let mut rows = [0; LANES];
                let some = open.len().min(start + LANES) - start;
                rows[..some].copy_from_slice(&open[start..start + some]);
                let (mut n, mut numbers) = ([0.0; LANES], rows);
                for i in 0..LANES {
                    n[i] = tries[rows[i] as usize];
                    numbers[i] += self.first;
                }
                let words = blocks(self.seed, numbers, [attempt, self.level, BINOMIAL]);
                let (mut u, mut v) = ([0.0; LANES], [0.0; LANES]);
                for i in 0..LANES {
                    u[i] = unit(words[0][i], words[1][i]);
                    v[i] = unit(words[2][i], words[3][i]);
                }
                let (k, verdict) = attempts(&n, p, q, &u, &v);
                for i in 0..some {
                    let row = rows[i];
                    out[row as usize] = k[i];
                    // Never before what is read: no more are kept than were read.
                    open[kept] = row;
                    kept += usize::from(verdict[i] < 0.0);
                    if verdict[i] == 0.0 {
                        match closely(n[i], p, q, u[i], v[i], k[i]) {
                            Some(k) => out[row as usize] = k,
                            None => kept += 1,
                        }
                    }
                }
            }
            open.truncate(kept);
            attempt += 1;
        }
    }
}

/// A try of each lane: its successes, and 1 if they stand, -1 if not, 0 if that takes a closer look.
#[inline(always)]
fn attempts<const N: usize>(n: &[f64; N], p: f64, q: f64, u: &[f64; N], v: &[f64; N]) -> ([f64; N], [f64; N]) {
    let (mut found, mut verdict) = ([0.0; N], [0.0; N]);
    let odds = p / q;
    for i in 0..N {
        let n = n[i];
        let spread = (n * p * q).sqrt();
        let b = 1.15 + 2.53 * spread;
        let a = -0.0873 + 0.0248 * b + 0.01 * p;
        let alpha = (2.83 + 5.1 / b) * spread;
        let u = u[i] - 0.5;
        let room = 0.5 - u.abs();
        let k = floor((2.0 * a / room + b) * u + (n * p + 0.5));
        let m = floor((n + 1.0) * p);
        let inside = k >= 0.0 && k <= n;
        // Wild tries are put where logarithms exist; they are out anyway.
        let at = if inside { k } else { m };
        let scaled = ln(v[i] * alpha / (a / (room * room) + b));
        let bound = (m + 0.5) * ln((m + 1.0) / (odds * (n - m + 1.0)))
            + (n + 1.0) * ln((n - m + 1.0) / (n - at + 1.0))
            + (at + 0.5) * ln(odds * (n - at + 1.0) / (at + 1.0))
            + (stirling(m) - stirling(at) + (stirling(n - m) - stirling(n - at)));
        let stands = if inside && scaled <= bound { 1.0 } else { -1.0 };
        let tail = inside && (at < FEW || n - at < FEW);
        found[i] = k;
        verdict[i] = if n * p < FEW || tail { 0.0 } else { stands };
    }
    (found, verdict)
}

/// The same with log-gammas, for outcomes that Stirling's series does not reach; outcomes one by one where few are
/// expected.
#[inline(never)]
fn closely(n: f64, p: f64, q: f64, u: f64, v: f64, k: f64) -> Option<f64> {
    if n * p < FEW {
        return Some(one_by_one(n, p, q, u));
    }
    let spread = (n * p * q).sqrt();
    let b = 1.15 + 2.53 * spread;
    let a = -0.0873 + 0.0248 * b + 0.01 * p;
    let alpha = (2.83 + 5.1 / b) * spread;
    let room = 0.5 - (u - 0.5).abs();
    let m = floor((n + 1.0) * p);
    let part = |k: f64| lgamma(k + 1.0) + lgamma(n - k + 1.0);
    let bound = part(m) - part(k) + (k - m) * log(p / q);
    (log(v * alpha / (a / (room * room) + b)) <= bound).then_some(k)
}

/// The outcome whose range of the distribution function `u` lies in.
fn one_by_one(n: f64, p: f64, q: f64, mut u: f64) -> f64 {
    let mut share = exp(n * log1p(-p));
    let (mut k, odds) = (0.0, p / q);
    // Where fewer than ten are expected, none sees as many.
    let most = n.min(200.0);
    while u >= share && k < most {
        u -= share;
        k += 1.0;
        share *= (n - k + 1.0) / k * odds;
    }
    k
}

/// Largest whole number not above x, for |x| < 2^51; anything for others.
#[inline(always)]
fn floor(x: f64) -> f64 {
    // The processors of the baseline have no instruction for it.
    const MAGIC: f64 = 6_755_399_441_055_744.0;
    let near = (x + MAGIC) - MAGIC;
    near - if near > x { 1.0 } else { 0.0 }
}

/// What Stirling's formula leaves of ln k!, for k >= 10.
#[inline(always)]
fn stirling(k: f64) -> f64 {
    let inverse = 1.0 / (k + 1.0);
    let square = inverse * inverse;
    (1.0 / 12.0 - (1.0 / 360.0 - (1.0 / 1260.0 - square / 1680.0) * square) * square) * inverse
}

/// ln x of a positive normal number to some 1e-15, in operations that vectors have and that round alike everywhere.
#[inline(always)]
fn ln(x: f64) -> f64 {
    const ROOT: u64 = 0x3fe6_a09e_667f_3bcd;
    const TWO_52: u64 = 0x4330_0000_0000_0000;
    // x = m 2^e with m from sqrt(1/2) to sqrt(2).
    let bits = x.to_bits().wrapping_sub(ROOT);
    let exponent = f64::from_bits(TWO_52 | bits.wrapping_add(1 << 62) >> 52) - 4_503_599_627_371_520.0;
    let m = f64::from_bits((bits & 0x000f_ffff_ffff_ffff).wrapping_add(ROOT));
    let s = (m - 1.0) / (m + 1.0);
    let t = s * s;
    let even = 1.0 / 5.0 + t * t * (1.0 / 9.0 + t * t * (1.0 / 13.0 + t * t * (1.0 / 17.0)));
    let odd = 1.0 / 3.0 + t * t * (1.0 / 7.0 + t * t * (1.0 / 11.0 + t * t * (1.0 / 15.0 + t * t * (1.0 / 19.0))));
    exponent * std::f64::consts::LN_2 + 2.0 * (s + s * t * (odd + t * even))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arch::{Level, run_at};
    use crate::inference::bootstrap::tests::{chi_square_is_plausible, ln_choose};

    #[test]
    fn logarithms_are_right() {
        for i in 1..20_000 {
            let x = exp((f64::from(i) - 10_000.0) / 30.0);
            let (found, right) = (ln(x), log(x));
            assert!((found - right).abs() <= 4.0 * f64::EPSILON * right.abs().max(0.01), "{x} {found} {right}");
        }
        assert_eq!(ln(1.0), 0.0);
    }

    #[test]
    fn floors_are_right() {
        for i in -4000..4000 {
            let x = f64::from(i) * 0.25;
            assert_eq!(floor(x), x.floor());
            assert_eq!(floor(x + 1e9), (x + 1e9).floor());
        }
    }

    #[test]
    fn stirling_is_right() {
        for k in 10..200 {
            let k = f64::from(k);
            let rest = lgamma(k + 1.0) - ((k + 0.5) * log(k + 1.0) - (k + 1.0) + 0.5 * log(std::f64::consts::TAU));
            assert!((stirling(k) - rest).abs() < 2e-12 + 1e-15 * lgamma(k + 1.0), "{k}");
        }
    }

    #[test]
    fn binomials_have_their_law() {
        const SIZE: usize = 40_000;
        let chances = [(3.0, 0.5), (12.0, 0.3), (21.0, 0.5), (25.0, 0.45), (60.0, 0.2), (400.0, 0.02), (400.0, 0.5)];
        for (level, (n, p)) in (0..).zip(chances.into_iter().chain([(10_000.0, 0.03), (1e6, 3e-5), (1e6, 0.3)])) {
            let mut drawn = vec![0.0; SIZE];
            Place { seed: 5, first: 0, level }.binomials(&vec![n; SIZE], p, 1.0 - p, &mut drawn);
            let (mean, spread) = (n * p, (n * p * (1.0 - p)).sqrt());
            // Cells a fifth of the spread wide, and both tails.
            let width = (spread / 5.0).floor().max(1.0);
            let first = (mean - 3.0 * spread).floor().max(0.0);
            let mut cells = vec![(0.0, 0.0); 32];
            let at = |k: f64| (((k - first) / width).floor() + 1.0).clamp(0.0, 31.0);
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped")]
            let at = |k: f64| at(k) as usize;
            for &k in &drawn {
                assert!((0.0..=n).contains(&k) && k.fract() == 0.0);
                cells[at(k)].0 += 1.0;
            }
            let mut k = (mean - 12.0 * spread - 30.0).floor().max(0.0);
            while k <= (mean + 12.0 * spread + 30.0).min(n) {
                let share = ln_choose(n, k) + k * p.ln() + (n - k) * (-p).ln_1p();
                cells[at(k)].1 += share.exp() * SIZE as f64;
                k += 1.0;
            }
            chi_square_is_plausible(cells.into_iter().filter(|cell| cell.1 > 5.0));
            let found = drawn.iter().sum::<f64>() / SIZE as f64;
            assert!((found - mean).abs() < 4.5 * spread / (SIZE as f64).sqrt(), "{n} {p}: {found}");
        }
    }

    #[test]
    fn huge_numbers_are_no_trouble() {
        let mut drawn = vec![0.0; 2000];
        for (n, p) in [(4e9, 0.5), (4e9, 1e-9), (4e9, 1e-7)] {
            Place { seed: 1, first: 0, level: 0 }.binomials(&vec![n; 2000], p, 1.0 - p, &mut drawn);
            let (mean, spread) = (n * p, (n * p * (1.0 - p)).sqrt());
            let found = drawn.iter().sum::<f64>() / 2000.0;
            let squares = drawn.iter().map(|k| ((k - mean) / spread).powi(2)).sum::<f64>() / 2000.0;
            assert!((found - mean).abs() < 4.0 * spread / 2000f64.sqrt(), "{n} {p}: {found}");
            assert!((squares - 1.0).abs() < 0.15, "{n} {p}: {squares}");
        }
    }

    #[test]
    fn every_level_draws_the_same() {
        let values: Vec<f64> = (0..9).map(|i| f64::from(i) / 8.0).collect();
        let counts = [900, 3, 40, 5, 1, 0, 200, 77, 2500];
        let draw = |numbers: Range<u32>, level| {
            run_at(level, Replicates { columns: &[&values, &[1.0; 9]], counts: &counts, seed: 4, numbers })
        };
        let all = draw(0..500, Level::Baseline);
        assert_eq!([Level::V3, Level::V4].map(|level| draw(0..500, level)), [all.clone(), all.clone()]);
        // All are drawn, and a replicate is the same in any part.
        assert!(all[500..].iter().all(|&sum| sum == 3726.0));
        assert_eq!(draw(123..200, Level::V4)[..77], all[123..200]);
    }
}
