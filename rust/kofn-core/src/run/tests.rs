#![expect(clippy::format_push_string, reason = "records are put together piece by piece")]

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::details::native;
use super::select::Selection;
use super::{Dedupe, Group, OnDuplicate, Run, dedupe};
use crate::batch::Batch;
use crate::error::{Error, Result, Unit};
use crate::header::Requested;
use crate::json::{Input, Mapping, Options, Source};
use crate::names::Dictionary;
use crate::plan::Needs;

fn source(name: &str, text: &str) -> Source {
    Source { name: name.to_owned(), input: Input::Memory(text.as_bytes().into()) }
}

fn read(sources: Vec<Source>, how: OnDuplicate) -> Result<Run> {
    let mapping = Mapping::native();
    let options =
        Options { mapping: &mapping, needs: Needs::ALL, skip_errors: false, keep_ungradable: false, unit: Unit::Line };
    Run::read(vec![Group { unit: Unit::Line, sources }], &options, how, &mut || Ok(()))
}

fn one(text: &str) -> Run {
    read(vec![source("run", text)], OnDuplicate::Raise).expect("the run is sound")
}

/// Task, index and score of every rollout.
fn rows(run: &Run) -> Vec<(String, u64, f64)> {
    let row = |batch: &Batch, i: usize| {
        let task = run.dictionary.tasks.names.get(batch.task[i]).to_owned();
        (task, batch.index[i], batch.verifications.score[batch.verifications_of(i).start])
    };
    run.batches.iter().flat_map(|batch| (0..batch.len()).map(move |i| row(batch, i))).collect()
}

fn record(task: u8, index: u64, score: u8) -> String {
    format!("{{\"task\":\"t{task}\",\"rollout\":{index},\"score\":{score}}}\n")
}

proptest! {
    #[test]
    fn duplicates_are_handled_as_a_map_would(
        records in proptest::collection::vec((0..3_u8, 0..6_u64, 0..2_u8), 1..40),
        cut in 0..40_usize,
    ) {
        let lines: Vec<String> = records.iter().map(|&(task, index, score)| record(task, index, score)).collect();
        let (a, b) = lines.split_at(cut.min(lines.len()));
        let sources = || vec![source("a", &a.concat()), source("b", &b.concat())];
        let (mut first, mut last, mut contradiction) = (BTreeMap::new(), BTreeMap::new(), false);
        for &(task, index, score) in &records {
            contradiction |= *first.entry((task, index)).or_insert(score) != score;
            last.insert((task, index), score);
        }
        let copies = (records.len() - first.len()) as u64;
        let found = |how| read(sources(), how).map(|run| {
            let scores: BTreeMap<_, _> = rows(&run).into_iter().map(|(task, index, score)| ((task, index), score)).collect();
            (rows(&run).len(), scores, run.reading.dropped)
        });
        let expected = |map: &BTreeMap<(u8, u64), u8>| {
            let scores = map.iter().map(|(&(task, index), &score)| ((format!("t{task}"), index), f64::from(score)));
            (map.len(), scores.collect::<BTreeMap<_, _>>(), copies)
        };
        prop_assert_eq!(found(OnDuplicate::First)?, expected(&first));
        prop_assert_eq!(found(OnDuplicate::Last)?, expected(&last));
        match found(OnDuplicate::Raise) {
            Ok(found) => prop_assert_eq!(found, expected(&first)),
            Err(error) => {
                prop_assert!(copies > 0);
                let known = matches!(&error, Error::Duplicate { first: Some(_), second: Some(_), equal: Some(_), .. });
                prop_assert!(known, "{}", error);
            }
        }
        match found(OnDuplicate::Identical) {
            Ok(found) => {
                prop_assert!(!contradiction);
                prop_assert_eq!(found, expected(&first));
            }
            Err(error) => {
                prop_assert!(contradiction);
                let told = matches!(error, Error::Duplicate { equal: Some(false), .. });
                prop_assert!(told);
            }
        }
    }

    #[test]
    fn what_columns_write_the_reader_reads(
        checks in proptest::collection::vec(("[a-z\"\\\\]{1,3}", any::<bool>(), any::<bool>()), 0..4),
        score in proptest::option::of(-1e9..1e9),
        status in 0..4_usize,
        tags in proptest::collection::btree_map("[a-z]{1,2}", "\\PC{0,3}", 0..3),
        duration in proptest::option::of(0.0..1e9),
    ) {
        let mut record = format!("{{\"task\":7,\"status\":{:?}", crate::batch::Status::ALL[status].word());
        let mut verifier = String::from("{\"name\":\"v\",\"projection\":\"mine\"");
        if !checks.is_empty() {
            let list: Vec<String> = checks.iter().enumerate().map(|(i, (label, required, passed))| {
                format!("{{\"label\":{label:?},\"required\":{},\"passed\":{passed}}}", *required || i == 0)
            }).collect();
            verifier.push_str(&format!(",\"checks\":[{}]", list.join(",")));
        }
        if let Some(score) = score {
            verifier.push_str(&format!(",\"score\":{score:?}"));
        }
        record.push_str(&format!(",\"verifiers\":[{verifier},\"readings\":[{{\"metric\":\"m\",\"value\":true}}]}}]"));
        if let Some(duration) = duration {
            record.push_str(&format!(",\"duration_s\":{duration:?}"));
        }
        let list: Vec<String> = tags.iter().map(|(name, value)| {
            let mut out = String::new();
            crate::json::value::write_text(name, &mut out);
            out.push(':');
            crate::json::value::write_text(value, &mut out);
            out
        }).collect();
        record.push_str(&format!(",\"tags\":{{{}}}}}\n", list.join(",")));
        let run = one(&record);
        let again = native(&run.batches[0], 0, &run.dictionary);
        // The projection's name is no column: without it the score would have to agree with the checks.
        let again = again.replacen("{\"name\":\"v\"", "{\"name\":\"v\",\"projection\":\"mine\"", 1);
        let twice = one(&again);
        prop_assert_eq!(native(&twice.batches[0], 0, &twice.dictionary), native(&run.batches[0], 0, &run.dictionary));
        prop_assert_eq!(&twice.batches[0].checks.flags, &run.batches[0].checks.flags);
    }
}

#[test]
fn a_stream_finds_the_earlier_place_by_a_second_read() {
    let text = [record(0, 1, 1), record(0, 2, 0), record(0, 1, 0)].concat();
    let mapping = Mapping::native();
    let options = Options {
        mapping: &mapping,
        needs: Needs::default(),
        skip_errors: false,
        keep_ungradable: false,
        unit: Unit::Line,
    };
    let mut stage = Dedupe::new(OnDuplicate::Raise);
    let mut take = |mut batch: Batch, dictionary: &Dictionary| stage.apply(&mut batch, dictionary);
    let sources = || vec![source("run", &text)];
    let error = crate::json::read(sources(), &options, &mut Dictionary::default(), &mut take, &mut || Ok(()))
        .expect_err("rollout 1 stands twice");
    assert!(matches!(&error, Error::Duplicate { first: None, equal: None, .. }), "{error}");
    let located = dedupe::locate(error, sources(), &options, &mut || Ok(()));
    let told = located.to_string();
    assert!(told.contains("run, line 1 and run, line 3"), "{told}");
    assert!(matches!(located, Error::Duplicate { equal: Some(false), .. }));
}

#[test]
fn a_selection_renumbers_tasks_and_keeps_declared_ones() {
    let run = one(concat!(
        "{\"run\":{\"requested_rollouts\":{\"a\":1,\"b\":2,\"c\":3}}}\n",
        "{\"task\":\"a\",\"score\":1}\n{\"task\":\"b\",\"score\":2}\n{\"task\":\"b\",\"score\":3}\n",
    ));
    let tasks = Some(vec!["c".to_owned(), "b".to_owned()]);
    let part = run.select(&Selection { tasks, ..Selection::default() }).expect("both are known");
    assert_eq!(rows(&part).iter().map(|row| row.2).collect::<Vec<_>>(), [2.0, 3.0]);
    assert_eq!(part.dictionary.tasks.names.iter().collect::<Vec<_>>(), ["b"]);
    assert_eq!(part.dictionary.first_place(0).map(|place| place.to_string()).as_deref(), Some("run, line 3"));
    let header = part.reading.header.as_ref().expect("it is kept");
    assert_eq!(header.requested, Some(Requested::PerTask(vec![("b".to_owned(), 2), ("c".to_owned(), 3)])));
    let missing = part.missing(None).expect("counts are declared");
    assert_eq!(missing.iter().map(|row| (row.task.as_str(), row.count)).collect::<Vec<_>>(), [("c", 3)]);
    assert_eq!(header.line(None), "{\"run\":{\"requested_rollouts\":{\"b\":2,\"c\":3}}}");
}

#[test]
fn headers_are_written_as_they_are_read() {
    let line = "{\"run\":{\"id\":\"r \\\"1\\\"\",\"requested_rollouts\":5,\"tasks\":[3,1],\"score_range\":[-0.5,1.0]}}";
    let run = one(&format!("{line}\n"));
    let header = run.reading.header.expect("there is one");
    assert_eq!(header.line(run.dictionary.tasks.kind), line);
}
