//! Exact tests of one task: two counts of successes against each other.

use hashbrown::HashMap;

use super::convolution::{heads, normalise};
use crate::error::{Error, Result};
use crate::estimators::tails::weights;

/// Successes and rollouts of one task in two runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Table {
    /// Successes of the first run.
    pub c_a: u64,
    /// Rollouts of the first run.
    pub n_a: u64,
    /// Successes of the second run.
    pub c_b: u64,
    /// Rollouts of the second run.
    pub n_b: u64,
}

/// Rollouts of one task in both runs together, at the most: the law's values have to fit into memory.
const MOST: i64 = 1_000_000_000_000;

/// Tables of columns of counts, one entry a task.
pub fn tables(c_a: &[i64], n_a: &[i64], c_b: &[i64], n_b: &[i64]) -> Result<Vec<Table>> {
    if [c_a, c_b, n_b].iter().any(|column| column.len() != n_a.len()) {
        return Err(Error::argument("n", "the four columns of counts differ in length"));
    }
    let rows = c_a.iter().zip(n_a).zip(c_b.iter().zip(n_b)).enumerate();
    rows.map(|(at, ((&c_a, &n_a), (&c_b, &n_b)))| {
        for (c, n) in [(c_a, n_a), (c_b, n_b)] {
            if !(0..=n).contains(&c) || n > MOST {
                return Err(Error::argument(
                    "n",
                    format!("c = {c}, n = {n} at position {at}: 0 <= c <= n <= {MOST} is needed"),
                ));
            }
        }
        let [c_a, n_a, c_b, n_b] = [c_a, n_a, c_b, n_b].map(i64::cast_unsigned);
        Ok(Table { c_a, n_a, c_b, n_b })
    })
    .collect()
}

/// [`fisher`] of each task; many tasks share a table.
#[must_use]
pub fn fisher_each(tables: &[Table]) -> Vec<f64> {
    let mut known: HashMap<Table, f64, foldhash::fast::FixedState> = HashMap::default();
    tables.iter().map(|&table| *known.entry(table).or_insert_with(|| fisher(table))).collect()
}

/// Fisher's exact test, two-sided: the probability, given all totals, of tables no likelier than this one.
#[must_use]
pub fn fisher(table: Table) -> f64 {
    let Table { c_a, n_a, c_b, n_b } = table;
    let (first, mut law) = weights(n_a + n_b, c_a + c_b, n_a);
    normalise(&mut law);
    let seen = usize::try_from(c_a.cast_signed() - first).ok().and_then(|at| law.get(at)).copied().unwrap_or(0.0);
    // Equally likely tables differ by rounding; the slack is that of R and scipy.
    let rare = |weight: &&f64| **weight <= seen * (1.0 + 1e-7);
    law.iter().filter(rare).sum::<f64>().clamp(f64::MIN_POSITIVE, 1.0)
}

/// `McNemar`'s exact test of tasks with one rollout a run: `gained` and `lost` are those that changed. With `mid`, the
/// mid-p variant, which is less conservative.
#[must_use]
pub fn mcnemar(gained: u64, lost: u64, mid: bool) -> f64 {
    let least = gained.min(lost).cast_signed();
    let law = heads(gained + lost);
    let (lower, _) = law.tails(least);
    let at = lower - law.tails(least - 1).0;
    // Of an even split both tails hold the middle.
    let p = (2.0 * lower).min(1.0);
    let p = match (mid, gained == lost) {
        (false, _) => p,
        (true, true) => 1.0 - at,
        (true, false) => p - at,
    };
    p.clamp(f64::MIN_POSITIVE, 1.0)
}

/// [`mcnemar`] of counts from outside.
pub fn mcnemar_checked(gained: u64, lost: u64, mid: bool) -> Result<f64> {
    match gained.checked_add(lost) {
        Some(all) if all <= MOST.cast_unsigned() => Ok(mcnemar(gained, lost, mid)),
        _ => Err(Error::argument("gained", format!("{gained} and {lost} tasks are more than {MOST}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: f64, b: f64) {
        assert!((a - b).abs() <= 1e-13 * b, "{a} {b}");
    }

    #[test]
    fn small_tables_have_their_textbook_values() {
        for (c_a, f_a, c_b, f_b, p) in [
            (3, 5, 7, 1, 17.0 / 143.0),
            (8, 0, 8, 0, 1.0),
            (2, 6, 6, 2, 283.0 / 2145.0),
            (0, 0, 3, 2, 1.0),
            // scipy.stats.fisher_exact
            (10, 2, 3, 15, 0.000_536_724_119_143_435_7),
        ] {
            close(fisher(Table { c_a, n_a: c_a + f_a, c_b, n_b: c_b + f_b }), p);
        }
    }

    #[test]
    fn discordant_pairs_decide() {
        for (gained, lost, p) in
            [(0, 0, 1.0), (5, 5, 1.0), (1, 9, 11.0 / 512.0), (6, 0, 1.0 / 32.0), (0, 1074, 2.0 * 2f64.powi(-1074))]
        {
            close(mcnemar(gained, lost, false), p.max(f64::MIN_POSITIVE));
        }
        close(mcnemar(1, 9, true), (11.0 - 5.0 * 1.0) / 512.0);
        close(mcnemar(2, 2, true), 1.0 - 6.0 / 16.0);
        close(mcnemar(0, 0, true), f64::MIN_POSITIVE);
    }
}
