use std::time::Duration;

use majordomo_llm::{Error, ErrorKind, FinishReason, Json, Native, Part, ToolCall, Usage};
use proptest::prelude::*;

use super::*;
use crate::gemini::GEMINI;

/// A chunk with these parts, framed as Google does.
fn chunk(parts: &str) -> String {
    format!(
        "data: {{\"candidates\":[{{\"content\":{{\"parts\":[{parts}],\"role\":\"model\"}},\"index\":0}}]}}\r\n\r\n"
    )
}

fn last(parts: &str) -> String {
    format!(
        "data: {{\"candidates\":[{{\"content\":{{\"parts\":[{parts}]}},\"finishReason\":\"STOP\"}}],\"usageMetadata\":{{\"promptTokenCount\":3,\"candidatesTokenCount\":2,\"totalTokenCount\":5}}}}\r\n\r\n"
    )
}

fn signed(signature: &str) -> Option<Box<Native>> {
    Native::new(GEMINI)
        .with("thoughtSignature", Json::string(signature))
        .into_option()
}

fn usage(input: u64, output: u64) -> Usage {
    Usage::new(input, output)
}

#[test]
fn parts_become_events_in_order() {
    let stream = [
        chunk(r#"{"text":"hm","thought":true}"#),
        chunk(r#"{"text":"…","thought":true}"#),
        chunk(r#"{"text":"Hel"}"#),
        chunk(
            r#"{"text":"lo"},{"functionCall":{"name":"a","args":{"x": 1}},"thoughtSignature":"c2ln"}"#,
        ),
        last(r#"{"functionCall":{"id":"own","name":"b"}},{"text":""}"#),
    ];
    let thought = Native::new(GEMINI).with("field", Json::string("thought"));
    let start = |index, id: Option<&str>, name: &str, native| Event::ToolCallStart {
        index,
        id: id.map(Into::into),
        name: name.into(),
        native,
    };
    assert_eq!(
        events(&stream.concat()).unwrap(),
        [
            Event::Start {
                id: None,
                model: None
            },
            Event::Reasoning("hm".into()),
            Event::Reasoning("…".into()),
            Event::EndPart(thought.into_option()),
            Event::Text("Hel".into()),
            Event::Text("lo".into()),
            start(0, None, "a", signed("c2ln")),
            Event::ToolCallArguments {
                index: 0,
                fragment: r#"{"x": 1}"#.into()
            },
            Event::ToolCallEnd { index: 0 },
            Event::Usage(usage(3, 0)),
            start(1, Some("own"), "b", None),
            Event::ToolCallEnd { index: 1 },
            Event::Usage(usage(3, 2)),
            Event::Finish(FinishReason::ToolCalls),
        ]
    );
}

#[test]
fn signed_parts_are_never_merged_and_empty_ones_are_kept() {
    let stream = [
        chunk(r#"{"text":"a"}"#),
        chunk(r#"{"text":"b","thoughtSignature":"b=="}"#),
        chunk(r#"{"text":"c"}"#),
        chunk(r#"{"text":"d","thought":true,"thoughtSignature":"d=="}"#),
        last(r#"{"text":"","thoughtSignature":"e=="}"#),
    ];
    let read = events(&stream.concat()).unwrap();
    let response = fold(&read);
    let parts: Vec<_> = response
        .parts
        .iter()
        .map(|part| {
            let text = match part {
                Part::Text(text) => text.text.as_str(),
                Part::Reasoning(thought) => thought.text.as_str(),
                _ => panic!("{part:?}"),
            };
            let signature = part.native().and_then(|n| n.get("thoughtSignature"));
            (text, signature.map_or("", Json::as_str))
        })
        .collect();
    let expected = [
        ("a", ""),
        ("b", "\"b==\""),
        ("c", ""),
        ("d", "\"d==\""),
        ("", "\"e==\""),
    ];
    assert_eq!(parts, expected);
    let again = fold(&events(&stream_of(&read)).unwrap());
    assert_eq!(again.parts, response.parts, "they are written the same way");
}

fn stream_of(events: &[Event]) -> String {
    let (text, losses) = stream(events);
    assert!(losses.is_empty(), "{losses:?}");
    text
}

#[test]
fn partial_arguments_are_emitted_as_they_arrive() {
    let stream = [
        chunk(r#"{"functionCall":{"name":"a","willContinue":true},"thoughtSignature":"c2ln"}"#),
        chunk(
            r#"{"functionCall":{"partialArgs":[{"jsonPath":"$.x","stringValue":"1","willContinue":true}],"willContinue":true}}"#,
        ),
        chunk(r#"{"functionCall":{"willContinue":true}}"#),
        chunk(
            r#"{"functionCall":{"partialArgs":[{"jsonPath":"$.x","stringValue":"2"}],"willContinue":true}}"#,
        ),
        chunk(r#"{"functionCall":{}}"#),
        chunk(r#"{"functionCall":{"name":"b"}}"#),
        chunk(r#"{"functionCall":{"name":"c","willContinue":true}}"#),
        chunk(r#"{"functionCall":{"partialArgs":[{"jsonPath":"$.y","numberValue":3}]}}"#),
        last(r#"{"functionCall":{}}"#),
    ];
    let read = events(&stream.concat()).unwrap();
    let fragments: Vec<_> = read
        .iter()
        .filter_map(|event| match event {
            Event::ToolCallArguments { index, fragment } => Some((*index, fragment.as_str())),
            _ => None,
        })
        .collect();
    assert_eq!(
        fragments,
        [
            (0, "{\"x\":\"1"),
            (0, "2\""),
            (0, "}"),
            (2, "{\"y\":3"),
            (2, "}")
        ]
    );
    let response = fold(&read);
    let calls: Vec<_> = response
        .tool_calls()
        .map(|c| (c.id.as_str(), c.name.as_str(), c.arguments.as_str()))
        .collect();
    assert_eq!(
        calls,
        [
            ("call_0", "a", r#"{"x":"12"}"#),
            ("call_1", "b", "{}"),
            ("call_2", "c", r#"{"y":3}"#)
        ]
    );
}

#[test]
fn every_framing_yields_the_same_events() {
    let one = r#"{"candidates":[{"content":{"parts":[{"text":"a\"}{"}]}}]}"#;
    let two = r#"{"candidates":[{"content":{"parts":[{"text":"b"}]},"finishReason":"STOP"}]}"#;
    let expected = events(&format!("data: {one}\r\n\r\ndata: {two}\r\n\r\n")).unwrap();
    let pretty = |body: &str| {
        let value: serde_json::Value = serde_json::from_str(body).unwrap();
        serde_json::to_string_pretty(&value).unwrap()
    };
    for stream in [
        format!("data: {one}\n\ndata: {two}"),
        format!("data: {one}\ndata: {two}\n"),
        format!(": ping\n\nevent: x\ndata:{one}\r\n\r\ndata: {two}\r\n\r\ndata: [DONE]\r\n\r\n"),
        format!("[{one}\n,\n{two}\n]\n"),
        format!("[{one},{two}]"),
        format!("[{}\r\n,\r\n{}\r\n]", pretty(one), pretty(two)),
    ] {
        assert_eq!(events(&stream).unwrap(), expected, "{stream}");
    }
}

#[test]
fn a_stream_without_a_finish_reason_is_truncated() {
    let error = events(&chunk(r#"{"text":"a"}"#)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Truncated);
    assert_eq!(events("").unwrap_err().kind(), ErrorKind::Truncated);
    assert_eq!(
        events("[{\"candidates\"").unwrap_err().kind(),
        ErrorKind::Truncated
    );
    assert_eq!(
        events("data: {\"candidates\": [\r\n\r\n")
            .unwrap_err()
            .kind(),
        ErrorKind::BadResponse
    );
}

#[test]
fn a_blocked_prompt_ends_the_stream() {
    let stream = "data: {\"promptFeedback\":{\"blockReason\":\"SAFETY\"}}\r\n\r\n";
    let read = events(stream).unwrap();
    assert_eq!(
        read.last(),
        Some(&Event::Finish(FinishReason::ContentFilter))
    );
}

#[test]
fn errors_in_a_stream_are_detected_in_every_form() {
    let error = r#"{"error":{"code":503,"message":"The model is {overloaded","status":"UNAVAILABLE","details":[{"retryDelay":"2s"}]}}"#;
    let value: serde_json::Value = serde_json::from_str(error).unwrap();
    let pretty = serde_json::to_string_pretty(&value).unwrap();
    let begun = chunk(r#"{"text":"a"}"#);
    for stream in [
        format!("{begun}data: {error}\r\n\r\n"),
        format!("{begun}{error}\n"),
        format!("{begun}{pretty}\r\n"),
        format!("[{pretty}]"),
        format!("[{pretty}\n]\n"),
    ] {
        let found = events(&stream).unwrap_err();
        assert_eq!(found.message(), "The model is {overloaded", "{stream}");
        assert_eq!(found.status(), Some(503));
        assert_eq!(found.code(), Some("UNAVAILABLE"));
        assert_eq!(found.retry_after(), Some(Duration::from_secs(2)));
        let mut reader = Gemini.stream_reader();
        let tapped = reader.tap(stream.as_bytes(), &mut Vec::new());
        let tapped = tapped.and_then(|()| reader.finish(&mut Vec::new()));
        assert_eq!(tapped.unwrap_err().status(), Some(503), "{stream}");
    }
}

#[test]
fn usage_is_cumulative_and_chunks_without_counts_are_ignored() {
    let with = |usage: &str, finish: &str| {
        format!(
            "data: {{\"candidates\":[{{\"content\":{{\"parts\":[{{\"text\":\"x\"}}]}}{finish}}}],\"usageMetadata\":{usage}}}\r\n\r\n"
        )
    };
    let stream = [
        with(r#"{"trafficType":"ON_DEMAND"}"#, ""),
        with(r#"{"promptTokenCount":3,"totalTokenCount":3}"#, ""),
        with(
            r#"{"promptTokenCount":3,"candidatesTokenCount":1,"totalTokenCount":4}"#,
            "",
        ),
        with(
            r#"{"promptTokenCount":3,"candidatesTokenCount":2,"thoughtsTokenCount":4,"totalTokenCount":9}"#,
            ",\"finishReason\":\"STOP\"",
        ),
    ];
    let read = events(&stream.concat()).unwrap();
    let emitted: Vec<_> = read
        .iter()
        .filter_map(|event| match event {
            Event::Usage(usage) => Some((usage.input, usage.output)),
            _ => None,
        })
        .collect();
    assert_eq!(
        emitted,
        [(3, 0), (3, 1), (3, 6)],
        "the input when first known, and each report after its parts"
    );
    let mut reader = Gemini.stream_reader();
    let mut tapped = Vec::new();
    reader.tap(stream.concat().as_bytes(), &mut tapped).unwrap();
    reader.finish(&mut tapped).unwrap();
    assert_eq!(fold(&tapped).usage, fold(&read).usage);
    assert!(tapped.len() < read.len(), "a tap skips the text");
}

#[test]
fn a_stream_is_written_as_google_writes_it() {
    let (text, losses) = stream(&[
        Event::Start {
            id: None,
            model: None,
        },
        Event::Reasoning("hm".into()),
        Event::EndPart(None),
        Event::Usage(usage(3, 0)),
        Event::Text("a\n".into()),
        Event::ToolCallStart {
            index: 7,
            id: None,
            name: "t".into(),
            native: signed("c2ln"),
        },
        Event::ToolCallArguments {
            index: 7,
            fragment: "{\"x\"".into(),
        },
        Event::ToolCallArguments {
            index: 7,
            fragment: ": 1}".into(),
        },
        Event::ToolCallEnd { index: 7 },
        Event::Usage(usage(3, 2)),
        Event::Finish(FinishReason::ToolCalls),
    ]);
    let tail = r#""modelVersion":"m","responseId":"id-1"}"#;
    let part = |part: &str, usage: &str| {
        format!(
            "data: {{\"candidates\":[{{\"content\":{{\"parts\":[{part}],\"role\":\"model\"}},\"index\":0}}],{usage}{tail}\r\n\r\n"
        )
    };
    let counts = |candidates: u64, total: u64| {
        format!(
            r#""usageMetadata":{{"promptTokenCount":3,"candidatesTokenCount":{candidates},"totalTokenCount":{total}}},"#
        )
    };
    let expected = [
        part(r#"{"text":"hm","thought":true}"#, ""),
        part(r#"{"text":"a\n"}"#, &counts(0, 3)),
        part(
            r#"{"functionCall":{"id":"call_0","name":"t","args":{"x": 1}},"thoughtSignature":"c2ln"}"#,
            &counts(0, 3),
        ),
        format!(
            "data: {{\"candidates\":[{{\"content\":{{\"parts\":[{{\"text\":\"\"}}],\"role\":\"model\"}},\"finishReason\":\"STOP\",\"index\":0}}],{}{tail}\r\n\r\n",
            counts(2, 5)
        ),
    ];
    assert_eq!(text, expected.concat());
    assert!(losses.is_empty());
}

#[test]
fn interleaved_calls_are_written_complete_and_in_start_order() {
    let start = |index| Event::ToolCallStart {
        index,
        id: Some(format!("c{index}")),
        name: "t".into(),
        native: None,
    };
    let text = stream_of(&[
        start(0),
        start(1),
        Event::ToolCallArguments {
            index: 1,
            fragment: "{\"b\":1}".into(),
        },
        Event::ToolCallEnd { index: 1 },
        Event::ToolCallArguments {
            index: 0,
            fragment: "{}".into(),
        },
        Event::Part(Part::ToolCall(ToolCall::new("c2", "t", ""))),
        Event::Finish(FinishReason::ToolCalls),
    ]);
    let response = fold(&events(&text).unwrap());
    let calls: Vec<_> = response
        .tool_calls()
        .map(|c| (c.id.as_str(), c.arguments.as_str()))
        .collect();
    assert_eq!(calls, [("c0", "{}"), ("c1", "{\"b\":1}"), ("c2", "{}")]);
}

#[test]
fn unrepresentable_events_are_reported_as_losses() {
    let foreign = Native::new(majordomo_llm::Dialect::new("anthropic-messages"))
        .with("signature", Json::string("s"));
    let opaque = majordomo_llm::Opaque::new(
        majordomo_llm::Dialect::new("openai-responses"),
        "web_search_call",
        Json::string("x"),
    );
    let (text, losses) = stream(&[
        Event::Reasoning("hm".into()),
        Event::EndPart(foreign.into_option()),
        Event::Refusal("no".into()),
        Event::Part(Part::Opaque(opaque)),
        Event::Finish(FinishReason::Refusal),
    ]);
    assert_eq!(
        losses,
        ["signature", "refusal", "web_search_call", "finish"]
    );
    assert_eq!(text.matches("data: ").count(), 3, "{text}");
}

#[test]
fn a_failed_stream_ends_with_the_error_and_no_synthesized_finish() {
    let mut writer = Gemini.stream_writer(&reply());
    let mut out = BytesMut::new();
    writer.write(&Event::Text("a".into()), &mut out);
    writer.fail(&Error::http(503, "busy {"), &mut out);
    let text = String::from_utf8(out.to_vec()).unwrap();
    assert!(
        text.ends_with("data: {\"error\":{\"code\":503,\"message\":\"HTTP 503: busy {\",\"status\":\"UNAVAILABLE\"}}\r\n\r\n"),
        "{text}"
    );
    assert!(!text.contains("finishReason"));
    assert_eq!(events(&text).unwrap_err().status(), Some(503));
}

proptest! {
    #[test]
    fn no_stream_makes_the_reader_panic(text in "(data: )?[\\[\\]{}\",:a-z\\\\ \r\n]{0,60}") {
        let _ = events(&text);
        let _ = Gemini.stream_reader().tap(text.as_bytes(), &mut Vec::new());
    }

    #[test]
    fn chunk_boundaries_do_not_change_the_events(cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8), bare in any::<bool>()) {
        let first = r#"{"candidates":[{"content":{"parts":[{"text":"é\"}"},{"functionCall":{"name":"t","args":{"x":"}"}}}]}}]}"#;
        let second = r#"{"candidates":[{"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":1}}"#;
        let text = match bare {
            true => format!("[{first}\n,\r\n{second}\n]"),
            false => format!("data: {first}\r\n\r\ndata: {second}\r\n\r\n"),
        };
        let mut cuts: Vec<_> = cuts.iter().map(|cut| cut.index(text.len() + 1)).collect();
        cuts.sort_unstable();
        let mut reader = Gemini.stream_reader();
        let mut seen = Vec::new();
        let mut start = 0;
        for cut in cuts.into_iter().chain([text.len()]) {
            reader.push(&text.as_bytes()[start..cut], &mut seen).unwrap();
            start = cut;
        }
        reader.finish(&mut seen).unwrap();
        prop_assert_eq!(seen, events(&text).unwrap());
    }
}
