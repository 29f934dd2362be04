//! The nearest known spelling of a word that is not known: for messages that say what was probably meant.

/// The candidate with the fewest edits from `word` (the first of several), if it is near enough to be meant.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let letters: Vec<char> = word.chars().take(LONGEST).collect();
    let allowed = (letters.len() / 3).max(1);
    let mut best: Option<(usize, &str)> = None;
    for candidate in candidates {
        // A difference in length costs at least that many edits.
        let limit = best.map_or(allowed, |(edits, _)| (edits - 1).min(allowed));
        if candidate.chars().count().abs_diff(letters.len()) > limit {
            continue;
        }
        let edits = edits(&letters, candidate);
        if edits == 0 {
            return Some(candidate);
        }
        if edits <= limit {
            best = Some((edits, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// Words longer than this are compared by their start.
const LONGEST: usize = 64;

/// Insertions, deletions, substitutions and swaps of neighbours between two words. Case costs nothing: `Pass` most
/// often means `pass`.
fn edits(a: &[char], b: &str) -> usize {
    let same = |x: char, y: char| x == y || x.to_lowercase().eq(y.to_lowercase());
    let b: Vec<char> = b.chars().take(LONGEST).collect();
    let mut before = vec![0; b.len() + 1];
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, &x) in a.iter().enumerate() {
        let mut next = vec![i + 1; b.len() + 1];
        for (j, &y) in b.iter().enumerate() {
            let mut cost = (row[j] + usize::from(!same(x, y))).min(row[j + 1] + 1).min(next[j] + 1);
            if i > 0 && j > 0 && same(x, b[j - 1]) && same(a[i - 1], y) {
                cost = cost.min(before[j - 1] + 1);
            }
            next[j + 1] = cost;
        }
        before = std::mem::replace(&mut row, next);
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn finds_what_was_meant_and_nothing_far_off() {
        let known = ["pass", "fail", "indeterminate"];
        assert_eq!(nearest("Pass", known), Some("pass"));
        assert_eq!(nearest("fial", known), Some("fail"));
        assert_eq!(nearest("indetermined", known), Some("indeterminate"));
        assert_eq!(nearest("ok", known), None);
        assert_eq!(nearest("", known), None);
        assert_eq!(nearest("sum-1001", ["sum-1000", "sum-1001x"]), Some("sum-1000"));
        assert_eq!(nearest("a", []), None);
    }
}
