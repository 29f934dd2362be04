//! The mapping language, proved on three shapes of other tools.

use std::io::{Cursor, Write};

use super::*;
use crate::batch::{Status, Verdict};
use crate::json::{Field, Layout, Required, Target};
use zip::write::SimpleFileOptions;

fn mapping(name: &str, layout: &str, fields: Vec<(&str, Target)>) -> Mapping {
    Mapping {
        name: name.to_owned(),
        layout: Layout::Array(layout.to_owned()),
        members: Vec::new(),
        fields: fields.into_iter().map(|(path, target)| Field { path: path.to_owned(), target }).collect(),
        verifier: "reward".to_owned(),
        error_means_errored: false,
        hints: false,
    }
}

fn words<T: Copy>(words: &[(&str, T)]) -> Vec<(String, T)> {
    words.iter().map(|(word, meaning)| ((*word).to_owned(), *meaning)).collect()
}

/// Inspect's sample summaries.
fn inspect() -> Mapping {
    let grades = words(&[("C", 1.0), ("I", 0.0), ("P", 0.5), ("N", 0.0)]);
    let fields = vec![
        ("id", Target::Task),
        ("epoch", Target::Index { base: 1 }),
        ("error", Target::Error),
        ("limit", Target::Ignored),
        ("scores.*", Target::Verification { name: None, score_stands: true, verdict_stands: true }),
        ("scores.*.value", Target::Score { words: grades }),
        ("scores.*.value.*", Target::Reading),
        ("scores.*.value.*", Target::Value),
        ("scores.*.value[]", Target::Ignored),
        ("model_usage.*.input_tokens", Target::InputTokens),
        ("model_usage.*.output_tokens", Target::OutputTokens),
        ("model_usage.*.input_tokens_cache_read", Target::CachedTokens),
        ("model_usage.*.input_tokens_cache_write", Target::CachedTokens),
        ("total_time", Target::Duration { seconds: 1.0 }),
    ];
    Mapping {
        members: vec!["summaries.json".to_owned(), "_journal/summaries/*.json".to_owned()],
        error_means_errored: true,
        ..mapping("inspect", "[]", fields)
    }
}

/// tau2's monolithic results.
fn tau2() -> Mapping {
    let check = |label: &str, kind: &str| Target::Check {
        label: Some(label.to_owned()),
        required: Required::Kind(kind.to_owned()),
    };
    let passed = || Target::CheckPassed { words: Vec::new() };
    let verification =
        Target::Verification { name: Some("tau2".to_owned()), score_stands: true, verdict_stands: false };
    let fields = vec![
        ("task_id", Target::Task),
        ("trial", Target::Index { base: 0 }),
        ("duration", Target::Duration { seconds: 1.0 }),
        ("reward_info", verification),
        ("reward_info.reward", Target::Score { words: Vec::new() }),
        ("reward_info.reward_basis[]", Target::RequiredKind),
        ("reward_info.db_check", check("db", "DB")),
        ("reward_info.db_check.db_match", passed()),
        ("reward_info.env_assertions[]", check("env_assertion", "ENV_ASSERTION")),
        ("reward_info.env_assertions[].met", passed()),
        ("reward_info.communicate_checks[]", check("communicate", "COMMUNICATE")),
        ("reward_info.communicate_checks[].met", passed()),
    ];
    mapping("tau2", "simulations[]", fields)
}

const SUMMARIES: &str = r#"[
 {"id": "q7", "epoch": 2, "input": "[{", "scores": {"match": {"value": "C", "explanation": "\\"}, "judge": {"value": 0.25}},
  "model_usage": {"m": {"input_tokens": 90, "output_tokens": 10, "total_tokens": 100, "input_tokens_cache_read": 5, "input_tokens_cache_write": null},
                  "n": {"input_tokens": 1, "output_tokens": 2}},
  "total_time": 3.2, "error": null, "completed": true},
 {"id": "q8", "epoch": 1, "scores": {"match": {"value": "P"}, "judge": {"value": null}, "dict": {"value": {"a": 1, "b": "x"}}, "list": {"value": [1, 2]}},
  "limit": "token", "total_time": 1},
 {"id": "q9", "epoch": 1, "scores": {"match": {"value": "N"}, "judge": {"value": NaN}}, "error": "boom"},
 {"id": "q9", "epoch": 2, "scores": null, "error": "boom"}
]
"#;

fn archive(members: &[(&str, &str, zip::CompressionMethod)]) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, text, method) in members {
        writer.start_file(*name, SimpleFileOptions::default().compression_method(*method)).expect("member");
        writer.write_all(text.as_bytes()).expect("written");
    }
    writer.finish().expect("archive").into_inner()
}

fn read_as(mapping: &Mapping, bytes: &[u8]) -> Result<Outcome> {
    let sources = vec![Source::memory("log", bytes.to_vec())];
    read_with(sources, How { mapping: Some(mapping), ..How::default() })
}

#[test]
fn inspect_summaries_bare_and_in_archives() {
    use zip::CompressionMethod::{Deflated, Stored, Zstd};
    let bare = read_as(&inspect(), SUMMARIES.as_bytes()).expect("read").rows();
    assert_eq!(
        bare,
        [
            "q7 1 succeeded match=1/Absent judge=0.25/Absent 3.2s 108tok tools -1/-1",
            "q8 0 succeeded match=0.5/Absent judge=NaN/Absent dict=NaN/Absent /a=Number(1.0) /b=\"x\" list=NaN/Absent \
             1s -1tok tools -1/-1",
            "q9 0 errored match=0/Absent judge=NaN/Absent NaNs -1tok tools -1/-1",
            "q9 1 errored NaNs -1tok tools -1/-1",
        ]
    );
    for method in [Stored, Deflated, Zstd] {
        let zipped = archive(&[("header.json", "{}", method), ("summaries.json", SUMMARIES, method)]);
        assert_eq!(read_as(&inspect(), &zipped).expect("read").rows(), bare);
    }
    // A run that died has only its journal, in numbered parts.
    let part = |id: u32| format!(r#"[{{"id": "q{id}", "epoch": 1, "scores": null}}]"#);
    let (first, second) = (part(2), part(10));
    let died = archive(&[
        ("_journal/summaries/10.json", &second, Deflated),
        ("_journal/summaries/2.json", &first, Deflated),
        ("header.json", "{", Deflated),
    ]);
    let outcome = read_as(&inspect(), &died).expect("read");
    assert_eq!(outcome.dictionary.tasks.names.iter().collect::<Vec<_>>(), ["q2", "q10"]);
    let lines: Vec<_> = outcome.origins().iter().map(|origin| origin.line).collect();
    assert_eq!(lines, [1, 2]);
    let mut again = crate::json::Records::new(Source::memory("log", died), &inspect());
    for origin in outcome.origins().into_iter().rev() {
        let record = String::from_utf8(again.get(origin).expect("again")).expect("text");
        assert!(record.starts_with(r#"{"id": "q"#) && record.ends_with('}'), "{record}");
    }
}

#[test]
fn inspect_faults_name_record_and_field() {
    let error = |text: &str| read_as(&inspect(), text.as_bytes()).expect_err("refused").to_string();
    let unknown = error(r#"[{"id": 1, "epoch": 1}, {"id": 2, "epoch": 1, "scores": {"m": {"value": "Z"}}}]"#);
    assert!(unknown.starts_with("log, record 2, field scores.m.value: \"Z\" is no score"), "{unknown}");
    let epoch = error(r#"[{"id": 1, "epoch": 0}]"#);
    assert!(epoch.contains("field epoch: 0 is not a rollout's index: that is an integer from 1"), "{epoch}");
    assert!(error(r#"{"samples": []}"#).contains("it is no array"), "another document");
    assert!(error(r#"[{"id": 1}, {"id": 2}"#).contains("the document ends"));
    assert!(error(r#"[{"id": 1}, {"id": 2"#).contains("record 2: invalid JSON"));
    let text = error(r#"[{"id": "a", "epoch": "1"}]"#);
    assert!(text.contains("field epoch"), "{text}");
    let none = read_as(&inspect(), &archive(&[("other.json", "[]", zip::CompressionMethod::Stored)]));
    assert!(none.expect_err("refused").to_string().contains("without a member summaries.json or"));
    let lines = read_with(vec![Source::memory("z", archive(&[]))], How::default()).expect_err("refused").to_string();
    assert!(lines.starts_with("z: is a zip archive"), "{lines}");
}

#[test]
fn tau2_simulations_stream_out_of_a_large_document() {
    let text = r#"{"timestamp": "t", "info": {"num_trials": 2, "x": [1, {"y": [null, true, -1.5e3, "\u00e9]"]}]},
      "tasks": [{"id": "12", "simulations": [{"task_id": "no"}]}, []],
      "simulations": [
        {"id": "s1", "task_id": "12", "trial": 0, "duration": 41.5, "termination_reason": "user_stop",
         "reward_info": {"reward": 1.0, "db_check": {"db_match": true, "db_reward": 1.0}, "communicate_checks": [{"met": true}],
                         "env_assertions": [{"met": false}], "reward_basis": ["DB", "COMMUNICATE"]}},
        {"id": "s2", "task_id": "12", "trial": 1, "reward_info": {"reward": 0.0, "reward_basis": ["DB"], "db_check": {"db_match": false}, "env_assertions": null}},
        {"id": "s3", "task_id": "13", "trial": null, "reward_info": null},
        {"id": "s4", "task_id": "14", "trial": 3, "reward_info": {"reward": 0.0, "reward_basis": null, "db_check": null}}
      ], "simulation_index": null}"#;
    let outcome = read_as(&tau2(), text.as_bytes()).expect("read");
    let rows = &outcome.batch().verifications;
    assert_eq!(rows.score, [1.0, 0.0, 0.0]);
    assert_eq!(rows.verdict, [Verdict::Pass, Verdict::Fail, Verdict::Absent]);
    assert_eq!(outcome.batch().checks.flags, [3, 3, 0, 1]);
    assert_eq!(outcome.batch().status, [Status::Succeeded; 4]);
    assert!(outcome.rows()[0].starts_with("12 0 succeeded tau2=1/Pass [db 3] [communicate 3] [env_assertion 0] 41.5s"));
    // Syntax is checked outside of the array too, wherever the chunks end.
    for (from, to) in
        [("-1.5e3", "-1.5e"), ("[null,", "[nul,"), ("\\u00e9", "\\u00g9"), ("null}", "null]"), ("\"tasks\"", "tasks")]
    {
        assert!(text.contains(from), "{from}");
        let error = read_as(&tau2(), text.replacen(from, to, 1).as_bytes()).expect_err("refused").to_string();
        assert!(error.contains("invalid JSON"), "{to}: {error}");
    }
    let twice = text.replacen("\"tasks\"", "\"simulations\"", 1);
    assert!(read_as(&tau2(), twice.as_bytes()).is_err());
    assert!(
        read_as(&tau2(), b"{\"info\": {}}")
            .expect_err("refused")
            .to_string()
            .contains("it has no array \"simulations\"")
    );
}

#[test]
fn the_older_tau_bench_list() {
    let score = Target::Score { words: Vec::new() };
    let fields = vec![("task_id", Target::Task), ("trial", Target::Index { base: 0 }), ("reward", score)];
    let text = r#"[{"task_id": 0, "trial": 1, "reward": 1.0, "info": {}, "traj": [{"role": "user"}]}]"#;
    let outcome = read_as(&mapping("tau-bench", "[]", fields), text.as_bytes()).expect("read");
    assert_eq!(outcome.rows(), ["0 1 succeeded reward=1/Absent NaNs -1tok tools -1/-1"]);
}

#[test]
fn verdict_words_and_bare_checks() {
    let check = Target::Check { label: None, required: Required::Always };
    let fields = vec![
        ("task_id", Target::Task),
        (
            "parser_results",
            Target::Verification { name: Some("tests".into()), score_stands: false, verdict_stands: false },
        ),
        ("parser_results.*", check),
        ("parser_results.*", Target::CheckPassed { words: words(&[("passed", true), ("failed", false)]) }),
    ];
    let text = r#"[{"task_id": "hello", "parser_results": {"test_a": "passed", "test_b": "failed"}}]"#;
    let outcome = read_as(&mapping("terminal-bench", "[]", fields), text.as_bytes()).expect("read");
    assert!(outcome.rows()[0].starts_with("hello -1 succeeded tests=0.5/Fail [test_a 3] [test_b 1]"));
}

#[test]
fn skipping_goes_on_with_the_next_element_but_not_past_bad_syntax() {
    let mapping = inspect();
    let how = How { mapping: Some(&mapping), skip_errors: true, ..How::default() };
    let sources = |text: &str| vec![Source::memory("log", text.as_bytes().to_vec())];
    let outcome = read_with(sources(r#"[{"id": null}, {"id": 2, "epoch": 1}]"#), how).expect("skipped");
    assert_eq!((outcome.rollouts(), outcome.reading.skipped), (1, 1));
    assert_eq!(outcome.reading.skipped_first.len(), 1);
    for broken in [r#"[{"id" 1}, {"id": 2, "epoch": 1}]"#, r#"[{"id": 1, "epoch": 1},]"#] {
        read_with(sources(broken), how).expect_err(broken);
    }
}

#[test]
fn archives_from_streams_and_damaged_archives() {
    let summaries = [("summaries.json", SUMMARIES, zip::CompressionMethod::Deflated)];
    let zipped = archive(&summaries);
    let mapping = inspect();
    let how = How { mapping: Some(&mapping), ..How::default() };
    let stream = |bytes: Vec<u8>| {
        vec![Source { name: "-".to_owned(), input: crate::json::Input::Stream(Box::new(Cursor::new(bytes))) }]
    };
    let streamed = read_with(stream(zipped.clone()), how).expect("read");
    assert_eq!(streamed.rows(), read_as(&mapping, SUMMARIES.as_bytes()).expect("read").rows());
    assert_eq!(streamed.reading.sources, [("-".to_owned(), Some(xxhash_rust::xxh3::xxh3_64(&zipped)))]);
    // Whatever is damaged, it is read as before or refused.
    for at in 0..zipped.len() {
        for bit in [0x01, 0x80] {
            let mut damaged = zipped.clone();
            damaged[at] ^= bit;
            if let Ok(outcome) = read_as(&mapping, &damaged) {
                assert_eq!(outcome.rows(), streamed.rows(), "byte {at}");
            }
        }
        assert!(read_as(&mapping, &zipped[..at]).is_err() || at == 0, "cut at {at}");
    }
}

/// Real runs, which stay outside of the project.
#[test]
fn real_runs_are_read_in_full() {
    let Ok(root) = std::env::var("CARGO_MANIFEST_DIR") else { return };
    let data = std::path::Path::new(&root).join("../../../shared/data");
    if !data.exists() {
        return;
    }
    let source = |name: &str| vec![Source::path(data.join(name))];
    for (name, passed) in [("terminal-bench-sonnet-4.jsonl", 144), ("terminal-bench-qwen3-coder.jsonl", 77)] {
        let outcome = read_with(source(name), How::default()).expect(name);
        assert_eq!((outcome.rollouts(), outcome.dictionary.tasks.names.len()), (400, 80));
        let verdicts = outcome.batches.iter().flat_map(|batch| &batch.verifications.verdict);
        assert_eq!(verdicts.filter(|verdict| **verdict == Verdict::Pass).count(), passed, "{name}");
    }
    let score = Target::Score { words: Vec::new() };
    let fields = vec![("task_id", Target::Task), ("trial", Target::Index { base: 0 }), ("reward", score)];
    let tau = mapping("tau-bench", "[]", fields);
    let outcome = read_with(source("tau-bench/gpt-4o-airline.json"), How { mapping: Some(&tau), ..How::default() });
    let outcome = outcome.expect("tau-bench");
    assert_eq!(outcome.batches.iter().flat_map(|batch| &batch.verifications.score).sum::<f64>(), 84.0);
    let inspect = inspect();
    for (name, rollouts) in [("log_streaming.eval", 4), ("2025-02-11T15-17-00-05-00_popularity.eval", 10)] {
        let how = How { mapping: Some(&inspect), ..How::default() };
        assert_eq!(read_with(source(&format!("inspect/{name}")), how).expect(name).rollouts(), rollouts);
    }
}
