//! A tally ends in the same bytes for any order, split, merge tree and round trip.

use std::sync::Arc;

use kofn_core::batch::{Batch, NO_INDEX, Status, Value, Verdict};
use kofn_core::error::{Error, Unit};
use kofn_core::estimates;
use kofn_core::header::Requested;
use kofn_core::json::{Mapping, Options, Source};
use kofn_core::names::{Dictionary, IdKind, Names};
use kofn_core::plan::{Needs, Plan, Statistic};
use kofn_core::policies::Policy;
use kofn_core::run::dedupe::OnDuplicate;
use kofn_core::run::{Group, Run};
use kofn_core::tally::{Arrays, Denominator, Feed, Floats, OnShort, Owners, Setup, Tally};
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
    Arrays { task: task.into(), passed, ..Arrays::default() }
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
        Arrays { task: Owners::Each(&[0]), scores: Floats::F64(&[f64::INFINITY]), ..Arrays::default() },
        Arrays { task: Owners::Each(&[0]), durations: &[-2.0], ..Arrays::default() },
        Arrays { task: Owners::Each(&[0]), durations: &[f64::INFINITY], ..Arrays::default() },
        Arrays { task: Owners::Each(&[0]), tokens: &[-2], ..Arrays::default() },
        Arrays { task: Owners::Each(&[0]), passed: &[1, 0], ..Arrays::default() },
    ] {
        assert!(matches!(tally.add_arrays(&arrays, &names, IdKind::Text), Err(Error::Argument { .. })));
    }
    assert_eq!(tally.encode(), before);
}

#[test]
fn what_was_skipped_before_is_counted_over_merges() {
    let mut one = small(Some("1"), &[1]);
    one.merge(&small(Some("1"), &[1])).expect("equal part");
    let mut two = small(Some("2"), &[0]);
    two.merge(&small(Some("2"), &[0])).expect("equal part");
    one.merge(&two).expect("another part");
    assert_eq!((one.skipped_parts, one.rollouts()), (2, 2));
}

#[test]
fn columns_at_their_limits_are_taken_and_clock_skew_is_counted() {
    let labels = ["mean_duration", "mean_total_tokens"].map(str::to_owned);
    let mut tally = Tally::new(Setup::new(Plan::new(Some(&labels), &[], None).expect("labels")), None);
    let arrays = Arrays {
        task: Owners::Each(&[0; 5]),
        durations: &[-1.0, -0.5, 0.0, 3.0, f64::NAN],
        tokens: &[-1, 0, 10, -1, 5],
        ..Arrays::default()
    };
    tally.add_arrays(&arrays, &names(&["a"]), IdKind::Text).expect("sound");
    assert_eq!(tally.reading.skewed_durations, 2);
    let report = tally.estimate().expect("a report");
    let values: Vec<f64> = report.all.statistics.iter().map(|(_, value, _)| *value).collect();
    assert_eq!(values, [1.5, 5.0]);
}

#[test]
fn a_failed_addition_is_not_counted() {
    let line = |index: usize| format!("{{\"task\":\"a\",\"rollout\":{index},\"verdict\":\"pass\"}}\n");
    let source: String = (0..3).map(line).collect();
    let mut tally = read(&[&source], OnDuplicate::Raise).expect("sound");
    assert!(tally.add_arrays(&arrays(&[0, 0], &[1, 1]), &names(&["a"]), IdKind::Text).is_err());
    assert_eq!(tally.rollouts(), 3);
    let (mut other, mut dictionary) = (Batch::default(), Dictionary::default());
    for index in [3, 0] {
        other.task.push(dictionary.tasks.intern("a", IdKind::Text).expect("text"));
        other.index.push(index);
        other.status.push(Status::Succeeded);
    }
    other.verifications.offsets = vec![0; 3];
    assert!(tally.add_batch(&mut Feed::default(), &other, &dictionary, None).is_err());
    assert_eq!(tally.rollouts(), 3);
}

fn groups(texts: &[&str]) -> Vec<Group> {
    let source = |(i, text): (usize, &&str)| Source::memory(format!("{i}.jsonl"), text.as_bytes().to_vec());
    vec![Group { unit: Unit::Line, sources: texts.iter().enumerate().map(source).collect() }]
}

fn empty() -> Tally {
    let labels = ["pass@1", "mean_score", "mean_duration"].map(str::to_owned);
    Tally::new(Setup::new(Plan::new(Some(&labels), &[], None).expect("labels")), None)
}

fn with_options<T>(needs: Needs, work: impl FnOnce(&Options<'_>) -> T) -> T {
    let mapping = Mapping::native();
    work(&Options { mapping: &mapping, needs, skip_errors: false, keep_ungradable: false, unit: Unit::Line })
}

fn read(texts: &[&str], how: OnDuplicate) -> Result<Tally, Error> {
    let mut tally = empty();
    with_options(Needs::ALL, |options| tally.read(groups(texts), options, how, &mut || Ok(())))?;
    Ok(tally)
}

const FIRST: &str = concat!(
    "{\"run\":{\"id\":\"r\",\"requested_rollouts\":3}}\n",
    "{\"task\":\"b\",\"rollout\":0,\"verdict\":\"pass\",\"score\":0.25,\"duration_s\":2}\n",
    "{\"task\":\"a\",\"rollout\":1,\"verdict\":\"fail\",\"score\":0.5}\n",
);
const SECOND: &str = concat!(
    "{\"task\":\"a\",\"rollout\":0,\"verdict\":\"pass\",\"duration_s\":4}\n",
    "{\"task\":\"a\",\"rollout\":1,\"verdict\":\"pass\",\"score\":1}\n",
);

#[test]
fn a_run_in_memory_and_one_that_is_streamed_end_in_the_same_bytes() {
    for how in [OnDuplicate::First, OnDuplicate::Last] {
        let mut streamed = read(&[FIRST, SECOND], how).expect("sound");
        let run = with_options(Needs::ALL, |options| Run::read(groups(&[FIRST, SECOND]), options, how, &mut || Ok(())));
        let run = run.expect("sound");
        let (mut whole, mut added) = (empty(), small_like(&empty(), "z"));
        whole.add_run(&run, None).expect("sound");
        assert_eq!(streamed.encode(), whole.encode());
        assert_eq!((streamed.rollouts(), streamed.reading.dropped), (3, 1));
        let successes = if how == OnDuplicate::Last { 3 } else { 2 };
        assert_eq!(streamed.estimate().expect("a report").all.counts.successes, Some(successes));
        // To a tally that holds something already it is added whole, or not at all.
        added.add_run(&run, None).expect("other tasks");
        assert_eq!(added.rollouts(), 4);
        let before = added.encode();
        assert!(added.add_run(&run, None).is_err());
        assert_eq!(added.encode(), before);
        assert!(whole.add_run(&run, None).is_err());
        assert_eq!(streamed.encode(), whole.encode());
    }
    let Err(Error::Duplicate { first, second, equal, .. }) = read(&[FIRST, SECOND], OnDuplicate::Raise) else {
        panic!("a copy is not refused");
    };
    let numbers = [first, second].map(|place| place.and_then(|place| place.number));
    assert_eq!((numbers, equal), ([Some(3), Some(2)], Some(false)));
}

/// A tally of the same set-up that holds one rollout.
fn small_like(tally: &Tally, task: &str) -> Tally {
    let mut other = Tally::new(tally.setup.clone(), None);
    other.add_arrays(&arrays(&[0], &[1]), &names(&[task]), IdKind::Text).expect("sound");
    other
}

#[test]
fn a_mask_runs_on_over_the_batches_of_a_run() {
    let line = |i: usize| format!("{{\"task\":\"t{}\",\"score\":1}}\n", i % 7);
    let text: String = (0..20_000).map(line).collect();
    let run =
        with_options(Needs::ALL, |options| Run::read(groups(&[&text]), options, OnDuplicate::Raise, &mut || Ok(())))
            .expect("sound");
    assert!(run.batches.len() > 1, "one batch shows nothing");
    let mut setup = empty().setup;
    setup.policy = Policy::Custom { id: "mine.v1".into(), parameters: "{}".into() };
    setup.chosen = true;
    setup.denominator = Denominator::Recorded;
    let mut tally = Tally::new(setup, None);
    let mask: Vec<bool> = (0..20_000).map(|i| i >= 19_000).collect();
    tally.add_run(&run, Some(&mask)).expect("sound");
    assert_eq!(tally.estimate().expect("a report").all.counts.successes, Some(1000));
}

/// What a report and the figures alone make of columns.
fn both(setup: &Setup, columns: &Arrays<'_>, tasks: usize) -> [Result<Vec<(Statistic, u64)>, String>; 2] {
    let ids: Vec<String> = (0..tasks).map(|task| format!("task {task}")).collect();
    let ids = names(&ids.iter().map(String::as_str).collect::<Vec<_>>());
    let mut tally = Tally::new(setup.clone(), None);
    let report = tally.add_arrays(columns, &ids, IdKind::Text).and_then(|()| tally.estimate()).map(|report| {
        report.all.statistics.into_iter().map(|(statistic, value, _)| (statistic, value.to_bits())).collect()
    });
    let figures = estimates::figures(setup.clone(), columns, tasks, || (Arc::new(ids), IdKind::Text))
        .map(|figures| figures.all.into_iter().map(|(statistic, value)| (statistic, value.to_bits())).collect());
    [report.map_err(|error| error.to_string()), figures.map_err(|error| error.to_string())]
}

#[test]
fn figures_of_columns_are_those_of_a_report() {
    let (task, passed) = ([2, 0, 0, 1, 2, 2], [1, 0, 1, 1, -1, 0]);
    let (scores, durations) = ([0.5, 1.0, f64::NAN, 0.25, 2.0, 0.75], [1.0, 2.0, f64::NAN, 4.0, 5.0, 6.0]);
    let scores = Floats::F64(&scores);
    let columns =
        Arrays { task: Owners::Each(&task), passed: &passed, scores, durations: &durations, ..Arrays::default() };
    let lists: [&[&str]; 4] =
        [&["pass@1"], &["best_of_1", "mean_duration"], &["pass_rate", "mean_score"], &["coverage"]];
    let requests = [None, Some(Requested::Each(1)), Some(Requested::Each(3)), Some(Requested::Each(5))];
    for (labels, requested) in lists.iter().flat_map(|labels| requests.iter().map(move |r| (labels, r))) {
        for denominator in [Denominator::Requested, Denominator::Recorded, Denominator::Scorable] {
            let labels: Vec<String> = labels.iter().map(|label| (*label).to_owned()).collect();
            let mut setup = Setup::new(Plan::new(Some(&labels), &[], None).expect("labels"));
            (setup.requested, setup.denominator) = (requested.clone(), denominator);
            let [report, figures] = both(&setup, &columns, 3);
            assert_eq!(report, figures);
        }
    }
}

fn score() -> impl Strategy<Value = f64> {
    let odd = [0.0, -0.0, 1.0, 0.5, 0.1, -1e-300, 5e-324, 1e300, -f64::MAX, f64::MAX, f64::NAN];
    prop_oneof![4 => prop::sample::select(vec![0.0, 1.0, 0.5, f64::NAN]), 1 => prop::sample::select(odd.to_vec()), 1 => -1.0..1.0f64]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]
    #[test]
    fn figures_alone_have_the_bits_of_a_report(
        rows in prop::collection::vec((0u32..6, -1i8..2, score(), prop::option::weighted(0.9, 0.0..50.0f64), -1i64..9, any::<bool>()), 1..40),
        has in prop::array::uniform5(any::<bool>()),
        single in any::<bool>(),
        even in any::<bool>(),
        labels in prop::sample::subsequence(
            vec!["pass@k", "pass^k", "pass_rate", "learnability", "coverage", "mean_score", "best_of_k", "worst_of_k", "mean_duration", "mean_total_tokens"], 0..10),
        requested in prop::sample::select(vec![None, Some(1), Some(4), Some(40)]),
        denominator in prop::sample::select(vec![Denominator::Requested, Denominator::Recorded, Denominator::Scorable]),
        on_short in prop::sample::select(vec![OnShort::Raise, OnShort::Omit]),
        threshold in prop::sample::select(vec![None, Some(0.5), Some(0.0)]),
        ks in prop::sample::select(vec![vec![1], vec![1, 2, 3], vec![8, 2]]),
    ) {
        // Ids as an index has them: dense, in order of first appearance.
        let mut met = Vec::new();
        let task: Vec<u32> = rows.iter().enumerate().map(|(row, &(id, ..))| {
            let id = if even { u32::try_from(row / 2).expect("small") } else { id };
            let at = met.iter().position(|known| *known == id).unwrap_or(met.len());
            if at == met.len() { met.push(id); }
            u32::try_from(at).expect("small")
        }).collect();
        let [passed, scores, durations, tokens, valid] = has;
        let column = |on: bool| if on { rows.len() } else { 0 };
        let all_passed: Vec<i8> = rows.iter().map(|row| row.1).take(column(passed)).collect();
        let wide: Vec<f64> = rows.iter().map(|row| row.2).take(column(scores && !single)).collect();
        #[expect(clippy::cast_possible_truncation, reason = "what a float of 32 bits holds")]
        let narrow: Vec<f32> = rows.iter().map(|row| row.2 as f32).map(|x| if x.is_infinite() { 0.25 } else { x }).take(column(scores && single)).collect();
        let all_durations: Vec<f64> = rows.iter().map(|row| row.3.map_or(-0.5, |d| d)).take(column(durations)).collect();
        let all_tokens: Vec<i64> = rows.iter().map(|row| row.4).take(column(tokens)).collect();
        let all_valid: Vec<bool> = rows.iter().map(|row| row.5).take(column(valid)).collect();
        let columns = Arrays {
            task: Owners::Each(&task),
            passed: &all_passed,
            scores: if single { Floats::F32(&narrow) } else { Floats::F64(&wide) },
            durations: &all_durations,
            tokens: &all_tokens,
            valid: &all_valid,
            by: None,
        };
        let labels: Vec<String> = labels.into_iter().map(str::to_owned).collect();
        let uses_k = labels.iter().any(|label| label.ends_with('k'));
        let ks: &[u64] = if labels.is_empty() || uses_k { &ks } else { &[] };
        let plan = Plan::new((!labels.is_empty()).then_some(&labels[..]), ks, None).expect("labels");
        let mut setup = Setup::new(plan);
        (setup.requested, setup.denominator, setup.on_short) = (requested.map(Requested::Each), denominator, on_short);
        if let Some(threshold) = threshold {
            (setup.policy, setup.chosen) = (Policy::ScoreThreshold(threshold), true);
        }
        let [report, figures] = both(&setup, &columns, met.len());
        prop_assert_eq!(report, figures);
    }
}
