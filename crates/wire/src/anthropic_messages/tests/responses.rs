use majordomo_llm::{
    Class, Error, ErrorKind, FinishReason, Image, Json, ModelInfo, Native, Part, Reasoning, Text,
    ToolCall, Usage,
};

use super::*;
use crate::{ClientError, FailedResponse};

fn read_response(content: &str, rest: &str) -> Response {
    let body = format!(
        r#"{{"id":"msg_1","type":"message","role":"assistant","model":"x","content":{content},{rest}}}"#
    );
    Messages.read_response(Bytes::from(body), 4).unwrap()
}

#[test]
fn finish_reasons_are_read_and_written() {
    let text = r#"[{"type":"text","text":"x"}]"#;
    let call = r#"[{"type":"tool_use","id":"a","name":"t","input":{}}]"#;
    let rows = [
        (text, r#""end_turn""#, FinishReason::Stop),
        (text, "null", FinishReason::Stop),
        (text, r#""max_tokens""#, FinishReason::Length),
        (
            text,
            r#""model_context_window_exceeded""#,
            FinishReason::ContextWindow,
        ),
        (text, r#""pause_turn""#, FinishReason::Paused),
        ("[]", r#""refusal""#, FinishReason::Refusal),
        (
            text,
            r#""stop_sequence""#,
            FinishReason::StopSequence(Some("s".into())),
        ),
        (
            text,
            r#""compaction""#,
            FinishReason::Other("compaction".into()),
        ),
        (call, r#""tool_use""#, FinishReason::ToolCalls),
        (call, r#""end_turn""#, FinishReason::ToolCalls),
    ];
    for (content, word, expected) in rows {
        let rest = format!(r#""stop_reason":{word},"stop_sequence":"s""#);
        let response = read_response(content, &rest);
        assert_eq!(response.finish, expected, "{word}");
        let again = Messages.write_response(&response, &reply());
        assert!(again.losses.is_empty(), "{word}");
        let again = Messages.read_response(again.body, 0).unwrap();
        assert_eq!(again.finish, expected, "{word}");
    }
    let cut = Response::new(Vec::new()).with_finish(FinishReason::ContentFilter);
    let written = Messages.write_response(&cut, &reply());
    assert_eq!(written.losses[0].field, "finish");
}

#[test]
fn a_refusal_keeps_its_explanation() {
    let details = r#"{"type":"refusal","category":"cyber","explanation":"not that"}"#;
    let rest = format!(r#""stop_reason":"refusal","stop_details":{details}"#);
    let response = read_response("[]", &rest);
    assert!(matches!(&response.parts[..], [Part::Refusal(t)] if t.text == "not that"));
    let written = Messages.write_response(&response, &reply());
    let body = String::from_utf8(written.body.to_vec()).unwrap();
    assert!(
        body.contains(&format!(
            r#""content":[],"stop_reason":"refusal","stop_sequence":null,"stop_details":{details}"#
        )),
        "{body}"
    );

    let foreign =
        Response::new(vec![Part::Refusal(Text::new("no"))]).with_finish(FinishReason::Refusal);
    let written = Messages.write_response(&foreign, &reply());
    assert!(written.losses.is_empty());
    let again = Messages.read_response(written.body, 0).unwrap();
    assert!(matches!(&again.parts[..], [Part::Refusal(t)] if t.text == "no"));
}

#[test]
fn usage_is_converted_to_totals_and_back() {
    let response = read_response(
        "[]",
        r#""stop_reason":"end_turn","usage":{"input_tokens":10,"cache_creation_input_tokens":3,"cache_read_input_tokens":20,
            "output_tokens":7,"output_tokens_details":{"thinking_tokens":4},"service_tier":"standard"}"#,
    );
    let expected = Usage::new(33, 7)
        .with_cache_read(20)
        .with_cache_write(3)
        .with_reasoning(4);
    assert_eq!(response.usage, expected);
    let written = Messages.write_response(&response, &reply()).body;
    let again = Messages.read_response(written, 0).unwrap();
    assert_eq!(again.usage, expected);
    let odd = read_response("[]", r#""usage":{"input_tokens":null,"output_tokens":"x"}"#);
    assert_eq!(odd.usage, Usage::default());
}

#[test]
fn cache_writes_are_told_apart_by_how_long_they_are_kept() {
    let usage = |counts: &str| {
        let fields =
            format!(r#""usage":{{"input_tokens":10,"output_tokens":1,"cache_creation":{counts}}}"#);
        read_response("[]", &fields).usage
    };
    let cases = [
        (
            r#"{"ephemeral_5m_input_tokens":3,"ephemeral_1h_input_tokens":4},"cache_creation_input_tokens":7"#,
            Usage::new(17, 1).with_cache_writes(3, 4),
        ),
        (
            r#"{"ephemeral_1h_input_tokens":4}"#,
            Usage::new(14, 1).with_cache_writes(0, 4),
        ),
        (
            r#"null,"cache_creation_input_tokens":7"#,
            Usage::new(17, 1).with_cache_write(7),
        ),
        // Contradictory: only the sum counts.
        (
            r#"{"ephemeral_5m_input_tokens":9},"cache_creation_input_tokens":7"#,
            Usage::new(17, 1).with_cache_write(7),
        ),
    ];
    for (counts, expected) in cases {
        assert_eq!(usage(counts), expected, "{counts}");
        let response = Response::new(vec![Part::text("hi")]).with_usage(expected);
        let written = Messages.write_response(&response, &reply()).body;
        let again = Messages.read_response(written, 0).unwrap();
        assert_eq!(again.usage, expected, "written and read: {counts}");
    }
}

#[test]
fn a_response_has_the_form_clients_expect() {
    let mut response = Response::new(vec![
        Part::Reasoning(Reasoning::new("hm")),
        Part::text(""),
        Part::text("hi"),
        Part::ToolCall(ToolCall::new("functions.t:0", "t", "{\"a\": 1}")),
    ]);
    response.usage = Usage::new(3, 2).with_cache_read(1);
    let written = Messages.write_response(&response, &reply());
    assert_eq!(
        written.body,
        concat!(
            r#"{"id":"msg_1","type":"message","role":"assistant","model":"m","content":["#,
            r#"{"type":"thinking","thinking":"hm","signature":""},{"type":"text","text":"hi"},"#,
            r#"{"type":"tool_use","id":"xid_functions_2et_3a0","name":"t","input":{"a": 1}}],"#,
            r#""stop_reason":"tool_use","stop_sequence":null,"#,
            r#""usage":{"input_tokens":2,"cache_creation_input_tokens":0,"cache_read_input_tokens":1,"output_tokens":2}}"#
        )
    );
    assert!(written.losses.is_empty());
    let again = Messages.read_response(written.body, 0).unwrap();
    assert_eq!(again.tool_calls().next().unwrap().id, "functions.t:0");
}

#[test]
fn parts_that_a_response_cannot_hold_are_listed_losses() {
    let signed = Native::new(majordomo_llm::Dialect::new("gemini"))
        .with("thoughtSignature", Json::string("s"))
        .into_option();
    let response = Response::new(vec![
        Part::Image(Image::new("image/png", vec![1])),
        Part::Reasoning(Reasoning {
            text: "hm".into(),
            native: signed,
        }),
        Part::Refusal(Text::new("no")),
        Part::ToolCall(ToolCall::new("a", "t", "broken {")),
    ]);
    let written = Messages.write_response(&response, &reply());
    let losses: Vec<_> = written.losses.iter().map(|l| l.field.as_str()).collect();
    assert_eq!(losses, ["image", "refusal", "arguments"]);
    let body = String::from_utf8(written.body.to_vec()).unwrap();
    assert!(
        body.contains(r#""input":{"arguments":"broken {"}"#),
        "{body}"
    );
}

#[test]
fn a_body_that_is_not_a_response_is_an_error() {
    let body = r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"},"request_id":"req_1"}"#;
    let error = Messages.read_response(Bytes::from(body), 0).unwrap_err();
    assert_eq!(
        (error.code(), error.message()),
        (Some("overloaded_error"), "Overloaded")
    );
    assert_eq!(error.request_id(), Some("req_1"));
    for body in [
        "{}",
        r#"{"input_tokens":5}"#,
        r#"{"type":"message_batch"}"#,
        "<html>",
    ] {
        let error = Messages.read_response(Bytes::from(body), 0).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::BadResponse, "{body}");
    }
}

#[test]
fn calls_without_an_id_get_a_generated_one() {
    let response = read_response(
        r#"[{"type":"tool_use","name":"a","input":"{\"x\":1}"},{"type":"tool_use","id":"","name":"b"}]"#,
        r#""stop_reason":"tool_use""#,
    );
    let calls: Vec<_> = response
        .tool_calls()
        .map(|c| (c.id.as_str(), c.arguments.as_str()))
        .collect();
    assert_eq!(calls, [("call_4", "{\"x\":1}"), ("call_5", "{}")]);
}

#[test]
fn errors_are_read_with_their_code() {
    let header = |name: &str| (name == "retry-after").then_some("7");
    let error = Messages.read_error(&FailedResponse {
        status: 429,
        header: &header,
        body: br#"{"type":"error","error":{"type":"rate_limit_error","message":"m","details":{"error_code":"enforced_spend_limit_reached"}},"request_id":"req_1"}"#,
        now: std::time::SystemTime::UNIX_EPOCH,
    });
    assert_eq!(error.code(), Some("enforced_spend_limit_reached"));
    assert_eq!(error.request_id(), Some("req_1"));
    assert_eq!(error.class(), Class::Quota);
}

#[test]
fn errors_have_the_types_and_phrases_clients_branch_on() {
    let wait = Some(std::time::Duration::from_millis(1_200));
    for (status, kind) in [
        (401, "authentication_error"),
        (403, "permission_error"),
        (413, "request_too_large"),
        (400, "invalid_request_error"),
        (500, "api_error"),
    ] {
        let reply = Messages.write_client_error(&ClientError::new(status, Class::Local, "m"));
        let body = format!(r#"{{"type":"error","error":{{"type":"{kind}","message":"m"}}}}"#);
        assert_eq!((reply.status, reply.body), (status, Bytes::from(body)));
    }
    let rows = [
        (Error::http(401, "bad key"), 502, "api_error"),
        (Error::http(404, "gone"), 404, "not_found_error"),
        (Error::http(409, "twice"), 409, "conflict_error"),
        (
            Error::http(429, "slow").with_retry_after(wait),
            429,
            "rate_limit_error",
        ),
        (Error::http(402, "money"), 429, "billing_error"),
        (Error::http(529, "busy"), 529, "overloaded_error"),
        (
            Error::new(ErrorKind::Deadline, "late"),
            504,
            "timeout_error",
        ),
        (Error::new(ErrorKind::Truncated, "cut"), 502, "api_error"),
    ];
    for (error, status, kind) in rows {
        let reply = Messages.write_error(&error);
        let body = format!(r#"{{"type":"error","error":{{"type":"{kind}","message":"{error}"}}}}"#);
        assert_eq!((reply.status, reply.body), (status, Bytes::from(body)));
        assert_eq!(
            reply.headers.len(),
            usize::from(status == 429 && wait == error.retry_after())
        );
    }
    let long = Error::http(400, "maximum context length is 5")
        .with_code("context_length_exceeded")
        .with_request_id("req_1");
    let reply = Messages.write_error(&long);
    assert_eq!(
        reply.body,
        concat!(
            r#"{"type":"error","error":{"type":"invalid_request_error","#,
            r#""message":"prompt is too long: HTTP 400 [context_length_exceeded]: maximum context length is 5","#,
            r#""details":{"error_code":"context_length_exceeded"}},"request_id":"req_1"}"#
        )
    );
    assert_eq!(reply.headers, [("request-id", "req_1".to_owned())]);
}

#[test]
fn model_lists_are_read_with_capabilities_and_written() {
    let body = br#"{"data":[
        {"type":"model","id":"a","display_name":"A","created_at":"2026-01-01T00:00:00Z"},
        {"type":"model","id":"b","max_input_tokens":200000,"max_tokens":64000,
         "capabilities":{"image_input":{"supported":false},"structured_outputs":{"supported":true},"thinking":{"supported":true,"types":{}}}}],
        "first_id":"a","last_id":"b","has_more":false}"#;
    let models = Messages.read_models(body).unwrap();
    let plain = ModelInfo {
        id: "a".into(),
        capabilities: None,
    };
    assert_eq!(models[0], plain);
    let b = models[1].capabilities.as_ref().unwrap();
    assert_eq!(
        (
            b.context_window,
            b.max_output,
            b.takes_images(),
            b.structured
        ),
        (Some(200_000), Some(64_000), false, true)
    );
    let written = Messages.write_models(&models, 0);
    let again = Messages.read_models(&written).unwrap();
    assert_eq!(again[0], plain);
    let limits = again[1].capabilities.as_ref().unwrap();
    assert_eq!(
        (limits.context_window, limits.max_output),
        (Some(200_000), Some(64_000))
    );
    assert_eq!(
        Messages.write_models(&models[..1], 0),
        concat!(
            r#"{"data":[{"type":"model","id":"a","display_name":"a","created_at":"1970-01-01T00:00:00Z","lifecycle":"active"}],"#,
            r#""first_id":"a","last_id":"a","has_more":false}"#
        )
    );
    assert_eq!(
        Messages.write_models(&[], 0),
        r#"{"data":[],"first_id":null,"last_id":null,"has_more":false}"#
    );
}

#[test]
fn count_requests_omit_generation_settings() {
    let counter = Messages.count_tokens().unwrap();
    let body = r#"{"model":"x", "max_tokens":9,"messages":[{"role":"user","content":"hi"}],"stream":true,"tools":[], "temperature":1}"#;
    let incoming = counter.read_request(Bytes::from(body)).unwrap();
    let to = Outgoing::new("m").stream(true);
    assert_eq!(
        counter.write_request(&incoming.request, &to).body,
        r#"{"model":"m","messages":[{"role":"user","content":"hi"}],"tools":[]}"#
    );
    let fresh = counter.write_request(&Request::user("hi").max_tokens(3), &to);
    assert_eq!(
        fresh.body,
        r#"{"model":"m","messages":[{"role":"user","content":"hi"}]}"#
    );
    assert_eq!(counter.write_response(7), r#"{"input_tokens":7}"#);
    assert_eq!(counter.read_response(br#"{"input_tokens":7}"#).unwrap(), 7);
    assert!(counter.read_response(b"{}").is_err());
}
