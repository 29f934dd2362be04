use super::*;

#[test]
fn ends() {
    assert_eq!(pass_at_k(5, 2, 4).unwrap(), 1.0);
    assert_eq!(pass_hat_k(5, 2, 3).unwrap(), 0.0);
}
