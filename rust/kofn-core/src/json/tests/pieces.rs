//! Pieces read side by side give what one reader gives, and routes give what a walk gives.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

/// Lines of all kinds, most of them alike.
fn line() -> impl Strategy<Value = String> {
    let alike = (0..40_u32, 0..9_u32, any::<bool>(), 0..4_usize, "[a-zé\\\\\"]{0,30}").prop_map(|(task, index, passed, more, text)| {
        let text = text.replace('\\', "\\\\").replace('"', "\\\"");
        let checks = format!(r#", {{"label": "{text}.", "required": {passed}, "passed": 1, "detail": {index}.5}}"#).repeat(more);
        format!(
            r#"{{"task": "t{task}", "rollout": {index}, "verifiers": [{{"name": "v{more}", "checks": [{{"label": "first", "required": true, "passed": {passed}}}{checks}], "readings": [{{"metric": "m", "value": {index}e-1}}, {{"metric": "n", "value": "{text}"}}]}}], "duration_s": {index}.25, "usage": {{"input_tokens": {task}, "output_tokens": null}}, "tags": {{"suite": "{text}", "k{index}": "x"}}, "meta": [{{"{text}": [{passed}, -0.5e1]}}]}}"#
        )
    });
    let other = prop_oneof![
        Just(String::new()),
        Just(" \t ".to_owned()),
        (0..40_u32).prop_map(|task| format!(r#"{{"task":"t{task}","score":0.5,"task_id":1}}"#)),
        (0..40_u32).prop_map(|task| format!(r#"{{"error": {{"type": "E"}}, "task": "t{task}", "status": null}}"#)),
        (0..40_u32).prop_map(|task| format!(r#"{{"error": "E", "task": "t{task}" , "score":  -1e0 , "x": {{}} }}"#)),
        (0..40_u32).prop_map(|task| format!(r#"{{"task": "t{task}", "a": 1, "b": [2], "a": 3, "score": 1}}"#)),
        (0..40_u32).prop_map(|task| format!(r#"{{"task": "t{task}", "score": 1, "\u0073core": 1}}"#)),
    ];
    prop_oneof![6 => alike, 2 => other]
}

/// What contradicts other lines.
fn clash() -> impl Strategy<Value = String> {
    prop_oneof![
        (0..9_u32).prop_map(|task| format!(r#"{{"task": {task}, "score": 2}}"#)),
        Just(r#"{"run": {"score_range": [0, 1]}}"#.to_owned()),
        Just(r#"{"run": {"id": "a", "requested_rollouts": 2}}"#.to_owned()),
        Just(r#"{"run": {"id": "b", "tasks": [1]}}"#.to_owned()),
        Just("nonsense".to_owned()),
        Just(r#"{"task": "\ud800"}"#.to_owned()),
    ]
}

/// A line with a byte replaced, so that it is often wrong.
fn broken() -> impl Strategy<Value = String> {
    (line(), any::<prop::sample::Index>(), "[\\[\\]{}\",:0-9a-z \\\\.-]").prop_map(|(mut line, at, byte)| {
        if !line.is_empty() {
            let at = at.index(line.len());
            if line.is_char_boundary(at) && line.is_char_boundary(at + 1) {
                line.replace_range(at..=at, &byte);
            }
        }
        line
    })
}

/// Everything a read gave, ids and places included.
fn all(outcome: Result<Outcome>) -> Result<String, String> {
    outcome.map(|outcome| format!("{outcome:?}")).map_err(|error| error.to_string())
}

#[test]
fn ids_of_another_kind_are_refused_after_pieces_without_any() {
    let lines = format!("{}{}", "{\"task\": \"a\", \"score\": 1}\n".repeat(100), "nonsense\n".repeat(1000));
    let texts = [lines.as_str(), "", r#"{"task": 7, "score": 1}"#];
    let sources = || {
        let named = texts.iter().enumerate();
        named.map(|(at, text)| Source::memory(format!("s{at}"), text.as_bytes().to_vec())).collect::<Vec<_>>()
    };
    let how = How { skip_errors: true, ..How::default() };
    for threads in [1, 2, 3, 16] {
        let Outcome { dictionary, reading, .. } = read_on(threads, sources(), how).expect("errors are skipped");
        assert_eq!((dictionary.tasks.names.len(), reading.skipped), (1, 1001), "{threads} threads");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn any_number_of_threads_reads_the_same(
        lines in vec(line(), 1..300), clashes in vec((any::<prop::sample::Index>(), clash()), 0..4), skip_errors in any::<bool>()
    ) {
        let mut lines = lines;
        for (at, clash) in clashes {
            let at = at.index(lines.len());
            lines.insert(at, clash);
        }
        let how = How { skip_errors, ..How::default() };
        let text = lines.join("\n");
        let sources = || {
            let more = [r#"{"task": 7, "score": 0.25}"#, "", "\u{feff}{\"task\": \"t1\", \"score\": 3}\n{\"ta"];
            let more = more.iter().map(|text| Source::memory(format!("z{}", text.len()), text.as_bytes().to_vec()));
            bytes(&text).into_iter().chain(more).collect::<Vec<_>>()
        };
        let one = all(read_on(1, sources(), how));
        for threads in [2, 3, 16] {
            prop_assert_eq!(&all(read_on(threads, sources(), how)), &one);
        }
    }

    #[test]
    fn lines_are_read_alike_whatever_was_read_before(
        lines in vec(prop_oneof![2 => line(), 1 => broken()], 1..20), needs in any::<bool>()
    ) {
        let needs = if needs { Needs::ALL } else { Needs::default() };
        let how = How { needs: Some(needs), skip_errors: true, ..How::default() };
        // The first one twice, so that each has something to be like.
        let lines: Vec<String> = lines.iter().flat_map(|line| [line, line]).take(20).cloned().collect();
        read_alike(&lines, how)?;
    }

    #[test]
    fn what_came_to_be_expected_is_still_checked(
        base in line(),
        // A byte of the line and what stands in its place, or a digit of it and another one.
        others in vec((any::<prop::sample::Index>(), prop::option::of("[\\[\\]{}\",:0-9a-zé \\\\.-]"), 1..5_usize), 1..6),
        needs in any::<bool>(), end in "[ \t\r]{0,2}"
    ) {
        let needs = if needs { Needs::ALL } else { Needs::default() };
        let how = How { needs: Some(needs), skip_errors: true, ..How::default() };
        // Often enough for every value to become part of the bytes around it.
        let mut lines = vec![base.clone(); 12];
        for (at, byte, times) in others {
            let mut line = base.clone();
            let digits: Vec<usize> = line.char_indices().filter(|(_, c)| c.is_ascii_digit()).map(|(at, _)| at).collect();
            let at = match &byte {
                None if !digits.is_empty() => digits[at.index(digits.len())],
                _ => at.index(line.len().max(1)),
            };
            if line.is_char_boundary(at) && line.is_char_boundary(at + 1) {
                line.replace_range(at..=at, byte.as_deref().unwrap_or("7"));
            }
            lines.extend(std::iter::repeat_n(line + &end, times));
            lines.push(base.clone());
        }
        // Twenty bad ones are listed.
        lines.truncate(20);
        read_alike(&lines, how)?;
    }
}

/// That lines give together what each gives alone.
fn read_alike(lines: &[String], how: How<'_>) -> Result<(), TestCaseError> {
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let together = read_with(bytes(&text), how).expect("skipped");
    let (mut rows, mut skipped) = (Vec::new(), Vec::new());
    for (at, line) in lines.iter().enumerate() {
        let alone = read_with(bytes(format!("{line}\n")), how).expect("skipped");
        rows.extend(alone.rows());
        let numbered = |message: &String| message.replacen("line 1", &format!("line {}", at + 1), 1);
        skipped.extend(alone.reading.skipped_first.iter().map(numbered));
    }
    prop_assert_eq!(together.rows(), rows);
    prop_assert_eq!(together.reading.skipped_first, skipped);
    Ok(())
}

#[test]
fn pieces_of_every_size_keep_lines_whole() {
    for padding in (3900..4400).chain(8100..8300).step_by(7) {
        let long = format!(r#"{{"task": "a", "score": 1, "meta": "{}"}}"#, "é".repeat(padding / 2));
        let short = r#"{"task": "b", "score": 0}"#;
        let text = format!("{long}\n{short}\n\n{long}\n{long}");
        for threads in [1, 2] {
            let outcome = read_on(threads, bytes(&text), How::default()).expect("read");
            let places: Vec<_> = outcome.origins().iter().map(|origin| (origin.line, origin.offset)).collect();
            let second = long.len() as u64 + 1;
            let third = second + short.len() as u64 + 2;
            assert_eq!(places, [(1, 0), (2, second), (4, third), (5, third + second)]);
        }
    }
}

#[test]
fn a_range_holds_for_pieces_that_were_read_before_it_was_known() {
    let line = "{\"task\": \"a\", \"score\": 0.5}\n";
    let header = "{\"run\": {\"score_range\": [0, 1]}}\n";
    for at in [0, 1, 10, 200, 500] {
        let blank = "\n".repeat(5000);
        let text = format!("{blank}{header}{}{{\"task\": \"b\", \"score\": 2}}\n{}", line.repeat(at), line.repeat(500));
        let late = format!("{blank}{}{header}{line}", line.repeat(at));
        for threads in [1, 2, 16] {
            let error = read_on(threads, bytes(&text), How::default()).expect_err("outside").to_string();
            let expected = format!("run.jsonl, line {}, field score: 2 lies outside", 5002 + at);
            assert!(error.starts_with(&expected), "{error}");
            let read = read_on(threads, bytes(&late), How::default());
            assert_eq!(read.is_ok(), at == 0, "{at}");
        }
    }
}
