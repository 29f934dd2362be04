use super::*;

#[test]
fn placeholder_window() {
    let mut sum = Exact::default();
    sum.add(12.5);
    sum.add(-12.5);
    assert!(sum.is_zero());
    assert_eq!(sum, Exact::default());
}
