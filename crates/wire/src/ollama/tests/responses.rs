use majordomo_llm::{
    Dialect, Error, ErrorKind, FinishReason, Json, Native, Part, Reasoning, Response, Text,
    ToolCall, Usage,
};

use super::*;
use crate::FailedResponse;

fn read_message(message: &str, rest: &str) -> Response {
    let body = format!(r#"{{"model":"x","message":{message},"done":true{rest}}}"#);
    CHAT.read_response(Bytes::from(body), 4).unwrap()
}

#[test]
fn finish_reasons_depend_on_the_content() {
    let text = r#"{"content":"x"}"#;
    let call = r#"{"content":"","tool_calls":[{"function":{"name":"t","arguments":{"a":1}}}]}"#;
    let rows = [
        (text, r#","done_reason":"stop""#, FinishReason::Stop),
        (text, "", FinishReason::Stop),
        (text, r#","done_reason":"length""#, FinishReason::Length),
        (
            text,
            r#","done_reason":"load""#,
            FinishReason::Other("load".into()),
        ),
        (call, r#","done_reason":"stop""#, FinishReason::ToolCalls),
    ];
    for (message, rest, expected) in rows {
        assert_eq!(
            read_message(message, rest).finish,
            expected,
            "{message} {rest}"
        );
    }
}

#[test]
fn tool_calls_of_every_form_are_read_and_get_ids() {
    let response = read_message(
        r#"{"role":"assistant","content":"","tool_calls":[
            {"function":{"name":"a","arguments":{"x": 1}}},
            {"id":"i","function":{"index":1,"name":"b","arguments":null,"strict":1}},
            {"function":{"name":"c","arguments":"{\"y\":2}"}}]}"#,
        "",
    );
    let calls: Vec<_> = response
        .tool_calls()
        .map(|c| (c.id.as_str(), c.name.as_str(), c.arguments.as_str()))
        .collect();
    assert_eq!(
        calls,
        [
            ("call_4", "a", r#"{"x": 1}"#),
            ("i", "b", "{}"),
            ("call_6", "c", r#"{"y":2}"#)
        ]
    );
    let native = response.parts[1].native().unwrap();
    assert!(native.get("function.strict").is_some());
}

#[test]
fn usage_is_read_if_present() {
    let counts = r#","prompt_eval_count":10,"prompt_eval_cached_count":4,"eval_count":5"#;
    let expected = Usage::new(10, 5).with_cache_read(4);
    assert_eq!(read_message("{}", counts).usage, expected);
    assert_eq!(
        read_message("{}", r#","eval_count":null"#).usage,
        Usage::default()
    );
}

#[test]
fn an_invalid_response_is_an_error() {
    let read = |body: &'static str| CHAT.read_response(Bytes::from(body), 0).unwrap_err();
    let inside = read(r#"{"error":"model runner crashed"}"#);
    assert_eq!(
        (inside.kind(), inside.message()),
        (ErrorKind::Provider, "model runner crashed")
    );
    assert_eq!(
        read(r#"{"message":{"content":"x"},"done":false}"#).kind(),
        ErrorKind::Truncated
    );
    for body in ["{}", r#"{"model":"x"}"#, "<html>", ""] {
        assert_eq!(read(body).kind(), ErrorKind::BadResponse, "{body}");
    }
}

#[test]
fn a_response_is_written_as_clients_expect_it() {
    let foreign = Native::new(Dialect::new("anthropic-messages"));
    let mut response = Response::new(vec![
        Part::Reasoning(Reasoning {
            text: "hm".into(),
            native: foreign.with("signature", Json::string("s")).into_option(),
        }),
        Part::text("hi"),
        Part::Refusal(Text::new("!")),
        Part::ToolCall(ToolCall::new("c", "t", "{\"a\":1}")),
        Part::ToolCall(ToolCall::new("", "t", "")),
    ]);
    response.usage = Usage::new(3, 2).with_cache_read(1);
    let written = CHAT.write_response(&response, &reply());
    assert_eq!(
        written.body,
        concat!(
            r#"{"model":"m","created_at":"2023-11-14T22:13:20Z","message":{"role":"assistant","content":"hi!","thinking":"hm","#,
            r#""tool_calls":[{"id":"c","function":{"index":0,"name":"t","arguments":{"a":1}}},{"id":"call_1","function":{"index":1,"name":"t","arguments":{}}}]},"#,
            r#""done":true,"done_reason":"stop","total_duration":0,"load_duration":0,"prompt_eval_count":3,"prompt_eval_cached_count":1,"prompt_eval_duration":0,"eval_count":2,"eval_duration":0}"#
        )
    );
    let losses: Vec<_> = written.losses.iter().map(|l| l.field.as_str()).collect();
    assert_eq!(losses, ["signature", "refusal"]);
}

#[test]
fn native_fields_survive_a_response_and_are_losses_in_other_dialects() {
    let response = read_message(
        r#"{"role":"assistant","content":"x","mood":1}"#,
        r#","total_duration":9,"logprobs":[],"remote_host":"h""#,
    );
    let body = CHAT.write_response(&response, &reply()).body;
    let text = String::from_utf8(body.to_vec()).unwrap();
    for kept in [
        r#""content":"x","mood":1}"#,
        r#""total_duration":9,"#,
        r#""logprobs":[],"remote_host":"h"}"#,
    ] {
        assert!(text.contains(kept), "{kept} in {text}");
    }
    let as_chat = crate::Protocol::Chat
        .codec()
        .write_response(&response, &reply());
    let losses: Vec<_> = as_chat.losses.iter().map(|l| l.field.as_str()).collect();
    assert_eq!(losses, ["message.mood", "remote_host"]);
}

#[test]
fn errors_are_read_and_written_as_a_single_message() {
    let error = CHAT.read_error(&FailedResponse {
        status: 404,
        header: &|_| None,
        body: br#"{"error":"model 'x' not found"}"#,
        now: std::time::SystemTime::UNIX_EPOCH,
    });
    assert_eq!(
        (error.status(), error.message()),
        (Some(404), "model 'x' not found")
    );
    let delay = Some(std::time::Duration::from_secs(3));
    let rows = [
        (error, 404, 0),
        (Error::http(429, "slow").with_retry_after(delay), 429, 1),
        (Error::new(ErrorKind::Truncated, "cut"), 502, 0),
    ];
    for (error, status, headers) in rows {
        let reply = CHAT.write_error(&error);
        assert_eq!(reply.body, format!(r#"{{"error":"{error}"}}"#));
        assert_eq!((reply.status, reply.headers.len()), (status, headers));
    }
}

#[test]
fn an_unrepresentable_finish_reason_is_reported_as_a_loss() {
    let rows = [
        (FinishReason::Stop, false),
        (FinishReason::Length, false),
        (FinishReason::StopSequence(None), true),
        (FinishReason::ContextWindow, true),
        (FinishReason::Paused, true),
        (FinishReason::Other("load".into()), false),
        (FinishReason::ContentFilter, true),
    ];
    for (finish, lost) in rows {
        let mut response = Response::new(vec![Part::text("x")]);
        response.finish = finish;
        let losses = CHAT.write_response(&response, &reply()).losses;
        let named = losses.iter().any(|loss| loss.field == "finish");
        assert_eq!(named, lost, "{:?}", response.finish);
    }
}
