use proptest::prelude::*;

use super::super::number::Scalar;
use super::*;

#[test]
fn a_scalar_remembers_how_it_was_written() {
    let mut cursor = Cursor::new(" -12.50e1 ");
    let kind = cursor.kind().expect("a value");
    let Scalar::Number(number) = Scalar::read(&mut cursor, kind).expect("a number") else { panic!("a number") };
    assert_eq!((number.raw, number.integer), ("-12.50e1", false));
    assert_eq!(number.finite().expect("finite"), Some(-125.0));
    cursor.end().expect("the end");
}

#[test]
fn whatever_precedes_the_closing_quote_the_string_ends_there() {
    for length in 0..120 {
        for (text, escaped) in [("x".repeat(length), false), ("x".repeat(length) + r#"\""#, true)] {
            let json = format!("\"{text}\"]");
            let mut cursor = Cursor::new(&json);
            let string = cursor.string().expect("a string");
            assert_eq!((string.raw, string.escaped), (text.as_str(), escaped));
            assert_eq!(cursor.position(), json.len() - 1);
        }
        let control = format!("\"{}\u{1f}\"", "é".repeat(length));
        assert!(Cursor::new(&control).string().is_err(), "{length}");
    }
}

proptest! {
    #[test]
    fn decoding_undoes_escaping(text in any::<String>()) {
        let escaped: String = text.encode_utf16().map(|unit| format!("\\u{unit:04X}")).collect();
        let json = format!("\"{escaped}\"");
        let mut scratch = String::new();
        let string = Cursor::new(&json).string().expect("a string");
        prop_assert_eq!(string.decode(&mut scratch).expect("text"), text);
    }

    #[test]
    fn skipping_ends_where_the_value_ends(text in r#"[\[\]{}",:0-9a-z \\]{0,40}"#) {
        let mut cursor = Cursor::new(&text);
        if cursor.skip().is_ok() {
            let value = cursor.since(0);
            let mut again = Cursor::new(value);
            prop_assert!(again.skip().and_then(|()| again.end()).is_ok());
        }
    }
}
