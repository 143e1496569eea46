use proptest::prelude::*;

use super::*;

type SeenFrames = Vec<(String, String)>;

fn decode(chunks: &[&[u8]], limit: usize) -> Result<SeenFrames, Error> {
    decode_with_limit(chunks, EventLimit::new(limit, limit))
}

fn decode_with_limit(chunks: &[&[u8]], limit: EventLimit) -> Result<SeenFrames, Error> {
    let mut decoder = SseDecoder::with_limit(limit);
    let mut seen = Vec::new();
    let mut each = |frame: SseFrame<'_>| {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        seen.push(match frame {
            SseFrame::Event { name, data } => (name.to_owned(), text(data)),
            SseFrame::Bare(line) => ("(bare)".to_owned(), text(line)),
        });
        Ok(())
    };
    for chunk in chunks {
        decoder.push(chunk, &mut each)?;
    }
    decoder.finish(&mut each)?;
    Ok(seen)
}

fn frames(text: &str) -> Vec<(String, String)> {
    decode(&[text.as_bytes()], 1_000).unwrap()
}

fn event(name: &str, data: &str) -> (String, String) {
    (name.to_owned(), data.to_owned())
}

#[test]
fn every_form_of_event_is_decoded() {
    let rows = [
        (
            "data: a\n\ndata: b\n\n",
            vec![event("", "a"), event("", "b")],
        ),
        (
            "data: a\r\n\r\ndata: b\r\n\r\n",
            vec![event("", "a"), event("", "b")],
        ),
        ("data:a\n\n", vec![event("", "a")]),
        ("data:  a\n\n", vec![event("", " a")]),
        (
            "event: ping\ndata: {}\n\ndata: x\n\n",
            vec![event("ping", "{}"), event("", "x")],
        ),
        ("data: x\nevent: late\n\n", vec![event("late", "x")]),
        (
            "data: a\ndata: b\ndata:\ndata: c\n\n",
            vec![event("", "a\nb\n\nc")],
        ),
        (
            ": comment\n\nid: 7\nretry: 10\ndata: a\n: more\n\n",
            vec![event("", "a")],
        ),
        ("\n\n\ndata: a\n\n\n\n", vec![event("", "a")]),
        ("event: lonely\n\ndata: a\n\n", vec![event("", "a")]),
        ("data: a", vec![event("", "a")]),
        ("data: a\n", vec![event("", "a")]),
        ("data: a\r", vec![event("", "a")]),
        (
            "[{\n  \"error\": 1\n}]",
            vec![
                event("(bare)", "[{"),
                event("(bare)", "  \"error\": 1"),
                event("(bare)", "}]"),
            ],
        ),
        ("", vec![]),
    ];
    for (text, expected) in rows {
        assert_eq!(frames(text), expected, "{text:?}");
    }
}

#[test]
fn a_byte_order_mark_is_ignored() {
    let text = "\u{feff}data: 1\n\n";
    for size in 1..text.len() {
        let chunks: Vec<&[u8]> = text.as_bytes().chunks(size).collect();
        assert_eq!(decode(&chunks, 1_000).unwrap(), [event("", "1")]);
    }
}

#[test]
fn an_overlong_event_fails_in_every_form_and_chunking() {
    let line = format!("data: {}\n\n", "x".repeat(100));
    let lines = "data: 0123456789\n".repeat(10);
    let endless = "x".repeat(100);
    for text in [line, lines, endless] {
        for size in [1, 7, 1_000] {
            let chunks: Vec<&[u8]> = text.as_bytes().chunks(size).collect();
            let error = decode(&chunks, 64).unwrap_err();
            assert_eq!(error.message(), "a stream event is longer than 64 bytes");
        }
    }
}

#[test]
fn lines_do_not_depend_on_chunking() {
    let text = "{\"a\":1}\r\n\n{\"b\":\"ü\"}\n{\"c\":3}";
    for size in 1..text.len() {
        let mut lines = LineSplitter::default();
        let mut seen = Vec::new();
        for chunk in text.as_bytes().chunks(size) {
            lines
                .push(chunk, |line| {
                    seen.push(line.bytes().to_vec());
                    Ok(())
                })
                .unwrap();
        }
        lines
            .finish(|line| {
                seen.push(line.to_vec());
                Ok(())
            })
            .unwrap();
        let seen: Vec<_> = seen
            .iter()
            .map(|l| std::str::from_utf8(l).unwrap())
            .collect();
        assert_eq!(seen, ["{\"a\":1}", "", "{\"b\":\"ü\"}", "{\"c\":3}"]);
    }
}

#[test]
fn objects_are_extracted_from_bare_lines() {
    let text = "[{\n  \"a\": \"}\\\"{\"\n}\n,\n{\"b\": {}} , {}\r\n]\n{\"open\":";
    let mut objects = ObjectSplitter::default();
    let mut seen = Vec::new();
    for line in text.lines() {
        objects
            .push(line.as_bytes(), |object| {
                seen.push(String::from_utf8_lossy(object).replace('\n', ""));
                Ok(())
            })
            .unwrap();
    }
    assert_eq!(seen, ["{  \"a\": \"}\\\"{\"}", "{\"b\": {}}", "{}"]);
}

proptest! {
    #[test]
    fn events_do_not_depend_on_chunking(
        lines in prop::collection::vec("(data:|data: |event: |: |)[a-zé{}]{0,6}\r?\n", 0..12),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
    ) {
        let text = lines.concat();
        let mut cuts: Vec<_> = cuts.iter().map(|c| c.index(text.len() + 1)).collect();
        cuts.sort_unstable();
        let mut chunks = Vec::new();
        let mut start = 0;
        for cut in cuts {
            chunks.push(&text.as_bytes()[start..cut]);
            start = cut;
        }
        chunks.push(&text.as_bytes()[start..]);
        prop_assert_eq!(decode(&chunks, 1_000).unwrap(), frames(&text));
    }
}

#[test]
fn the_type_is_found_without_parsing_if_it_is_the_first_key() {
    let rows: [(&str, Option<&str>); 7] = [
        (r#"{"type":"ping"}"#, Some("ping")),
        (r#"{"type": "ping", "x": 1}"#, Some("ping")),
        (r#"{"x":1,"type":"ping"}"#, None),
        (r#"{"type":null}"#, None),
        (r#"{"type":"p\u0069ng"}"#, None),
        (r#"{"type":"pin"#, None),
        ("", None),
    ];
    for (data, expected) in rows {
        let found = event_type(data.as_bytes());
        assert_eq!(found, expected.map(str::as_bytes), "{data}");
    }
}

/// Limits small enough to reach in a test.
const SMALL: EventLimit = EventLimit::new(10_000, 100_000);

fn decode_small(text: &str, size: usize) -> Result<SeenFrames, Error> {
    let chunks: Vec<&[u8]> = text.as_bytes().chunks(size).collect();
    decode_with_limit(&chunks, SMALL)
}

#[test]
fn only_an_image_may_exceed_the_text_limit() {
    let base64 = "iVBORw0KGgo+/".repeat(5_000);
    let taken = [
        format!("data: {{\"b64_json\":\"{base64}\"}}\n\n"),
        format!("data: {{\"url\":\"data:image/png;base64,{base64}\",\"text\":\"a cat\"}}\n\n"),
        format!(
            "data: {{\"b64_json\":\"{}\"}}\n\n",
            base64.replace('/', "\\/")
        ),
        format!("data: {{\"data\":\ndata: \"{base64}\"}}\n\n"),
    ];
    for text in taken {
        for size in [999, 1_000_000] {
            assert_eq!(decode_small(&text, size).unwrap().len(), 1, "{size}");
        }
    }
    let prose = "It was a dark and stormy night. ".repeat(400);
    let refused = [
        (format!("data: {{\"text\":\"{prose}\"}}\n\n"), 10_000),
        (format!("data: {base64}\n\n"), 10_000),
        (
            format!("data: {{\"b64\":\"{base64}\",\"text\":\"{prose}\"}}\n\n"),
            10_000,
        ),
        (
            format!("data: {{\"b64\":\"{base64}{base64}\"}}\n\n"),
            100_000,
        ),
        ("data: It was a dark night.\n".repeat(500), 10_000),
    ];
    for (text, bound) in refused {
        for size in [999, 1_000_000] {
            let error = decode_small(&text, size).unwrap_err();
            let expected = format!("a stream event is longer than {bound} bytes");
            assert_eq!(error.message(), expected, "{size}");
        }
    }
}
