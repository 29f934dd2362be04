//! The sign-flip test: how often the mean difference would be at least as large if the sign of each were a coin toss.
//!
//! Only the sizes of the differences matter, never their order, so that equal sizes are tossed together: by their
//! binomial law where the sizes are multiples of one unit, by counting bits where replicates are drawn.

use super::convolution::{CUT, Law, Width, heads};
use super::lattice::{Level, levels, multiples};
use crate::arch::{self, Kernel};
use crate::threads;

/// Multiplications that an exact law may take: about a second.
const MOST_WORK: f64 = 2e9;
/// Differences whose signs are enumerated: two halves of 2^18 sums.
const ENUMERATED: usize = 36;
/// Replicates, and signs drawn in all of them, where neither works.
const REPLICATES: u64 = 10_000;
const LEAST_REPLICATES: u64 = 1_000;
const MOST_SIGNS: u64 = 2_000_000_000;
/// Replicates a part of the work: fixed, so that threads cannot change a result.
const PART: u64 = 64;

/// How a p-value was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// All signs, by convolution.
    Convolution,
    /// All signs, one by one.
    Enumeration,
    /// (hits + 1) / (replicates + 1) of drawn signs (Phipson & Smyth, arXiv 1603.05766).
    MonteCarlo {
        /// How many were drawn.
        replicates: u64,
    },
}

/// Two-sided p of the hypothesis that each difference is as likely to be its negative, against |Σ d|. `scale` is the
/// size of the values that were subtracted: differences closer than float noise of that size count as equal.
#[must_use]
pub fn sign_flip(differences: &[f64], scale: f64, seed: u64) -> (f64, Method) {
    let noise = 4.0 * f64::EPSILON * scale;
    let levels = levels(differences, noise);
    if levels.is_empty() {
        return (1.0, Method::Convolution);
    }
    if let Some(units) = multiples(&levels, noise)
        && work(&units) <= MOST_WORK
    {
        return (by_convolution(&units), Method::Convolution);
    }
    let tosses: u64 = levels.iter().map(|level| level.plus + level.minus).sum();
    if usize::try_from(tosses).is_ok_and(|tosses| tosses <= ENUMERATED) {
        return (by_enumeration(&levels), Method::Enumeration);
    }
    // A word of signs serves 64 equal differences at once.
    let cost: u64 =
        levels.iter().map(|level| (level.plus + level.minus).div_ceil(64) * if level.single() { 1 } else { 4 }).sum();
    let replicates = (MOST_SIGNS / cost.max(1)).clamp(LEAST_REPLICATES, REPLICATES);
    (by_drawing(&levels, seed, replicates), Method::MonteCarlo { replicates })
}

/// A size in whole units, how often it occurs, and the excess of positive over negative ones.
type Units = Vec<(i64, u64, i64)>;

fn work(units: &Units) -> f64 {
    let mut width = Width::default();
    let mut work = 0.0;
    for &(size, count, _) in units {
        let (size, count) = (size as f64, count as f64);
        let own = Width::new(count, count / 4.0);
        work += width.kept() * own.kept();
        width = width.plus(Width::new(size * count, size * size * count / 4.0), 1.0);
    }
    work + width.kept()
}

fn by_convolution(units: &Units) -> f64 {
    let p = upper_tail(units, CUT);
    // Rare enough for what was cut off to matter: keep everything that a float can hold, if that can be done.
    let whole = || units.iter().map(|&(size, count, _)| size as f64 * count as f64).sum::<f64>();
    if p > 1e-45 {
        p.min(1.0)
    } else if whole() * units.iter().map(|&(_, count, _)| count.min(2000) as f64).sum::<f64>() <= MOST_WORK {
        upper_tail(units, 0.0).max(f64::MIN_POSITIVE)
    } else {
        p.max(1e-45)
    }
}

/// 2 P(Σ ± size >= |Σ d|), or 1 where that sum is 0.
fn upper_tail(units: &Units, cut: f64) -> f64 {
    let observed: i64 = units.iter().map(|&(size, _, excess)| size * excess).sum::<i64>().abs();
    if observed == 0 {
        return 1.0;
    }
    let total: i64 = units.iter().map(|&(size, count, _)| size * count.cast_signed()).sum();
    let law = units.iter().fold(Law::constant(0), |law, &(size, count, _)| law.plus(&heads(count), size, cut));
    // The sum of signed sizes is twice that of those with heads, less the total.
    2.0 * law.tails(observed + (total - observed) / 2).1
}

/// Both halves' sums, each sorted, so that pairs beyond the observed sum are counted in one pass.
fn by_enumeration(levels: &[Level]) -> f64 {
    let sizes: Vec<f64> = levels
        .iter()
        .flat_map(|level| std::iter::repeat_n(level.size, usize::try_from(level.plus + level.minus).unwrap_or(0)))
        .collect();
    let (observed, tolerance) = observed(levels);
    let (one, other) = sizes.split_at(sizes.len() / 2);
    let [one, other] = [one, other].map(|sizes| {
        let mut sums = vec![0.0];
        for size in sizes {
            sums = sums.iter().flat_map(|sum| [sum - size, sum + size]).collect::<Vec<f64>>();
        }
        sums.sort_unstable_by(f64::total_cmp);
        sums
    });
    let mut hits = 0u64;
    let mut from = other.len();
    for sum in &one {
        // As this sum rises, more of the other half's reach the observed one with it.
        while from > 0 && sum + other[from - 1] >= observed - tolerance {
            from -= 1;
        }
        hits += (other.len() - from) as u64;
    }
    // The law is symmetric; a tolerance that reaches below 0 counts nothing twice.
    (2.0 * hits as f64 / (one.len() as f64 * other.len() as f64)).min(1.0)
}

/// |Σ d|, and how much less still counts as that.
fn observed(levels: &[Level]) -> (f64, f64) {
    let mut sum = crate::exact::Exact::default();
    let mut scale = 0.0;
    for level in levels {
        sum.add_times(level.size, level.plus);
        sum.add_times(-level.size, level.minus);
        scale += level.size * (level.plus + level.minus) as f64;
    }
    (sum.sum().abs(), 1e-12 * scale)
}

fn by_drawing(levels: &[Level], seed: u64, replicates: u64) -> f64 {
    let (observed, tolerance) = observed(levels);
    let singles: Vec<f64> = levels.iter().filter(|level| level.single()).map(|level| level.size).collect();
    let shared: Vec<(f64, u64)> =
        levels.iter().filter(|level| !level.single()).map(|level| (level.size, level.plus + level.minus)).collect();
    let parts: Vec<u64> = (0..replicates).step_by(usize::try_from(PART).unwrap_or(1)).collect();
    let hits = threads::map(parts, |start| {
        let draw = |replicate| arch::run(Replicate { singles: &singles, shared: &shared, seed, number: replicate });
        (start..replicates.min(start + PART)).filter(|&replicate| draw(replicate).abs() >= observed - tolerance).count()
            as u64
    });
    (hits.iter().sum::<u64>() + 1) as f64 / (replicates + 1) as f64
}

/// One replicate: the sum of sizes, each with a drawn sign.
struct Replicate<'a> {
    singles: &'a [f64],
    shared: &'a [(f64, u64)],
    seed: u64,
    number: u64,
}

impl Kernel for Replicate<'_> {
    type Output = f64;

    #[inline(always)]
    fn run(self) -> f64 {
        const LANES: usize = 8;
        let mut signs = Signs::new(self.seed, self.number);
        let mut lanes = [0.0; LANES];
        for chunk in self.singles.chunks(64) {
            let mut word = signs.next();
            for sizes in chunk.chunks(LANES) {
                for (i, (lane, size)) in lanes.iter_mut().zip(sizes).enumerate() {
                    *lane += f64::from_bits(size.to_bits() ^ (word >> i) << 63);
                }
                word >>= LANES;
            }
        }
        let mut sum = lanes.iter().sum();
        for &(size, count) in self.shared {
            let mut heads = 0;
            let mut left = count;
            while left > 0 {
                let drawn = left.min(64);
                heads += u64::from((signs.next() >> (64 - drawn)).count_ones());
                left -= drawn;
            }
            sum += size * (2 * heads.cast_signed() - count.cast_signed()) as f64;
        }
        sum
    }
}

/// A stream of random words that depends on nothing but its seed and its replicate: the counter of `SplitMix64`
/// (Steele, Lea & Flood 2014), started where the two were mixed to.
struct Signs(u64);

impl Signs {
    #[inline(always)]
    fn new(seed: u64, replicate: u64) -> Self {
        Self(mix(mix(seed ^ 0x6b6f_666e_666c_6970).wrapping_add(mix(replicate.wrapping_mul(STEP)))))
    }

    #[inline(always)]
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(STEP);
        mix(self.0)
    }
}

const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

#[inline(always)]
fn mix(mut x: u64) -> u64 {
    x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arch::{Level as Arch, run_at};
    use proptest::prelude::*;

    /// By the definition.
    fn slow(differences: &[f64], scale: f64) -> f64 {
        let observed = differences.iter().sum::<f64>().abs();
        let tolerance = 1e-12 * differences.iter().map(|d| d.abs()).sum::<f64>() + 1e-15 * scale;
        let hits = (0u32..1 << differences.len())
            .filter(|signs| {
                let sum: f64 =
                    differences.iter().enumerate().map(|(i, d)| if signs >> i & 1 == 0 { *d } else { -d }).sum();
                sum.abs() >= observed - tolerance
            })
            .count();
        hits as f64 / f64::from(1u32 << differences.len())
    }

    fn close(a: f64, b: f64, share: f64) {
        assert!((a - b).abs() <= share * b, "{a} {b}");
    }

    #[test]
    fn published_values() {
        assert_eq!(sign_flip(&[3.0, -1.0, 2.0, 0.0, -2.0, 5.0], 5.0, 0), (0.4375, Method::Convolution));
        assert_eq!(sign_flip(&[1.0; 4], 1.0, 0), (0.125, Method::Convolution));
        assert_eq!(sign_flip(&[], 0.0, 0), (1.0, Method::Convolution));
        assert_eq!(sign_flip(&[0.0, 1e-17, -1e-17], 1.0, 0).0, 1.0);
    }

    #[test]
    fn the_rarest_outcome_is_never_0() {
        for count in [100, 1000, 100_000] {
            let p = sign_flip(&vec![0.2; count], 1.0, 0).0;
            close(p, 2f64.powi(1 - i32::try_from(count).expect("small")).max(if count > 1074 { p } else { 0.0 }), 1e-9);
            assert!(p > 0.0);
        }
    }

    #[test]
    fn drawn_signs_agree_with_all_signs() {
        let sizes: Vec<f64> = (1..=34).map(|i| f64::from(i).sqrt() * if i % 3 == 0 { -1.0 } else { 1.0 }).collect();
        let levels = levels(&sizes, 0.0);
        let p = by_enumeration(&levels);
        assert_eq!(sign_flip(&sizes, 6.0, 1), (p, Method::Enumeration));
        let drawn = by_drawing(&levels, 1, 100_000);
        assert!((drawn - p).abs() < 4.0 * (p / 1e5).sqrt(), "{drawn} {p}");
        // Many of one size, beside others.
        let shared: Vec<f64> = (0..300).map(|i| if i % 7 < 3 { -0.1 } else { 0.1 }).chain([0.55, 1.3, -0.4]).collect();
        let levels = super::levels(&shared, 0.0);
        let p = sign_flip(&shared, 1.0, 0).0;
        let drawn = by_drawing(&levels, 2, 100_000);
        assert!((drawn - p).abs() < 4.0 * (p / 1e5).sqrt(), "{drawn} {p}");
        assert_ne!(by_drawing(&levels, 2, 999), by_drawing(&levels, 3, 999));
    }

    #[test]
    fn many_real_differences_are_drawn() {
        let differences: Vec<f64> = (0..5000).map(|i| f64::from(i * i % 7919).sqrt() - 44.0).collect();
        let (p, method) = sign_flip(&differences, 90.0, 7);
        assert_eq!(method, Method::MonteCarlo { replicates: REPLICATES });
        let mut turned = differences;
        turned.reverse();
        assert_eq!(sign_flip(&turned, 90.0, 7), (p, method));
        let singles: Vec<f64> = levels(&turned, 0.0).iter().map(|level| level.size).collect();
        for replicate in 0..5 {
            let draw = |level| {
                run_at(level, Replicate { singles: &singles, shared: &[(0.5, 130)], seed: 7, number: replicate })
            };
            assert_eq!([Arch::Baseline, Arch::V3, Arch::V4].map(draw), [draw(Arch::Baseline); 3]);
        }
    }

    proptest! {
        #[test]
        fn every_way_is_the_definition(
            counts in prop::collection::vec((0u32..6, 0u32..6), 1..12),
            reals in prop::collection::vec(-1.0..1.0f64, 0..11),
        ) {
            let shares: Vec<f64> = counts.iter().map(|&(a, b)| f64::from(a) / 5.0 - f64::from(b) / 5.0).collect();
            let (p, method) = sign_flip(&shares, 1.0, 0);
            prop_assert_eq!(method, Method::Convolution);
            prop_assert!((p - slow(&shares, 1.0)).abs() <= 1e-13);
            let (p, _) = sign_flip(&reals, 1.0, 0);
            prop_assert!((p - slow(&reals, 1.0)).abs() <= 1e-13);
            let mut turned: Vec<f64> = reals.iter().map(|x| -x).collect();
            turned.reverse();
            prop_assert_eq!(sign_flip(&turned, 1.0, 0).0, p);
        }
    }
}
