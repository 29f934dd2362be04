use super::*;
use crate::table::BATCH;
use proptest::prelude::*;

/// Texts that share their ends, or their length, or all but one byte; some with zeros, which padding would hide.
fn texts() -> impl Strategy<Value = Vec<String>> {
    let byte = prop::sample::select(vec!['a', 'b', '\0', 'é']);
    let short = prop::collection::vec(byte.clone(), 0..20).prop_map(String::from_iter);
    let long = (0usize..3, byte, 0usize..80).prop_map(|(of, byte, at)| {
        let mut text = "x".repeat([40, 41, 70_000][of]);
        text.insert(at.min(text.len()), byte);
        text
    });
    prop::collection::vec((prop_oneof![4 => short, 1 => long], 1usize..4), 0..200)
        .prop_map(|texts| texts.into_iter().flat_map(|(text, times)| std::iter::repeat_n(text, times)).collect())
}

proptest! {
    #[test]
    fn ids_are_those_of_first_appearance_one_by_one_and_in_batches(texts in texts(), size in 1usize..=BATCH) {
        let (mut one, mut many) = (Names::default(), Names::default());
        let ids: Vec<u32> = texts.iter().map(|text| one.intern(text)).collect();
        let mut batched = Vec::new();
        let mut batch = Batch::new(Text::EMPTY);
        for texts in texts.chunks(size) {
            many.intern_batch(&mut batch, texts.iter().map(String::as_bytes)).expect("text");
            batched.extend(batch.runs().flat_map(|(_, id, len)| std::iter::repeat_n(id, len)));
        }
        prop_assert_eq!(&ids, &batched);
        let mut met: Vec<&str> = Vec::new();
        for (text, id) in texts.iter().zip(ids) {
            if !met.contains(&text.as_str()) {
                met.push(text);
            }
            prop_assert_eq!(met[id as usize], text);
            prop_assert_eq!(one.find(text), Some(id));
            prop_assert_eq!(one.get(id), text);
        }
        for names in [&one, &many] {
            prop_assert_eq!(names.len(), met.len());
            prop_assert_eq!(names.iter().collect::<Vec<_>>(), met.clone());
            prop_assert_eq!(names.find("nobody"), None);
        }
    }
}

#[test]
fn a_batch_stops_at_bytes_that_are_no_text() {
    let mut names = Names::default();
    let mut batch = Batch::new(Text::EMPTY);
    let refused = names.intern_batch(&mut batch, [&b"a"[..], b"b", b"\xff", b"c"].into_iter());
    assert_eq!(refused, Err(2));
    assert_eq!(names.iter().collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!(names.intern_batch(&mut batch, [&b"b"[..], b"", b"d"].into_iter()), Ok(()));
    assert_eq!(batch.runs().map(|(_, id, len)| (id, len)).collect::<Vec<_>>(), [(1, 1), (2, 1), (3, 1)]);
}

#[test]
fn marks_of_short_texts_tell_them_apart() {
    // All lengths on both sides of every way to read one, equal but for one byte, or for zeros at the end.
    let mut texts: Vec<Vec<u8>> = (0..40).map(|len| vec![0; len]).collect();
    for len in 1..40 {
        for at in 0..len {
            let mut text = vec![b'x'; len];
            text[at] = b'y';
            texts.push(text);
        }
    }
    for a in &texts {
        for b in &texts {
            assert_eq!(Text::new(a) == Text::new(b), a == b, "{a:?} {b:?}");
            if a.len() <= SHORT && a != b {
                assert!(!Text::new(a).mark.is(Text::new(b).mark), "{a:?} {b:?}");
            }
        }
    }
}
