//! The stratified test: given each task's successes in both runs together, how they fell between the runs.
//!
//! Under the hypothesis that no task's chance differs between the runs, the first run's share of them is
//! hypergeometric, and the law of the sum over tasks is a convolution. With one rollout a task it is `McNemar`'s test.

use std::collections::BTreeMap;

use super::convolution::{CUT, Law, Width, normalise};
use super::special::normal_cdf;
use super::tables::Table;
use crate::estimators::tails::weights;

/// Multiplications that the exact law may take: about a second.
const MOST_WORK: f64 = 2e9;

/// How a p-value was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// From the exact law.
    Exact,
    /// Cochran, Mantel and Haenszel's normal approximation, with continuity correction.
    Normal,
}

/// A kind of task, and how many there are.
type Kinds = BTreeMap<(u64, u64, u64), u64>;

/// Two-sided p of the hypothesis that every task succeeds as often in both runs: twice the smaller tail.
#[must_use]
pub fn stratified(tables: &[Table]) -> (f64, Method) {
    let mut kinds = Kinds::new();
    let mut observed = 0i64;
    for table in tables {
        let (n, c) = (table.n_a + table.n_b, table.c_a + table.c_b);
        // Tasks that all or no rollouts solve say nothing of a difference.
        if c > 0 && c < n && table.n_a > 0 && table.n_b > 0 {
            *kinds.entry((n, c, table.n_a)).or_default() += 1;
            observed += table.c_a.cast_signed();
        }
    }
    if kinds.is_empty() {
        return (1.0, Method::Exact);
    }
    if work(&kinds) > MOST_WORK {
        return (normal(&kinds, observed), Method::Normal);
    }
    let p = exact(&kinds, observed, CUT);
    // Rare enough for what was cut off to matter.
    let p = if p > 1e-45 || whole(&kinds) > MOST_WORK { p.max(1e-45) } else { exact(&kinds, observed, 0.0) };
    (p.clamp(f64::MIN_POSITIVE, 1.0), Method::Exact)
}

fn exact(kinds: &Kinds, observed: i64, cut: f64) -> f64 {
    let mut law = Law::constant(0);
    for (&(n, c, k), &count) in kinds {
        let (first, mut weights) = weights(n, c, k);
        normalise(&mut weights);
        law = law.plus(&Law { first, weights }.times(count, cut), 1, cut);
    }
    let (lower, upper) = law.tails(observed);
    2.0 * lower.min(upper)
}

fn moments(&(n, c, k): &(u64, u64, u64)) -> (f64, f64) {
    let [n, c, k] = [n, c, k].map(|x| x as f64);
    (k * c / n, k * (n - k) / n * (c * (n - c) / n) / (n - 1.0))
}

fn width(kind: &(u64, u64, u64)) -> Width {
    let &(n, c, k) = kind;
    Width::new((c.min(k) - (c + k).saturating_sub(n)) as f64, moments(kind).1)
}

/// Multiplications of the exact law: powers of each kind by squaring, and one kind after the other.
fn work(kinds: &Kinds) -> f64 {
    let mut all = Width::default();
    let mut work = 0.0;
    for (kind, &count) in kinds {
        let power = Width::default().plus(width(kind), count as f64);
        // Half, a quarter, … as many copies: the squares of their widths halve too.
        work += if count > 1 { 2.0 * power.kept() * power.kept() } else { 0.0 } + all.kept() * power.kept();
        all = all.plus(power, 1.0);
    }
    work
}

/// The same without cutting.
fn whole(kinds: &Kinds) -> f64 {
    let total: f64 = kinds.iter().map(|(kind, &count)| width(kind).kept() * count as f64).sum();
    2.0 * total * total
}

fn normal(kinds: &Kinds, observed: i64) -> f64 {
    let (mut mean, mut variance) = (0.0, 0.0);
    for (kind, &count) in kinds {
        let (m, v) = moments(kind);
        mean += m * count as f64;
        variance += v * count as f64;
    }
    let z = ((observed as f64 - mean).abs() - 0.5).max(0.0) / variance.sqrt();
    (2.0 * normal_cdf(-z)).clamp(f64::MIN_POSITIVE, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inference::tables::{fisher, mcnemar};

    fn tables(rows: &[(u64, u64, u64, u64)]) -> Vec<Table> {
        rows.iter().map(|&(c_a, n_a, c_b, n_b)| Table { c_a, n_a, c_b, n_b }).collect()
    }

    fn close(a: f64, b: f64, share: f64) {
        assert!((a - b).abs() <= share * b, "{a} {b}");
    }

    #[test]
    fn published_values() {
        let (p, method) = stratified(&tables(&[(3, 4, 1, 4), (1, 4, 1, 4), (4, 4, 2, 4)]));
        close(p, 275.0 / 1372.0, 1e-14);
        assert_eq!(method, Method::Exact);
        close(stratified(&tables(&[(1, 1, 0, 1), (1, 1, 0, 1), (1, 1, 1, 1), (0, 1, 0, 1)])).0, 0.5, 1e-14);
        assert_eq!(stratified(&tables(&[(2, 2, 2, 2), (0, 3, 0, 1), (0, 0, 1, 2)])), (1.0, Method::Exact));
    }

    #[test]
    fn one_rollout_a_task_is_mcnemars_test() {
        for (gained, lost) in [(1, 0), (7, 3), (120, 60), (900, 20), (1000, 0)] {
            let mut all = tables(&vec![(0, 1, 1, 1); gained]);
            all.extend(tables(&vec![(1, 1, 0, 1); lost]));
            close(stratified(&all).0, mcnemar(gained as u64, lost as u64, false), 1e-11);
        }
    }

    #[test]
    fn one_task_has_fishers_tail() {
        let table = Table { c_a: 2, n_a: 8, c_b: 6, n_b: 8 };
        // The law is symmetric here, so that both ways of counting two sides agree.
        close(stratified(&[table]).0, fisher(table), 1e-13);
    }

    #[test]
    fn the_approximation_is_near_the_exact_law() {
        let rows: Vec<_> = (0..4000u64).map(|i| (i % 5, 5, (i / 5 + i % 2) % 5 + u64::from(i % 29 == 0), 5)).collect();
        let mut kinds = Kinds::new();
        let mut observed = 0;
        for t in tables(&rows) {
            *kinds.entry((t.n_a + t.n_b, t.c_a + t.c_b, t.n_a)).or_default() += 1;
            observed += t.c_a.cast_signed();
        }
        close(normal(&kinds, observed), exact(&kinds, observed, CUT), 2e-3);
    }
}
