use bytes::BytesMut;
use proptest::prelude::*;
use serde_json::Value;

use super::*;

fn error(text: &str) -> String {
    read_str(text, |c| c.object(|_, _| Ok(())))
        .unwrap_err()
        .to_string()
}

#[test]
fn duplicate_keys_are_rejected_even_if_one_is_escaped() {
    assert_eq!(
        error(r#"{"model": 1, "mod\u0065l": 2}"#),
        "model: duplicate key"
    );
    let many: String = (0..100).map(|n| format!("\"k{n}\":0,")).collect();
    assert_eq!(
        error(&format!("{{{many}\"k7\":1}}")),
        "k7: duplicate key `k7`"
    );
}

#[test]
fn an_error_quotes_at_most_a_few_hundred_bytes_of_the_body() {
    let long = "ß".repeat(100_000);
    let digits = "9".repeat(100_000);
    for body in [
        format!("{{\"a\": {digits}}}"),
        format!("{{\"{long}\": {digits}}}"),
        format!("{{\"{long}\": 1, \"{long}\": 1}}"),
    ] {
        let read = read_str(&body, |c| c.object(|_, c| c.unsigned().map(drop)));
        let message = read.unwrap_err().to_string();
        assert!(message.len() < 600, "{} bytes", message.len());
    }
}

#[test]
fn an_inspected_object_with_more_than_1000_keys_is_rejected() {
    let keys = |count| -> String { (0..count).map(|n| format!(",\"k{n}\":0")).collect() };
    assert!(error(&format!("{{\"a\":0{}}}", keys(1_000))).contains("more than 1000 keys"));
    let fits = format!("{{\"a\":0{}}}", keys(999));
    assert!(read_str(&fits, |cursor| cursor.object(|_, _| Ok(()))).is_ok());
    // A value that is not inspected may have any number of keys.
    let inside = format!("{{\"a\":{{\"b\":0{}}}}}", keys(2_000));
    assert!(read_str(&inside, |cursor| cursor.object(|_, _| Ok(()))).is_ok());
}

#[test]
fn nesting_depth_is_limited_everywhere() {
    let deep = |levels: usize| {
        format!(
            r#"{{"x": {}{}}}"#,
            "[".repeat(levels - 1),
            "]".repeat(levels - 1)
        )
    };
    assert!(read_str(&deep(MAX_DEPTH), Cursor::raw).is_ok());
    for text in [deep(MAX_DEPTH + 1), deep(1_000_000)] {
        let message = read_str(&text, Cursor::raw).unwrap_err().to_string();
        assert!(message.ends_with("nested deeper than 128 levels"));
        assert!(error(&text).ends_with("nested deeper than 128 levels"));
    }
}

#[test]
fn errors_name_the_path() {
    let read = |text| {
        read_str(text, |c| {
            c.object(|_, c| c.array(|c| c.object(|_, c| c.string().map(drop))))
        })
        .unwrap_err()
        .to_string()
    };
    assert_eq!(
        read(r#"{"a": [{"b": "x"}, {"b": "y", "c": 3}]}"#),
        "a[1].c: expected a string, found a number"
    );
    assert_eq!(
        read(r#"{"a": [{"b": "x"}, 4]}"#),
        "a[1]: expected an object, found a number"
    );
    assert_eq!(read(r#"{"a": [{"b": "x"#), "a[0].b: unterminated string");
}

#[test]
fn unread_values_are_skipped() {
    let mut last = None;
    read_str(r#"{"a": {"x": [1, {}]}, "b": 2}"#, |c| {
        c.object(|key, c| {
            if key == "b" {
                last = Some(c.unsigned()?);
            }
            Ok(())
        })
    })
    .unwrap();
    assert_eq!(last, Some(2));
}

#[test]
fn a_lone_surrogate_becomes_the_replacement_character() {
    let text = read_str(r#""a\ud83d b \ud83d\ude00""#, Cursor::string).unwrap();
    assert_eq!(text, "a\u{fffd} b \u{1f600}");
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-1e9..1e9).prop_map(Value::from),
        ".*".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(".*", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn every_valid_document_is_accepted(value in any_json(), pretty in any::<bool>()) {
        let text = if pretty {
            serde_json::to_string_pretty(&value).unwrap()
        } else {
            value.to_string()
        };
        prop_assert_eq!(read_str(&text, Cursor::raw).unwrap(), text.as_str());
    }

    #[test]
    fn only_valid_documents_are_accepted(text in r#"[\[\]{}",:0-9.eE+\-tfn ul\\]{0,24}"#) {
        let ours = read_str(&text, Cursor::raw).is_ok();
        prop_assert_eq!(ours, serde_json::from_str::<serde::de::IgnoredAny>(&text).is_ok(), "{}", text);
    }

    #[test]
    fn strings_round_trip(text in any::<String>()) {
        let mut out = BytesMut::new();
        write_string(&mut out, &text);
        let written = std::str::from_utf8(&out).unwrap();
        prop_assert_eq!(serde_json::from_str::<String>(written).unwrap(), text.as_str());
        prop_assert_eq!(read_str(written, Cursor::string).unwrap(), text.as_str());
        let escaped = text.encode_utf16().map(|u| format!("\\u{u:04x}")).collect::<String>();
        let escaped = format!("\"{escaped}\"");
        prop_assert_eq!(read_str(&escaped, Cursor::string).unwrap(), text.as_str());
    }

    #[test]
    fn arbitrary_bytes_do_not_panic(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        let _ = read(&bytes, Cursor::raw);
        let _ = read(&bytes, |c| c.object(|_, c| c.string().map(drop)));
    }

    /// Each string is followed by another, which must not count as part of it.
    #[test]
    fn an_escaped_string_takes_no_more_memory_than_its_source(text in r#"[a"\\\n/é\u{1}]{0,40}"#) {
        let raw = serde_json::to_string(&text).unwrap();
        let list = format!("[{raw},{raw}]");
        let mut read = Vec::new();
        read_str(&list, |cursor| cursor.array(|cursor| {
            read.push(cursor.string()?.into_owned());
            Ok(())
        })).unwrap();
        prop_assert_eq!(&read, &vec![text.clone(), text]);
        prop_assert!(read.iter().all(|value| value.capacity() <= raw.len()));
    }
}
