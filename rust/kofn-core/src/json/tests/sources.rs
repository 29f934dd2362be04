//! Bytes as they come: compressed, cut, marked, from streams, and read again.

use std::io::{self, Read, Write};

use xxhash_rust::xxh3::xxh3_64;

use super::*;
use crate::error::Error;
use crate::json::{Input, Records, read};

const LINES: &str = "{\"task\": \"a\", \"score\": 1}\n\n  {\"task\": \"b\", \"score\": 0.5}\r\n{\"task\": \"c\"}\n";

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).expect("written");
    encoder.finish().expect("gzip")
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 1).expect("zstd")
}

/// A stream that gives one byte at a time.
struct Drip(io::Cursor<Vec<u8>>);

impl Read for Drip {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = buffer.len().min(1);
        self.0.read(&mut buffer[..n])
    }
}

/// A stream that breaks.
struct Broken;

impl Read for Broken {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        Err(io::Error::other("the disk is gone"))
    }
}

fn stream(input: impl Read + Send + 'static) -> Vec<Source> {
    vec![Source { name: "-".to_owned(), input: Input::Stream(Box::new(input)) }]
}

#[test]
fn every_envelope_gives_the_same_rows() {
    let plain = native(LINES).expect("plain");
    assert_eq!(plain.rollouts(), 3);
    let (first, second) = LINES.as_bytes().split_at(20);
    let members = [gzip(first), gzip(b""), gzip(second)].concat();
    let frames = [zstd(first), zstd(second)].concat();
    let marked = [b"\xEF\xBB\xBF", LINES.as_bytes()].concat();
    for stored in [gzip(LINES.as_bytes()), members, zstd(LINES.as_bytes()), frames, marked] {
        let outcome = native(&stored).expect("read");
        assert_eq!(outcome.rows(), plain.rows());
        assert_eq!(outcome.reading.sources, [("run.jsonl".to_owned(), Some(xxh3_64(&stored)))]);
        assert_eq!(
            read_with(stream(Drip(io::Cursor::new(stored))), How::default()).expect("drip").rows(),
            plain.rows()
        );
    }
}

#[test]
fn a_cut_stream_is_an_error_wherever_it_is_cut() {
    let text = LINES.repeat(50);
    for (form, stored) in [("gzip", gzip(text.as_bytes())), ("zstd", zstd(text.as_bytes()))] {
        for length in 5..stored.len() {
            let error = native(&stored[..length]).expect_err("cut");
            assert!(matches!(error, Error::Source { .. }), "{form} cut at {length}: {error}");
        }
    }
}

#[test]
fn damage_and_broken_streams_are_errors_of_the_source() {
    let mut stored = gzip(LINES.repeat(50).as_bytes());
    let last = stored.len() - 6;
    stored[last] ^= 1;
    assert!(message(&stored).starts_with("run.jsonl: damaged gzip stream"));
    let error = read_with(stream(Broken), How::default()).expect_err("broken").to_string();
    assert_eq!(error, "-: the disk is gone");
    let error = read_with(vec![Source::path("/nowhere/run.jsonl")], How::default()).expect_err("missing").to_string();
    assert_eq!(error, "/nowhere/run.jsonl: no such file");
}

#[test]
fn a_half_written_last_line_is_noted() {
    for cut in ["{\"task\": \"d\", \"sc", "{\"task\": \"d\"", "{\"task\": \"\\ud8", "{", "{\"x\": tru"] {
        let outcome = native(format!("{LINES}{cut}")).expect("noted");
        assert_eq!(outcome.rollouts(), 3);
        assert_eq!(outcome.reading.cut.iter().map(ToString::to_string).collect::<Vec<_>>(), ["run.jsonl, line 5"]);
        assert_eq!(outcome.reading.skipped, 0);
        assert!(message(format!("{LINES}{cut}\n{LINES}")).contains("line 5: invalid JSON"), "in mid-file");
        assert!(message(format!("{LINES}{cut}\n")).contains("line 5: invalid JSON"), "with its line break");
    }
    // Half of a character.
    let mut bytes = format!("{LINES}{{\"task\": \"é").into_bytes();
    bytes.pop();
    assert_eq!(native(&bytes).expect("noted").reading.cut.len(), 1);
    // Whole, but wrong: not half-written.
    assert!(message("{\"task\": 1.5}").contains("field task"));
    assert_eq!(native("{\"task\": \"a\"}").expect("whole").rollouts(), 1);
}

#[test]
fn nothing_to_read_is_not_an_error_here() {
    for text in ["", "\n\n", "\u{feff}", "  \r\n", "{\"run\": {\"id\": \"r\"}}"] {
        let outcome = native(text).expect("read");
        assert_eq!((outcome.rollouts(), outcome.batches.len()), (0, 0));
    }
    for empty in [gzip(b""), zstd(b"")] {
        assert_eq!(native(&empty).expect("read").rollouts(), 0);
    }
}

#[test]
fn skipped_lines_are_counted_and_the_first_twenty_listed() {
    let bad = "{\"task\": \"a\", \"checks\": [{\"label\": \"x\", \"required\": true, \"passed\": 2}], \"tags\": {\"s\": \"t\"}}\n".repeat(15)
        + &"nonsense\n".repeat(15);
    let text = format!("{bad}{{\"task\": \"a\", \"score\": 1, \"tags\": {{\"s\": \"u\"}}}}\n");
    let outcome = read_with(bytes(text), How { skip_errors: true, ..How::default() }).expect("skipped");
    assert_eq!((outcome.rollouts(), outcome.reading.skipped, outcome.reading.skipped_first.len()), (1, 30, 20));
    assert!(outcome.reading.skipped_first[0].starts_with("run.jsonl, line 1, field checks[0].passed: 2 is not true"));
    assert_eq!(outcome.rows(), ["a -1 succeeded verifier=1/Absent #s=u NaNs -1tok tools -1/-1"]);
}

#[test]
fn records_are_read_again_from_every_envelope() {
    let wanted = ["{\"task\": \"a\", \"score\": 1}", "{\"task\": \"b\", \"score\": 0.5}", "{\"task\": \"c\"}"];
    let marked = [b"\xEF\xBB\xBF", LINES.as_bytes()].concat();
    for stored in [LINES.as_bytes().to_vec(), marked, gzip(LINES.as_bytes()), zstd(LINES.as_bytes())] {
        let outcome = native(&stored).expect("read");
        let batch = outcome.batch();
        let mut records = Records::new(Source::memory("run.jsonl", stored.clone()), &Mapping::native());
        for i in [0, 1, 2, 0, 2, 2, 1] {
            let record = records.get(batch.origin[i]).expect("again");
            assert_eq!(String::from_utf8_lossy(&record), wanted[i]);
            assert_eq!(batch.hash[i], xxh3_64(&record));
        }
        let past = crate::batch::Origin { offset: 1000, length: 5, ..batch.origin[0] };
        assert!(records.get(past).expect_err("gone").to_string().contains("has changed"));
        assert_eq!(records.get(batch.origin[0]).expect("still there"), wanted[0].as_bytes());
    }
    let mut once = Records::new(stream(io::empty()).remove(0), &Mapping::native());
    assert!(once.get(crate::batch::Origin::default()).expect_err("once").to_string().contains("cannot be read twice"));
}

#[test]
fn batches_are_bounded_and_the_watch_can_stop() {
    let text = "{\"task\": \"a\", \"score\": 1}\n".repeat(100_000);
    let outcome = native(&text).expect("read");
    assert_eq!(outcome.rollouts(), 100_000);
    assert!(outcome.batches.iter().all(|batch| batch.len() <= 16_384));
    let native = Mapping::native();
    let options =
        Options { mapping: &native, needs: Needs::ALL, skip_errors: false, keep_ungradable: false, unit: Unit::Line };
    let mut calls = 0;
    let mut watch = || {
        calls += 1;
        if calls > 2 { Err(Error::Interrupted) } else { Ok(()) }
    };
    let stopped = read(bytes(&text), &options, &mut Dictionary::default(), &mut |_, _| Ok(()), &mut watch);
    assert_eq!(stopped.expect_err("stopped"), Error::Interrupted);
}

#[test]
fn several_sources_are_told_apart() {
    let sources = vec![
        Source::memory("b", br#"{"task": "x"}"#.to_vec()),
        Source::memory("a", b"\n{\"task\": \"x\"}\n{\"task\": \"y\"}".to_vec()),
    ];
    let outcome = read_with(sources, How::default()).expect("read");
    assert_eq!(outcome.dictionary.sources, ["b", "a"]);
    let places: Vec<_> = outcome.origins().iter().map(|origin| (origin.source, origin.line)).collect();
    assert_eq!(places, [(0, 1), (1, 2), (1, 3)]);
    assert_eq!(outcome.dictionary.tasks.first, [(0, 1), (1, 3)]);
    let names: Vec<_> = outcome.reading.sources.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["a", "b"]);
}
