use super::*;
use crate::batch::{Batch, Status, Value, Verdict};
use crate::names::Dictionary;
use crate::tally::Feed;

fn numbers(bytes: &[u8]) -> Option<u64> {
    Reader(bytes).number()
}

#[test]
fn numbers_have_one_spelling() {
    for n in [0, 1, 127, 128, 300, 1 << 14, u64::from(u32::MAX), 1 << 56, 1 << 63, u64::MAX] {
        let mut out = Writer::default();
        out.number(n);
        assert_eq!(numbers(&out.0), Some(n));
        assert_eq!(out.0.len(), (64 - (n | 1).leading_zeros() as usize).div_ceil(7));
    }
    assert_eq!(numbers(&[0x80, 0x00]), None);
    assert_eq!(numbers(&[0x80]), None);
    assert_eq!(numbers(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02]), None);
    assert_eq!(numbers(&[0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01]), None);
}

#[test]
fn lengths_flags_and_values_are_checked() {
    assert_eq!(Reader(&[2, 0, 0]).length(), Some(2));
    assert_eq!(Reader(&[3, 0, 0]).length(), None);
    assert_eq!(Reader(&[2]).flag(), None);
    let value = |x: f64| Reader(&x.to_le_bytes()).value();
    assert_eq!((value(-1.5), value(0.0)), (Some(-1.5), Some(0.0)));
    assert_eq!([-0.0, f64::NAN, f64::INFINITY].map(value), [None; 3]);
}

/// Rollouts with everything that a tally keeps, of tasks and series that do not come in sorted order.
fn rich(setup: Setup) -> Tally {
    let mut tally = Tally::new(setup, Some("p1".into()));
    let mut dictionary = Dictionary::default();
    let [judge, empty, zeal, care, suite, word] =
        ["judge", "", "zeal", "care", "suite", "word"].map(|text| dictionary.texts.intern(text));
    let mut batch = Batch::default();
    for offsets in [&mut batch.verifications.offsets, &mut batch.readings.offsets, &mut batch.tags.offsets] {
        offsets.push(0);
    }
    let values = [Value::Text(word), Value::Bool(true), Value::Number(-2.5), Value::Bool(false), Value::Number(7.0)];
    for (row, (task, index)) in
        [("b", 3), ("b", 300), ("a", 0), ("c", NO_INDEX), ("c", NO_INDEX)].into_iter().enumerate()
    {
        batch.task.push(dictionary.tasks.intern(task, IdKind::Text).expect("text"));
        batch.index.push(index);
        batch.status.push(if row == 2 { Status::Errored } else { Status::Succeeded });
        batch.verifications.name.push(judge);
        batch.verifications.score.push([0.5, 0.5, f64::NAN, -1.0, 4.0][row]);
        batch.verifications.verdict.push(Verdict::Pass);
        batch.verifications.offsets.push(u32::try_from(row + 1).expect("small"));
        for metric in [zeal, care] {
            batch.readings.subject.push(empty);
            batch.readings.metric.push(metric);
            batch.readings.value.push(values[row]);
        }
        batch.readings.offsets.push(u32::try_from(2 * row + 2).expect("small"));
        if task != "c" {
            batch.tags.name.push(suite);
            batch.tags.value.push(dictionary.texts.intern(task));
        }
        if index == 300 {
            batch.tags.name.push(dictionary.texts.intern("repo"));
            batch.tags.value.push(dictionary.texts.intern("web"));
        }
        batch.tags.offsets.push(u32::try_from(batch.tags.name.len()).expect("small"));
        batch.duration.push([1.5, f64::NAN, 0.25, 3.0, 4.0][row]);
        batch.tokens.push([10, 20, -1, 1 << 40, 0][row]);
    }
    tally.add_batch(&mut Feed::default(), &batch, &dictionary, None).expect("sound rollouts");
    let place = |number, unit| Place { source: "runs/a.jsonl".into(), number, unit };
    let header = Header {
        id: Some("r1".into()),
        requested: Some(Requested::PerTask(vec![("b".into(), 2), ("a".into(), 300), ("c".into(), 2)])),
        tasks: Some(vec!["b".into(), "a".into()]),
        score_range: Some((-1.0, 4.0)),
        place: place(Some(1), Unit::Line),
    };
    let reading = Reading {
        header: Some(header),
        sources: vec![("runs/a.jsonl".into(), Some(u64::MAX)), ("table".into(), None)],
        skipped: 2,
        skipped_first: vec!["one".into(), "two".into()],
        cut: vec![place(Some(9), Unit::Row), place(None, Unit::Record)],
        dropped: 3,
        skewed_durations: 4,
        half_usages: 5,
    };
    tally.add_reading(reading).expect("one reading");
    tally
}

fn setup(policy: Policy, requested: Option<Requested>) -> Setup {
    let labels =
        ["pass@1", "mean_score", "mean_duration", "mean_total_tokens", "metric_variance:zeal", "agreement:care"];
    let plan = Plan::new(Some(&labels.map(str::to_owned)), &[], Some("suite".into())).expect("labels");
    let plan = plan.clustered(Some("repo".into()));
    let (denominator, on_short) = (Denominator::Scorable, OnShort::Omit);
    Setup { policy, chosen: true, requested, denominator, on_short, ..Setup::new(plan) }
}

#[test]
fn everything_comes_back() {
    let custom = Policy::Custom { id: "mine.v3".into(), parameters: "{\"x\":1}".into() };
    let each = Some(Requested::Each(1 << 20));
    let list = Some(Requested::PerTask(vec![("b".into(), 2), ("a".into(), 1)]));
    for (policy, requested) in [(Policy::VerifierVerdict, each), (Policy::ScoreThreshold(-0.25), list), (custom, None)]
    {
        let mut tally = rich(setup(policy, requested));
        let bytes = tally.encode();
        let mut again = Tally::decode(&bytes).expect("own bytes");
        assert_eq!(again.encode(), bytes);
        assert_eq!(again.setup, tally.setup);
        assert_eq!(again.reading, tally.reading);
        assert_eq!((&again.part, again.kind, again.rollouts()), (&Some("p1".into()), tally.kind, 5));
        for (name, is) in [("a", 0), ("b", 1), ("c", 2)] {
            let was = tally.names.find(name).expect("a task");
            assert_eq!(again.names.find(name), Some(is));
            assert_eq!(again.keys.explicit(is), tally.keys.explicit(was));
            assert!(again.keys.of(is).eq(tally.keys.of(was)));
            let (at, was) = (is as usize, was as usize);
            assert_eq!(again.counts[at], tally.counts[was]);
            assert_eq!(again.scores.of(at), tally.scores.of(was));
            assert_eq!((&again.durations[at], again.tokens[at]), (&tally.durations[was], tally.tokens[was]));
            let values = |tally: &Tally, at: usize| {
                let tags = [&tally.groups, &tally.clusters];
                tags.map(|groups| groups.as_ref().and_then(|groups| groups.value(at)).map(str::to_owned))
            };
            let found = values(&again, at);
            assert_eq!(found, values(&tally, was));
            assert_eq!(found, [(name != "c").then(|| name.to_owned()), (name == "b").then(|| "web".to_owned())]);
        }
        assert_eq!(again.series.existing(), ["judge//care", "judge//zeal"]);
        let b = tally.names.find("b").expect("a task");
        for asked in 0..2 {
            let (was, is) = (&tally.series.states[asked][&b], &again.series.states[asked][&1]);
            assert_eq!((was.n, was.text, &was.kinds, &was.sum), (is.n, is.text, &is.kinds, &is.sum));
        }
    }
}

#[test]
fn integer_ids_and_merged_parts_come_back() {
    let mut tally = rich(setup(Policy::VerifierVerdict, None));
    tally.kind = Some(IdKind::Integer);
    tally.parts = BTreeMap::from([("p0".to_owned(), u128::MAX - 1), ("p1".to_owned(), 7)]);
    tally.skipped_parts = 200;
    let again = Tally::decode(&tally.encode()).expect("own bytes");
    assert_eq!((again.kind, &again.parts, again.skipped_parts), (tally.kind, &tally.parts, 200));
}

#[test]
fn numbers_that_contradict_each_other_are_refused() {
    type Change = fn(&mut Tally);
    let changes: [(&str, Change); 13] = [
        ("more durations than rollouts", |t| t.durations[0].n = 3),
        ("more token totals than rollouts", |t| t.tokens[0].n = 3),
        ("durations too far apart for their squares", |t| t.durations[0].sum.add(9.0)),
        ("squares of no tokens", |t| t.tokens[0] = Tokens { n: 2, sum: 0, squares: 1 }),
        ("more tokens than its totals can hold", |t| {
            t.tokens[0] = Tokens { n: 2, sum: u128::from(i64::MAX.cast_unsigned()) * 2 + 1, squares: u128::MAX };
        }),
        ("more scores than scored rollouts", |t| t.scores.add(0, 9.0, 1)),
        ("a score that is not finite", |t| t.scores.add(0, f64::INFINITY, 1)),
        ("a score that nobody has", |t| t.scores.add(0, 9.0, 0)),
        ("a series without a name", |t| {
            t.series.states[0].values_mut().for_each(|state| state.which.clear());
        }),
        ("a series without a reading", |t| {
            t.series.states[0].values_mut().for_each(|state| state.n = 0);
        }),
        ("more values than readings", |t| {
            t.series.states[1].values_mut().for_each(|state| *state.kinds.entry(Kind::Bool(true)).or_default() += 1);
        }),
        ("a value of -0.0", |t| {
            t.series.states[1].values_mut().for_each(|state| {
                state.kinds = BTreeMap::from([(Kind::Number((-0.0f64).to_bits()), state.n)]);
            });
        }),
        ("a threshold that is not finite", |t| t.setup.policy = Policy::ScoreThreshold(f64::NAN)),
    ];
    for (what, change) in changes {
        let mut tally = rich(setup(Policy::VerifierVerdict, None));
        change(&mut tally);
        assert!(Tally::decode(&tally.encode()).is_err(), "{what}");
    }
    let mut tally = rich(setup(Policy::VerifierVerdict, None));
    tally.series.names.push(tally.series.names[0].clone());
    assert!(Tally::decode(&tally.encode()).is_err(), "a series that stands twice");
    let many = |unfinished: u32| {
        let mut tally = rich(setup(Policy::VerifierVerdict, None));
        let at = tally.names.find("c").expect("a task") as usize;
        let mut lanes = [0; flags::COUNT];
        lanes.copy_from_slice(tally.counts[at].lanes());
        lanes[flags::STATUS[3].trailing_zeros() as usize] = unfinished;
        tally.counts[at] = Counts::from_lanes(lanes).expect("sound");
        Tally::decode(&tally.encode())
    };
    assert_eq!(many(u32::MAX - 5).expect("at the limit").rollouts(), u64::from(u32::MAX));
    assert!(many(u32::MAX - 4).is_err(), "more rollouts than a count holds");
    // At the limits it is sound.
    let mut tally = rich(setup(Policy::VerifierVerdict, None));
    let most = u128::from(i64::MAX.cast_unsigned());
    tally.tokens[0] = Tokens { n: 2, sum: most * 2, squares: most * most * 2 };
    tally.durations[0].n = 2;
    assert!(Tally::decode(&tally.encode()).is_ok());
}

#[test]
fn bytes_that_are_cut_or_foreign_are_told_apart() {
    let bytes = rich(setup(Policy::VerifierVerdict, None)).encode();
    let message = |bytes: &[u8]| Tally::decode(bytes).expect_err("refused").to_string();
    assert!(message(b"PK\x03\x04").contains("not an accumulator"));
    assert!(message(b"kofn.tally/1\nbody").contains("another version"));
    assert!(message(&bytes[..MAGIC.len() + HASH - 1]).contains("cut off"));
    assert!(message(&bytes[..MAGIC.len() + HASH]).contains("damaged"));
    // Bytes behind the end of the body, with a checksum of their own.
    let mut longer = bytes[..bytes.len() - HASH].to_vec();
    longer.push(0);
    let hash = xxh3_128(&longer[MAGIC.len()..]).to_le_bytes();
    longer.extend(hash);
    assert!(message(&longer).contains("contradict"));
}

/// The bytes of a series' state in one task.
fn state(which: &[u64], kinds: &[Kind]) -> Vec<u8> {
    let mut out = Writer::default();
    out.list(which.iter(), |out, &number| out.number(number));
    out.flag(false);
    out.flag(false);
    out.number(kinds.len() as u64);
    Exact::default().encode(&mut out.0);
    Exact::default().encode(&mut out.0);
    out.list(kinds.iter(), |out, kind| {
        let Kind::Text(text) = kind else { panic!("texts will do") };
        out.0.push(2);
        out.text(text);
        out.number(1);
    });
    out.0
}

#[test]
fn lists_of_a_state_ascend_and_name_what_there_is() {
    let [a, b] = ["a", "b"].map(|text| Kind::Text(text.into()));
    let sound = |which: &[u64], kinds: &[Kind]| read_state(&mut Reader(&state(which, kinds)), 3).is_some();
    assert!(sound(&[0, 2], &[a.clone(), b.clone()]));
    assert!(!sound(&[2, 0], &[a.clone(), b.clone()]));
    assert!(!sound(&[1, 1], &[a.clone(), b.clone()]));
    assert!(!sound(&[0, 3], &[a.clone(), b.clone()]));
    assert!(!sound(&[0, 2], &[b.clone(), a.clone()]));
    assert!(!sound(&[0, 2], &[a.clone(), a]));
}

#[test]
fn states_stand_in_the_order_of_their_tasks() {
    let labels = ["metric_mean:care".to_owned()];
    let plan = Plan::new(Some(&labels), &[], None).expect("labels");
    let mut tally = rich(Setup::new(plan));
    let bytes = tally.encode();
    // The last list is that of the states, one for each of three tasks.
    let rename = inverse(&[1, 0], 2);
    let lengths: Vec<usize> = ["a", "b", "c"]
        .iter()
        .map(|name| {
            let mut out = Writer::default();
            write_state(&mut out, &tally.series.states[0][&tally.names.find(name).expect("a task")], &rename);
            out.0.len()
        })
        .collect();
    let end = bytes.len() - HASH;
    let third = end - lengths[2] - 1;
    let second = third - lengths[1] - 1;
    let first = second - lengths[0] - 1;
    assert_eq!([bytes[first], bytes[second], bytes[third]], [0, 1, 2]);
    for (at, task) in [(third, 3), (third, 1), (second, 0), (first, 1)] {
        let mut changed = bytes.clone();
        changed[at] = task;
        let hash = xxh3_128(&changed[MAGIC.len()..end]).to_le_bytes();
        changed[end..].copy_from_slice(&hash);
        assert!(Tally::decode(&changed).is_err(), "{at} {task}");
    }
}

#[test]
fn levels_of_scores_ascend() {
    let mut changed = rich(setup(Policy::VerifierVerdict, None)).encode();
    let (levels, end) = ([-1.0f64, 4.0].map(f64::to_le_bytes), changed.len() - HASH);
    // The last 4.0 is the second score of task c; the one before belongs to the score range.
    let at = changed.windows(8).rposition(|bytes| bytes == levels[1]).expect("a score");
    changed[at..at + 8].copy_from_slice(&levels[0]);
    let hash = xxh3_128(&changed[MAGIC.len()..end]).to_le_bytes();
    changed[end..].copy_from_slice(&hash);
    assert!(Tally::decode(&changed).is_err());
}
