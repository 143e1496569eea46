use bytes::{Bytes, BytesMut};
use proptest::prelude::*;

use super::*;

/// Sets `model` and `stream`, by reading the source again and by its spans.
fn set(source: &'static str, to: &Outgoing<'_>) -> String {
    let bytes = Bytes::from_static(source.as_bytes());
    let copied = copy(&bytes, to, false);
    if let Some(spans) = read_body(&bytes, |_, _| Ok(())).unwrap().spans {
        assert_eq!(spans::replace(&bytes, &spans, to, false), copied);
    }
    String::from_utf8(copied.to_vec()).unwrap()
}

#[test]
fn only_the_model_of_an_unedited_request_changes() {
    let source = "{ \"a\" : [1, {\"model\": \"no\"}],\n \"model\":  \"x\", \"z\":1.0 }\n";
    assert_eq!(
        set(source, &Outgoing::new("y\"")),
        "{ \"a\" : [1, {\"model\": \"no\"}],\n \"model\":  \"y\\\"\", \"z\":1.0 }\n"
    );
}

#[test]
fn stream_changes_only_if_the_caller_wants_another_value() {
    let wanted = Outgoing::new("m").stream(true);
    let rows = [
        (
            r#"{"model":"x","stream":true}"#,
            r#"{"model":"m","stream":true}"#,
        ),
        (
            r#"{"model":"x","stream":null}"#,
            r#"{"model":"m","stream":true}"#,
        ),
        (
            r#"{"stream":false,"model":"x"}"#,
            r#"{"stream":true,"model":"m"}"#,
        ),
        (r#"{"model":"x"}"#, r#"{"model":"m","stream":true}"#),
        ("{ }", r#"{"model":"m","stream":true}"#),
    ];
    for (source, expected) in rows {
        assert_eq!(set(source, &wanted), expected);
    }
    assert_eq!(
        set(r#"{"model":"x"}"#, &Outgoing::new("m")),
        r#"{"model":"m"}"#
    );
}

fn fields(pairs: &[(&str, &str)]) -> BodyFields {
    let mut fields = BodyFields::default();
    for (key, value) in pairs {
        fields.put(key, value);
    }
    fields
}

#[test]
fn an_edit_rewrites_only_changed_fields() {
    let source = Bytes::from_static(
        br#"{"z": 1, "temperature": 0.70, "model": "x", "max_tokens": 5, "top_p": 1, "stop": "a"}"#,
    );
    let old = fields(&[
        ("temperature", "0.7"),
        ("max_completion_tokens", "5"),
        ("stop", r#"["a"]"#),
        ("top_p", "1"),
    ]);
    let new = fields(&[
        ("temperature", "0.7"),
        ("max_completion_tokens", "9"),
        ("stop", r#"["a"]"#),
        ("seed", "3"),
    ]);
    let edit = BodyEdit {
        old: &old,
        new: &new,
        aliases: &[&["max_tokens", "max_completion_tokens"]],
        streams: false,
    };
    let body = edit
        .write(&source, None, &Outgoing::new("y"), |_, _, _| {
            FieldAction::Keep
        })
        .unwrap();
    assert_eq!(
        body,
        r#"{"z": 1, "temperature": 0.70, "model": "y", "max_tokens": 9, "stop": "a","seed":3}"#
    );
}

#[test]
fn recorded_fields_are_edited_as_those_that_are_read_again() {
    let long = "x".repeat(5_000);
    let old = fields(&[("seed", "1"), ("top_p", "1"), ("note", "0")]);
    let new = fields(&[("seed", "2"), ("note", "0"), ("stop", "[]")]);
    let edit = BodyEdit {
        old: &old,
        new: &new,
        aliases: &[],
        streams: false,
    };
    for (source, recorded) in [
        (
            format!("{{ \"a\" : \"{long}\",\n \"seed\": 1 , \"top_p\":1 , \"model\":\"m\" }} "),
            4,
        ),
        (format!(r#"{{"top_p":1,"é":["{long}"],"stream":true}}"#), 3),
        (format!(r#"{{"seed":1,"a\u0062":"{long}"}}"#), 0),
        (r#"{"seed":1}"#.to_owned(), 0),
    ] {
        let source = Bytes::from(source);
        let spans = read_body(&source, |_, _| Ok(())).unwrap().spans;
        assert_eq!(spans.as_ref().unwrap().fields.len(), recorded);
        let to = Outgoing::new("y");
        let write = |spans| edit.write(&source, spans, &to, |_, _, _| FieldAction::Keep);
        assert_eq!(write(spans.as_ref()).unwrap(), write(None).unwrap());
    }
}

#[test]
fn elements_are_aligned_with_their_originals() {
    use ElementOrigin::{Changed, New, Same};
    let rows = [
        ("abc", "abc", vec![Same(0), Same(1), Same(2)]),
        ("abc", "aXc", vec![Same(0), Changed(1), Same(2)]),
        ("abc", "Xabc", vec![New, Same(0), Same(1), Same(2)]),
        ("abc", "bc", vec![Same(1), Same(2)]),
        (
            "abcd",
            "aXYd",
            vec![Same(0), Changed(1), Changed(2), Same(3)],
        ),
        (
            "abcd",
            "aXcYd",
            vec![Same(0), Changed(1), Same(2), New, Same(3)],
        ),
        ("aab", "ab", vec![Same(0), Same(2)]),
        ("", "x", vec![New]),
        ("x", "", vec![]),
    ];
    for (old, new, expected) in rows {
        let (old, new): (Vec<_>, Vec<_>) = (old.chars().collect(), new.chars().collect());
        assert_eq!(align(&old, &new), expected, "{old:?} {new:?}");
    }
}

proptest! {
    #[test]
    fn unchanged_elements_are_equal_and_in_order(
        old in prop::collection::vec(0..4u8, 0..8),
        new in prop::collection::vec(0..4u8, 0..8),
    ) {
        let origins = align(&old, &new);
        prop_assert_eq!(origins.len(), new.len());
        let mut last = None;
        for (at, origin) in origins.iter().enumerate() {
            if let ElementOrigin::Same(from) | ElementOrigin::Changed(from) = origin {
                prop_assert!(last < Some(*from));
                last = Some(*from);
                prop_assert_eq!(matches!(origin, ElementOrigin::Same(_)), old[*from] == new[at]);
            }
        }
    }

    #[test]
    fn keeping_every_field_copies_every_byte(text in r#" ?\{("[a-z]": ?[1-9]{1,3},){0,3} ?"k" ?: "v" ?\} ?"#) {
        let mut out = BytesMut::new();
        let mut keep = |_: &str, _: &str, _: &mut BytesMut| FieldAction::Keep;
        prop_assert!(object(&text, &mut out, &mut keep));
        prop_assert_eq!(std::str::from_utf8(&out).unwrap(), text);
    }
}
