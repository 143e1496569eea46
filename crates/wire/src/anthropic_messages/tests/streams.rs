use bytes::BytesMut;
use majordomo_llm::{Error, ErrorKind, FinishReason, Native, Part, Text, ToolCall, Usage};
use proptest::prelude::*;

use super::*;

const START: &str = r#"{"type":"message_start","message":{"id":"msg_1","model":"x","content":[],"stop_reason":null,"usage":{"input_tokens":10,"cache_read_input_tokens":5,"output_tokens":1}}}"#;
const STOP: &str = r#"{"type":"message_stop"}"#;

fn block(index: usize, block: &str) -> String {
    format!(r#"{{"type":"content_block_start","index":{index},"content_block":{block}}}"#)
}

fn delta(index: usize, delta: &str) -> String {
    format!(r#"{{"type":"content_block_delta","index":{index},"delta":{delta}}}"#)
}

fn end(index: usize) -> String {
    format!(r#"{{"type":"content_block_stop","index":{index}}}"#)
}

fn finish(word: &str) -> String {
    format!(
        r#"{{"type":"message_delta","delta":{{"stop_reason":"{word}"}},"usage":{{"output_tokens":9}}}}"#
    )
}

/// Reads a stream with these events between start and stop, and assembles the
/// response.
fn fold(middle: &[String]) -> Response {
    let mut chunks = vec![START];
    chunks.extend(middle.iter().map(String::as_str));
    chunks.push(STOP);
    assemble(events(&chunks).unwrap())
}

#[test]
fn text_thinking_and_calls_are_assembled_from_deltas() {
    let response = fold(&[
        r#"{"type":"ping"}"#.into(),
        block(0, r#"{"type":"thinking","thinking":"","signature":""}"#),
        delta(0, r#"{"type":"thinking_delta","thinking":"h"}"#),
        delta(0, r#"{"type":"thinking_delta","thinking":"m"}"#),
        delta(0, r#"{"type":"signature_delta","signature":"s"}"#),
        end(0),
        block(1, r#"{"type":"redacted_thinking","data":"d"}"#),
        end(1),
        block(2, r#"{"type":"text","text":""}"#),
        delta(2, r#"{"type":"text_delta","text":"a"}"#),
        delta(2, r#"{"type":"citations_delta","citation":{"n":1}}"#),
        delta(2, r#"{"type":"citations_delta","citation":{"n":2}}"#),
        end(2),
        block(3, r#"{"type":"text","text":"b"}"#),
        end(3),
        block(
            4,
            r#"{"type":"tool_use","id":"t1","name":"t","input":{},"caller":{"type":"direct"}}"#,
        ),
        delta(4, r#"{"type":"input_json_delta","partial_json":""}"#),
        delta(4, r#"{"type":"input_json_delta","partial_json":"{\"x\""}"#),
        delta(4, r#"{"type":"input_json_delta","partial_json":": 1}"}"#),
        end(4),
        block(5, r#"{"type":"tool_use","id":"t2","name":"u","input":{}}"#),
        end(5),
        finish("tool_use"),
    ]);
    let native = |at: usize, name| response.parts[at].native().unwrap().get(name).unwrap();
    assert_eq!(native(0, "signature").as_str(), "\"s\"");
    assert_eq!(native(1, "data").as_str(), "\"d\"");
    assert_eq!(native(2, "citations").as_str(), r#"[{"n":1},{"n":2}]"#);
    assert!(native(4, "caller").as_str().contains("direct"));
    assert!(matches!(&response.parts[0], Part::Reasoning(r) if r.text == "hm"));
    assert!(matches!(&response.parts[3], Part::Text(t) if t.text == "b"));
    let calls: Vec<_> = response
        .tool_calls()
        .map(|c| c.arguments.as_str())
        .collect();
    assert_eq!(calls, ["{\"x\": 1}", "{}"]);
    assert_eq!(response.finish, FinishReason::ToolCalls);
    assert_eq!(response.id.as_deref(), Some("msg_1"));
    let usage = Usage::new(15, 9).with_cache_read(5);
    assert_eq!(response.usage, usage, "later counts overlay earlier ones");
}

#[test]
fn opaque_blocks_are_completed_from_deltas() {
    let response = fold(&[
        block(
            0,
            r#"{"type":"server_tool_use","id":"s","name":"web_search","input":{}}"#,
        ),
        delta(
            0,
            r#"{"type":"input_json_delta","partial_json":"{\"q\": "}"#,
        ),
        delta(0, r#"{"type":"input_json_delta","partial_json":"1}"}"#),
        end(0),
        block(
            1,
            r#"{"type":"web_search_tool_result","tool_use_id":"s","content":[{"a":1}]}"#,
        ),
        end(1),
        block(2, r#"{"type":"compaction","content":null}"#),
        delta(2, r#"{"type":"compaction_delta","content":"su"}"#),
        delta(2, r#"{"type":"compaction_delta","content":"m"}"#),
        end(2),
        finish("end_turn"),
    ]);
    let raws: Vec<_> = response
        .parts
        .iter()
        .map(|part| match part {
            Part::Opaque(block) => block.raw.as_str(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(
        raws,
        [
            r#"{"type":"server_tool_use","id":"s","name":"web_search","input":{"q": 1}}"#,
            r#"{"type":"web_search_tool_result","tool_use_id":"s","content":[{"a":1}]}"#,
            r#"{"type":"compaction","content":"sum"}"#
        ]
    );
}

#[test]
fn a_signature_without_text_is_reasoning() {
    let response = fold(&[
        block(0, r#"{"type":"thinking","thinking":"","signature":""}"#),
        delta(0, r#"{"type":"signature_delta","signature":"s"}"#),
        end(0),
        finish("end_turn"),
    ]);
    assert_eq!(response.parts.len(), 1);
    let native = response.parts[0].native().unwrap();
    assert_eq!(native.get("signature").unwrap().as_str(), "\"s\"");
}

#[test]
fn imperfect_streams_are_tolerated() {
    let text = delta(0, r#"{"type":"text_delta","text":"x"}"#);
    let rows: [(&str, Vec<String>); 6] = [
        (
            "a start that comes twice",
            vec![
                START.into(),
                block(0, r#"{"type":"text","text":""}"#),
                text.clone(),
                end(0),
            ],
        ),
        ("text without a beginning", vec![text.clone(), end(0)]),
        (
            "a block without an end",
            vec![block(0, r#"{"type":"text","text":""}"#), text.clone()],
        ),
        (
            "unknown events",
            vec![
                r#"{"type":"weather","sky":"blue"}"#.into(),
                r#"{"x":1}"#.into(),
                text.clone(),
            ],
        ),
        (
            "remarks that are no events",
            vec!["[DONE]".into(), "<<<<<<< HEAD".into(), text.clone()],
        ),
        (
            "unknown deltas",
            vec![
                block(0, r#"{"type":"text","text":""}"#),
                delta(0, r#"{"type":"mood_delta","mood":"good"}"#),
                text.clone(),
            ],
        ),
    ];
    for (name, mut middle) in rows {
        middle.push(finish("end_turn"));
        let response = fold(&middle);
        assert_eq!(response.text(), "x", "{name}");
        assert_eq!(response.finish, FinishReason::Stop, "{name}");
    }
}

#[test]
fn message_start_may_hold_the_whole_message() {
    let start = r#"{"type":"message_start","message":{"id":"m","content":[{"type":"web_fetch_tool_result","content":{}},{"type":"tool_use","id":"a","name":"t","input":{"x": 1}}],"stop_reason":"tool_use","usage":{"input_tokens":0}}}"#;
    let response = assemble(events(&[start, STOP, START]).unwrap());
    assert!(matches!(&response.parts[0], Part::Opaque(b) if b.kind == "web_fetch_tool_result"));
    assert_eq!(
        response.tool_calls().next().unwrap().arguments,
        r#"{"x": 1}"#
    );
    assert_eq!(response.finish, FinishReason::ToolCalls);
    assert_eq!(
        response.id.as_deref(),
        Some("m"),
        "what follows the end is ignored"
    );
}

#[test]
fn a_whole_message_instead_of_a_stream_is_accepted() {
    let body = br#"{"id":"i","type":"message","content":[{"type":"text","text":"x"}],"stop_reason":"max_tokens","usage":{"output_tokens":2}}"#;
    let (mut reader, mut events) = (Messages.stream_reader(), Vec::new());
    reader.push(body, &mut events).unwrap();
    reader.finish(&mut events).unwrap();
    let response = assemble(events);
    assert_eq!((response.text().as_str(), response.usage.output), ("x", 2));
    assert_eq!(response.finish, FinishReason::Length);
}

#[test]
fn a_stream_without_its_terminator_is_truncated() {
    for chunks in [&[START][..], &[START, &finish("end_turn")], &[]] {
        let error = events(chunks).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Truncated);
    }
}

#[test]
fn an_error_event_fails_the_stream() {
    let body = "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"},\"request_id\":\"req_1\"}\n\n";
    for tap in [false, true] {
        let (mut reader, mut events) = (Messages.stream_reader(), Vec::new());
        let error = match tap {
            true => reader.tap(body.as_bytes(), &mut events),
            false => reader.push(body.as_bytes(), &mut events),
        }
        .unwrap_err();
        assert_eq!(error.code(), Some("overloaded_error"));
        assert_eq!(error.request_id(), Some("req_1"));
    }
}

#[test]
fn a_tap_emits_only_usage_and_finish() {
    let chunks = [
        START.to_owned(),
        block(0, r#"{"type":"text","text":""}"#),
        delta(0, r#"{"type":"text_delta","text":"message_stop"}"#),
        end(0),
        finish("end_turn"),
        STOP.to_owned(),
    ];
    // The correct name, no name, one shared by all events, and a wrong one.
    for name in [None, Some(""), Some("message"), Some("content_block_delta")] {
        let (mut reader, mut events) = (Messages.stream_reader(), Vec::new());
        for chunk in &chunks {
            let name = name.or(chunk.split('"').nth(3)).unwrap();
            let bytes = format!("event: {name}\ndata: {chunk}\n\n");
            reader.tap(bytes.as_bytes(), &mut events).unwrap();
        }
        reader.finish(&mut events).unwrap();
        assert!(!events.iter().any(Event::is_semantic), "{name:?}");
        assert_eq!(events.last(), Some(&Event::Finish(FinishReason::Stop)));
        assert_eq!(assemble(events).usage.output, 9);
    }
}

fn start_call(index: usize, id: &str) -> Event {
    Event::ToolCallStart {
        index,
        id: Some(id.into()),
        name: "t".into(),
        native: None,
    }
}

fn arguments(index: usize, fragment: &str) -> Event {
    Event::ToolCallArguments {
        index,
        fragment: fragment.into(),
    }
}

#[test]
fn a_stream_has_the_form_clients_expect() {
    let usage = |input, output| Event::Usage(Usage::new(input, output));
    let (text, losses) = written(&[
        Event::Start {
            id: None,
            model: None,
        },
        usage(3, 0),
        Event::Text("Hi\n".into()),
        Event::ToolCallStart {
            index: 3,
            id: None,
            name: "t".into(),
            native: None,
        },
        arguments(3, "{}"),
        Event::ToolCallEnd { index: 3 },
        usage(3, 2),
        Event::Finish(FinishReason::ToolCalls),
    ]);
    let event = |name: &str, rest: &str| {
        let comma = if rest.is_empty() { "" } else { "," };
        format!("event: {name}\ndata: {{\"type\":\"{name}\"{comma}{rest}}}\n\n")
    };
    let counts = |output: u64| {
        format!(
            r#""usage":{{"input_tokens":3,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":{output}}}"#
        )
    };
    let expected = [
        event(
            "message_start",
            &format!(
                r#""message":{{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"stop_sequence":null,{}}}"#,
                counts(0)
            ),
        ),
        event(
            "content_block_start",
            r#""index":0,"content_block":{"type":"text","text":""}"#,
        ),
        event(
            "content_block_delta",
            r#""index":0,"delta":{"type":"text_delta","text":"Hi\n"}"#,
        ),
        event("content_block_stop", r#""index":0"#),
        event(
            "content_block_start",
            r#""index":1,"content_block":{"type":"tool_use","id":"call_0","name":"t","input":{}}"#,
        ),
        event(
            "content_block_delta",
            r#""index":1,"delta":{"type":"input_json_delta","partial_json":"{}"}"#,
        ),
        event("content_block_stop", r#""index":1"#),
        event(
            "message_delta",
            &format!(
                r#""delta":{{"stop_reason":"tool_use","stop_sequence":null}},{}"#,
                counts(2)
            ),
        ),
        event("message_stop", ""),
    ];
    assert_eq!(text, expected.concat());
    assert!(losses.is_empty());
}

#[test]
fn interleaved_calls_become_consecutive_blocks() {
    let events = [
        start_call(1, "a"),
        start_call(2, "b"),
        arguments(2, "{\"y\""),
        arguments(1, "{\"x\":1}"),
        Event::Text("then".into()),
        arguments(2, ":2}"),
        Event::ToolCallEnd { index: 2 },
        arguments(2, "late"),
        Event::ToolCallEnd { index: 1 },
        Event::Finish(FinishReason::ToolCalls),
    ];
    let (text, _) = written(&events);
    let order: Vec<_> = text
        .lines()
        .filter_map(|line| line.strip_prefix("event: content_block_"))
        .collect();
    let one = ["start", "delta", "stop"];
    assert_eq!(order, [one, one, one].concat());
    let (mut reader, mut again) = (Messages.stream_reader(), Vec::new());
    reader.push(text.as_bytes(), &mut again).unwrap();
    assert_eq!(assemble(again).parts, assemble(events).parts);
}

#[test]
fn the_first_open_block_is_written_as_it_grows() {
    let mut writer = Messages.stream_writer(&reply());
    let mut sizes = Vec::new();
    for event in [
        start_call(0, "a"),
        arguments(0, "{"),
        arguments(0, "}"),
        Event::Text("x".into()),
    ] {
        let mut out = BytesMut::new();
        writer.write(&event, &mut out);
        sizes.push(!out.is_empty());
    }
    assert_eq!(
        sizes,
        [true, true, true, false],
        "text waits for the call's end"
    );
}

#[test]
fn foreign_reasoning_is_shown_and_empty_reasoning_is_not() {
    let foreign = Native::new(majordomo_llm::Dialect::new("gemini"))
        .with("thoughtSignature", majordomo_llm::Json::string("s"));
    let (text, losses) = written(&[
        Event::Reasoning(String::new()),
        Event::EndPart(None),
        Event::Reasoning("hm".into()),
        Event::EndPart(foreign.into_option()),
        Event::Finish(FinishReason::Stop),
    ]);
    assert_eq!(text.matches("content_block_start\n").count(), 1);
    assert!(text.contains(r#"{"type":"thinking","thinking":"","signature":""}"#));
    assert!(
        text.contains(r#""signature":"majordomo1."#),
        "its state is sealed: {text}"
    );
    assert!(losses.is_empty(), "{losses:?}");
}

#[test]
fn a_refusal_is_written_at_the_end_of_a_stream() {
    let events = [
        Event::Refusal("not ".into()),
        Event::Refusal("that".into()),
        Event::EndPart(None),
        Event::Finish(FinishReason::Refusal),
    ];
    let (text, losses) = written(&events);
    assert!(
        text.contains(
            r#""stop_details":{"type":"refusal","category":null,"explanation":"not that"}"#
        )
    );
    assert!(losses.is_empty());
    let (mut reader, mut again) = (Messages.stream_reader(), Vec::new());
    reader.push(text.as_bytes(), &mut again).unwrap();
    assert!(
        again.iter().any(
            |e| matches!(e, Event::Part(Part::Refusal(Text { text, .. })) if text == "not that")
        )
    );

    let (text, losses) = written(&[
        Event::Refusal("no".into()),
        Event::Finish(FinishReason::Stop),
    ]);
    assert!(text.contains(r#"{"type":"text_delta","text":"no"}"#));
    assert_eq!(losses, ["refusal"]);
}

#[test]
fn multi_line_json_stays_one_event() {
    let raw = majordomo_llm::Json::parse("{\"type\":\"new\",\r\n \"x\": \"a\\nb\"\n}").unwrap();
    let part = Part::Opaque(majordomo_llm::Opaque::new(MESSAGES, "new", raw));
    let (text, _) = written(&[Event::Part(part), Event::Finish(FinishReason::Stop)]);
    let (mut reader, mut again) = (Messages.stream_reader(), Vec::new());
    reader.push(text.as_bytes(), &mut again).unwrap();
    let parts = assemble(again).parts;
    assert!(matches!(&parts[..], [Part::Opaque(b)] if b.raw.as_str().contains("a\\nb")));
}

#[test]
fn a_failed_stream_ends_with_an_error_and_no_terminator() {
    let mut writer = Messages.stream_writer(&reply());
    let mut out = BytesMut::new();
    writer.write(&Event::Text("x".into()), &mut out);
    out.clear();
    writer.fail(&Error::http(503, "gone"), &mut out);
    assert_eq!(
        out,
        "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"HTTP 503: gone\"}}\n\n"
    );
}

proptest! {
    #[test]
    fn arbitrary_bytes_do_not_panic(
        bytes in prop::collection::vec(any::<u8>(), 0..80),
        json in r#"(data: \{"type":"(content_block_(start|delta|stop)|message_(start|delta|stop))","index":[0-2],"(delta|content_block|message)":\{"(type|text|content|input|usage)":("text"|"tool_use"|\{\}|\[\]|1|null)\}\}\n\n){0,6}"#,
    ) {
        for input in [&bytes[..], json.as_bytes()] {
            let (mut reader, mut events) = (Messages.stream_reader(), Vec::new());
            let _ = reader.push(input, &mut events);
            let _ = reader.finish(&mut events);
            let _ = written(&events);
        }
    }
}

/// The start of a second message, after a proxy lost its upstream.
const SECOND: &str = r#"{"type":"message_start","message":{"id":"msg_2","model":"y","content":[],"stop_reason":null,"usage":{"input_tokens":3,"output_tokens":1}}}"#;

fn interrupted_then<'c>(rest: &[&'c str]) -> Vec<&'c str> {
    let mut chunks = vec![
        START,
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"first"}}"#,
        r#"{"type":"content_block_stop","index":0}"#,
        r#"{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"t1","name":"f","input":{}}}"#,
        r#"{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"a\":"}}"#,
    ];
    chunks.extend(rest);
    chunks
}

const SECOND_CONTENT: [&str; 5] = [
    r#"{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t2","name":"g","input":{}}}"#,
    r#"{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"b\":2}"}}"#,
    r#"{"type":"content_block_stop","index":0}"#,
    r#"{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":7}}"#,
    r#"{"type":"message_stop"}"#,
];

#[test]
fn the_second_message_start_counts_and_nothing_of_the_first_is_glued_to_it() {
    let chunks = interrupted_then(&[&[SECOND], &SECOND_CONTENT[..]].concat());
    let response = assemble(events(&chunks).unwrap());
    assert_eq!(response.id.as_deref(), Some("msg_2"));
    assert_eq!(response.reported_model.as_deref(), Some("y"));
    assert_eq!(
        response.parts,
        [Part::ToolCall(ToolCall::new("t2", "g", "{\"b\":2}"))]
    );
    assert_eq!((response.usage.input, response.usage.output), (3, 7));
    assert_eq!(
        response.usage.cache_read, 0,
        "counted for the first message"
    );
    assert_eq!(response.finish, FinishReason::ToolCalls);
}

#[test]
fn a_response_that_starts_over_is_written_as_a_second_message() {
    let chunks = interrupted_then(&[&[SECOND], &SECOND_CONTENT[..]].concat());
    let read = events(&chunks).unwrap();
    let (stream, _) = written(&read);
    let mut reader = Messages.stream_reader();
    let mut again = Vec::new();
    reader.push(stream.as_bytes(), &mut again).unwrap();
    reader.finish(&mut again).unwrap();
    assert_eq!(assemble(again).parts, assemble(read).parts);
}

#[test]
fn a_repeated_message_start_is_ignored() {
    let mut chunks = vec![START, START];
    chunks.extend(SECOND_CONTENT);
    let once = assemble(events(&[&[START], &SECOND_CONTENT[..]].concat()).unwrap());
    assert_eq!(assemble(events(&chunks).unwrap()), once);
}
