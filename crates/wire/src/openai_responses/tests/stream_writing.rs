use std::time::Duration;

use bytes::BytesMut;
use majordomo_llm::{Dialect, Error, FinishReason, Opaque, Part, Usage};
use serde_json::Value;

use super::*;

/// Writes a stream and returns its events, checking the framing of each.
fn written(events: &[Event]) -> Vec<Value> {
    let mut writer = Responses.stream_writer(&reply());
    let mut out = BytesMut::new();
    for event in events {
        writer.write(event, &mut out);
    }
    frames(&out)
}

fn frames(out: &[u8]) -> Vec<Value> {
    let text = std::str::from_utf8(out).unwrap();
    let frames: Vec<Value> = text
        .split_terminator("\n\n")
        .map(|frame| {
            let (name, data) = frame.split_once('\n').unwrap();
            let data: Value = serde_json::from_str(data.strip_prefix("data: ").unwrap()).unwrap();
            assert_eq!(data["type"], name.strip_prefix("event: ").unwrap());
            data
        })
        .collect();
    for (number, frame) in frames.iter().enumerate() {
        assert_eq!(frame["sequence_number"], number);
    }
    frames
}

fn kinds(frames: &[Value]) -> Vec<&str> {
    let kinds = frames.iter().map(|frame| frame["type"].as_str().unwrap());
    kinds
        .map(|kind| kind.strip_prefix("response.").unwrap_or(kind))
        .collect()
}

fn start_call(index: usize, id: &str) -> Event {
    Event::ToolCallStart {
        index,
        id: Some(id.into()).filter(|id: &String| !id.is_empty()),
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
fn events_have_the_order_clients_expect() {
    let usage = Usage::new(9, 4).with_cache_read(1).with_reasoning(2);
    let frames = written(&[
        Event::Start {
            id: None,
            model: None,
        },
        Event::Reasoning("h".into()),
        Event::Reasoning("m".into()),
        Event::EndPart(None),
        Event::Text("a".into()),
        Event::Text("b".into()),
        start_call(3, "c1"),
        arguments(3, "{}"),
        Event::ToolCallEnd { index: 3 },
        Event::Usage(usage),
        Event::Finish(FinishReason::ToolCalls),
    ]);
    assert_eq!(
        kinds(&frames),
        [
            "created",
            "in_progress",
            "output_item.added",
            "reasoning_summary_part.added",
            "reasoning_summary_text.delta",
            "reasoning_summary_text.delta",
            "reasoning_summary_text.done",
            "reasoning_summary_part.done",
            "output_item.done",
            "output_item.added",
            "content_part.added",
            "output_text.delta",
            "output_text.delta",
            "output_text.done",
            "content_part.done",
            "output_item.done",
            "output_item.added",
            "function_call_arguments.delta",
            "function_call_arguments.done",
            "output_item.done",
            "completed",
        ]
    );
    for (added, done) in [(2, 8), (9, 15), (16, 19)] {
        assert_eq!(frames[added]["item"]["id"], frames[done]["item"]["id"]);
        assert_eq!(frames[added]["output_index"], frames[done]["output_index"]);
    }
    let delta = &frames[11];
    assert_eq!(delta["item_id"], frames[9]["item"]["id"]);
    assert_eq!(
        (&delta["output_index"], &delta["content_index"]),
        (&1.into(), &0.into())
    );
    let response = &frames[20]["response"];
    let done: Vec<_> = [8, 15, 19]
        .iter()
        .map(|at| frames[*at]["item"].clone())
        .collect();
    assert_eq!(response["output"], Value::from(done), "all items once more");
    assert_eq!(response["id"], "resp_1");
    assert_eq!(response["status"], "completed");
    assert_eq!(
        response["usage"],
        serde_json::json!({
            "input_tokens": 9, "input_tokens_details": {"cached_tokens": 1, "cache_write_tokens": 0},
            "output_tokens": 4, "output_tokens_details": {"reasoning_tokens": 2},
            "total_tokens": 13,
        })
    );
    assert_eq!(frames[19]["item"]["arguments"], "{}");
    assert_eq!(frames[18]["name"], "t");
}

#[test]
fn interleaved_calls_have_separate_output_indexes() {
    let frames = written(&[
        start_call(7, "a"),
        start_call(9, ""),
        arguments(9, "["),
        arguments(7, "{"),
        arguments(9, "]"),
        Event::ToolCallEnd { index: 9 },
        arguments(7, "}"),
        Event::Finish(FinishReason::ToolCalls),
    ]);
    let output = &frames.last().unwrap()["response"]["output"];
    let calls: Vec<_> = output
        .as_array()
        .unwrap()
        .iter()
        .map(|item| {
            (
                item["call_id"].as_str().unwrap(),
                item["arguments"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(calls, [("a", "{}"), ("call_1", "[]")]);
}

#[test]
fn a_call_without_arguments_gets_an_empty_object() {
    let frames = written(&[start_call(0, "a"), Event::ToolCallEnd { index: 0 }]);
    assert_eq!(frames.last().unwrap()["item"]["arguments"], "{}");
}

#[test]
fn an_empty_response_is_still_complete() {
    let frames = written(&[
        Event::Text(String::new()),
        Event::Finish(FinishReason::Stop),
    ]);
    assert_eq!(kinds(&frames), ["created", "in_progress", "completed"]);
}

#[test]
fn refusals_are_separate_content_parts() {
    let frames = written(&[
        Event::Text("a".into()),
        Event::Refusal("no".into()),
        Event::Finish(FinishReason::Refusal),
    ]);
    assert_eq!(
        kinds(&frames)[3..10],
        [
            "content_part.added",
            "output_text.delta",
            "output_text.done",
            "content_part.done",
            "content_part.added",
            "refusal.delta",
            "refusal.done",
        ]
    );
    assert_eq!(frames[7]["content_index"], 1);
}

#[test]
fn a_truncated_response_is_incomplete() {
    let frames = written(&[Event::Text("a".into()), Event::Finish(FinishReason::Length)]);
    let last = frames.last().unwrap();
    assert_eq!(last["type"], "response.incomplete");
    assert_eq!(
        last["response"]["incomplete_details"]["reason"],
        "max_output_tokens"
    );
    assert_eq!(last["response"]["output"][0]["status"], "incomplete");
}

#[test]
fn reasoning_state_keeps_its_id_and_messages_keep_their_fields() {
    let state = Native::new(RESPONSES)
        .with("id", Json::string("rs_own"))
        .with("summary", Json::parse("[]").unwrap())
        .with("encrypted_content", Json::string("XYZ"));
    let ended = Native::new(RESPONSES)
        .with("item.id", Json::string("msg_own"))
        .with("item.phase", Json::string("commentary"));
    let frames = written(&[
        Event::Reasoning(String::new()),
        Event::EndPart(state.into_option()),
        Event::Text("a".into()),
        Event::EndPart(ended.into_option()),
        Event::Text("b".into()),
        Event::Finish(FinishReason::Stop),
    ]);
    assert_eq!(frames[2]["item"]["id"], "rs_own");
    assert_eq!(frames[3]["item"]["encrypted_content"], "XYZ");
    let output = frames.last().unwrap()["response"]["output"]
        .as_array()
        .unwrap();
    assert_eq!(output.len(), 3, "a message ended with its last text");
    assert_eq!(output[1]["phase"], "commentary");
    assert_eq!(output[1]["id"], "msg_1_1", "as it was announced");
    assert!(output[2].get("phase").is_none());
}

#[test]
fn hosted_tool_items_are_written_whole_and_foreign_ones_are_losses() {
    let item = |origin: Dialect| {
        Event::Part(Part::Opaque(Opaque::new(
            origin,
            "web_search_call",
            Json::parse(r#"{"type":"web_search_call","id":"ws_1"}"#).unwrap(),
        )))
    };
    let frames = written(&[item(RESPONSES)]);
    assert_eq!(
        kinds(&frames)[2..],
        ["output_item.added", "output_item.done"]
    );
    let mut writer = Responses.stream_writer(&reply());
    writer.write(&item(Dialect::new("gemini")), &mut BytesMut::new());
    assert_eq!(writer.losses()[0].field, "web_search_call");
}

#[test]
fn a_failed_stream_ends_with_an_error_and_no_completion() {
    let mut writer = Responses.stream_writer(&reply());
    let mut out = BytesMut::new();
    writer.write(&Event::Text("a".into()), &mut out);
    let error = Error::http(429, "slow down").with_retry_after(Some(Duration::from_millis(1_500)));
    writer.fail(&error, &mut out);
    let frames = frames(&out);
    let kinds = kinds(&frames);
    assert_eq!(kinds[kinds.len() - 2..], ["error", "failed"]);
    assert!(!kinds.contains(&"completed"));
    let error_event = &frames[frames.len() - 2];
    assert_eq!(error_event["code"], "rate_limit_exceeded");
    assert_eq!(error_event["error"]["code"], "rate_limit_exceeded");
    let failed = &frames[frames.len() - 1]["response"];
    assert_eq!(failed["status"], "failed");
    let message = failed["error"]["message"].as_str().unwrap();
    assert!(message.ends_with("Please try again in 1.5s."), "{message}");

    let mut reader = Responses.stream_reader();
    let read = reader.push(&out, &mut Vec::new()).unwrap_err();
    assert_eq!(read.code(), Some("rate_limit_exceeded"));
}
