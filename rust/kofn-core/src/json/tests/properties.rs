//! Properties: no bytes panic; form does not matter, content does.

use std::fmt::Write as _;

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

/// JSON text of a string.
fn quoted(text: &str) -> String {
    let mut out = String::from('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c < ' ' => write!(out, "\\u{:04x}", u32::from(c)).expect("a string takes all"),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// White space as JSON allows it inside a line.
fn space() -> impl Strategy<Value = &'static str> {
    prop_oneof![Just(""), Just(" "), Just("\t"), Just("  \t ")]
}

#[derive(Clone, Debug)]
struct Check {
    label: String,
    required: bool,
    passed: bool,
}

#[derive(Clone, Debug)]
struct Rollout {
    task: String,
    index: Option<u32>,
    checks: Vec<Check>,
    score: f64,
    duration: f64,
    tokens: (u32, u32),
    tag: String,
}

fn rollout() -> impl Strategy<Value = Rollout> {
    let check = (any::<String>(), any::<bool>(), any::<bool>()).prop_map(|(label, required, passed)| Check {
        // An empty label is refused, as an empty name is.
        label: if label.is_empty() { "-".to_owned() } else { label },
        required,
        passed,
    });
    let score = any::<f64>().prop_filter("finite", |score| score.is_finite());
    (".{1,8}", any::<Option<u32>>(), vec(check, 0..4), score, 0.0..1e9, any::<(u32, u32)>(), any::<String>()).prop_map(
        |(task, index, mut checks, score, duration, tokens, tag)| {
            checks.push(Check { label: "always".to_owned(), required: true, passed: true });
            Rollout { task, index, checks, score, duration, tokens, tag }
        },
    )
}

impl Rollout {
    /// Members of the record, each as key and value.
    fn members(&self) -> Vec<(String, String)> {
        let checks = self.checks.iter().map(|check| {
            format!(
                r#"{{"label":{},"required":{},"passed":{}}}"#,
                quoted(&check.label),
                check.required,
                u8::from(check.passed)
            )
        });
        let checks = checks.collect::<Vec<_>>().join(",");
        let verifiers = format!(
            r#"[{{"name":"tests","checks":[{checks}]}},{{"name":"judge","score":{:?},"readings":[{{"metric":"m","value":{:?}}}]}}]"#,
            self.score, self.score
        );
        let usage = format!(r#"{{"input_tokens":{},"output_tokens":{}}}"#, self.tokens.0, self.tokens.1);
        let mut members = vec![
            ("task", quoted(&self.task)),
            ("verifiers", verifiers),
            ("duration_s", format!("{:?}", self.duration)),
            ("usage", usage),
            ("tags", format!(r#"{{"t":{}}}"#, quoted(&self.tag))),
            ("meta", r#"{"a":[1,{"b":null}]}"#.to_owned()),
        ];
        if let Some(index) = self.index {
            members.push(("rollout", index.to_string()));
        }
        members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
    }
}

fn line(members: &[(String, String)], space: &str) -> String {
    let members: Vec<String> =
        members.iter().map(|(key, value)| format!("{space}\"{key}\"{space}:{space}{value}{space}")).collect();
    format!("{space}{{{}}}{space}", members.join(","))
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(bytes in vec(any::<u8>(), 0..200)) {
        let _ = native(&bytes);
    }

    #[test]
    fn any_damage_is_read_or_refused(rollout in rollout(), at in any::<prop::sample::Index>(), byte in any::<u8>(), cut in any::<bool>()) {
        let mut bytes = line(&rollout.members(), "").into_bytes();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        if cut {
            bytes.truncate(at);
        }
        let skip = How { skip_errors: true, ..How::default() };
        let outcome = read_with(super::bytes(&bytes), skip).expect("skipped");
        let account = outcome.rollouts() as u64 + outcome.reading.skipped + outcome.reading.cut.len() as u64;
        // A byte that became a line break makes two lines of one.
        prop_assert!(account <= 2);
        let _ = native(&bytes);
    }

    #[test]
    fn the_order_of_keys_and_white_space_do_not_matter(
        (rollout, shuffled) in rollout().prop_flat_map(|rollout| {
            let members = rollout.members();
            (Just(rollout), Just(members).prop_shuffle())
        }),
        space in space(),
    ) {
        let straight = native(line(&rollout.members(), "")).expect("read");
        let other = native(line(&shuffled, space)).expect("read");
        prop_assert_eq!(straight.rows(), other.rows());
    }

    #[test]
    fn what_was_written_is_what_is_read(rollouts in vec(rollout(), 1..20)) {
        let text: Vec<String> = rollouts.iter().map(|rollout| line(&rollout.members(), " ")).collect();
        let outcome = native(text.join("\n")).expect("read");
        prop_assert_eq!(outcome.rollouts(), rollouts.len());
        let places = outcome.batches.iter().flat_map(|batch| (0..batch.len()).map(move |i| (batch, i)));
        for ((batch, i), rollout) in places.zip(&rollouts) {
            prop_assert_eq!(outcome.dictionary.tasks.names.get(batch.task[i]), &rollout.task);
            prop_assert_eq!(batch.index[i], rollout.index.map_or(crate::batch::NO_INDEX, u64::from));
            let rows = batch.verifications_of(i);
            // One zero: a score of -0.0 is read as 0.0.
            prop_assert_eq!(batch.verifications.score[rows.start + 1].to_bits(), (rollout.score + 0.0).to_bits());
            let labels: Vec<&str> =
                crate::batch::range(&batch.checks.offsets, rows.start).map(|c| outcome.text(batch.checks.label[c])).collect();
            prop_assert_eq!(labels, rollout.checks.iter().map(|check| check.label.as_str()).collect::<Vec<_>>());
            prop_assert_eq!(batch.duration[i].to_bits(), rollout.duration.to_bits());
            prop_assert_eq!(batch.tokens[i], i64::from(rollout.tokens.0) + i64::from(rollout.tokens.1));
            prop_assert_eq!(outcome.text(batch.tags.value[i]), &rollout.tag);
        }
    }

    #[test]
    fn floats_keep_their_last_bit(bits in any::<u64>()) {
        let value = f64::from_bits(bits);
        prop_assume!(value.is_finite());
        for text in [format!("{value:?}"), format!("{value:e}"), format!("{value}")] {
            let outcome = native(format!(r#"{{"task": "a", "score": {text}}}"#)).expect("read");
            prop_assert_eq!(outcome.batch().verifications.score[0].to_bits(), (value + 0.0).to_bits());
        }
    }

    #[test]
    fn short_decimals_are_rounded_once(whole in 0_u32..100_000_000, digits in 0_u32..100_000_000, negative in any::<bool>()) {
        let text = format!("{}{whole}.{digits:08}", if negative { "-" } else { "" });
        let value: f64 = text.parse().expect("a number");
        let outcome = native(format!(r#"{{"task": "a", "score": {text}}}"#)).expect("read");
        prop_assert_eq!(outcome.batch().verifications.score[0].to_bits(), (value + 0.0).to_bits());
    }

    #[test]
    fn arrays_and_lines_give_the_same_rows(rollouts in vec(rollout(), 0..8), space in space()) {
        let lines: Vec<String> = rollouts.iter().map(|rollout| line(&rollout.members(), space)).collect();
        let array = Mapping { layout: crate::json::Layout::Array("x.rows[]".to_owned()), ..Mapping::native() };
        let document = format!("{{\"z\":[{{}}],{space}\"x\":{{\"rows\":[{}]}}{space}}}", lines.join(",\n"));
        let by_array = read_with(super::bytes(document), How { mapping: Some(&array), ..How::default() }).expect("array");
        prop_assert_eq!(by_array.rows(), native(lines.join("\n")).expect("lines").rows());
    }
}
