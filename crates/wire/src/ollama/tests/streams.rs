use bytes::BytesMut;
use majordomo_llm::{
    Assembler, Dialect, Error, ErrorKind, FinishReason, Json, Native, Part, Response, Usage,
};
use proptest::prelude::*;

use super::*;

const DONE: &str = r#"{"model":"x","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","prompt_eval_count":3,"eval_count":2}"#;

fn line(fields: &str) -> String {
    format!(r#"{{"model":"x","message":{{"role":"assistant",{fields}}},"done":false}}"#)
}

fn fold(events: Vec<Event>) -> Response {
    let mut assembler = Assembler::numbering_calls_from(2);
    for event in events {
        assembler.push(event);
    }
    assembler.into_response()
}

fn written(events: &[Event]) -> (String, Vec<String>) {
    let mut writer = CHAT.stream_writer(&reply());
    let mut out = BytesMut::new();
    for event in events {
        writer.write(event, &mut out);
    }
    let losses = writer.losses().into_iter().map(|l| l.field).collect();
    (String::from_utf8(out.to_vec()).unwrap(), losses)
}

#[test]
fn thinking_text_and_tool_calls_are_distinguished() {
    let call = r#""content":"","tool_calls":[{"function":{"name":"a","arguments":{"x": 1}}},{"id":"i","function":{"index":1,"name":"b","arguments":{}}}]"#;
    let events = events(&[
        &line(r#""content":"","thinking":"h""#),
        &line(r#""content":"","thinking":"m""#),
        &line(r#""content":"hi""#),
        &line(call),
        DONE,
    ])
    .unwrap();
    let usage = Usage::new(3, 2);
    assert_eq!(
        events[events.len() - 2..],
        [Event::Usage(usage), Event::Finish(FinishReason::ToolCalls)]
    );
    let response = fold(events);
    assert!(
        matches!(&response.parts[0], Part::Reasoning(r) if r.text == "hm" && r.native.is_some())
    );
    assert_eq!(response.text(), "hi");
    let calls: Vec<_> = response
        .tool_calls()
        .map(|c| (c.id.as_str(), c.name.as_str(), c.arguments.as_str()))
        .collect();
    assert_eq!(calls, [("call_2", "a", r#"{"x": 1}"#), ("i", "b", "{}")]);
    assert_eq!(response.reported_model.as_deref(), Some("x"));
}

#[test]
fn a_single_object_is_a_complete_stream() {
    let compact =
        r#"{"model":"x","message":{"role":"assistant","content":"hi"},"done":true,"eval_count":1}"#;
    let indented = "{\n  \"model\": \"x\",\n  \"message\": {\n    \"content\": \"hi\"\n  },\n\n  \"done\": true,\n  \"eval_count\": 1\n}";
    for body in [compact, indented] {
        for end in ["", "\n", "\r\n"] {
            let body = format!("{body}{end}");
            for cut in 0..body.len() {
                let (mut reader, mut events) = (CHAT.stream_reader(), Vec::new());
                reader.push(&body.as_bytes()[..cut], &mut events).unwrap();
                reader.push(&body.as_bytes()[cut..], &mut events).unwrap();
                reader.finish(&mut events).unwrap();
                let response = fold(events);
                assert_eq!((&*response.text(), response.usage.output), ("hi", 1));
                assert_eq!(response.finish, FinishReason::Stop);
            }
        }
    }
}

#[test]
fn a_truncated_stream_is_an_error() {
    let text = line(r#""content":"x""#);
    for lines in [vec![text.as_str()], vec![], vec!["", ""]] {
        let error = events(&lines).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Truncated);
    }
    let cut = events(&[&text, r#"{"model":"x","mess"#]).unwrap_err();
    assert_eq!(cut.kind(), ErrorKind::BadResponse);
    assert!(events(&[&text, DONE, "and more"]).is_ok());
}

#[test]
fn an_error_line_is_returned_by_reader_and_tap() {
    let lines = format!(
        "{}\n{}\n",
        line(r#""content":"x""#),
        r#"{"error":"out of memory"}"#
    );
    let pushed = CHAT.stream_reader().push(lines.as_bytes(), &mut vec![]);
    let tapped = CHAT.stream_reader().tap(lines.as_bytes(), &mut vec![]);
    for error in [pushed.unwrap_err(), tapped.unwrap_err()] {
        assert_eq!(
            (error.kind(), error.message()),
            (ErrorKind::Provider, "out of memory")
        );
    }
}

#[test]
fn a_tap_emits_usage_and_finish_reason() {
    let call = line(r#""content":"","tool_calls":[{"function":{"name":"a","arguments":{}}}]"#);
    for (middle, reason) in [
        (line(r#""content":"\"done\":true""#), FinishReason::Stop),
        (call, FinishReason::ToolCalls),
    ] {
        let body = format!("{}\n{middle}\n{DONE}\n", line(r#""content":"text""#));
        let (mut reader, mut events) = (CHAT.stream_reader(), Vec::new());
        reader.tap(body.as_bytes(), &mut events).unwrap();
        reader.finish(&mut events).unwrap();
        assert!(!events.contains(&Event::Text("text".into())));
        let response = fold(events);
        assert_eq!((response.usage.input, response.finish), (3, reason));
    }
}

#[test]
fn a_stream_is_written_as_clients_expect_it() {
    let start = |index: usize, name: &str| Event::ToolCallStart {
        index,
        id: None,
        name: name.into(),
        native: None,
    };
    let arguments = |index: usize, fragment: &str| Event::ToolCallArguments {
        index,
        fragment: fragment.into(),
    };
    let signed = Native::new(Dialect::new("gemini")).with("thoughtSignature", Json::string("s"));
    let (text, losses) = written(&[
        Event::Start {
            id: None,
            model: None,
        },
        Event::Reasoning("hm".into()),
        Event::EndPart(signed.into_option()),
        Event::Text("Hi\n".into()),
        start(3, "t"),
        start(5, "u"),
        arguments(5, "{\"y\":\n"),
        arguments(3, "{\"x\":1}"),
        arguments(5, "2}"),
        Event::ToolCallEnd { index: 5 },
        Event::Usage(Usage::new(3, 2)),
        Event::Finish(FinishReason::ToolCalls),
    ]);
    let line = |message: &str, end: &str| {
        format!(
            "{{\"model\":\"m\",\"created_at\":\"2023-11-14T22:13:20Z\",\"message\":{{\"role\":\"assistant\",{message}}},{end}}}\n"
        )
    };
    let call = |fields: &str| format!(r#""content":"","tool_calls":[{{{fields}}}]"#);
    let expected = [
        line(r#""content":"","thinking":"hm""#, r#""done":false"#),
        line(r#""content":"Hi\n""#, r#""done":false"#),
        line(
            &call(r#""id":"call_1","function":{"index":0,"name":"u","arguments":{"y": 2}}"#),
            r#""done":false"#,
        ),
        line(
            &call(r#""id":"call_0","function":{"index":1,"name":"t","arguments":{"x":1}}"#),
            r#""done":false"#,
        ),
        line(
            r#""content":"""#,
            r#""done":true,"done_reason":"stop","total_duration":0,"load_duration":0,"prompt_eval_count":3,"prompt_eval_duration":0,"eval_count":2,"eval_duration":0"#,
        ),
    ];
    assert_eq!(text, expected.concat());
    assert_eq!(losses, ["thoughtSignature"]);
}

#[test]
fn a_failed_stream_ends_with_the_error_and_no_synthesized_finish() {
    let mut writer = CHAT.stream_writer(&reply());
    let mut out = BytesMut::new();
    writer.write(&Event::Text("x".into()), &mut out);
    out.clear();
    writer.fail(&Error::http(503, "gone"), &mut out);
    assert_eq!(out, "{\"error\":\"HTTP 503: gone\"}\n");
}

proptest! {
    #[test]
    fn no_bytes_make_the_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..80), json in r#"[\[\]{}":,a-z0-9\n]{0,60}"#) {
        for input in [&bytes[..], json.as_bytes()] {
            let (mut reader, mut events) = (CHAT.stream_reader(), Vec::new());
            let _ = reader.push(input, &mut events);
            let _ = reader.finish(&mut events);
        }
    }

    #[test]
    fn written_streams_read_back_with_any_chunk_boundary(texts in prop::collection::vec(".{0,12}", 1..6), cut in 0_usize..400) {
        let mut events: Vec<Event> = texts.iter().cloned().map(Event::Text).collect();
        events.push(Event::Finish(FinishReason::Stop));
        let (text, _) = written(&events);
        let cut = cut.min(text.len());
        let (mut reader, mut read) = (CHAT.stream_reader(), Vec::new());
        reader.push(&text.as_bytes()[..cut], &mut read).unwrap();
        reader.push(&text.as_bytes()[cut..], &mut read).unwrap();
        reader.finish(&mut read).unwrap();
        prop_assert_eq!(fold(read).text(), texts.concat());
    }
}
