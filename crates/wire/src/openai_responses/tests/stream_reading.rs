use majordomo_llm::{ErrorKind, FinishReason, Part};
use proptest::prelude::*;

use super::*;

const CREATED: &str = r#"{"type":"response.created","response":{"id":"resp_9","model":"x"}}"#;
const COMPLETED: &str = r#"{"type":"response.completed","response":{"id":"resp_9","status":"completed","usage":{"input_tokens":3,"output_tokens":2,"total_tokens":5}}}"#;

fn fold(frames: &[&str]) -> Response {
    assemble(&events(frames).unwrap())
}

#[test]
fn text_deltas_are_emitted_as_they_arrive() {
    let emitted = events(&[
        CREATED,
        r#"{"type":"response.output_item.added","output_index":0,"item":{"type":"message","id":"msg_1","role":"assistant","content":[]}}"#,
        r#"{"type":"response.output_text.delta","item_id":"msg_1","output_index":0,"content_index":0,"delta":"a","logprobs":[]}"#,
        r#"{"type":"response.output_text.delta","item_id":"msg_1","output_index":0,"content_index":1,"delta":"b"}"#,
        r#"{"type":"response.output_item.done","output_index":0,"item":{"type":"message","id":"msg_1","role":"assistant","status":"completed","phase":"final_answer","content":[{"type":"output_text","text":"a"},{"type":"output_text","text":"b","annotations":[{"x":1}]}]}}"#,
        COMPLETED,
        "[DONE]",
    ])
    .unwrap();
    assert_eq!(
        emitted[..5],
        [
            Event::Start {
                id: Some("resp_9".into()),
                model: Some("x".into())
            },
            Event::Text("a".into()),
            Event::EndPart(None),
            Event::Text("b".into()),
            emitted[4].clone(),
        ]
    );
    let Event::EndPart(Some(native)) = &emitted[4] else {
        panic!("{emitted:?}");
    };
    let names: Vec<_> = native.fields().map(|(name, _)| name).collect();
    assert_eq!(names, ["annotations", "item.id", "item.phase"]);
    assert!(matches!(emitted[5], Event::Usage(usage) if usage.input == 3));
    assert_eq!(emitted[6..], [Event::Finish(FinishReason::Stop)]);
}

#[test]
fn reasoning_state_is_taken_from_the_done_event() {
    let response = fold(&[
        CREATED,
        r#"{"type":"response.output_item.added","output_index":0,"item":{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"PART"}}"#,
        r#"{"type":"response.reasoning_summary_text.delta","output_index":0,"summary_index":0,"delta":"a"}"#,
        r#"{"type":"response.reasoning_summary_text.delta","output_index":0,"summary_index":1,"delta":"b"}"#,
        r#"{"type":"response.output_item.done","output_index":0,"item":{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"a"},{"type":"summary_text","text":"b"}],"encrypted_content":"WHOLE"}}"#,
        COMPLETED,
    ]);
    let Part::Reasoning(reasoning) = &response.parts[0] else {
        panic!("{:?}", response.parts);
    };
    assert_eq!(reasoning.text, "a\n\nb");
    let state = reasoning.native.as_ref().unwrap().get("encrypted_content");
    assert_eq!(state.unwrap().as_str(), "\"WHOLE\"");
}

#[test]
fn reasoning_in_both_summary_and_content_is_emitted_once() {
    let response = fold(&[
        r#"{"type":"response.reasoning_text.delta","output_index":0,"content_index":0,"delta":"hm"}"#,
        r#"{"type":"response.reasoning_summary_text.delta","output_index":0,"summary_index":0,"delta":"in short"}"#,
        r#"{"type":"response.output_item.done","output_index":0,"item":{"type":"reasoning","id":"rs_1","summary":[]}}"#,
        COMPLETED,
    ]);
    assert!(matches!(&response.parts[..], [Part::Reasoning(r)] if r.text == "hm"));
}

#[test]
fn calls_are_matched_by_index_or_id() {
    let done = r#"{"type":"response.output_item.done","output_index":0,"item":{"type":"function_call","id":"fc_1","call_id":"c1","name":"t","arguments":"{\"a\":1}"}}"#;
    let added = r#"{"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","id":"fc_1","call_id":"c1","name":"t","arguments":""}}"#;
    let rows: [(&str, Vec<&str>); 7] = [
        (
            "whole",
            vec![
                added,
                r#"{"type":"response.function_call_arguments.delta","item_id":"fc_1","output_index":0,"delta":"{\"a\":1}"}"#,
                done,
            ],
        ),
        ("only its end", vec![done]),
        ("no deltas", vec![added, done]),
        (
            "half of the deltas",
            vec![
                added,
                r#"{"type":"response.function_call_arguments.delta","output_index":0,"delta":"{\"a"}"#,
                done,
            ],
        ),
        (
            "another id at every step",
            vec![
                added,
                r#"{"type":"response.function_call_arguments.delta","item_id":"fc_7","output_index":0,"delta":"{\"a\":1}"}"#,
                r#"{"type":"response.output_item.done","output_index":0,"item":{"type":"function_call","id":"fc_8","call_id":"c1","name":"t","arguments":"{\"a\":1}"}}"#,
            ],
        ),
        (
            "no places, another id at the end",
            vec![
                r#"{"type":"response.output_item.added","item":{"type":"function_call","id":"fc_1","call_id":"c1","name":"t","arguments":""}}"#,
                r#"{"type":"response.function_call_arguments.delta","item_id":"fc_1","delta":"{\"a\":1}"}"#,
                r#"{"type":"response.output_item.done","item":{"type":"function_call","id":"fc_2","call_id":"c1","name":"t","arguments":"{\"a\":1}"}}"#,
            ],
        ),
        (
            "a name that comes late",
            vec![
                r#"{"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","id":"fc_1"}}"#,
                r#"{"type":"response.function_call_arguments.delta","output_index":0,"delta":"{\"a\":1}"}"#,
                done,
            ],
        ),
    ];
    for (name, mut frames) in rows {
        frames.push(COMPLETED);
        let response = fold(&frames);
        let calls: Vec<_> = response
            .tool_calls()
            .map(|call| (&*call.id, &*call.name, &*call.arguments))
            .collect();
        assert_eq!(calls, [("c1", "t", r#"{"a":1}"#)], "{name}");
        assert_eq!(response.finish, FinishReason::ToolCalls, "{name}");
    }
}

#[test]
fn interleaved_calls_stay_separate() {
    let added = |place: usize| {
        format!(
            r#"{{"type":"response.output_item.added","output_index":{place},"item":{{"type":"function_call","call_id":"c{place}","name":"t"}}}}"#
        )
    };
    let delta = |place: usize, text: &str| {
        format!(
            r#"{{"type":"response.function_call_arguments.delta","output_index":{place},"delta":"{text}"}}"#
        )
    };
    let frames = [
        added(2),
        added(5),
        delta(5, "["),
        delta(2, "{"),
        delta(5, "]"),
        delta(2, "}"),
        COMPLETED.to_owned(),
    ];
    let frames: Vec<_> = frames.iter().map(String::as_str).collect();
    let response = fold(&frames);
    let calls: Vec<_> = response.tool_calls().map(|c| &*c.arguments).collect();
    assert_eq!(calls, ["{}", "[]"], "they end with the stream");
}

#[test]
fn items_only_in_the_final_event_are_emitted() {
    let response = fold(&[
        CREATED,
        r#"{"type":"response.output_item.added","output_index":0,"item":{"type":"mcp_list_tools","id":"mcp_1","tools":[]}}"#,
        r#"{"type":"response.completed","response":{"status":"completed","output":[{"type":"mcp_list_tools","id":"mcp_1","tools":[1]},{"type":"message","role":"assistant","content":[{"type":"output_text","text":"a"}]}]}}"#,
    ]);
    assert!(matches!(&response.parts[0], Part::Opaque(b) if b.raw.as_str().contains("[1]")));
    assert_eq!(response.text(), "a");
}

#[test]
fn differing_output_indexes_emit_nothing_twice() {
    let call = r#"{"type":"function_call","call_id":"c1","name":"t","arguments":"{}"}"#;
    let text =
        r#"{"type":"message","role":"assistant","content":[{"type":"output_text","text":"a"}]}"#;
    let added =
        format!(r#"{{"type":"response.output_item.added","output_index":7,"item":{call}}}"#);
    let done = format!(r#"{{"type":"response.output_item.done","output_index":8,"item":{text}}}"#);
    let completed = |output: &str| {
        format!(
            r#"{{"type":"response.completed","response":{{"status":"completed","output":[{output}]}}}}"#
        )
    };
    let response = fold(&[&added, &completed(call)]);
    assert_eq!(response.parts.len(), 1);
    let response = fold(&[&done, &completed(text)]);
    assert_eq!(response.text(), "a");
}

#[test]
fn unknown_events_are_skipped_and_unknown_items_are_kept() {
    let response = fold(&[
        CREATED,
        r#"{"type":"response.dream.delta","delta":"zzz","output_index":0}"#,
        r#"{"type":"response.output_item.done","output_index":0,"item":{"type":"dream","id":"d"}}"#,
        r#"{"type":"response.output_item.done","output_index":1,"item":{"type":"custom_tool_call","call_id":"c","name":"p","input":"x"}}"#,
        r#"{"type":"response.custom_tool_call_input.delta","output_index":2,"delta":"x"}"#,
        r#"{"type":"keepalive"}"#,
        COMPLETED,
    ]);
    assert!(matches!(&response.parts[0], Part::Opaque(b) if b.kind == "dream"));
    assert!(matches!(&response.parts[1], Part::ToolCall(c) if c.arguments == r#"{"input":"x"}"#));
    assert_eq!(
        response.finish,
        FinishReason::ToolCalls,
        "a custom tool, too"
    );
}

#[test]
fn an_incomplete_response_has_a_finish_reason() {
    let response = fold(&[
        r#"{"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":"a"}"#,
        r#"{"type":"response.incomplete","response":{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"usage":{"input_tokens":1,"output_tokens":1,"total_tokens":2}}}"#,
    ]);
    assert_eq!(response.finish, FinishReason::Length);
    assert_eq!(response.usage.total(), 2);
}

#[test]
fn every_form_of_error_ends_the_stream() {
    let rows = [
        r#"{"type":"error","code":"c","message":"m","param":null,"sequence_number":2}"#,
        r#"{"type":"error","sequence_number":2,"error":{"type":"t","code":"c","message":"m"}}"#,
        r#"{"type":"response.failed","response":{"status":"failed","error":{"code":"c","message":"m"}}}"#,
        r#"{"error":{"message":"m","code":"c"}}"#,
    ];
    for frame in rows {
        let error = events(&[CREATED, frame]).unwrap_err();
        assert_eq!((error.message(), error.code()), ("m", Some("c")), "{frame}");
    }
}

#[test]
fn a_failed_response_reports_what_it_used() {
    let failed = r#"data: {"type":"response.failed","response":{"status":"failed","error":{"code":"c","message":"m"},"usage":{"input_tokens":3,"output_tokens":2,"total_tokens":5}}}"#;
    let mut events = Vec::new();
    let read = Responses
        .stream_reader()
        .push(format!("{failed}\n\n").as_bytes(), &mut events);
    assert!(read.is_err());
    assert!(
        events.contains(&Event::Usage(majordomo_llm::Usage::new(3, 2))),
        "{events:?}"
    );
}

#[test]
fn a_stream_without_its_terminator_is_truncated() {
    for frames in [vec![CREATED], vec![CREATED, "[DONE]"], vec![]] {
        let error = events(&frames).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Truncated);
    }
}

#[test]
fn a_whole_response_instead_of_a_stream_is_accepted() {
    let mut reader = Responses.stream_reader();
    let mut emitted = Vec::new();
    let body = br#"{"id":"r","object":"response","status":"completed","output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"a"}]}]}"#;
    reader.push(body, &mut emitted).unwrap();
    reader.finish(&mut emitted).unwrap();
    assert_eq!(assemble(&emitted).text(), "a");
}

#[test]
fn a_tap_treats_a_whole_response_as_the_end() {
    let body = r#"{"id":"r","object":"response","status":"completed","output":[]}"#;
    let untyped = body.replace("{\"id\"", "{\"type\":\"\",\"id\"");
    for body in [body, &untyped] {
        for frame in [
            body.to_owned(),
            format!("event: response.created\ndata: {body}\n\n"),
        ] {
            let mut reader = Responses.stream_reader();
            let mut emitted = Vec::new();
            reader.tap(frame.as_bytes(), &mut emitted).unwrap();
            reader.finish(&mut emitted).unwrap();
            let last = emitted.last();
            assert_eq!(last, Some(&Event::Finish(FinishReason::Stop)), "{frame}");
        }
    }
}

#[test]
fn a_tap_emits_only_usage_and_finish() {
    let call = r#"{"type":"response.output_item.done","output_index":0,"item":{"type":"function_call","call_id":"c","name":"t","arguments":"{}"}}"#;
    let text = r#"{"type":"response.output_text.delta","output_index":1,"delta":"a"}"#;
    // The correct name, no name, one shared by all events, and a wrong one.
    let names = [None, Some(""), Some("message"), Some("response.created")];
    for name in names {
        let mut reader = Responses.stream_reader();
        let mut emitted = Vec::new();
        for frame in [CREATED, call, text, COMPLETED] {
            let name = name.or(frame.split('"').nth(3)).unwrap();
            let bytes = format!("event: {name}\ndata: {frame}\n\n");
            reader.tap(bytes.as_bytes(), &mut emitted).unwrap();
        }
        reader.finish(&mut emitted).unwrap();
        emitted.retain(|event| !matches!(event, Event::Start { .. }));
        assert!(matches!(
            emitted[..],
            [Event::Usage(_), Event::Finish(FinishReason::ToolCalls)]
        ));
    }
}

proptest! {
    #[test]
    fn arbitrary_streams_do_not_panic(frames in prop::collection::vec(
        r#"(event: error\n)?(data: ?)?\{"type":"(response\.(completed|failed|output_item\.(added|done)|output_text\.delta|function_call_arguments\.delta)|error)","(item|response|delta|output_index)":(\{\}|"x"|0|\{"type":"(message|function_call|reasoning)","output":\[\{\}\]\})\}\n\n?"#,
        0..6,
    )) {
        let mut reader = Responses.stream_reader();
        let mut emitted = Vec::new();
        for frame in &frames {
            let _ = reader.push(frame.as_bytes(), &mut emitted);
        }
        let _ = reader.finish(&mut emitted);
    }
}
