//! Input that is wrong on purpose, in every field.

use super::*;

/// A value of each wrong kind, by the kinds a field takes.
const KINDS: [(&str, &str); 6] = [
    ("bool", "true"),
    ("integer", "7"),
    ("float", "0.25"),
    ("text", "\"hello\""),
    ("array", "[[]]"),
    ("object", "{\"zzz\": {}}"),
];

/// Every decoded field: a line with `@` in its place, the path that messages give, and the kinds it takes.
const FIELDS: [(&str, &str, &[&str]); 33] = [
    (r#"{"task": @}"#, "task", &["text", "integer"]),
    (r#"{"task": "a", "rollout": @}"#, "rollout", &["integer"]),
    (r#"{"task": "a", "status": @}"#, "status", &[]),
    (r#"{"task": "a", "error": @}"#, "error", &["text", "object"]),
    (r#"{"task": "a", "score": @}"#, "score", &["bool", "integer", "float"]),
    (r#"{"task": "a", "reward": @}"#, "reward", &["bool", "integer", "float"]),
    (r#"{"task": "a", "verdict": @}"#, "verdict", &[]),
    (r#"{"task": "a", "passed": @}"#, "passed", &["bool"]),
    (r#"{"task": "a", "checks": @}"#, "checks", &[]),
    (r#"{"task": "a", "checks": [@]}"#, "checks[0]", &[]),
    (r#"{"task": "a", "checks": [{"label": @, "required": true, "passed": true}]}"#, "checks[0].label", &["text"]),
    (r#"{"task": "a", "checks": [{"label": "l", "required": @, "passed": true}]}"#, "checks[0].required", &["bool"]),
    (r#"{"task": "a", "checks": [{"label": "l", "required": true, "passed": @}]}"#, "checks[0].passed", &["bool"]),
    (r#"{"task": "a", "verifiers": @}"#, "verifiers", &[]),
    (r#"{"task": "a", "verifiers": [@]}"#, "verifiers[0]", &[]),
    (r#"{"task": "a", "verifiers": [{"name": @}]}"#, "verifiers[0].name", &["text"]),
    (r#"{"task": "a", "verifiers": [{"name": "v", "score": @}]}"#, "verifiers[0].score", &["bool", "integer", "float"]),
    (r#"{"task": "a", "verifiers": [{"name": "v", "verdict": @}]}"#, "verifiers[0].verdict", &[]),
    (r#"{"task": "a", "verifiers": [{"name": "v", "projection": @}]}"#, "verifiers[0].projection", &["text"]),
    (r#"{"task": "a", "verifiers": [{"name": "v", "decision": @}]}"#, "verifiers[0].decision", &["text"]),
    (r#"{"task": "a", "verifiers": [{"name": "v", "error": @}]}"#, "verifiers[0].error", &["text", "object"]),
    (r#"{"task": "a", "verifiers": [{"name": "v", "readings": @}]}"#, "verifiers[0].readings", &[]),
    (r#"{"task": "a", "verifiers": [{"name": "v", "readings": [@]}]}"#, "verifiers[0].readings[0]", &[]),
    (
        r#"{"task": "a", "verifiers": [{"name": "v", "readings": [{"metric": "m", "subject": @, "value": 1}]}]}"#,
        "verifiers[0].readings[0].subject",
        &["text"],
    ),
    (
        r#"{"task": "a", "verifiers": [{"name": "v", "readings": [{"metric": @, "value": 1}]}]}"#,
        "verifiers[0].readings[0].metric",
        &["text"],
    ),
    (
        r#"{"task": "a", "verifiers": [{"name": "v", "readings": [{"metric": "m", "value": @}]}]}"#,
        "verifiers[0].readings[0].value",
        &["bool", "integer", "float", "text"],
    ),
    (r#"{"task": "a", "duration_s": @}"#, "duration_s", &["integer", "float"]),
    (r#"{"task": "a", "usage": @}"#, "usage", &["object"]),
    (r#"{"task": "a", "usage": {"input_tokens": @, "output_tokens": 1}}"#, "usage.input_tokens", &["integer"]),
    (r#"{"task": "a", "usage": {"total_tokens": @}}"#, "usage.total_tokens", &["integer"]),
    (r#"{"task": "a", "tool_calls": @}"#, "tool_calls", &["integer"]),
    (r#"{"task": "a", "tags": @}"#, "tags", &[]),
    (r#"{"task": "a", "tags": {"suite": @}}"#, "tags.suite", &["text"]),
];

#[test]
fn wrong_kinds_in_every_field_are_named_with_their_path() {
    for (line, path, fine) in FIELDS {
        for (kind, value) in KINDS {
            let line = line.replace('@', value);
            match native(&line) {
                Ok(_) => assert!(fine.contains(&kind), "{line} was read"),
                Err(error) => {
                    assert!(!fine.contains(&kind), "{line}: {error}");
                    let error = error.to_string();
                    assert!(error.starts_with(&format!("run.jsonl, line 1, field {path}")), "{line}: {error}");
                    assert!(!error.contains('\n') && error.len() < 400, "{error}");
                }
            }
        }
    }
}

#[test]
fn unfinished_objects_name_what_is_missing() {
    for (line, path) in [
        (r#"{"score": 1}"#, "task"),
        (r#"{"task": ""}"#, "task"),
        (r#"{"task": "a", "rollout": -1}"#, "rollout"),
        (r#"{"task": "a", "rollout": 18446744073709551616}"#, "rollout"),
        (r#"{"task": "a", "checks": [{"passed": true}]}"#, "checks[0].label"),
        (r#"{"task": "a", "checks": [{"label": "l", "required": true}]}"#, "checks[0].passed"),
        (r#"{"task": "a", "checks": [{"label": "l", "required": true, "passed": null}]}"#, "checks[0].passed"),
        (r#"{"task": "a", "checks": [null]}"#, "checks[0]"),
        (r#"{"task": "a", "verifiers": [null]}"#, "verifiers[0]"),
        (r#"{"task": "a", "verifiers": [{"name": ""}]}"#, "verifiers[0].name"),
        (
            r#"{"task": "a", "verifiers": [{"name": "v", "readings": [{"value": 1}]}]}"#,
            "verifiers[0].readings[0].metric",
        ),
        (r#"{"task": "a", "verifiers": [{"name": "v", "decision": ""}]}"#, "verifiers[0].decision"),
        (r#"{"task": "a", "tool_errors": -2}"#, "tool_errors"),
    ] {
        let error = message(line);
        assert!(error.starts_with(&format!("run.jsonl, line 1, field {path}: ")), "{line}: {error}");
    }
}

#[test]
fn syntax_is_checked_in_skipped_and_decoded_parts_alike() {
    for broken in [
        "tru",
        "nul",
        "01",
        "1.",
        ".5",
        "1e",
        "1e+",
        "-",
        "+1",
        "0x1",
        "-NaN",
        "nan",
        "inf",
        "-Infinit",
        "'a'",
        "\"a",
        "\"\\x\"",
        "\"\\u12g4\"",
        "\"\t\"",
        "\"\u{1}\"",
        "[1,]",
        "[1 2]",
        "[,1]",
        "{\"a\":1,}",
        "{\"a\" 1}",
        "{a:1}",
        "{1:1}",
        "[}",
        "{]",
        "1 1",
        "",
        ",",
        "\u{a0}1",
    ] {
        for line in [
            format!("{{\"task\": \"a\", \"meta\": {broken}}}"),
            format!("{{\"task\": \"a\", \"meta\": [[{{\"x\": {broken}}}]]}}"),
            format!("{{\"task\": \"a\", \"duration_s\": {broken}}}"),
        ] {
            let error = message(format!("{line}\n"));
            assert!(error.starts_with("run.jsonl, line 1: invalid JSON at byte "), "{line}: {error}");
        }
    }
    for line in ["nonsense", "{\"task\": \"a\"} x", "{\"task\": \"a\"}{\"task\": \"b\"}", "\u{feff}\u{feff}{}"] {
        assert!(message(format!("{line}\n")).contains("invalid JSON"), "{line}");
    }
    for line in ["[]", "1", "\"x\"", "null", "[{\"task\": \"a\"}]"] {
        assert!(message(line).contains("a record must be an object"), "{line}");
    }
}

#[test]
fn bare_tokens_are_read_where_nothing_is_decoded() {
    native(r#"{"task": "a", "meta": [NaN, Infinity, -Infinity, {"x": NaN}, 1e999, -0, 0e0, 1E+2]}"#).expect("skipped");
}

#[test]
fn text_that_is_not_utf8_is_refused_everywhere() {
    for (before, after) in
        [("{\"task\": \"", "\"}\n"), ("{\"task\": \"a\", \"meta\": \"", "\"}\n"), ("{\"task\": \"a\"", "}\n")]
    {
        for bad in [&b"\xFF"[..], b"\xC3", b"\xED\xA0\x80", b"\xC0\x80", b"\xF5\x80\x80\x80"] {
            let error = message([before.as_bytes(), bad, after.as_bytes()].concat());
            let at = before.len() + 1;
            assert_eq!(error, format!("run.jsonl, line 1: invalid JSON at byte {at}: the bytes are not UTF-8"));
        }
    }
}

#[test]
fn surrogates_are_text_in_pairs_alone() {
    let outcome = native(r#"{"task": "\ud83d\ude00\u0000\n\/", "meta": "\ud800"}"#).expect("read");
    assert_eq!(outcome.dictionary.tasks.names.get(0), "😀\0\n/");
    for id in [r"\ud800", r"\ude00", r"\ud83d\u0041", r"\ud83dx", r"\ud83d\n"] {
        let error = message(format!(r#"{{"task": "{id}"}}"#));
        assert!(error.contains("field task: a lone surrogate"), "{error}");
        assert!(message(format!(r#"{{"task": "a", "tags": {{"{id}": "x"}}}}"#)).contains("lone surrogate"));
    }
}

#[test]
fn other_line_separators_do_not_split() {
    let outcome =
        native("{\"task\": \"a\u{2028}b\u{85}c\u{2029}\u{b}\", \"meta\": \"\u{2028}\"}\n".replace('\u{b}', ""))
            .expect("read");
    assert_eq!(outcome.dictionary.tasks.names.get(0), "a\u{2028}b\u{85}c\u{2029}");
}

#[test]
fn deep_nesting_is_refused_and_never_overflows() {
    for (open, close) in [("[", "]"), ("{\"x\":", "}")] {
        let deep = |n: usize| format!("{{\"task\": \"a\", \"meta\": {}1{}}}\n", open.repeat(n), close.repeat(n));
        native(deep(500)).expect("deep enough for anyone");
        assert!(message(deep(1_000_000)).contains("nested deeper than 512"));
        let unclosed = format!("{{\"task\": \"a\", \"meta\": {}\n", open.repeat(1_000_000));
        assert!(message(unclosed).contains("nested deeper than 512"));
    }
    assert!(message("[".repeat(1_000_000) + "\n").contains("nested deeper"));
}

#[test]
fn huge_numbers_of_everything() {
    let digits = "9".repeat(100_000);
    assert!(message(format!(r#"{{"task": "a", "score": {digits}}}"#)).contains("is too large for a number"));
    assert!(message(format!(r#"{{"task": "a", "rollout": {digits}}}"#)).len() < 300);
    native(format!(r#"{{"task": {digits}, "score": 0.{digits}, "meta": -{digits}e{digits}}}"#)).expect("read");
    let keys: Vec<String> = (0..100_000).map(|i| format!("\"k{i}\": 0")).collect();
    native(format!(r#"{{"task": "a", {}}}"#, keys.join(","))).expect("many keys");
    assert!(
        message(format!(r#"{{"task": "a", {}, "k7": 1}}"#, keys.join(","))).contains("field k7: the key stands twice")
    );
    let checks = r#"{"label": "l", "required": true, "passed": true},"#.repeat(100_000);
    let outcome = native(format!(r#"{{"task": "a", "checks": [{}]}}"#, &checks[..checks.len() - 1])).expect("read");
    assert_eq!(outcome.batch().checks.flags.len(), 100_000);
}
