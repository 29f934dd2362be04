//! Many p-values at once: what each is worth beside the others.

/// Ascending positions of p-values.
fn ascending(p: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|&a, &b| p[a].total_cmp(&p[b]));
    order
}

/// Holm's adjustment, for few comparisons of which none may be wrong: max over j <= i of min(1, (m - j + 1) p(j)).
#[must_use]
pub fn holm(p: &[f64]) -> Vec<f64> {
    let mut adjusted = vec![0.0; p.len()];
    let mut largest: f64 = 0.0;
    for (rank, at) in ascending(p).into_iter().enumerate() {
        largest = largest.max(((p.len() - rank) as f64 * p[at]).min(1.0));
        adjusted[at] = largest;
    }
    adjusted
}

/// Benjamini and Hochberg's adjustment, for a screen of which a known share may be wrong: min over j >= i of
/// min(1, m p(j) / j).
#[must_use]
pub fn benjamini_hochberg(p: &[f64]) -> Vec<f64> {
    let mut adjusted = vec![0.0; p.len()];
    let mut least: f64 = 1.0;
    for (rank, at) in ascending(p).into_iter().enumerate().rev() {
        least = least.min(p.len() as f64 * p[at] / (rank + 1) as f64);
        adjusted[at] = least;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adjusted_values_are_the_published_ones_in_any_order() {
        let p = [0.5, 0.007_812_5, 0.031_25, 0.039_062_5];
        assert_eq!(holm(&p), [0.5, 0.031_25, 0.093_75, 0.093_75]);
        assert_eq!(benjamini_hochberg(&p), [0.5, 0.031_25, 5.0 / 96.0, 5.0 / 96.0]);
        for adjust in [holm, benjamini_hochberg] {
            assert_eq!(adjust(&[]), [0.0; 0]);
            assert_eq!(adjust(&[0.3]), [0.3]);
            assert_eq!(adjust(&[1.0, 0.9, 0.9]), [1.0; 3]);
        }
    }
}
