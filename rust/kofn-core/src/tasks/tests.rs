use super::*;
use proptest::prelude::*;

fn check<T: Id + std::fmt::Debug>(ids: &[T]) {
    let (distinct, codes) = index(ids);
    let back: Vec<T> = codes.iter().map(|&code| distinct[code as usize]).collect();
    assert_eq!(back, ids);
    let mut met = Vec::new();
    for id in ids {
        if !met.contains(id) {
            met.push(*id);
        }
    }
    assert_eq!(distinct, met);
}

proptest! {
    #[test]
    fn codes_lead_back_to_the_ids(
        near in prop::collection::vec(-5i64..5, 0..50),
        far in prop::collection::vec(any::<i64>(), 0..50),
        large in prop::collection::vec(prop::sample::select(vec![0, 1, u64::MAX, u64::MAX - 1]), 0..50),
    ) {
        check(&near);
        check(&far);
        check(&large);
        check(&[i64::MIN, i64::MAX, i64::MIN]);
    }

    #[test]
    fn counts_are_those_of_a_slow_loop(rollouts in prop::collection::vec((0u32..4, 0i8..2), 0..60)) {
        let (codes, passed): (Vec<u32>, Vec<i8>) = rollouts.iter().copied().unzip();
        let (n, c) = count(&codes, &passed, 4).expect("verdicts");
        for task in 0..4u32 {
            let mine = || rollouts.iter().filter(|(code, _)| *code == task);
            prop_assert_eq!(n[task as usize], i64::try_from(mine().count()).expect("small"));
            prop_assert_eq!(c[task as usize], mine().map(|(_, passed)| i64::from(*passed)).sum::<i64>());
        }
    }
}

#[test]
fn a_rollout_without_a_verdict_is_named() {
    assert!(matches!(count(&[0, 0], &[1, -1], 1), Err(Error::Argument { .. })));
    assert!(count(&[0], &[1, 1], 1).is_err());
}

proptest! {
    #[test]
    fn counts_of_ids_are_those_of_their_codes(
        runs in prop::collection::vec((any::<bool>(), 0i64..6, 1usize..5), 0..60),
        step in prop::sample::select(vec![1i64, 1000, 1 << 40, i64::MAX]),
        verdicts: u64,
    ) {
        // Ids leave the range that was met so far, upwards and downwards, by a little and by too much.
        let ids: Vec<i64> = runs
            .iter()
            .flat_map(|&(down, id, times)| {
                let id = id.wrapping_mul(step).wrapping_mul(if down { -1 } else { 1 });
                std::iter::repeat_n(id, times)
            })
            .collect();
        let passed: Vec<i8> = (0..ids.len()).map(|i| i8::from(verdicts >> (i % 64) & 1 == 1)).collect();
        let (distinct, codes) = index(&ids);
        check(&ids);
        let expected = count(&codes, &passed, distinct.len()).expect("verdicts");
        prop_assert_eq!(&count_ids(&ids, &passed).expect("verdicts"), &expected);
        let names: Vec<String> = ids.iter().map(i64::to_string).collect();
        let mut coder = Coder::new("groups", Counting::new(&passed));
        let texts: Vec<&[u8]> = names.iter().map(String::as_bytes).collect();
        for texts in texts.chunks(BATCH) {
            coder.take(texts.iter().copied()).expect("text");
        }
        let (known, counting) = coder.finish();
        prop_assert_eq!(counting.finish(known.len()).expect("verdicts"), expected);
        prop_assert_eq!(known.iter().collect::<Vec<_>>(), distinct.iter().map(i64::to_string).collect::<Vec<_>>());
    }
}

#[test]
fn many_ids_in_any_order_and_of_any_width() {
    // Enough for several chunks, growing windows and a table that grows; a prime step visits every id.
    let near: Vec<u32> = (0..20_000u32).map(|i| i * 7919 % 5003).collect();
    let falling: Vec<i16> = (0..10_000i16).rev().collect();
    let late: Vec<u64> = (0..9000u64).map(|i| if i < 5000 { i } else { i << 50 }).collect();
    check_fast(&near);
    check_fast(&falling);
    check_fast(&late);
    check_fast(&[0u64, u64::MAX, 1, u64::MAX]);
    check_fast(&[i8::MIN, i8::MAX, 0]);
    check_fast::<i64>(&[]);
}

fn check_fast<T: Id + std::fmt::Debug + std::hash::Hash>(ids: &[T]) {
    let mut known = std::collections::HashMap::new();
    let mut met = Vec::new();
    let mut counts = (Vec::new(), Vec::new());
    let passed: Vec<i8> = (0..ids.len()).map(|i| i8::from(i % 3 == 0)).collect();
    let mut expected = Vec::new();
    for (&id, &passed) in ids.iter().zip(&passed) {
        let code = *known.entry(id).or_insert_with(|| {
            met.push(id);
            counts.0.push(0);
            counts.1.push(0);
            met.len() - 1
        });
        counts.0[code] += 1;
        counts.1[code] += i64::from(passed);
        expected.push(u32::try_from(code).expect("few"));
    }
    assert_eq!(index(ids), (met, expected));
    assert_eq!(count_ids(ids, &passed).expect("verdicts"), counts);
}

#[test]
fn counts_are_emptied_before_a_half_overflows() {
    let mut counting = Counting::new(&[1, 0, 1, 1]);
    counting.room = 3;
    counting.take(3, [(0, 1), (1, 2)].into_iter(), 2);
    assert_eq!((counting.room, counting.both.as_slice()), (0, &[1 << 32 | 1, 1 << 32 | 2][..]));
    counting.take(1, [(2, 1)].into_iter(), 3);
    assert_eq!((counting.room, counting.both.as_slice()), (BLOCK - 1, &[0, 0, 1 << 32 | 1][..]));
    assert_eq!(counting.finish(4).expect("verdicts"), (vec![1, 2, 1, 0], vec![1, 1, 1, 0]));
}

#[test]
fn a_text_that_cannot_be_an_id_is_named() {
    let problem = |texts: &[&'static [u8]]| {
        let mut coder = Coder::new("groups", Vec::new());
        texts.chunks(BATCH).try_for_each(|texts| coder.take(texts.iter().copied())).expect_err("no id").to_string()
    };
    assert_eq!(problem(&[b"a", b"", b"\xff"]), "groups: entry 1 is empty; a task needs a name");
    assert_eq!(problem(&[b"a", b"\xff", b""]), "groups: entry 1 is not valid Unicode text");
    let mut many = vec![&b"a"[..]; 300];
    many.push(b"\xff");
    assert_eq!(problem(&many), "groups: entry 300 is not valid Unicode text");
}

#[test]
fn cells_that_are_full_are_emptied() {
    // More than 16 bits count, of ids that alternate and of ids in runs, and one cell filled to the last.
    let alternating = (0..400_000_i64).map(|i| 7 - i % 2);
    let runs = (0..400_000).map(|i| i / 150_000);
    let last = std::iter::repeat_n(9, 65_536);
    let ids: Vec<i64> = alternating.chain(runs).chain(last).collect();
    let passed: Vec<i8> = (0..ids.len()).map(|i| i8::from(i % 3 == 0)).collect();
    let (n, c) = count_ids(&ids, &passed).expect("verdicts");
    let mut distinct: Vec<i64> = Vec::new();
    for id in &ids {
        if !distinct.contains(id) {
            distinct.push(*id);
        }
    }
    let count = |id: i64, least: i8| {
        let mine = ids.iter().zip(&passed).filter(|(other, passed)| **other == id && **passed >= least);
        i64::try_from(mine.count()).expect("few")
    };
    assert_eq!(n, distinct.iter().map(|&id| count(id, 0)).collect::<Vec<_>>());
    assert_eq!(c, distinct.iter().map(|&id| count(id, 1)).collect::<Vec<_>>());
}
