//! A tally ends in the same bytes for any order, split, merge tree and round trip.

use kofn_core::batch::{Batch, NO_INDEX, Status, Value, Verdict};
use kofn_core::error::Error;
use kofn_core::names::{Dictionary, IdKind, Names};
use kofn_core::plan::Plan;
use kofn_core::policies::Policy;
use kofn_core::tally::{Arrays, Feed, Setup, Tally};
use proptest::prelude::*;

#[derive(Clone, Debug)]
struct Rollout {
    task: u8,
    status: Status,
    score: f64,
    verdict: Verdict,
    duration: f64,
    tokens: i64,
    reading: f64,
}

fn rollout() -> impl Strategy<Value = Rollout> {
    let floats = prop::sample::select(vec![
        f64::NAN,
        0.0,
        -0.0,
        1.0,
        0.1,
        0.2,
        0.3,
        1e16,
        -1e16,
        1e300,
        -1e300,
        5e-324,
        1e-300,
        f64::MAX,
        3.5,
    ]);
    let status = prop::sample::select(Status::ALL.to_vec());
    let verdict = prop::sample::select(vec![Verdict::Absent, Verdict::Pass, Verdict::Fail, Verdict::Indeterminate]);
    (0u8..4, status, floats.clone(), verdict, floats.clone(), -1i64..1000, floats).prop_map(
        |(task, status, score, verdict, duration, tokens, reading)| Rollout {
            task,
            status,
            score,
            verdict,
            duration: if duration >= 0.0 { duration } else { f64::NAN },
            tokens,
            reading,
        },
    )
}

fn setup() -> Setup {
    let labels =
        ["pass@1", "mean_score", "best_of_2", "mean_duration", "mean_total_tokens", "metric_variance:m", "agreement:m"];
    let labels: Vec<String> = labels.map(str::to_owned).to_vec();
    let mut setup = Setup::new(Plan::new(Some(&labels), &[], Some("suite".into())).expect("labels are right"));
    setup.policy = Policy::ScoreThreshold(0.5);
    setup.chosen = true;
    setup
}

fn tally_of(rollouts: &[Rollout]) -> Tally {
    let mut tally = Tally::new(setup(), None);
    add(&mut tally, rollouts);
    tally
}

fn add(tally: &mut Tally, rollouts: &[Rollout]) {
    let mut dictionary = Dictionary::default();
    let [judge, empty, metric, suite] = ["judge", "", "m", "suite"].map(|text| dictionary.texts.intern(text));
    let mut batch = Batch::default();
    for offsets in [&mut batch.verifications.offsets, &mut batch.readings.offsets, &mut batch.tags.offsets] {
        offsets.push(0);
    }
    for rollout in rollouts {
        let name = format!("task {}", rollout.task);
        batch.task.push(dictionary.tasks.intern(&name, IdKind::Text).expect("all are text"));
        batch.index.push(NO_INDEX);
        batch.status.push(rollout.status);
        batch.verifications.name.push(judge);
        batch.verifications.score.push(rollout.score);
        batch.verifications.verdict.push(rollout.verdict);
        batch.verifications.offsets.push(u32::try_from(batch.verifications.name.len()).expect("small"));
        if !rollout.reading.is_nan() {
            batch.readings.subject.push(empty);
            batch.readings.metric.push(metric);
            batch.readings.value.push(Value::Number(rollout.reading));
        }
        batch.readings.offsets.push(u32::try_from(batch.readings.metric.len()).expect("small"));
        batch.tags.name.push(suite);
        batch.tags.value.push(dictionary.texts.intern(if rollout.task < 2 { "low" } else { "high" }));
        batch.tags.offsets.push(u32::try_from(batch.tags.name.len()).expect("small"));
        batch.duration.push(rollout.duration);
        batch.tokens.push(rollout.tokens);
    }
    tally.add_batch(&mut Feed::default(), &batch, &dictionary, None).expect("rollouts are sound");
}

/// A number below `len` from random bits.
fn pick(bits: u64, len: usize) -> usize {
    usize::try_from(bits % len as u64).expect("below len")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_order_split_and_merge_tree_give_the_same_bytes(
        rollouts in prop::collection::vec(rollout(), 0..40),
        cuts in prop::collection::vec(0usize..40, 0..5),
        order in any::<u64>(),
    ) {
        let whole = tally_of(&rollouts).encode();

        let mut shuffled = rollouts.clone();
        let mut state = order | 1;
        for i in (1..shuffled.len()).rev() {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            shuffled.swap(i, pick(state >> 33, i + 1));
        }
        prop_assert_eq!(&tally_of(&shuffled).encode(), &whole);

        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(shuffled.len())).collect();
        cuts.extend([0, shuffled.len()]);
        cuts.sort_unstable();
        let mut shards: Vec<Tally> = cuts.windows(2).map(|cut| tally_of(&shuffled[cut[0]..cut[1]])).collect();
        let mut turn = order;
        while shards.len() > 1 {
            let mut taken = shards.swap_remove(pick(turn, shards.len()));
            let other = Tally::decode(&taken.encode()).expect("own bytes");
            let at = pick(turn >> 8, shards.len());
            shards[at].merge(&other).expect("shards of one run");
            turn = turn.rotate_left(13);
        }
        prop_assert_eq!(&shards[0].encode(), &whole);
    }

    #[test]
    fn damaged_bytes_are_refused_and_never_panic(
        rollouts in prop::collection::vec(rollout(), 1..10),
        at in any::<prop::sample::Index>(),
        bit in 0u8..8,
        cut in any::<prop::sample::Index>(),
    ) {
        let bytes = tally_of(&rollouts).encode();
        let mut damaged = bytes.clone();
        let at = at.index(bytes.len());
        damaged[at] ^= 1 << bit;
        prop_assert!(Tally::decode(&damaged).is_err());
        prop_assert!(Tally::decode(&bytes[..cut.index(bytes.len())]).is_err());
        // With its checksum made right, a changed body is refused or is another tally: its own bytes say which.
        let body = 13..bytes.len() - 16;
        let hash = xxhash_rust::xxh3::xxh3_128(&damaged[body.clone()]).to_le_bytes();
        damaged[body.end..].copy_from_slice(&hash);
        if let Ok(mut tally) = Tally::decode(&damaged) {
            let _ = tally.estimate();
            prop_assert_eq!(tally.encode(), damaged);
        }
    }
}

fn arrays<'a>(task: &'a [u32], passed: &'a [i8]) -> Arrays<'a> {
    Arrays { task, passed, ..Arrays::default() }
}

fn names(ids: &[&str]) -> Names {
    let mut names = Names::default();
    for id in ids {
        names.intern(id);
    }
    names
}

fn small(part: Option<&str>, passed: &[i8]) -> Tally {
    let plan = Plan::new(None, &[], None).expect("defaults");
    let mut tally = Tally::new(Setup::new(plan), part.map(str::to_owned));
    let task = vec![0; passed.len()];
    tally.add_arrays(&arrays(&task, passed), &names(&["a"]), IdKind::Text).expect("sound");
    tally
}

#[test]
fn an_equal_part_is_skipped_and_another_of_its_name_refused() {
    let mut total = small(Some("p0"), &[1, 0]);
    total.merge(&small(Some("p1"), &[1])).expect("new part");
    total.merge(&small(Some("p1"), &[1])).expect("equal part");
    assert_eq!((total.rollouts(), total.skipped_parts), (3, 1));
    let before = total.encode();
    assert!(matches!(total.merge(&small(Some("p1"), &[0])), Err(Error::Merge { .. })));
    assert_eq!(total.encode(), before);
    // Its own part counts as well.
    total.merge(&small(Some("p0"), &[1, 0])).expect("its own part again");
    assert_eq!((total.rollouts(), total.skipped_parts), (3, 2));
    // And what was merged is closed.
    let task = [0];
    assert!(total.add_arrays(&arrays(&task, &[1]), &names(&["a"]), IdKind::Text).is_err());
}

#[test]
fn parts_that_overlap_cannot_be_taken_apart() {
    let (one, two, three) = (small(Some("1"), &[1]), small(Some("2"), &[1]), small(Some("3"), &[0]));
    let mut left = small(None, &[1]);
    left.merge(&one).expect("new");
    left.merge(&two).expect("new");
    let mut right = two.clone();
    right.merge(&three).expect("new");
    let before = left.encode();
    assert!(left.merge(&right).is_err());
    assert_eq!(left.encode(), before);
}

#[test]
fn different_set_ups_and_id_kinds_do_not_merge() {
    let mut a = small(None, &[1]);
    let mut setup = a.setup.clone();
    setup.policy = Policy::ScoreThreshold(1.0);
    assert!(a.merge(&Tally::new(setup, None)).is_err());
    let mut b = Tally::new(a.setup.clone(), None);
    b.add_arrays(&arrays(&[0], &[1]), &names(&["1"]), IdKind::Integer).expect("sound");
    assert!(a.merge(&b).is_err());
    assert!(a.add_arrays(&arrays(&[0], &[1]), &names(&["1"]), IdKind::Integer).is_err());
}

#[test]
fn a_bad_column_changes_nothing() {
    let mut tally = small(None, &[1, 0]);
    let before = tally.encode();
    let names = names(&["a"]);
    for arrays in [
        Arrays { task: &[0], scores: &[f64::INFINITY], ..Arrays::default() },
        Arrays { task: &[0], durations: &[-2.0], ..Arrays::default() },
        Arrays { task: &[0], durations: &[f64::INFINITY], ..Arrays::default() },
        Arrays { task: &[0], tokens: &[-2], ..Arrays::default() },
        Arrays { task: &[0], passed: &[1, 0], ..Arrays::default() },
    ] {
        assert!(matches!(tally.add_arrays(&arrays, &names, IdKind::Text), Err(Error::Argument { .. })));
    }
    assert_eq!(tally.encode(), before);
}
