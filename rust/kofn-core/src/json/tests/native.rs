//! The native form (spec 1, 3, 4, 6.6, 6.7, 7.2 to 7.4).

use super::*;
use crate::batch::{NO_COUNT, NO_INDEX, Status, Verdict};
use crate::header::Requested;

/// The example of spec 7.3.
const EXAMPLE: &str = r#"{"task": "sum-1000", "rollout": 3, "status": "succeeded", "verifiers": [{"name": "answer", "checks": [{"label": "total is 507500", "required": true, "passed": false, "detail": "answered 507499, expected 507500"}, {"label": "file saved", "required": false, "passed": true}], "score": 0.5, "verdict": "fail", "readings": [{"subject": "final", "metric": "latency_s", "value": 1.25}]}, {"name": "judge", "decision": "at_least:0.7", "error": {"type": "TimeoutError", "message": "60 s"}, "verdict": "indeterminate"}], "duration_s": 12.5, "usage": {"input_tokens": 1200, "output_tokens": 340}, "tool_calls": 3, "tool_errors": 0, "stop_reason": "max_turns", "tags": {"suite": "math"}, "meta": {"transcript": "s3://…"}}"#;

/// Score and verdict of the first verification of one line.
#[track_caller]
fn settled(line: &str) -> (f64, Verdict) {
    let outcome = native(line).unwrap_or_else(|error| panic!("{line}: {error}"));
    let rows = &outcome.batch().verifications;
    (rows.score[0], rows.verdict[0])
}

#[test]
fn the_example_is_read_in_full() {
    let outcome = native(EXAMPLE).expect("read");
    assert_eq!(
        outcome.rows(),
        ["sum-1000 3 succeeded answer=0.5/Fail [total is 507500 1] [file saved 2] final/latency_s=Number(1.25) \
          judge=NaN/Indeterminate #suite=math 12.5s 1540tok tools 0/3"]
    );
    let origin = outcome.batch().origin[0];
    assert_eq!((origin.line, origin.offset, origin.length as usize), (1, 0, EXAMPLE.len()));
}

#[test]
fn what_no_one_needs_leaves_no_columns() {
    let outcome = read_with(bytes(EXAMPLE), How { needs: Some(Needs::default()), ..How::default() }).expect("read");
    let batch = outcome.batch();
    assert_eq!(batch.verifications.score.len(), 2);
    assert_eq!(batch.verifications.verdict, [Verdict::Fail, Verdict::Indeterminate]);
    assert!(batch.checks.offsets.is_empty() && batch.checks.flags.is_empty());
    assert!(batch.readings.offsets.is_empty() && batch.readings.metric.is_empty());
    assert!(batch.tags.offsets.is_empty() && batch.tags.name.is_empty());
    assert!(batch.duration.is_empty() && batch.tokens.is_empty() && batch.hash.is_empty());
}

#[test]
fn only_the_task_is_needed() {
    let outcome = native(r#"{"task": "a"}"#).expect("read");
    let batch = outcome.batch();
    assert_eq!((batch.index[0], batch.status[0]), (NO_INDEX, Status::Succeeded));
    assert!(batch.duration[0].is_nan());
    assert_eq!((batch.tokens[0], batch.tool_calls[0], batch.tool_errors[0]), (NO_COUNT, NO_COUNT, NO_COUNT));
    assert!(batch.verifications_of(0).is_empty());
}

#[test]
fn null_is_absence_for_every_field() {
    let absent = native(r#"{"task": "a", "verifiers": [{"name": "v", "verdict": "pass"}]}"#).expect("read").rows();
    let null = r#"{"task": "a", "rollout": null, "status": null, "error": null, "score": null, "reward": null,
        "verdict": null, "passed": null, "checks": null, "duration_s": null, "usage": null, "tool_calls": null,
        "toolErrors": null, "tags": null, "meta": null, "stop_reason": null, "run": null,
        "verifiers": [{"name": "v", "verdict": "pass", "score": null, "checks": null, "readings": null, "error": null,
        "projection": null, "decision": null}]}"#;
    assert_eq!(native(null.replace('\n', " ")).expect("read").rows(), absent);
}

#[test]
fn integer_ids_are_their_decimal_text_and_never_mix_with_text() {
    let outcome = native("{\"task\": 12}\n{\"task\": -3}\n{\"task\": 123456789012345678901234567890}").expect("read");
    let names: Vec<_> = outcome.dictionary.tasks.names.iter().collect();
    assert_eq!(names, ["12", "-3", "123456789012345678901234567890"]);
    assert_eq!(outcome.dictionary.tasks.first, [(0, 1), (0, 2), (0, 3)]);
    let mixed = message("{\"task\": 1}\n{\"task\": \"1\"}");
    assert!(
        mixed.starts_with("run.jsonl, line 2, field task: this id is text, others of the run are an integer"),
        "{mixed}"
    );
    let declared = message("{\"run\": {\"tasks\": [1, 2]}}\n{\"task\": \"1\"}");
    assert!(declared.contains("line 2, field task"), "{declared}");
}

#[test]
fn statuses_and_their_spellings() {
    for (word, status) in [
        ("succeeded", Status::Succeeded),
        ("completed", Status::Succeeded),
        ("errored", Status::Errored),
        ("cancelled", Status::Cancelled),
        ("canceled", Status::Cancelled),
        ("unfinished", Status::Unfinished),
    ] {
        let outcome = native(format!(r#"{{"task": "a", "status": "{word}"}}"#)).expect(word);
        assert_eq!(outcome.batch().status[0], status);
    }
    let failed = message(r#"{"task": "a", "status": "failed"}"#);
    assert!(failed.contains("errored") && failed.contains("succeeded") && failed.contains("ambiguous"), "{failed}");
    assert!(message(r#"{"task": "a", "status": "Succeeded"}"#).contains("did you mean \"succeeded\"?"));
}

#[test]
fn an_error_without_a_verification_means_errored() {
    let status = |line: &str| native(line).expect("read").batch().status[0];
    assert_eq!(status(r#"{"task": "a", "error": "boom"}"#), Status::Errored);
    assert_eq!(status(r#"{"task": "a", "error": {"type": "E"}}"#), Status::Errored);
    assert_eq!(status(r#"{"task": "a", "error": "boom", "score": 1}"#), Status::Succeeded);
    assert_eq!(status(r#"{"task": "a", "error": "boom", "verifiers": [{"name": "v"}]}"#), Status::Succeeded);
    assert_eq!(status(r#"{"task": "a", "verifiers": [{"name": "v", "error": "boom"}]}"#), Status::Succeeded);
}

#[test]
fn every_spelling_of_a_verdict() {
    for (word, verdict) in [
        ("pass", Verdict::Pass),
        ("passed", Verdict::Pass),
        ("fail", Verdict::Fail),
        ("failed", Verdict::Fail),
        ("indeterminate", Verdict::Indeterminate),
        ("error", Verdict::Indeterminate),
        ("errored", Verdict::Indeterminate),
        ("timeout", Verdict::Indeterminate),
        ("skipped", Verdict::Indeterminate),
        ("unknown", Verdict::Indeterminate),
        ("inconclusive", Verdict::Indeterminate),
    ] {
        assert_eq!(settled(&format!(r#"{{"task": "a", "verdict": "{word}"}}"#)).1, verdict, "{word}");
    }
    let wrong = message(r#"{"task": "a", "verifiers": [{"name": "v"}, {"name": "w", "verdict": "PASS"}]}"#);
    assert!(
        wrong.starts_with(
            "run.jsonl, line 1, field verifiers[1].verdict: \"PASS\" is no verdict; did you mean \"pass\"?"
        ),
        "{wrong}"
    );
}

#[test]
fn bools_are_bools_and_nothing_else() {
    for (text, passed) in [("true", true), ("false", false), ("1", true), ("0", false), ("1.0", true), ("0.0", false)] {
        let verdict = if passed { Verdict::Pass } else { Verdict::Fail };
        assert_eq!(settled(&format!(r#"{{"task": "a", "passed": {text}}}"#)).1, verdict);
        let checks = format!(
            r#"{{"task": "a", "checks": [{{"label": "l", "required": {text}, "passed": 1}}, {{"label": "m", "required": true, "passed": {text}}}]}}"#
        );
        assert_eq!(settled(&checks).1, verdict);
    }
    for text in ["0.3", "2", "-1", "\"false\"", "\"true\"", "NaN", "[]", "{}", "1e-400", "0.9999999999999999999999"] {
        for line in [
            format!(r#"{{"task": "a", "passed": {text}}}"#),
            format!(r#"{{"task": "a", "checks": [{{"label": "l", "required": true, "passed": {text}}}]}}"#),
            format!(r#"{{"task": "a", "checks": [{{"label": "l", "required": {text}, "passed": true}}]}}"#),
        ] {
            assert!(message(&line).contains("line 1, field "), "{line}");
        }
    }
}

#[test]
fn checks_are_graded_and_recorded_values_must_agree() {
    let checks = r#""checks": [{"label": "a", "required": true, "passed": true}, {"label": "b", "passed": false}, {"label": "c", "passed": true}]"#;
    let line = |more: &str| format!(r#"{{"task": "a", {checks}{more}}}"#);
    assert_eq!(settled(&line("")), (2.0 / 3.0, Verdict::Pass));
    assert_eq!(settled(&line(r#", "score": 0.67"#)), (2.0 / 3.0, Verdict::Pass));
    assert_eq!(settled(&line(r#", "verdict": "pass", "reward": 0.6617"#)), (2.0 / 3.0, Verdict::Pass));
    assert_eq!(settled(&line(r#", "verdict": "indeterminate""#)), (2.0 / 3.0, Verdict::Indeterminate));
    let score = message(line(r#", "score": 1.0"#));
    assert!(
        score.contains("field score: the recorded score 1 contradicts the checks, whose reward is 0.6667"),
        "{score}"
    );
    let verdict = message(line(r#", "verdict": "fail""#));
    assert!(verdict.contains("verdict \"fail\" contradicts the checks, which say \"pass\""), "{verdict}");
    assert!(message(line(r#", "passed": false"#)).contains("contradicts"), "passed is short for a verdict");
    assert!(message(line(r#", "passed": true, "verdict": "fail""#)).contains("contradicts"));
    assert!(message(r#"{"task": "a", "score": 1, "reward": 0}"#).contains("0 contradicts the score 1"));
}

#[test]
fn named_rules_let_recorded_values_stand() {
    let line = |more: &str| {
        format!(
            r#"{{"task": "a", "verifiers": [{{"name": "v", "checks": [{{"label": "a", "required": true, "passed": true}}]{more}}}]}}"#
        )
    };
    assert_eq!(settled(&line(r#", "projection": "mean:x", "score": 0.2"#)), (0.2, Verdict::Pass));
    assert_eq!(settled(&line(r#", "decision": "d", "verdict": "fail""#)), (1.0, Verdict::Fail));
    let (score, verdict) = settled(&line(r#", "projection": "p", "decision": "d""#));
    assert!(score.is_nan() && verdict == Verdict::Absent);
    assert!(
        message(line(r#", "projection": "p", "score": 0.2, "verdict": "fail""#)).contains("field verifiers[0].verdict")
    );
    assert!(
        message(line(r#", "decision": "d", "score": 0.2, "verdict": "fail""#)).contains("field verifiers[0].score")
    );
}

#[test]
fn checks_without_a_required_one_cannot_be_graded() {
    for checks in
        ["[]", r#"[{"label": "a", "passed": true}]"#, r#"[{"label": "a", "required": false, "passed": true}]"#]
    {
        for line in [
            format!(r#"{{"task": "a", "checks": {checks}}}"#),
            format!(
                r#"{{"task": "a", "verifiers": [{{"name": "v", "decision": "d", "verdict": "pass", "checks": {checks}}}]}}"#
            ),
        ] {
            assert!(message(&line).contains("on_ungradable"), "{line}");
            let kept = read_with(bytes(&line), How { keep_ungradable: true, ..How::default() }).expect("kept");
            let rows = &kept.batch().verifications;
            assert!(rows.score[0].is_nan() && rows.verdict[0] == Verdict::Indeterminate);
        }
    }
}

#[test]
fn top_level_fields_form_one_verification() {
    let outcome = native(r#"{"task": "a", "score": true, "verdict": "pass", "verifiers": []}"#).expect("read");
    assert_eq!(outcome.rows()[0].split(" NaNs").next(), Some("a -1 succeeded verifier=1/Pass"));
    for field in [r#""score": 1"#, r#""passed": true"#, r#""verdict": "pass""#, r#""checks": []"#] {
        let beside = format!(r#"{{"task": "a", {field}, "verifiers": [{{"name": "v"}}]}}"#);
        assert!(message(&beside).contains("stands at the top level beside verifications"), "{beside}");
    }
}

#[test]
fn namesakes_are_refused() {
    let few = message(r#"{"task": "a", "verifiers": [{"name": "x"}, {"name": "y"}, {"name": "x"}]}"#);
    assert!(
        few.contains("field verifiers[2].name: verifications 0 and 2 (counted from 0) are both named \"x\""),
        "{few}"
    );
    let many: Vec<String> = (0..40).map(|i| format!(r#"{{"name": "v{}"}}"#, i % 39)).collect();
    let many = message(format!(r#"{{"task": "a", "verifiers": [{}]}}"#, many.join(",")));
    assert!(many.contains("verifications 0 and 39"), "{many}");
    assert!(message(r#"{"task": "a", "verifiers": [{}]}"#).contains("field verifiers[0].name: is missing"));
}

#[test]
fn numbers_that_are_not_recorded_and_numbers_that_are_none() {
    let outcome = native(r#"{"task": "a", "duration_s": NaN, "verifiers": [{"name": "v", "score": NaN, "readings": [{"metric": "m", "value": NaN}, {"metric": "n", "value": null}, {"metric": "o", "value": false}, {"metric": "p", "value": "x"}]}]}"#).expect("read");
    assert_eq!(outcome.rows(), ["a -1 succeeded v=NaN/Absent /o=Bool(false) /p=\"x\" NaNs -1tok tools -1/-1"]);
    for (field, value) in [("score", "Infinity"), ("score", "-Infinity"), ("score", "1e999"), ("duration_s", "1e400")] {
        let message = message(format!(r#"{{"task": "a", "{field}": {value}}}"#));
        assert!(message.starts_with(&format!("run.jsonl, line 1, field {field}: {value} is ")), "{message}");
    }
    assert!(
        message(r#"{"task": "a", "verifiers": [{"name": "v", "readings": [{"metric": "m", "value": 1e999}]}]}"#)
            .contains("field verifiers[0].readings[0].value: 1e999 is too large")
    );
}

#[test]
fn clock_skew_is_noted_and_negative_durations_are_refused() {
    let outcome =
        native("{\"task\": \"a\", \"duration_s\": -0.25}\n{\"task\": \"a\", \"duration_s\": -1}").expect("read");
    assert!(outcome.batch().duration.iter().all(|seconds| seconds.is_nan()));
    assert_eq!(outcome.reading.skewed_durations, 2);
    assert!(
        message(r#"{"task": "a", "duration_s": -1.5}"#).contains("field duration_s: a duration of -1.5 is negative")
    );
}

#[test]
fn tokens_add_up_or_are_refused() {
    let tokens = |usage: &str| {
        let outcome = native(format!(r#"{{"task": "a", "usage": {usage}}}"#)).expect(usage);
        (outcome.batch().tokens[0], outcome.reading.half_usages)
    };
    assert_eq!(tokens(r#"{"input_tokens": 3, "output_tokens": 4}"#), (7, 0));
    assert_eq!(tokens(r#"{"input_tokens": 3, "output_tokens": 4, "total_tokens": 7}"#), (7, 0));
    assert_eq!(tokens(r#"{"total_tokens": 9}"#), (9, 0));
    assert_eq!(tokens(r#"{"input_tokens": 3, "total_tokens": 9}"#), (9, 0));
    assert_eq!(tokens(r#"{"input_tokens": 500.0}"#), (NO_COUNT, 1));
    assert_eq!(tokens("{}"), (NO_COUNT, 0));
    assert!(
        message(r#"{"task": "a", "usage": {"input_tokens": 3, "output_tokens": 4, "total_tokens": 8}}"#)
            .contains("field usage.total_tokens: 8 contradicts")
    );
    assert!(
        message(r#"{"task": "a", "usage": {"input_tokens": -3}}"#).contains("field usage.input_tokens: -3 is negative")
    );
    assert!(message(r#"{"task": "a", "usage": {"input_tokens": 0.5}}"#).contains("not a whole number"));
    assert!(message(r#"{"task": "a", "tool_calls": 1, "toolCalls": 2}"#).contains("field toolCalls: 2 contradicts 1"));
}

#[test]
fn headers_stand_anywhere_and_merge() {
    let outcome = native("{\"task\": \"a\"}\n{\"run\": {\"id\": \"r\", \"requested_rollouts\": 5, \"tasks\": [\"a\", \"b\"], \"more\": 1}}\n{\"run\": {\"tasks\": [\"c\"]}}\n{\"task\": \"a\", \"run\": \"r\"}").expect("read");
    let header = outcome.reading.header.as_ref().expect("header");
    assert_eq!(outcome.rollouts(), 2);
    assert_eq!((header.id.as_deref(), header.requested.clone()), (Some("r"), Some(Requested::Each(5))));
    assert_eq!(header.declared(), ["a", "b", "c"]);
    let per_task = native(r#"{"run": {"requested_rollouts": {"x": 2, "y": 3}}}"#).expect("read");
    let requested = per_task.reading.header.expect("header").requested;
    assert_eq!(requested, Some(Requested::PerTask(vec![("x".to_owned(), 2), ("y".to_owned(), 3)])));
}

#[test]
fn bad_headers_say_what_is_wrong() {
    for (run, expected) in [
        (r#"{"requested_rollouts": 0}"#, "run.requested_rollouts: 0 rollouts requested"),
        (r#"{"requested_rollouts": 1.5}"#, "run.requested_rollouts: 1.5 is not a whole number"),
        (r#"{"requested_rollouts": true}"#, "run.requested_rollouts: must be a whole number"),
        (r#"{"requested_rollouts": {"a": -1}}"#, "run.requested_rollouts.a: -1 is not"),
        (r#"{"requested_rollouts": {"a": 1, "a": 2}}"#, "run.requested_rollouts.a: the key stands twice"),
        (r#"{"id": 3}"#, "run.id: must be text"),
        (r#"{"tasks": "a"}"#, "run.tasks: must be an array"),
        (r#"{"tasks": ["a", "a"]}"#, "run.tasks[1]: \"a\" is declared twice"),
        (r#"{"tasks": ["a", 1]}"#, "run.tasks[1]: this id is an integer"),
        (r#"{"tasks": [null]}"#, "run.tasks[0]: null is not a task's id"),
        (r#"{"tasks": [""]}"#, "run.tasks[0]: a task's id is empty"),
        (r#"{"score_range": [1, 0]}"#, "run.score_range: must be two numbers"),
        (r#"{"score_range": [0, Infinity]}"#, "run.score_range[1]: Infinity is not a finite number"),
        (r#"{"score_range": [0, "1"]}"#, "run.score_range[1]: must be a number"),
    ] {
        let message = message(format!(r#"{{"run": {run}}}"#));
        assert!(message.contains(&format!("field {expected}")), "{run}: {message}");
    }
    let both = message(r#"{"run": {"id": "r"}, "task": "a", "score": 1}"#);
    assert!(both.contains("field run: a header and a rollout stand in one record"), "{both}");
}

#[test]
fn scores_are_held_against_the_declared_range() {
    let header = "{\"run\": {\"score_range\": [0, 1]}}\n";
    assert_eq!(native(format!("{header}{{\"task\": \"a\", \"score\": 1}}")).expect("read").rollouts(), 1);
    let outside = message(format!("{header}{{\"task\": \"a\", \"score\": 1.5}}"));
    assert!(outside.contains("line 2, field score: 1.5 lies outside the run's score_range [0, 1]"), "{outside}");
    let late = message(format!("{{\"task\": \"a\", \"score\": 1}}\n{header}"));
    assert!(late.contains("line 2, field run.score_range: must stand before the first rollout"), "{late}");
    // The range of one source holds for the run, whichever source is read first.
    let ranged = || Source::memory("b", header.as_bytes().to_vec());
    let other = || Source::memory("a", br#"{"task": "a", "score": -2}"#.to_vec());
    for sources in [vec![other(), ranged()], vec![ranged(), other()]] {
        let error = read_with(sources, How::default()).expect_err("outside").to_string();
        assert!(error.starts_with("a, line 1, field score: -2 lies outside"), "{error}");
    }
}

#[test]
fn a_run_of_another_id_is_refused_with_the_ways_on() {
    let error = message("{\"run\": {\"id\": \"a\"}}\n{\"run\": {\"id\": \"b\"}}\n{\"task\":");
    assert!(error.contains("this is run \"b\"") && error.contains("line 1"), "{error}");
}

#[test]
fn a_line_without_an_outcome_whose_keys_look_like_one_stops_with_a_hint() {
    for key in ["success", "correct", "resolved", "result", "is_correct", "task_id"] {
        let hinted = message(format!(r#"{{"task": "a", "{key}": true}}"#));
        assert!(hinted.contains(&format!("has a key \"{key}\"")), "{hinted}");
        for fine in [r#""score": 0"#, r#""error": "e""#, r#""status": "cancelled""#] {
            native(format!(r#"{{"task": "a", "{key}": true, {fine}}}"#)).expect(fine);
        }
    }
    native(r#"{"task": "a", "result": null, "whatever": 1}"#).expect("nothing looks like an outcome");
    assert!(message(r#"{"task_id": "a", "passed": true}"#).contains("is it what \"task_id\" holds?"));
}

#[test]
fn duplicate_keys_are_refused_in_decoded_objects_alone() {
    for line in [
        r#"{"task": "a", "task": "a"}"#,
        r#"{"task": "a", "x": 1, "y": 2, "x": 3}"#,
        r#"{"task": "a", "t\u0061sk": "b"}"#,
        r#"{"task": "a", "x": 1, "\u0078": 3}"#,
        r#"{"task": "a", "tags": {"s": "1", "s": "2"}}"#,
        r#"{"task": "a", "meta": 1, "meta": 2}"#,
        r#"{"task": "a", "verifiers": [{"name": "v", "name": "v"}]}"#,
        r#"{"task": "a", "checks": [{"label": "l", "passed": true, "passed": true}]}"#,
        r#"{"task": "a", "usage": {"input_tokens": 1, "input_tokens": 1}}"#,
    ] {
        assert!(message(line).contains("the key stands twice"), "{line}");
    }
    native(r#"{"task": "a", "meta": {"x": 1, "x": 2}}"#).expect("meta is not decoded");
    let usage = r#"{"task": "a", "usage": {"input_tokens": 1, "input_tokens": 1}}"#;
    read_with(bytes(usage), How { needs: Some(Needs::default()), ..How::default() }).expect("not decoded");
}
