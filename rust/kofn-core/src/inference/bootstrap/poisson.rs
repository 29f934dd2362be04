//! Resamples of many distinct units: how often each was drawn, without drawing.
//!
//! T draws with replacement from T units give each unit a count; the counts are multinomial. Independent Poisson counts
//! that happen to add up to N are multinomial too, of N draws, whatever N is: so every unit takes a Poisson count of mean a
//! little below 1 (two bytes of randomness and five comparisons in a vector, no table, no scatter), resamples with N > T
//! are made anew, which looks at N alone and so changes no law, and the T - N draws that are missing, some 1.5 sqrt(T), are
//! drawn one by one. The law of the counts is that of T draws, exact to the 52 bits of a random number.

use std::ops::Range;

use crate::arch::{self, Kernel};
use crate::random::{self, LANES, blocks};

/// Units whose counts are made at once: two of each random word.
pub const CHUNK: usize = 128;
const EACH_CHUNK: u32 = 128;
const _: () = assert!(CHUNK == 8 * LANES && CHUNK == EACH_CHUNK as usize);
/// Codes that a vector holds.
const WIDE: usize = 2 * LANES;
/// Resamples added up at once: their values are loaded once.
const TOGETHER: usize = 2;
/// Columns added up at once: how often a unit was drawn is loaded once for all of them.
const COLUMNS: usize = 2;
/// Counts up to here are told by comparisons.
const STEPS: usize = 5;
/// No Poisson count of mean 1 exceeds this within the numbers that are drawn.
const MOST: usize = 24;
/// How far the sum of the counts stays below the number of draws, in standard deviations: it weighs resamples that are
/// made twice against draws that are made one by one.
const SLACK: f64 = 1.5;
/// Chunks after which the lanes that add up counts could overflow.
const FLUSH: usize = 1024;

/// Which number of which kind is drawn: the last word of the counter.
const COUNTS: u32 = 0;
const DOUBTFUL: u32 = 1;
const MISSING: u32 = 2;

/// Poisson counts as sixteen bits tell them: `i16::MIN` .. `doubtful` leave the count to [`Law::doubtful`], which makes up
/// for all that sixteen bits cannot tell; above a step the count is one more.
#[derive(Clone, Debug)]
struct Law {
    first_sure: i16,
    steps: [i16; STEPS],
    /// Shares of the counts among the doubtful codes, added up.
    rest: Vec<f64>,
}

impl Law {
    fn new(mean: f64) -> Self {
        let codes = f64::from(1u32 << 16);
        let mut share = libm::exp(-mean) * codes;
        let (mut sure, mut rest) = ([0i32; STEPS + 1], Vec::new());
        for count in 0..MOST {
            let whole = if count <= STEPS { share.floor() } else { 0.0 };
            #[expect(clippy::cast_possible_truncation, reason = "at most 2^16")]
            if let Some(sure) = sure.get_mut(count) {
                *sure = whole as i32;
            }
            rest.push(share - whole + rest.last().copied().unwrap_or(0.0));
            share *= mean / (count as f64 + 1.0);
        }
        let doubtful = (1 << 16) - sure.iter().sum::<i32>();
        let mut bound = i32::from(i16::MIN) + doubtful;
        let code = |bound: i32| i16::try_from(bound).unwrap_or(i16::MAX);
        let first_sure = code(bound);
        let steps = std::array::from_fn(|count| {
            bound += sure[count];
            code(bound - 1)
        });
        Self { first_sure, steps, rest }
    }

    /// A count for a doubtful code.
    #[inline(never)]
    fn doubtful(&self, seed: u64, unit: u32, place: [u32; 2]) -> i16 {
        let [[a], [b], ..] = blocks(seed, [unit], [place[0], place[1], DOUBTFUL]);
        let at = random::unit(a, b) * self.rest.last().copied().unwrap_or(0.0);
        let count = self.rest.iter().position(|&bound| at < bound).unwrap_or(0);
        i16::try_from(count).unwrap_or(0)
    }
}

/// Numbers of a chunk of units, which no vector straddles a line of the cache to read.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Chunk([f64; CHUNK]);

/// Columns of equally many units, and how to resample them.
#[derive(Clone, Debug)]
pub struct Columns {
    /// A chunk of each column after the other, then the next chunk of each; the last chunks end in zeros.
    chunks: Vec<Chunk>,
    width: usize,
    units: u32,
    law: Law,
    seed: u64,
}

impl Columns {
    /// Columns of equally many values, at least two and fewer than 2^32.
    #[must_use]
    pub fn new(columns: &[Vec<f64>], seed: u64) -> Self {
        let mut chunks = Vec::new();
        let length = columns.first().map_or(0, Vec::len);
        let units = u32::try_from(length).unwrap_or(u32::MAX).max(1);
        for start in (0..length).step_by(CHUNK) {
            for column in columns {
                let mut chunk = [0.0; CHUNK];
                for (to, from) in chunk.iter_mut().zip(&column[start..]) {
                    *to = *from;
                }
                chunks.push(Chunk(chunk));
            }
        }
        let total = f64::from(units);
        let mean = (total - SLACK * total.sqrt()).max(total / 2.0) / total;
        Self { chunks, width: columns.len(), units, law: Law::new(mean), seed }
    }
}

/// Draws replicates; gives the sums of each column, one column after the other.
pub struct Replicates<'a> {
    /// What is drawn from.
    pub of: &'a Columns,
    /// Which replicates.
    pub numbers: Range<u32>,
}

impl Kernel for Replicates<'_> {
    type Output = Vec<f64>;

    #[inline(always)]
    fn run(self) -> Vec<f64> {
        let (columns, size) = (self.of.width, self.numbers.len());
        let mut sums = vec![0.0; columns * size];
        let mut counts = [const { Vec::new() }; TOGETHER];
        counts.fill(vec![[0; CHUNK]; self.of.chunks.len() / columns.max(1)]);
        let mut lanes = vec![[[0.0; LANES]; TOGETHER]; columns];
        let mut ready = 0;
        for (at, number) in self.numbers.enumerate() {
            let counts_of_one = &mut counts[ready];
            let mut attempt = 0;
            let missing = loop {
                let place = [number, attempt];
                if let Some(missing) = self.of.units.checked_sub(count(self.of, place, counts_of_one)) {
                    break missing;
                }
                attempt += 1;
            };
            draw(self.of, [number, attempt], missing, counts_of_one);
            ready += 1;
            if ready == TOGETHER || at + 1 == size {
                weigh(self.of, &counts, &mut lanes);
                for (sums, lanes) in sums.chunks_exact_mut(size).zip(&lanes) {
                    for (sum, lanes) in sums[at + 1 - ready..=at].iter_mut().zip(lanes) {
                        *sum = added(lanes);
                    }
                }
                ready = 0;
            }
        }
        sums
    }
}

/// In one order, whatever the width of vectors.
#[inline(always)]
fn added(lanes: &[f64; LANES]) -> f64 {
    let mut halves = [0.0; LANES / 4];
    for four in lanes.chunks_exact(LANES / 4) {
        for (half, lane) in halves.iter_mut().zip(four) {
            *half += lane;
        }
    }
    (halves[0] + halves[1]) + (halves[2] + halves[3])
}

/// Give every unit its count; their sum.
#[inline(always)]
fn count(of: &Columns, place: [u32; 2], counts: &mut [[i16; CHUNK]]) -> u32 {
    let Columns { units, law, seed, .. } = of;
    let (mut all, mut counted) = (0, [0i16; CHUNK]);
    let (mut first, mut until_flush) = (0u32, FLUSH);
    for counts in counts {
        let words = blocks::<LANES>(*seed, random::from(first / 8), [place[0], place[1], COUNTS]);
        let mut pairs = [0u64; 2 * LANES];
        for i in 0..LANES {
            pairs[i] = u64::from(words[1][i]) << 32 | u64::from(words[0][i]);
            pairs[LANES + i] = u64::from(words[3][i]) << 32 | u64::from(words[2][i]);
        }
        let codes = arch::quarters(pairs);
        for i in 0..CHUNK {
            let above = |step: usize| i16::from(codes[i] > law.steps[step]);
            counts[i] = above(0) + above(1) + above(2) + above(3) + above(4);
        }
        if are_doubtful(law, &codes) {
            let parts = counts.chunks_exact_mut(WIDE).zip(codes.chunks_exact(WIDE));
            for (start, (counts, codes)) in
                (first..).step_by(WIDE).zip(parts).filter(|(_, (_, codes))| are_doubtful(law, codes))
            {
                for (at, (count, &code)) in (start..).zip(counts.iter_mut().zip(codes)) {
                    if code < law.first_sure {
                        *count = law.doubtful(*seed, at, place);
                    }
                }
            }
        }
        let left = (units - first) as usize;
        if left < CHUNK {
            counts[left..].fill(0);
        }
        first = first.saturating_add(EACH_CHUNK);
        for i in 0..CHUNK {
            counted[i] += counts[i];
        }
        until_flush -= 1;
        if until_flush == 0 {
            (all, until_flush) = (all + flushed(&mut counted), FLUSH);
        }
    }
    all + flushed(&mut counted)
}

#[inline(always)]
fn are_doubtful(law: &Law, codes: &[i16]) -> bool {
    codes.iter().fold(i16::MAX, |least, &code| least.min(code)) < law.first_sure
}

/// Add up the columns, each value as often as it was drawn.
#[inline(always)]
fn weigh(of: &Columns, counts: &[Vec<[i16; CHUNK]>; TOGETHER], lanes: &mut [[[f64; LANES]; TOGETHER]]) {
    lanes.fill([[0.0; LANES]; TOGETHER]);
    let mut times = [Chunk([0.0; CHUNK]); TOGETHER];
    for (at, values) in of.chunks.chunks_exact(lanes.len().max(1)).enumerate() {
        for (Chunk(times), counts) in times.iter_mut().zip(counts) {
            let counts = &counts[at];
            for i in 0..CHUNK {
                times[i] = f64::from(counts[i]);
            }
        }
        let (lanes, rest) = lanes.as_chunks_mut();
        let (values, others) = values.as_chunks();
        for (lanes, values) in lanes.iter_mut().zip(values) {
            add_up::<COLUMNS>(lanes, values, &times);
        }
        for (lanes, values) in rest.iter_mut().zip(others) {
            add_up(std::array::from_mut(lanes), std::array::from_ref(values), &times);
        }
    }
}

/// Add up a chunk of a few columns: how often each value was drawn is loaded once for all of them.
#[inline(always)]
fn add_up<const N: usize>(lanes: &mut [[[f64; LANES]; TOGETHER]; N], values: &[Chunk; N], times: &[Chunk; TOGETHER]) {
    let mut sums = *lanes;
    for part in (0..CHUNK).step_by(LANES) {
        for (sums, Chunk(values)) in sums.iter_mut().zip(values) {
            for (sums, Chunk(times)) in sums.iter_mut().zip(times) {
                for i in 0..LANES {
                    sums[i] += times[part + i] * values[part + i];
                }
            }
        }
    }
    *lanes = sums;
}

#[inline(always)]
fn flushed(counted: &mut [i16; CHUNK]) -> u32 {
    let sum = counted.iter().map(|&count| u32::from(count.cast_unsigned())).sum();
    counted.fill(0);
    sum
}

/// Draw `missing` units one by one: Lemire 2019, without bias.
#[inline(always)]
fn draw(of: &Columns, place: [u32; 2], missing: u32, counts: &mut [[i16; CHUNK]]) {
    let units = u64::from(of.units);
    let unfair = (1u64 << 32) % units;
    let (mut left, mut first) = (missing, 0);
    let counts = counts.as_flattened_mut();
    while left > 0 {
        let words = blocks::<LANES>(of.seed, random::from(first), [place[0], place[1], MISSING]);
        first += EACH_CHUNK / 8;
        for &word in words.as_flattened() {
            let product = u64::from(word) * units;
            if product & 0xffff_ffff < unfair {
                continue;
            }
            let Some(rest) = left.checked_sub(1) else { break };
            left = rest;
            if let Some(count) = usize::try_from(product >> 32).ok().and_then(|unit| counts.get_mut(unit)) {
                // No unit is drawn as often as that.
                *count = count.wrapping_add(1);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arch::{Level, run_at};
    use crate::inference::bootstrap::tests::{chi_square_is_plausible, indicators, ln_choose};

    /// The counts of each unit in each replicate.
    fn counts(units: usize, numbers: Range<u32>) -> Vec<Vec<f64>> {
        let size = numbers.len();
        let of = Columns::new(&indicators(units), 3);
        let sums = Replicates { of: &of, numbers }.run();
        (0..size).map(|at| sums.iter().skip(at).step_by(size).copied().collect()).collect()
    }

    #[test]
    fn counts_are_those_of_as_many_draws() {
        for units in [2, 3, 5, 127, 128, 129, 1000] {
            for counts in counts(units, 0..50) {
                assert_eq!(counts.iter().sum::<f64>(), units as f64);
                assert!(counts.iter().all(|count| *count >= 0.0 && count.fract() == 0.0));
            }
        }
    }

    #[test]
    fn counts_of_few_units_are_multinomial() {
        // All 126 ways in which five draws can fall on five units: 5! / (5^5 Π count!).
        let mut seen: std::collections::BTreeMap<Vec<u32>, f64> = std::collections::BTreeMap::new();
        for counts in counts(5, 0..60_000) {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 5")]
            let key = counts.into_iter().map(|count| count as u32).collect();
            *seen.entry(key).or_default() += 1.0;
        }
        let factorial = |n: u32| f64::from((1..=n).product::<u32>());
        let expected =
            |counts: &Vec<u32>| 60_000.0 * 120.0 / 3125.0 / counts.iter().map(|&n| factorial(n)).product::<f64>();
        assert_eq!(seen.len(), 126);
        chi_square_is_plausible(seen.iter().map(|(counts, &times)| (times, expected(counts))));
    }

    #[test]
    fn counts_of_many_units_are_binomial_and_correlated_as_they_must() {
        let (units, replicates) = (150, 4000);
        let counts = counts(units, 0..replicates);
        let p = 1.0 / units as f64;
        let mut times = [0.0; 7];
        for count in counts.iter().flatten() {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count")]
            let count = (*count as usize).min(6);
            times[count] += 1.0;
        }
        let all = units as f64 * f64::from(replicates);
        let share = |k: usize| {
            let k = k as f64;
            (ln_choose(units as f64, k) + k * p.ln() + (units as f64 - k) * (-p).ln_1p()).exp()
        };
        let mut expected: Vec<f64> = (0..6).map(share).collect();
        expected.push(1.0 - expected.iter().sum::<f64>());
        chi_square_is_plausible(times.into_iter().zip(expected.into_iter().map(|share| share * all)));
        // Var = T p q and Cov = -T p p, for units of one chunk and of two.
        for (a, b) in [(0, 0), (3, 127), (127, 128), (5, 149), (149, 149)] {
            let product = |row: &Vec<f64>| (row[a] - 1.0) * (row[b] - 1.0);
            let found = counts.iter().map(product).sum::<f64>() / f64::from(replicates);
            let right = if a == b { 1.0 - p } else { -p };
            assert!((found - right).abs() < 5.0 * 1.5 / f64::from(replicates).sqrt(), "{a} {b}: {found}");
        }
    }

    #[test]
    fn every_level_draws_the_same() {
        let values: Vec<f64> = (0..1000).map(|i| f64::from(i).sqrt()).collect();
        let of = Columns::new(&[values.clone(), values.iter().map(|x| 1.0 / (x + 0.1)).collect()], 8);
        let draw = |level| run_at(level, Replicates { of: &of, numbers: 7..30 });
        assert_eq!([Level::V3, Level::V4].map(draw), [draw(Level::Baseline), draw(Level::Baseline)]);
        // A replicate is the same alone, and a column beside others.
        let alone = Columns::new(&[values], 8);
        let parts = [7..8, 8..30].map(|numbers| Replicates { of: &alone, numbers }.run()).concat();
        assert_eq!(parts, draw(Level::Baseline)[..23]);
    }

    #[test]
    fn doubtful_codes_make_up_for_what_sixteen_bits_cannot_tell() {
        for mean in [0.5, 0.9, 1.0] {
            let law = Law::new(mean);
            let bounds: Vec<i32> = [law.first_sure - 1].into_iter().chain(law.steps).map(i32::from).collect();
            let mut share = libm::exp(-mean) * 65536.0;
            let mut before = 0.0;
            for count in 0..MOST {
                let end = bounds.get(count + 1).copied().unwrap_or(i32::from(i16::MAX));
                let sure = if count < bounds.len() { f64::from(end - bounds[count]) } else { 0.0 };
                assert!((sure + law.rest[count] - before - share).abs() < 1e-9, "{mean} {count}");
                before = law.rest[count];
                share *= mean / (count as f64 + 1.0);
            }
            assert!((before - f64::from(i32::from(law.first_sure) - i32::from(i16::MIN))).abs() < 1e-9);
        }
    }
}
