//! Differences by size, and the unit of which they are multiples.

/// Denominators tried, and the largest multiple of the unit that helps.
const MOST_PARTS: f64 = 1e6;

/// Differences of one size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Level {
    /// |d|, more than 0.
    pub size: f64,
    /// How many are positive.
    pub plus: u64,
    /// How many are negative.
    pub minus: u64,
}

impl Level {
    /// Whether one difference has this size.
    #[must_use]
    pub fn single(&self) -> bool {
        self.plus + self.minus == 1
    }
}

/// Ascending sizes of the differences, without those that are noise.
#[must_use]
pub fn levels(differences: &[f64], noise: f64) -> Vec<Level> {
    let mut signed: Vec<f64> = differences.iter().copied().filter(|d| d.abs() > noise).collect();
    signed.sort_unstable_by(|a, b| a.abs().total_cmp(&b.abs()));
    let mut levels: Vec<Level> = Vec::new();
    for d in signed {
        let one = u64::from(d > 0.0);
        match levels.last_mut() {
            Some(last) if last.size == d.abs() => (last.plus, last.minus) = (last.plus + one, last.minus + 1 - one),
            _ => levels.push(Level { size: d.abs(), plus: one, minus: 1 - one }),
        }
    }
    levels
}

/// The sizes in multiples of their largest common unit, each with its count and the excess of positive ones, where
/// all are within `noise` of such a multiple. Shares of few rollouts are; durations mostly are not.
#[must_use]
pub fn multiples(levels: &[Level], noise: f64) -> Option<Vec<(i64, u64, i64)>> {
    let largest = levels.last()?.size;
    let mut parts = 1.0;
    for level in levels {
        parts *= denominator(level.size * parts, noise * parts, MOST_PARTS / parts)?;
        // More multiples than that and the law is no smaller than the signs.
        if largest * parts > MOST_PARTS {
            return None;
        }
    }
    let mut units: Vec<(i64, u64, i64)> = Vec::new();
    for level in levels {
        #[expect(clippy::cast_possible_truncation, reason = "at most a million")]
        let size = (level.size * parts).round() as i64;
        if size == 0 {
            return None;
        }
        let excess = level.plus.cast_signed() - level.minus.cast_signed();
        match units.last_mut() {
            // Float noise can make two of one size.
            Some(last) if last.0 == size => (last.1, last.2) = (last.1 + level.plus + level.minus, last.2 + excess),
            _ => units.push((size, level.plus + level.minus, excess)),
        }
    }
    let unit = units.iter().fold(0, |a, &(size, ..)| gcd(a, size)).max(1);
    for (size, ..) in &mut units {
        *size /= unit;
    }
    Some(units)
}

/// The least q <= most with x q within `noise` · q of a whole number, by continued fractions.
fn denominator(x: f64, noise: f64, most: f64) -> Option<f64> {
    let (mut before, mut q) = (0.0, 1.0);
    let mut rest = x - x.floor();
    while q <= most {
        if (x * q - (x * q).round()).abs() <= noise * q + f64::EPSILON * x * q {
            return Some(q);
        }
        // A rest of nothing means that rounding stands between x and its own fraction.
        if rest <= 0.0 {
            return None;
        }
        let inverse = 1.0 / rest;
        (before, q) = (q, inverse.floor() * q + before);
        rest = inverse - inverse.floor();
    }
    None
}

fn gcd(a: i64, b: i64) -> i64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_multiples_of_their_unit() {
        let differences = [1.0 / 3.0, 2.0 / 7.0 - 1.0 / 3.0, 0.6 - 0.4, 0.4 - 0.2, 0.2 - 0.4, 0.0, 1e-17];
        let levels = levels(&differences, 1e-15);
        assert_eq!(multiples(&levels, 1e-15), Some(vec![(5, 1, -1), (21, 3, 1), (35, 1, 1)]));
        let seconds = super::levels(&[0.125, -3.5, 17.25], 1e-14);
        assert_eq!(multiples(&seconds, 1e-14), Some(vec![(1, 1, 1), (28, 1, -1), (138, 1, 1)]));
    }

    #[test]
    fn what_has_no_unit_has_none() {
        for odd in [std::f64::consts::PI, 0.1 + 1e-9, 1e7 + 0.5, f64::MAX, 5e-324, 1e-300] {
            let levels = levels(&[odd, 1.0], 0.0);
            assert_eq!(multiples(&levels, 1e-15), None, "{odd}");
        }
    }
}
