use bytes::BytesMut;
use majordomo_llm::{Assembler, Error, ErrorKind, FinishReason, Response, Usage};
use proptest::prelude::*;

use super::*;

fn delta(delta: &str) -> String {
    format!(r#"{{"choices":[{{"index":0,"delta":{delta}}}]}}"#)
}

fn finish(reason: &str) -> String {
    format!(r#"{{"choices":[{{"index":0,"delta":{{}},"finish_reason":"{reason}"}}]}}"#)
}

fn fold(chunks: &[String]) -> Response {
    let chunks: Vec<&str> = chunks.iter().map(String::as_str).collect();
    let mut assembler = Assembler::default();
    for event in events(&chunks).unwrap() {
        assembler.push(event);
    }
    assembler.into_response()
}

/// Id, name and arguments.
type AssembledCall = (String, String, String);

fn calls(deltas: &[&str]) -> Vec<AssembledCall> {
    let mut chunks: Vec<_> = deltas
        .iter()
        .map(|d| delta(&format!(r#"{{"tool_calls":[{d}]}}"#)))
        .collect();
    chunks.push(finish("stop"));
    let response = fold(&chunks);
    assert_eq!(response.finish, FinishReason::ToolCalls);
    response
        .tool_calls()
        .map(|c| (c.id.clone(), c.name.clone(), c.arguments.clone()))
        .collect()
}

#[test]
fn fragments_are_assigned_to_their_tool_call() {
    let a = |arguments: &str| ("a".to_owned(), "t".to_owned(), arguments.to_owned());
    let b = ("b".to_owned(), "u".to_owned(), "{\"y\":2}".to_owned());
    type FragmentCase<'a> = (&'a str, &'a [&'a str], Vec<AssembledCall>);
    let rows: &[FragmentCase<'_>] = &[
        (
            "by index",
            &[
                r#"{"index":0,"id":"a","type":"function","function":{"name":"t","arguments":""}}"#,
                r#"{"index":0,"function":{"arguments":"{\"x\""}}"#,
                r#"{"index":0,"function":{"arguments":":1}"}}"#,
            ],
            vec![a("{\"x\":1}")],
        ),
        (
            "indexes that start at one and interleave",
            &[
                r#"{"index":1,"id":"a","function":{"name":"t","arguments":"{\"x\""}}"#,
                r#"{"index":4,"id":"b","function":{"name":"u","arguments":"{\"y\""}}"#,
                r#"{"index":1,"function":{"arguments":":1}"}}"#,
                r#"{"index":4,"function":{"arguments":":2}"}}"#,
            ],
            vec![a("{\"x\":1}"), b.clone()],
        ),
        (
            "a new id under the same index is a new call",
            &[
                r#"{"index":0,"id":"a","function":{"name":"t","arguments":"{}"}}"#,
                r#"{"index":0,"id":"b","function":{"name":"u","arguments":"{\"y\":2}"}}"#,
            ],
            vec![a("{}"), b.clone()],
        ),
        (
            "without an index",
            &[
                r#"{"id":"a","function":{"name":"t","arguments":"{\"x\""}}"#,
                r#"{"function":{"arguments":":1}"}}"#,
                r#"{"id":"b","function":{"name":"u","arguments":"{\"y\":2}"}}"#,
            ],
            vec![a("{\"x\":1}"), b.clone()],
        ),
        (
            "name and id repeated in every fragment",
            &[
                r#"{"index":0,"id":"a","function":{"name":"t","arguments":"{\"x\""}}"#,
                r#"{"index":0,"id":"a","function":{"name":"t","arguments":":1}"}}"#,
            ],
            vec![a("{\"x\":1}")],
        ),
        (
            "a name that arrives late",
            &[
                r#"{"index":0,"id":"a","function":{"arguments":"{\"x\""}}"#,
                r#"{"index":0,"function":{"name":"t","arguments":":1}"}}"#,
            ],
            vec![a("{\"x\":1}")],
        ),
        (
            "arguments as an object, then repeated in full",
            &[
                r#"{"index":0,"id":"a","function":{"name":"t","arguments":{"x": 1}}}"#,
                r#"{"index":0,"function":{"arguments":"{\"x\": 1}"}}"#,
            ],
            vec![a("{\"x\": 1}")],
        ),
        (
            "no id and no arguments at all",
            &[r#"{"id":"","function":{"name":"t","arguments":null}}"#],
            vec![("call_0".to_owned(), "t".to_owned(), "{}".to_owned())],
        ),
    ];
    for (name, deltas, expected) in rows {
        assert_eq!(&calls(deltas), expected, "{name}");
    }
}

#[test]
fn a_complete_call_ends_when_the_next_one_starts() {
    let chunks = [
        delta(r#"{"tool_calls":[{"index":0,"id":"a","function":{"name":"t","arguments":"{}"}}]}"#),
        delta(r#"{"tool_calls":[{"index":1,"id":"b","function":{"name":"u","arguments":"{"}}]}"#),
        finish("tool_calls"),
    ];
    let chunks: Vec<&str> = chunks.iter().map(String::as_str).collect();
    let events = events(&chunks).unwrap();
    let at = |wanted: &dyn Fn(&Event) -> bool| events.iter().position(wanted).unwrap();
    let first_end = at(&|e| matches!(e, Event::ToolCallEnd { index: 0 }));
    let second_start = at(&|e| matches!(e, Event::ToolCallStart { index: 1, .. }));
    assert!(first_end < second_start);
}

#[test]
fn usage_on_any_chunk_is_emitted_once_as_soon_as_it_arrives() {
    let usage = r#""usage":{"prompt_tokens":3,"completion_tokens":2}"#;
    for chunks in [
        vec![
            delta(r#"{"content":"x"}"#),
            finish("stop"),
            format!(r#"{{"choices":[],{usage}}}"#),
        ],
        vec![format!(
            r#"{{"choices":[{{"delta":{{"content":"x"}},"finish_reason":"stop"}}],{usage}}}"#
        )],
        vec![
            format!(r#"{{"choices":[],{usage}}}"#),
            delta(r#"{"content":"x"}"#),
            finish("stop"),
        ],
        vec![
            delta(r#"{"content":"x"}"#),
            format!(r#"{{"choices":[],"x_groq":{{{usage}}}}}"#),
            finish("stop"),
        ],
    ] {
        for end in [None, Some("[DONE]")] {
            let chunks: Vec<&str> = chunks.iter().map(String::as_str).chain(end).collect();
            let whole = events(&chunks).unwrap();
            let usage = Event::Usage(Usage::new(3, 2));
            let reports = whole.iter().filter(|event| **event == usage);
            assert_eq!(reports.count(), 1, "{chunks:?}");
            assert_eq!(whole.last(), Some(&Event::Finish(FinishReason::Stop)));
            // A stream that is cut after the report.
            let reporting = chunks.iter().position(|chunk| chunk.contains("usage"));
            let mut reader = Chat.stream_reader();
            let mut seen = Vec::new();
            for chunk in &chunks[..=reporting.unwrap()] {
                reader
                    .push(format!("data: {chunk}\n\n").as_bytes(), &mut seen)
                    .unwrap();
            }
            assert!(seen.contains(&usage), "{chunks:?}");
        }
    }
}

#[test]
fn a_truncated_stream_is_an_error() {
    let text = delta(r#"{"content":"x"}"#);
    assert!(events(&[&text, "[DONE]"]).is_ok());
    assert!(events(&[&text, &finish("stop")]).is_ok());
    for chunks in [vec![text.as_str()], vec![]] {
        let error = events(&chunks).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Truncated);
    }
}

#[test]
fn an_error_in_the_stream_is_returned() {
    let text = delta(r#"{"content":"x"}"#);
    let error = events(&[
        &text,
        r#"{"id":"i","choices":[],"error":{"code":400,"message":"Token limit reached"}}"#,
    ])
    .unwrap_err();
    assert_eq!(
        (error.status(), error.message()),
        (Some(400), "Token limit reached")
    );

    let mut reader = Chat.stream_reader();
    let failed =
        b"event: error\ndata: {\"error\":{\"message\":\"m\",\"code\":\"tool_use_failed\"}}\n\n";
    let error = reader.push(failed, &mut Vec::new()).unwrap_err();
    assert_eq!(
        (error.code(), error.message()),
        (Some("tool_use_failed"), "m")
    );
    let error = Chat
        .stream_reader()
        .tap(failed, &mut Vec::new())
        .unwrap_err();
    assert_eq!(error.message(), "m", "a tap sees it as well");
}

#[test]
fn every_form_of_reasoning_is_recognized_and_keeps_its_key() {
    let rows = [
        (r#"{"reasoning_content":"hm"}"#, "reasoning_content"),
        (r#"{"reasoning":"hm"}"#, "reasoning"),
        (
            r#"{"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]}]}"#,
            "thinking",
        ),
    ];
    for (reasoning, field) in rows {
        let response = fold(&[
            delta(reasoning),
            delta(r#"{"content":"x"}"#),
            finish("stop"),
        ]);
        let native = response.parts[0].native().unwrap();
        assert_eq!(
            native.get("field").unwrap().as_str(),
            format!("\"{field}\"")
        );
        assert_eq!(response.text(), "x");
    }
    let inline = fold(&[delta(r#"{"content":"<think>hm</think>x"}"#), finish("stop")]);
    assert_eq!(
        inline.text(),
        "<think>hm</think>x",
        "inline <think> tags are text"
    );
}

#[test]
fn reasoning_details_are_collected_for_the_next_request() {
    let response = fold(&[
        delta(r#"{"reasoning":"a","reasoning_details":[{"text":"a"}]}"#),
        delta(r#"{"reasoning":"b","reasoning_details":[{"text":"b"}]}"#),
        delta(r#"{"reasoning_details":[{"signature":"s"}]}"#),
        delta(r#"{"content":"x"}"#),
        finish("stop"),
    ]);
    let details = response.parts[0]
        .native()
        .unwrap()
        .get("reasoning_details")
        .unwrap();
    assert_eq!(
        details.as_str(),
        r#"[{"text":"a"},{"text":"b"},{"signature":"s"}]"#
    );
}

#[test]
fn a_complete_response_is_accepted_as_a_stream() {
    let body = br#"{"id":"i","choices":[{"message":{"content":"x"},"finish_reason":"stop"}]}"#;
    let (mut reader, mut events) = (Chat.stream_reader(), Vec::new());
    reader.push(body, &mut events).unwrap();
    reader.finish(&mut events).unwrap();
    assert!(events.contains(&Event::Text("x".into())));
}

#[test]
fn a_stream_is_written_as_clients_expect_it() {
    let events = [
        Event::Start {
            id: None,
            model: None,
        },
        Event::Text("Hi\n".into()),
        Event::ToolCallStart {
            index: 3,
            id: None,
            name: "t".into(),
            native: None,
        },
        Event::ToolCallEnd { index: 3 },
        Event::Usage(Usage::new(3, 2)),
        Event::Finish(FinishReason::ToolCalls),
    ];
    let text = |stream_usage: bool| {
        let reply = Reply {
            stream_usage,
            ..reply()
        };
        let mut writer = Chat.stream_writer(&reply);
        let mut out = BytesMut::new();
        for event in &events {
            writer.write(event, &mut out);
        }
        String::from_utf8(out.to_vec()).unwrap()
    };
    let head =
        r#"data: {"id":"id-1","object":"chat.completion.chunk","created":7,"model":"m","choices":"#;
    let choice = |delta: &str, finish: &str| {
        format!("{head}[{{\"index\":0,\"delta\":{delta},\"finish_reason\":{finish}}}]}}\n\n")
    };
    let call = |fields: &str| format!(r#"{{"tool_calls":[{{"index":0,{fields}}}]}}"#);
    let expected = [
        choice(r#"{"role":"assistant","content":"Hi\n"}"#, "null"),
        choice(
            &call(r#""id":"call_0","type":"function","function":{"name":"t","arguments":""}"#),
            "null",
        ),
        choice(&call(r#""function":{"arguments":"{}"}"#), "null"),
        choice("{}", "\"tool_calls\""),
        "data: [DONE]\n\n".to_owned(),
    ];
    assert_eq!(text(false), expected.concat());
    assert!(text(true).contains(r#""choices":[],"usage":{"prompt_tokens":3,"#));
}

#[test]
fn a_failed_stream_ends_with_the_error_and_no_synthesized_finish() {
    let mut writer = Chat.stream_writer(&reply());
    let mut out = BytesMut::new();
    writer.write(&Event::Text("x".into()), &mut out);
    out.clear();
    writer.fail(&Error::http(503, "gone"), &mut out);
    assert_eq!(
        out,
        "data: {\"error\":{\"message\":\"HTTP 503: gone\",\"type\":\"server_error\",\"param\":null,\"code\":null}}\n\n"
    );
}

proptest! {
    #[test]
    fn no_bytes_make_the_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..80), json in r#"(data: )?[\[\]{}":,a-z0-9\n]{0,60}"#) {
        for input in [&bytes[..], json.as_bytes()] {
            let (mut reader, mut events) = (Chat.stream_reader(), Vec::new());
            let _ = reader.push(input, &mut events);
            let _ = reader.finish(&mut events);
        }
    }
}
