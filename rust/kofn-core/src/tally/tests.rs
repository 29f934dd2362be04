use super::*;
use crate::batch::Batch;

fn plan(labels: &[&str], by: Option<&str>) -> Plan {
    let labels: Vec<String> = labels.iter().map(|label| (*label).to_owned()).collect();
    Plan::new(Some(&labels), &[], by.map(str::to_owned)).expect("labels")
}

/// One rollout of each of `tasks` in a task's order, with the tag `suite` where one is given.
fn tagged(tasks: &[(&str, Option<&str>)]) -> Tally {
    let mut dictionary = Dictionary::default();
    let suite = dictionary.texts.intern("suite");
    let mut batch = Batch::default();
    batch.verifications.offsets = vec![0; tasks.len() + 1];
    batch.tags.offsets.push(0);
    for (task, tag) in tasks {
        batch.task.push(dictionary.tasks.intern(task, IdKind::Text).expect("text"));
        batch.index.push(crate::batch::NO_INDEX);
        batch.status.push(crate::batch::Status::Succeeded);
        if let Some(tag) = tag {
            batch.tags.name.push(suite);
            batch.tags.value.push(dictionary.texts.intern(tag));
        }
        batch.tags.offsets.push(u32::try_from(batch.tags.name.len()).expect("small"));
    }
    let mut tally = Tally::new(Setup::new(plan(&["pass@1"], Some("suite"))), None);
    tally.add_batch(&mut Feed::default(), &batch, &dictionary, None).expect("sound rollouts");
    tally
}

#[test]
fn only_what_is_planned_is_kept() {
    let kept = |label| {
        let mut tally = Tally::new(Setup::new(plan(&[label], None)), None);
        tally.names.intern("a");
        tally.names.intern("b");
        tally.grow();
        (tally.durations.len(), tally.tokens.len())
    };
    assert_eq!(kept("pass@1"), (0, 0));
    assert_eq!(kept("mean_duration"), (2, 0));
    assert_eq!(kept("mean_total_tokens"), (0, 2));
}

#[test]
fn more_rollouts_than_a_count_holds_are_refused() {
    let mut tally = tagged(&[("a", None)]);
    tally.rows = u64::from(u32::MAX) - 1;
    tally.reserve(1).expect("room for one");
    assert!(tally.reserve(1).is_err());
    let one = tagged(&[("b", None)]);
    assert!(tally.absorb(&one).is_err());
    tally.rows = u64::from(u32::MAX) - 1;
    tally.absorb(&one).expect("room for one");
    assert_eq!(tally.rollouts(), u64::from(u32::MAX));
}

#[test]
fn remarks_beyond_what_counts_hold_are_refused() {
    let changes: [fn(&mut Tally) -> &mut u64; 5] = [
        |tally| &mut tally.reading.skipped,
        |tally| &mut tally.reading.dropped,
        |tally| &mut tally.reading.skewed_durations,
        |tally| &mut tally.reading.half_usages,
        |tally| &mut tally.skipped_parts,
    ];
    for count in changes {
        let (mut full, mut one) = (tagged(&[("a", None)]), tagged(&[("b", None)]));
        *count(&mut full) = u64::MAX - 1;
        *count(&mut one) = 2;
        let before = full.encode();
        assert!(full.merge(&one).is_err());
        assert_eq!(full.encode(), before);
        *count(&mut one) = 1;
        full.merge(&one).expect("room for one");
        assert_eq!(*count(&mut full), u64::MAX);
    }
}

#[test]
fn a_tag_to_group_by_agrees_over_merges() {
    let groups = |tally: &Tally| {
        let groups = tally.groups.as_ref().expect("grouped");
        let value = |(at, name): (usize, &str)| (name.to_owned(), groups.value(at).map(str::to_owned));
        tally.names.iter().enumerate().map(value).collect::<BTreeMap<_, _>>()
    };
    let mut left = tagged(&[("a", Some("x")), ("b", Some("y")), ("c", None), ("d", None)]);
    let before = left.encode();
    // The two number their values differently.
    for other in [tagged(&[("e", None), ("b", Some("x"))]), tagged(&[("a", Some("y")), ("b", Some("y"))])] {
        assert!(matches!(left.merge(&other), Err(Error::Task { .. })));
        assert_eq!(left.encode(), before);
    }
    left.merge(&tagged(&[("b", Some("y")), ("a", Some("x")), ("c", Some("z"))])).expect("they agree");
    left.merge(&tagged(&[("b", None), ("c", Some("z"))])).expect("one says nothing");
    let named = [("a", Some("x")), ("b", Some("y")), ("c", Some("z")), ("d", None)];
    assert_eq!(groups(&left), named.map(|(task, value)| (task.to_owned(), value.map(str::to_owned))).into());
}

#[test]
fn readings_of_two_batches_are_of_two_rollouts() {
    let mut dictionary = Dictionary::default();
    let text = dictionary.texts.intern("m");
    let task = dictionary.tasks.intern("a", IdKind::Text).expect("text");
    let batch = |rollouts: u32, read: u32| Batch {
        task: vec![task; rollouts as usize],
        index: vec![crate::batch::NO_INDEX; rollouts as usize],
        status: vec![crate::batch::Status::Succeeded; rollouts as usize],
        verifications: crate::batch::Verifications {
            offsets: (0..=rollouts).collect(),
            name: vec![text; rollouts as usize],
            score: vec![f64::NAN; rollouts as usize],
            verdict: vec![crate::batch::Verdict::Absent; rollouts as usize],
        },
        readings: crate::batch::Readings {
            offsets: (0..=rollouts).map(|row| u32::from(row > read)).collect(),
            subject: vec![text],
            metric: vec![text],
            value: vec![Value::Number(1.0)],
        },
        ..Batch::default()
    };
    for (first, second) in (1..6).flat_map(|first| (1..6).map(move |second| (first, second))) {
        for (in_first, in_second) in (0..first).flat_map(|one| (0..second).map(move |other| (one, other))) {
            let mut tally = Tally::new(Setup::new(plan(&["metric_mean:m"], None)), None);
            for batch in [batch(first, in_first), batch(second, in_second)] {
                tally.add_batch(&mut Feed::default(), &batch, &dictionary, None).expect("sound rollouts");
            }
            let state = &tally.series.states[0][&0];
            assert_eq!((state.n, state.repeated), (2, false), "{first} {in_first}, {second} {in_second}");
        }
    }
}
