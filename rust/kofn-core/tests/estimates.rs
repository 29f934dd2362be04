//! Reports from small tallies whose figures can be counted on fingers.

use kofn_core::batch::{Batch, NO_INDEX, Status, Value, Verdict};
use kofn_core::error::Error;
use kofn_core::estimates::Diagnosis::{Incapable, Reliable, Unreliable, Unscorable};
use kofn_core::estimates::{Estimates, RequestedFrom};
use kofn_core::header::{Header, Requested};
use kofn_core::names::{Dictionary, IdKind};
use kofn_core::plan::{Plan, Refusal};
use kofn_core::policies::Policy;
use kofn_core::reading::Reading;
use kofn_core::tally::{Denominator, Feed, OnShort, Setup, Tally};

/// A batch built rollout by rollout.
#[derive(Default)]
struct Run {
    dictionary: Dictionary,
    batch: Batch,
}

/// What one rollout recorded; one verifier.
#[derive(Clone)]
struct Rollout {
    index: u64,
    status: Status,
    verdict: Verdict,
    score: f64,
    duration: f64,
    tokens: i64,
    readings: Vec<(&'static str, Value)>,
    suite: Option<&'static str>,
}

const NONE: Rollout = with(Verdict::Absent);
const PASS: Rollout = with(Verdict::Pass);
const FAIL: Rollout = with(Verdict::Fail);

const fn with(verdict: Verdict) -> Rollout {
    Rollout {
        index: NO_INDEX,
        status: Status::Succeeded,
        verdict,
        score: f64::NAN,
        duration: f64::NAN,
        tokens: -1,
        readings: Vec::new(),
        suite: None,
    }
}

fn at(index: u64, rollout: Rollout) -> Rollout {
    Rollout { index, ..rollout }
}

fn scored(score: f64) -> Rollout {
    Rollout { score, ..NONE }
}

fn end(offsets: &mut Vec<u32>, len: usize) {
    if offsets.is_empty() {
        offsets.push(0);
    }
    offsets.push(u32::try_from(len).expect("small"));
}

impl Run {
    fn of(rollouts: &[(&str, Rollout)]) -> Self {
        let mut run = Self::default();
        for (task, rollout) in rollouts {
            run.add(task, rollout);
        }
        run
    }

    fn add(&mut self, task: &str, rollout: &Rollout) {
        let Self { dictionary, batch } = self;
        batch.task.push(dictionary.tasks.intern(task, IdKind::Text).expect("text"));
        batch.index.push(rollout.index);
        batch.status.push(rollout.status);
        batch.verifications.name.push(dictionary.texts.intern("v"));
        batch.verifications.score.push(rollout.score);
        batch.verifications.verdict.push(rollout.verdict);
        end(&mut batch.verifications.offsets, batch.verifications.name.len());
        for (metric, value) in &rollout.readings {
            let (subject, metric) = metric.split_once('/').unwrap_or(("", metric));
            batch.readings.subject.push(dictionary.texts.intern(subject));
            batch.readings.metric.push(dictionary.texts.intern(metric));
            batch.readings.value.push(*value);
        }
        end(&mut batch.readings.offsets, batch.readings.metric.len());
        if let Some(suite) = rollout.suite {
            batch.tags.name.push(dictionary.texts.intern("suite"));
            batch.tags.value.push(dictionary.texts.intern(suite));
        }
        end(&mut batch.tags.offsets, batch.tags.name.len());
        batch.duration.push(rollout.duration);
        batch.tokens.push(rollout.tokens);
    }

    fn tally(&self, setup: Setup, header: Option<Header>) -> Tally {
        let mut tally = Tally::new(setup, None);
        tally.add_batch(&mut Feed::default(), &self.batch, &self.dictionary, None).expect("sound rollouts");
        tally.add_reading(Reading { header, ..Reading::default() }).expect("one reading");
        tally
    }

    fn report(&self, setup: Setup, header: Option<Header>) -> Result<Estimates, Error> {
        self.tally(setup, header).estimate()
    }
}

fn labels(labels: &[&str]) -> Setup {
    let labels: Vec<String> = labels.iter().map(|label| (*label).to_owned()).collect();
    Setup::new(Plan::new(Some(&labels), &[], None).expect("labels"))
}

fn defaults() -> Setup {
    Setup::new(Plan::new(None, &[], None).expect("defaults"))
}

#[expect(clippy::unnecessary_wraps, reason = "it is passed where a header may be absent")]
fn requested(n: u64) -> Option<Header> {
    Some(Header { requested: Some(Requested::Each(n)), ..Header::default() })
}

fn value(estimates: &Estimates, label: &str) -> Option<(f64, u64)> {
    estimates.all.statistics.iter().find(|(known, ..)| known.to_string() == label).map(|(_, value, n)| (*value, *n))
}

fn refusal(result: Result<Estimates, Error>) -> (String, Refusal) {
    match result {
        Err(Error::Refused { label, why }) => (label, why),
        Err(other) => panic!("not a refusal: {other}"),
        Ok(_) => panic!("not refused"),
    }
}

#[test]
fn missing_and_broken_rollouts_stay_in_the_denominator() {
    let run = Run::of(&[
        ("a", PASS),
        ("a", PASS),
        ("a", FAIL),
        ("b", Rollout { status: Status::Errored, ..NONE }),
        ("b", Rollout { status: Status::Unfinished, ..NONE }),
        ("b", Rollout { status: Status::Cancelled, verdict: Verdict::Pass, ..NONE }),
    ]);
    let report = run
        .report(labels(&["pass_rate", "pass@2", "pass^2", "learnability", "coverage"]), requested(4))
        .expect("a report");
    assert_eq!(value(&report, "pass_rate"), Some((0.25, 2)));
    assert_eq!(value(&report, "pass@2"), Some((5.0 / 12.0, 2)));
    assert_eq!(value(&report, "pass^2"), Some((1.0 / 12.0, 2)));
    assert_eq!(value(&report, "learnability"), Some((0.5, 2)));
    assert_eq!(value(&report, "coverage"), Some((0.375, 2)));
    let counts = &report.all.counts;
    assert_eq!((counts.tasks, counts.requested, counts.recorded, counts.missing), (2, Some(8), 6, Some(2)));
    assert_eq!(counts.status, [3, 1, 1, 1]);
    assert_eq!((counts.scorable, counts.successes, counts.scored, counts.indeterminate), (Some(3), Some(2), 0, 0));
    assert_eq!(counts.registry, Some([2, 1, 2]));
    assert_eq!(counts.diagnosis, Some([0, 1, 1, 0]));
    assert_eq!(report.requested_from, RequestedFrom::Declared);
}

#[test]
fn the_denominator_is_chosen_by_name() {
    let rollouts = [("a", PASS), ("a", FAIL), ("a", Rollout { status: Status::Errored, ..NONE })];
    let run = Run::of(&rollouts);
    let rate = |denominator| {
        let setup = Setup { denominator, ..labels(&["pass_rate"]) };
        value(&run.report(setup, requested(4)).expect("a report"), "pass_rate").expect("a value").0
    };
    assert_eq!(rate(Denominator::Requested), 0.25);
    assert_eq!(rate(Denominator::Recorded), 1.0 / 3.0);
    assert_eq!(rate(Denominator::Scorable), 0.5);
}

#[test]
fn equal_numbers_of_records_are_taken_for_the_requested_ones() {
    let from =
        |rollouts: &[(&str, Rollout)]| Run::of(rollouts).report(defaults(), None).expect("a report").requested_from;
    let (inferred, unknown) = (RequestedFrom::Inferred, RequestedFrom::Unknown);
    assert_eq!(from(&[("a", PASS), ("b", FAIL)]), inferred);
    assert_eq!(from(&[("a", PASS), ("b", FAIL), ("b", FAIL)]), unknown);
    assert_eq!(from(&[("a", at(0, PASS)), ("a", at(1, PASS)), ("b", at(1, FAIL)), ("b", at(0, FAIL))]), inferred);
    // From 1 in the whole run: no hole.
    assert_eq!(from(&[("a", at(1, PASS)), ("a", at(2, PASS)), ("b", at(2, FAIL)), ("b", at(1, FAIL))]), inferred);
    // One task starts at 0, so the other misses its 0.
    assert_eq!(from(&[("a", at(0, PASS)), ("a", at(1, PASS)), ("b", at(1, FAIL)), ("b", at(2, FAIL))]), unknown);
    assert_eq!(from(&[("a", at(0, PASS)), ("a", at(2, PASS)), ("b", at(0, FAIL)), ("b", at(1, FAIL))]), unknown);
    // Nobody starts at 5.
    assert_eq!(from(&[("a", at(5, PASS)), ("b", at(5, FAIL))]), unknown);
}

#[test]
fn skipped_or_cut_records_and_silent_tasks_forbid_inferring() {
    let run = Run::of(&[("a", PASS), ("b", FAIL)]);
    let from = |reading: Reading| {
        let mut tally = run.tally(defaults(), None);
        tally.add_reading(reading).expect("a reading");
        tally.estimate().expect("a report").requested_from
    };
    assert_eq!(from(Reading::default()), RequestedFrom::Inferred);
    assert_eq!(from(Reading { skipped: 1, ..Reading::default() }), RequestedFrom::Unknown);
    assert_eq!(
        from(Reading { cut: vec![kofn_core::error::Place::default()], ..Reading::default() }),
        RequestedFrom::Unknown
    );
    let header = Header { tasks: Some(vec!["b".into(), "a".into(), "c".into()]), ..Header::default() };
    let report = run.report(defaults(), Some(header)).expect("a report");
    assert_eq!(report.requested_from, RequestedFrom::Unknown);
    assert_eq!(report.tasks.names, ["b", "a", "c"]);
    assert_eq!(report.all.counts.missing, None);
    assert_eq!(report.tasks.diagnosis, None);
}

#[test]
fn where_requested_is_unknown_only_labels_that_need_it_are_refused() {
    let run = Run::of(&[("a", Rollout { score: 1.0, ..PASS }), ("b", FAIL), ("b", FAIL)]);
    let (label, why) = refusal(run.report(labels(&["mean_score", "pass@1"]), None));
    assert_eq!(label, "pass@1");
    assert!(why.to_string().contains("denominator=\"recorded\""), "{why}");
    for label in ["pass^1", "pass_rate", "learnability", "coverage"] {
        assert!(matches!(refusal(run.report(labels(&[label]), None)).1, Refusal::UnknownRequested { .. }));
    }
    let report = run.report(labels(&["mean_score", "best_of_1"]), None).expect("these need no n");
    assert_eq!(value(&report, "best_of_1"), Some((1.0, 1)));
    let report = run.report(defaults(), None).expect("defaults never raise");
    let omitted: Vec<&str> = report.all.omitted.iter().map(|(label, _)| label.as_str()).collect();
    assert_eq!(omitted, ["pass@1", "mean_duration", "mean_total_tokens"]);
}

#[test]
fn scores_without_a_policy_decide_nothing() {
    let run = Run::of(&[("a", scored(0.5)), ("a", scored(1.0))]);
    for label in ["pass@1", "pass_rate", "coverage"] {
        assert_eq!(refusal(run.report(labels(&[label]), None)).1, Refusal::NoPolicy);
    }
    let report = run.report(labels(&["mean_score"]), None).expect("a report");
    assert_eq!(report.policy, None);
    assert_eq!((report.all.counts.successes, report.all.counts.scorable), (None, None));
    assert_eq!((report.all.counts.diagnosis, report.all.counts.registry), (None, None));
    let chosen = Setup { chosen: true, ..labels(&["pass@1"]) };
    assert_eq!(value(&run.report(chosen, None).expect("chosen"), "pass@1"), Some((0.0, 1)));
    let threshold = Setup { chosen: true, policy: Policy::ScoreThreshold(1.0), ..labels(&["pass@1"]) };
    assert_eq!(value(&run.report(threshold, None).expect("a threshold"), "pass@1"), Some((0.5, 1)));
}

#[test]
fn k_above_n_is_refused_or_left_out_and_noted() {
    let run = Run::of(&[("a", PASS), ("b", PASS), ("b", FAIL), ("b", FAIL), ("c", PASS)]);
    let recorded = |label: &str, on_short| Setup { denominator: Denominator::Recorded, on_short, ..labels(&[label]) };
    for label in ["pass@3", "pass^3", "best_of_3", "worst_of_3"] {
        let (refused, why) = refusal(run.report(recorded(label, OnShort::Raise), None));
        assert_eq!(refused, label);
        assert_eq!(why, Refusal::Short { task: "a".into(), n: 1, k: 3, tasks: 2 });
    }
    let report = run.report(recorded("pass@3", OnShort::Omit), None).expect("left out");
    assert_eq!(value(&report, "pass@3"), Some((1.0, 1)));
    assert_eq!(report.notes, ["pass@3 is over 1 of 3 tasks: 2 have n < 3"]);
    let report = run.report(recorded("pass@4", OnShort::Omit), None).expect("left out");
    assert_eq!(report.all.omitted, [("pass@4".to_owned(), "no task has 4 rollouts".to_owned())]);
    assert!(report.columns.is_empty());
}

#[test]
fn fewer_than_k_scores_omit_the_task_alone() {
    let run = Run::of(&[("a", scored(1.0)), ("a", scored(3.0)), ("b", scored(7.0)), ("b", NONE)]);
    let report = run.report(labels(&["best_of_2", "worst_of_2", "mean_score"]), None).expect("a report");
    assert_eq!(value(&report, "best_of_2"), Some((3.0, 1)));
    assert_eq!(value(&report, "worst_of_2"), Some((1.0, 1)));
    assert_eq!(value(&report, "mean_score"), Some((4.5, 2)));
    assert_eq!(report.notes, ["labels rest on different task sets (tasks: best_of_2 1, worst_of_2 1, mean_score 2)"]);
    assert_eq!(report.tasks.scored, [2, 1]);
    assert_eq!((report.tasks.best[0], report.tasks.worst[0], report.tasks.spread[0]), (3.0, 1.0, 2.0));
    assert_eq!(report.tasks.spread[1], 0.0);
}

#[test]
fn resources_are_means_over_what_recorded_them() {
    let timed = |duration, tokens| Rollout { duration, tokens, ..FAIL };
    let broken = Rollout { status: Status::Errored, ..timed(4.0, 300) };
    let run = Run::of(&[("a", timed(1.0, -1)), ("a", broken), ("b", timed(f64::NAN, 100)), ("b", FAIL)]);
    let report = run.report(labels(&["mean_duration", "mean_total_tokens"]), None).expect("a report");
    assert_eq!(value(&report, "mean_duration"), Some((2.5, 1)));
    assert_eq!(value(&report, "mean_total_tokens"), Some((200.0, 2)));
}

#[test]
fn a_diagnosis_says_what_to_work_on() {
    let unsure = Rollout { verdict: Verdict::Indeterminate, ..NONE };
    let run = Run::of(&[
        ("reliable", PASS),
        ("reliable", PASS),
        ("unreliable", PASS),
        ("unreliable", unsure.clone()),
        ("incapable", FAIL),
        ("incapable", unsure.clone()),
        ("unscorable", unsure),
        ("unscorable", NONE),
    ]);
    let report = run.report(defaults(), None).expect("a report");
    let diagnosis = report.tasks.diagnosis.expect("n is known");
    assert_eq!(report.tasks.names, ["incapable", "reliable", "unreliable", "unscorable"]);
    assert_eq!(diagnosis, [Some(Incapable), Some(Reliable), Some(Unreliable), Some(Unscorable)]);
    assert_eq!(report.all.counts.diagnosis, Some([1, 1, 1, 1]));
    assert_eq!(report.all.counts.indeterminate, 3);
    let single = Run::of(&[("a", PASS)]).report(defaults(), None).expect("a report");
    assert_eq!(single.tasks.diagnosis, Some(vec![None]));
    assert_eq!(single.all.counts.diagnosis, Some([0; 4]));
}

#[test]
fn defaults_take_the_smallest_n_above_one() {
    let run = Run::of(&[("a", PASS), ("b", PASS), ("b", FAIL), ("b", FAIL)]);
    let setup = Setup { denominator: Denominator::Recorded, ..defaults() };
    let report = run.report(setup, None).expect("defaults never raise");
    assert_eq!(value(&report, "pass@1"), Some((2.0 / 3.0, 2)));
    let omitted: Vec<&str> = report.all.omitted.iter().map(|(label, _)| label.as_str()).collect();
    assert_eq!(omitted, ["pass@3", "pass^3", "mean_score", "mean_duration", "mean_total_tokens"]);
    let report = Run::of(&[("a", PASS), ("a", FAIL)]).report(defaults(), None).expect("a report");
    let produced: Vec<String> = report.all.statistics.iter().map(|(label, ..)| label.to_string()).collect();
    assert_eq!(produced, ["pass@1", "pass@2", "pass^2"]);
}

#[test]
fn series_are_found_by_name_and_never_guessed() {
    let read = |metric, value| Rollout { readings: vec![(metric, value)], ..PASS };
    let number = |metric, x| read(metric, Value::Number(x));
    let run = Run::of(&[
        ("a", number("final/latency", 1.0)),
        ("a", number("final/latency", 3.0)),
        ("b", number("final/latency", 5.0)),
        ("b", read("ok", Value::Bool(true))),
    ]);
    let report = run
        .report(labels(&["metric_mean:latency", "metric_variance:v/final/latency", "agreement:final/latency"]), None);
    let report = report.expect("a report");
    assert_eq!(value(&report, "metric_mean:latency"), Some((3.5, 2)));
    assert_eq!(value(&report, "metric_variance:v/final/latency"), Some((0.5, 2)));
    assert_eq!(value(&report, "agreement:final/latency"), Some((0.5, 1)));
    assert_eq!(
        refusal(run.report(labels(&["metric_mean:latencies"]), None)).1,
        Refusal::NoSeries { existing: vec!["v//ok".into(), "v/final/latency".into()] }
    );
    let two = Run::of(&[("a", number("x/m", 1.0)), ("a", number("y/m", 1.0))]);
    assert_eq!(
        refusal(two.report(labels(&["metric_mean:m"]), None)).1,
        Refusal::Ambiguous { task: "a".into(), candidates: vec!["v/x/m".into(), "v/y/m".into()] }
    );
    assert!(two.report(labels(&["metric_mean:x/m"]), None).is_ok());
    let twice = Rollout { readings: vec![("m", Value::Number(1.0)), ("m", Value::Number(2.0))], ..PASS };
    let twice = Run::of(&[("a", twice)]);
    assert_eq!(
        refusal(twice.report(labels(&["agreement:m"]), None)).1,
        Refusal::Repeated { task: "a".into(), series: "v//m".into() }
    );
}

#[test]
fn agreement_tells_kinds_apart_and_text_has_no_mean() {
    let mut run = Run::default();
    let word = run.dictionary.texts.intern("1");
    let values = [Value::Number(1.0), Value::Bool(true), Value::Text(word), Value::Number(0.0), Value::Number(-0.0)];
    for value in values {
        run.add("a", &Rollout { readings: vec![("m", value)], ..PASS });
    }
    assert_eq!(value(&run.report(labels(&["agreement:m"]), None).expect("a report"), "agreement:m"), Some((0.4, 1)));
    assert!(matches!(refusal(run.report(labels(&["metric_mean:m"]), None)).1, Refusal::Text { .. }));
}

#[test]
fn groups_hold_the_same_figures_for_each_value() {
    let tagged = |suite, rollout: Rollout| Rollout { suite, ..rollout };
    let run = Run::of(&[
        ("a", tagged(Some("x"), PASS)),
        ("b", tagged(Some("x"), FAIL)),
        ("c", tagged(Some("w"), PASS)),
        ("d", tagged(None, FAIL)),
    ]);
    let plan = Plan::new(Some(&["pass@1".to_owned()]), &[], Some("suite".into())).expect("a plan");
    let report = run.report(Setup::new(plan), None).expect("a report");
    let groups = report.groups.expect("groups");
    let figures: Vec<_> =
        groups.iter().map(|(value, view)| (value.as_deref(), view.statistics[0].1, view.counts.tasks)).collect();
    assert_eq!(figures, [(Some("w"), 1.0, 1), (Some("x"), 0.5, 2), (None, 0.0, 1)]);

    let varying = Run::of(&[("a", tagged(Some("x"), PASS)), ("a", tagged(Some("y"), PASS))]);
    let plan = Plan::new(None, &[], Some("suite".into())).expect("a plan");
    let mut tally = Tally::new(Setup::new(plan), None);
    let error = tally.add_batch(&mut Feed::default(), &varying.batch, &varying.dictionary, None);
    assert!(matches!(error, Err(Error::Task { .. })));
}

#[test]
fn given_counts_win_and_contradictions_are_named() {
    let run = Run::of(&[("a", PASS), ("b", FAIL)]);
    let given = |requested| Setup { requested: Some(requested), ..labels(&["pass@1"]) };
    let report = run.report(given(Requested::Each(2)), requested(4)).expect("a report");
    assert_eq!(report.requested_from, RequestedFrom::Given);
    assert_eq!(report.notes, ["requested = 2 was given; the run declares 4"]);
    assert_eq!(value(&report, "pass@1"), Some((0.25, 2)));

    let list = |pairs: &[(&str, u64)]| Requested::PerTask(pairs.iter().map(|(t, n)| ((*t).to_owned(), *n)).collect());
    let report = run.report(given(list(&[("z", 1), ("b", 1), ("a", 2)])), None).expect("a report");
    assert_eq!(report.tasks.names, ["z", "b", "a"]);
    assert_eq!(value(&report, "pass@1"), Some((0.5 / 3.0, 3)));
    let task = |result: Result<Estimates, Error>| match result {
        Err(Error::Task { task, .. }) => task,
        _ => panic!("not a task's error"),
    };
    assert_eq!(task(run.report(given(list(&[("a", 1)])), None)), "b");
    assert!(matches!(run.report(given(Requested::Each(0)), None), Err(Error::Argument { .. })));
    let header = Header { tasks: Some(vec!["a".into()]), ..Header::default() };
    assert_eq!(task(run.report(labels(&["pass@1"]), Some(header))), "b");
    let twice = Run::of(&[("a", PASS), ("a", PASS)]);
    assert_eq!(task(twice.report(labels(&["pass@1"]), requested(1))), "a");
}

#[test]
fn declared_tasks_without_a_record_give_zeros_and_nothing_at_all_is_an_error() {
    let header =
        Header { tasks: Some(vec!["a".into(), "b".into()]), requested: Some(Requested::Each(3)), ..Header::default() };
    let report = Run::default().report(labels(&["pass@1", "coverage"]), Some(header)).expect("zeros");
    assert_eq!(value(&report, "pass@1"), Some((0.0, 2)));
    assert_eq!(value(&report, "coverage"), Some((0.0, 2)));
    assert_eq!(report.all.counts.missing, Some(6));
    assert!(matches!(Run::default().report(defaults(), None), Err(Error::NoRollouts { .. })));
}

#[test]
fn a_failed_addition_leaves_no_trace() {
    let mut tally = Run::of(&[("a", at(0, PASS))]).tally(defaults(), None);
    let before = tally.encode();
    for bad in [
        Run::of(&[("b", at(0, PASS)), ("a", at(0, PASS))]),
        Run::of(&[("b", at(0, PASS)), ("b", PASS)]),
        Run::of(&[("c", PASS), ("a", PASS)]),
    ] {
        assert!(tally.add_batch(&mut Feed::default(), &bad.batch, &bad.dictionary, None).is_err());
    }
    for clash in [at(0, FAIL), FAIL] {
        let other = Run::of(&[("d", PASS), ("a", clash)]).tally(defaults(), None);
        assert!(tally.merge(&other).is_err());
    }
    assert_eq!(tally.encode(), before);
    assert_eq!(tally.estimate().expect("a report").tasks.names, ["a"]);
}

#[test]
fn the_first_short_task_in_report_order_is_named() {
    let run = Run::of(&[("a", PASS), ("a", PASS), ("a", PASS), ("b", PASS), ("b", FAIL), ("c", PASS)]);
    let setup = Setup { denominator: Denominator::Recorded, ..labels(&["pass@2"]) };
    assert_eq!(refusal(run.report(setup, None)).1, Refusal::Short { task: "c".into(), n: 1, k: 2, tasks: 1 });
    let setup = Setup { denominator: Denominator::Recorded, ..labels(&["best_of_3"]) };
    assert_eq!(refusal(run.report(setup, None)).1, Refusal::Short { task: "b".into(), n: 2, k: 3, tasks: 2 });
}

#[test]
fn k_above_n_leaves_a_task_out_however_many_scores_it_has() {
    // Two scores, and one rollout that verdicts can decide.
    let run = Run::of(&[("a", Rollout { score: 1.0, ..PASS }), ("a", scored(3.0)), ("b", PASS), ("b", PASS)]);
    let setup = Setup { denominator: Denominator::Scorable, on_short: OnShort::Omit, ..labels(&["best_of_2"]) };
    let report = run.report(setup, None).expect("left out");
    assert_eq!(value(&report, "best_of_2"), None);
}

#[test]
fn columns_are_those_of_the_produced_statistics() {
    let run = Run::of(&[("a", PASS), ("a", FAIL)]);
    let report = run.report(labels(&["pass@1", "mean_duration", "pass^2"]), None).expect("a report");
    let columns: Vec<String> = report.columns.iter().map(|column| column.statistic.to_string()).collect();
    assert_eq!(columns, ["pass@1", "pass^2"]);
    // A label without any value does not make the others' tasks different.
    assert_eq!(report.notes, Vec::<String>::new());
}

#[test]
fn what_was_skipped_or_overruled_is_noted() {
    let policy = Policy::Custom { id: "mine.v1".into(), parameters: "{}".into() };
    let run = Run::of(&[("a", Rollout { status: Status::Errored, ..NONE }), ("a", PASS)]);
    let mut tally = Tally::new(Setup { policy, chosen: true, ..labels(&["pass@1"]) }, None);
    tally.add_batch(&mut Feed::default(), &run.batch, &run.dictionary, Some(&[true, true])).expect("sound rollouts");
    tally.skipped_parts = 2;
    assert_eq!(
        tally.estimate().expect("a report").notes,
        [
            "2 parts merged before with equal content: skipped",
            "1 rollout called a success by the policy did not succeed: no success"
        ]
    );
}

#[test]
fn where_requested_counts_come_from_has_a_word() {
    let from = [RequestedFrom::Given, RequestedFrom::Declared, RequestedFrom::Inferred, RequestedFrom::Unknown];
    assert_eq!(from.map(RequestedFrom::word), ["given", "declared", "inferred", "unknown"]);
}

#[test]
fn a_task_that_nobody_declared_is_an_error_that_says_who_did_not() {
    let run = Run::of(&[("a", PASS), ("b", PASS)]);
    let list = |tasks: &[&str]| Requested::PerTask(tasks.iter().map(|task| ((*task).to_owned(), 2)).collect());
    let problem = |given: Option<Requested>, declared: Option<Requested>| {
        let header = declared.map(|declared| Header { requested: Some(declared), ..Header::default() });
        match run.report(Setup { requested: given, ..labels(&["pass@1"]) }, header) {
            Err(error) => error.to_string(),
            Ok(_) => panic!("not refused"),
        }
    };
    assert!(problem(None, Some(list(&["a"]))).contains("the run declares its tasks and this one is not among them"));
    assert!(problem(Some(list(&["a"])), None).contains("requested names tasks and this one is not among them"));
    let more = problem(Some(list(&["a", "b", "c"])), Some(list(&["a", "b"])));
    assert!(more.contains("requested names this task, the run's declared tasks do not"), "{more}");
}

#[test]
fn a_difference_from_the_declared_counts_is_told() {
    let run = Run::of(&[("a", PASS), ("b", FAIL)]);
    let list = |a, b| Requested::PerTask(vec![("a".into(), a), ("b".into(), b)]);
    let note = |given: Requested, declared: Requested| {
        let header = Header { requested: Some(declared), ..Header::default() };
        let setup = Setup { requested: Some(given), ..labels(&["pass@1"]) };
        run.report(setup, Some(header)).expect("a report").notes.join("; ")
    };
    let told = |tasks: &str, task: &str, given: u64, declared: u64| {
        format!(
            "requested was given; the run declares other counts for {tasks} (task {task:?}: {given} given, {declared} declared)"
        )
    };
    assert_eq!(note(list(2, 3), list(2, 3)), "");
    assert_eq!(note(Requested::Each(2), list(3, 3)), "requested = 2 was given; the run declares 3");
    assert_eq!(note(Requested::Each(2), list(2, 3)), told("1 task", "b", 2, 3));
    assert_eq!(note(Requested::Each(2), list(3, 4)), told("2 tasks", "a", 2, 3));
    assert_eq!(note(list(3, 4), list(2, 2)), told("2 tasks", "a", 3, 2));
}
