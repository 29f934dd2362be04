use super::*;

#[test]
fn best_of_all_is_the_maximum() {
    let levels = levels_from(&mut [0.1, 0.7, -0.0, 0.7]);
    assert_eq!(best_of_k(&levels, 4), 0.7);
    assert_eq!(worst_of_k(&levels, 4), 0.0);
}
