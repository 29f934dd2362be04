use super::*;
use crate::arch::{Level, run_at};
use crate::error::Result;
use proptest::prelude::*;

#[derive(Debug, PartialEq)]
struct Owned {
    passed: Vec<u8>,
    reward: Vec<u64>,
    failed: Vec<u32>,
    indeterminate: Vec<u8>,
}

fn run(rows: usize, work: impl FnOnce(&mut Columns<'_>) -> Result<()>) -> Result<Owned> {
    let (mut passed, mut reward, mut failed, mut indeterminate) =
        (vec![9; rows], vec![9.0; rows], vec![9; rows], vec![9; rows]);
    let mut columns = Columns {
        passed: &mut passed,
        reward: &mut reward,
        failed_required: &mut failed,
        indeterminate: &mut indeterminate,
    };
    work(&mut columns)?;
    Ok(Owned { passed, reward: reward.into_iter().map(f64::to_bits).collect(), failed, indeterminate })
}

fn csr(passed: &[u8], required: &[u8], offsets: &[i64], mode: OnUngradable) -> Result<Owned> {
    run(offsets.len().saturating_sub(1), |out| grade_csr(passed, required, offsets, mode, out))
}

fn expected(rollouts: &[Vec<(bool, bool)>]) -> Owned {
    let grades: Vec<_> = rollouts.iter().map(|checks| grade(checks.iter().copied())).collect();
    Owned {
        passed: grades.iter().map(|g| u8::from(g.is_some_and(|g| g.passed))).collect(),
        reward: grades.iter().map(|g| g.map_or(f64::NAN, |g| g.reward).to_bits()).collect(),
        failed: grades.iter().map(|g| g.map_or(0, |g| g.failed_required)).collect(),
        indeterminate: grades.iter().map(|g| u8::from(g.is_none())).collect(),
    }
}

fn flat(rollouts: &[Vec<(bool, bool)>]) -> (Vec<u8>, Vec<u8>, Vec<i64>) {
    let mut offsets = vec![0];
    let (mut passed, mut required) = (Vec::new(), Vec::new());
    for checks in rollouts {
        required.extend(checks.iter().map(|(r, _)| u8::from(*r)));
        passed.extend(checks.iter().map(|(_, p)| u8::from(*p)));
        offsets.push(i64::try_from(passed.len()).expect("a small test"));
    }
    (passed, required, offsets)
}

#[test]
fn a_grade_is_required_checks_and_a_share() {
    let three_of_five = [(true, true), (true, false), (false, true), (false, true), (false, false)];
    let grade = grade(three_of_five.into_iter());
    assert_eq!(grade, Some(Grade { passed: false, reward: 0.6, failed_required: 1 }));
}

#[test]
fn nothing_required_is_no_grade() {
    assert_eq!(grade(std::iter::empty()), None);
    assert_eq!(grade([(false, true)].into_iter()), None);
}

#[test]
fn an_ungradable_rollout_is_named_or_marked() {
    let (passed, required) = ([1, 1, 1], [1, 0, 0]);
    let error = csr(&passed, &required, &[0, 1, 1, 3], OnUngradable::Raise).expect_err("rollout 1 is empty");
    assert!(matches!(error, Error::Grading { index: Some(1), .. }), "{error}");
    let marked = csr(&passed, &required, &[0, 1, 1, 3], OnUngradable::Indeterminate).expect("marked");
    assert_eq!(marked.indeterminate, [0, 1, 1]);
    assert_eq!(marked.passed, [1, 0, 0]);
    assert!(f64::from_bits(marked.reward[2]).is_nan());
}

#[test]
fn offsets_are_checked() {
    let flags = [1; 4];
    for (offsets, word) in [
        (&[][..], "empty"),
        (&[1, 4], "first offset"),
        (&[0, 3], "last offset"),
        (&[0, 5], "last offset"),
        (&[0, 3, 2, 4], "offset 2 falls"),
        (&[0, 9, 4], "offset 1 falls"),
        (&[0, -1, 4], "offset 1 falls"),
        (&[0, i64::MAX, 4], "offset 1 falls"),
        (&[i64::MIN, 4], "first offset"),
    ] {
        let error = csr(&flags, &flags, offsets, OnUngradable::Raise).expect_err("bad offsets");
        assert!(error.to_string().contains(word), "{offsets:?}: {error}");
    }
}

#[test]
fn lengths_are_checked() {
    assert!(csr(&[1, 1], &[1], &[0, 2], OnUngradable::Raise).is_err());
    assert!(run(3, |out| grade_csr(&[1], &[1], &[0u32, 1], OnUngradable::Raise, out)).is_err());
    assert!(run(2, |out| grade_rows(&[1, 1, 1], &[1], 1, OnUngradable::Raise, out)).is_err());
    assert!(run(2, |out| grade_rows(&[1, 1, 1, 1], &[1; 3], 2, OnUngradable::Raise, out)).is_err());
    assert!(run(2, |out| grade_rows(&[1, 1], &[1], usize::MAX, OnUngradable::Raise, out)).is_err());
}

#[test]
fn bytes_other_than_0_and_1_are_refused_wherever_they_stand() {
    for at in 0..20 {
        for byte in [2, 128, 255] {
            let mut flags = [1u8; 20];
            flags[at] = byte;
            let error = csr(&flags, &[1; 20], &[0, 3, 20], OnUngradable::Raise).expect_err("no flag");
            assert!(error.to_string().contains(&format!("passed: entry {at} is {byte}")), "{error}");
            let error = csr(&[0; 20], &flags, &[0, 3, 20], OnUngradable::Indeterminate).expect_err("no flag");
            assert!(error.to_string().contains("required: entry"), "{error}");
        }
    }
}

#[test]
fn scores_of_files_may_be_rounded() {
    assert!(agrees(0.67, 2.0 / 3.0) && agrees(0.13, 0.125) && agrees(0.12, 0.125));
    assert!(!agrees(0.66, 2.0 / 3.0) && !agrees(f64::NAN, 0.5) && !agrees(f64::INFINITY, 1.0));
}

#[test]
fn positions_of_failed_required_checks() {
    assert_eq!(failed_required(&[0, 1, 0, 0], &[1, 1, 0, 1]), [0, 3]);
}

#[test]
fn shares_are_quotients() {
    for recorded in 1..40u32 {
        for passed in 0..=recorded {
            let quotient = f64::from(passed) / f64::from(recorded);
            assert_eq!(share(passed.into(), recorded.into()).to_bits(), quotient.to_bits(), "{passed} / {recorded}");
        }
    }
}

/// Lengths about the ends of words, windows and blocks, each with all its flags set and all but one.
#[test]
fn a_rollout_is_counted_apart_from_its_neighbours_wherever_it_stands() {
    for length in (0..=66).chain(245..=260).chain(494..=500) {
        for (before, after) in [(0, 0), (1, 0), (0, 1), (17, 15), (5, 16), (40, 40)] {
            for spared in 0..=length {
                let mut middle = vec![(true, true); length];
                if let Some(flags) = middle.get_mut(spared) {
                    *flags = if spared % 2 == 0 { (true, false) } else { (false, true) };
                }
                let rollouts = [vec![(true, false); before], middle, vec![(true, true); after]];
                let (passed, required, offsets) = flat(&rollouts);
                let batch = csr(&passed, &required, &offsets, OnUngradable::Indeterminate).expect("valid");
                assert_eq!(batch, expected(&rollouts), "{before}, {length} without {spared}, {after}");
            }
        }
    }
}

#[test]
fn an_ungradable_rollout_is_named_though_a_later_one_holds_other_bytes() {
    let mut required = [1; 40];
    required[4] = 0;
    let mut passed = [1; 40];
    passed[5] = 7;
    let offsets = [0, 4, 5, 40];
    let error = csr(&passed, &required, &offsets, OnUngradable::Raise).expect_err("rollout 1 has no required check");
    assert!(matches!(error, Error::Grading { index: Some(1), .. }), "{error}");
    passed[3] = 7;
    let error = csr(&passed, &required, &offsets, OnUngradable::Raise).expect_err("no flag before it");
    assert!(error.to_string().contains("entry 3 is 7"), "{error}");
}

/// More rollouts than one thread takes at a time.
fn many() -> Vec<Vec<(bool, bool)>> {
    let mut state = 1u64;
    let mut random = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let long = |random: &mut dyn FnMut(u64) -> u64| if random(5000) == 0 { 50 + random(20) } else { 1 + random(7) };
    (0..600_000)
        .map(|_| (0..long(&mut random)).map(|check| (check == 0 || random(2) == 0, random(3) > 0)).collect())
        .collect()
}

#[test]
fn parts_are_graded_alike_and_tell_what_comes_first() {
    let rollouts = many();
    let (mut passed, mut required, mut offsets) = flat(&rollouts);
    assert_eq!(csr(&passed, &required, &offsets, OnUngradable::Raise).expect("valid"), expected(&rollouts));
    let first = |row: usize, offsets: &[i64]| usize::try_from(offsets[row]).expect("an offset");
    // In the last part an offset that falls, in the second a rollout without a required check, in the first other bytes.
    offsets[590_000] = 0;
    let told = |passed: &[u8], required: &[u8], offsets: &[i64]| {
        csr(passed, required, offsets, OnUngradable::Raise).expect_err("wrong").to_string()
    };
    assert!(told(&passed, &required, &offsets).contains("offset 590000 falls"));
    passed[first(300_000, &offsets)] = 9;
    assert!(told(&passed, &required, &offsets).contains("offset 590000 falls"));
    required[first(400_000, &offsets)..first(400_001, &offsets)].fill(0);
    assert!(told(&passed, &required, &offsets).contains("is 9"));
    passed[first(300_000, &offsets)] = 1;
    assert!(told(&passed, &required, &offsets).contains("400000"));
    passed[first(500_000, &offsets)] = 9;
    assert!(told(&passed, &required, &offsets).contains("400000"));
}

#[test]
fn every_level_grades_alike_and_stops_where_a_block_is_unusual() {
    let mut rollouts: Vec<_> = many().into_iter().filter(|checks| checks.len() <= 56).take(1000).collect();
    let (stop, next) = (block::ROWS, 2 * block::ROWS);
    rollouts[stop + 21] = vec![(true, true); 57];
    let (passed, required, offsets) = flat(&rollouts);
    for level in [Level::Baseline, Level::V3, Level::V4] {
        for (first, stop) in [(0, stop), (next, 1000)] {
            let graded = run(1000, |out| {
                let required = batch::Required::Each(&required);
                let segments = offsets.as_slice();
                let usual = block::Usual { passed: &passed, required, segments, raise: true, out, offset: 0, first };
                assert_eq!(run_at(level, usual), stop);
                Ok(())
            })
            .expect("no error");
            let all = expected(&rollouts);
            assert_eq!(graded.passed[first..stop], all.passed[first..stop]);
            assert_eq!(graded.reward[first..stop], all.reward[first..stop]);
            assert_eq!(graded.failed[first..stop], all.failed[first..stop]);
            assert_eq!(graded.indeterminate[first..stop], all.indeterminate[first..stop]);
        }
    }
}

fn rollouts() -> impl Strategy<Value = Vec<Vec<(bool, bool)>>> {
    let lengths = prop_oneof![4 => 0..10usize, 3 => 7..19usize, 1 => 19..70usize, 1 => 240..260usize];
    let checks = lengths.prop_flat_map(|length| prop::collection::vec(any::<(bool, bool)>(), length));
    prop::collection::vec(checks, 0..30)
}

proptest! {
    #[test]
    fn csr_is_the_single_form(rollouts in rollouts()) {
        let (passed, required, offsets) = flat(&rollouts);
        let batch = csr(&passed, &required, &offsets, OnUngradable::Indeterminate).expect("valid");
        prop_assert_eq!(batch, expected(&rollouts));
    }

    #[test]
    fn rows_are_the_single_form(columns in 0usize..66, rows in 0usize..20, seed in any::<u64>()) {
        let bit = |i: usize| (seed.rotate_left(u32::try_from(i % 64).expect("small")) ^ i as u64).count_ones().is_multiple_of(2);
        let rollouts: Vec<Vec<_>> =
            (0..rows).map(|r| (0..columns).map(|c| (bit(r + 3 * c), bit(7 * r + c))).collect()).collect();
        let (passed, required, _) = flat(&rollouts);
        let full = run(rows, |out| grade_rows(&passed, &required, columns, OnUngradable::Indeterminate, out));
        prop_assert_eq!(full.expect("valid"), expected(&rollouts));
        // One row of required flags for all.
        let shared: Vec<_> = (0..columns).map(|c| u8::from(bit(c))).collect();
        let with_shared: Vec<Vec<_>> = rollouts
            .iter()
            .map(|checks| checks.iter().zip(&shared).map(|((_, p), r)| (*r == 1, *p)).collect())
            .collect();
        let one = run(rows, |out| grade_rows(&passed, &shared, columns, OnUngradable::Indeterminate, out));
        prop_assert_eq!(one.expect("valid"), expected(&with_shared));
    }

    #[test]
    fn hostile_offsets_never_panic(offsets in prop::collection::vec(any::<i64>(), 0..6), checks in 0usize..30) {
        let flags = vec![1; checks];
        let _ = csr(&flags, &flags, &offsets, OnUngradable::Indeterminate);
    }
}
