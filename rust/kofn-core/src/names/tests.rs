use super::*;
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
        for texts in texts.chunks(size) {
            let texts: Vec<&[u8]> = texts.iter().map(String::as_bytes).collect();
            let mut some = [NONE; BATCH];
            prop_assert_eq!(many.intern_batch(&texts, &mut some), Ok(()));
            batched.extend_from_slice(&some[..texts.len()]);
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
    let mut ids = [NONE; BATCH];
    assert_eq!(names.intern_batch(&[b"a", b"b", b"\xff", b"c"], &mut ids), Err(2));
    assert_eq!(names.iter().collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!(names.intern_batch(&[b"b", b"", b"d"], &mut ids), Ok(()));
    assert_eq!(ids[..3], [1, 2, 3]);
}
