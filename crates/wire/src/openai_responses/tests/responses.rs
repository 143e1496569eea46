use std::time::Duration;

use majordomo_llm::{
    Class, Dialect, Error, ErrorKind, FinishReason, ModelInfo, Part, Reasoning, Request, Response,
    Usage,
};

use super::*;

fn read_response(fields: &str) -> majordomo_llm::Result<Response> {
    let body = format!(r#"{{"id":"resp_1","object":"response","model":"x",{fields}}}"#);
    Responses.read_response(Bytes::from(body), 4)
}

fn text(text: &str) -> String {
    format!(
        r#"{{"type":"message","id":"msg_1","status":"completed","role":"assistant","content":[{{"type":"output_text","text":"{text}","annotations":[],"logprobs":[]}}]}}"#
    )
}

const CALL: &str = r#"{"type":"function_call","id":"fc_1","call_id":"","name":"t","arguments":"{}","status":"completed"}"#;

#[test]
fn the_finish_reason_follows_from_status_and_content() {
    let custom = r#"{"type":"custom_tool_call","call_id":"c","name":"p","input":"x"}"#;
    let refusal =
        r#"{"type":"message","role":"assistant","content":[{"type":"refusal","refusal":"no"}]}"#;
    let message = text("x");
    let incomplete = |reason: &str| {
        format!(r#""status":"incomplete","incomplete_details":{{"reason":"{reason}"}}"#)
    };
    let completed = r#""status":"completed","incomplete_details":null,"error":null"#;
    let other = |word: &str| FinishReason::Other(word.into());
    let rows = [
        (completed.to_owned(), &*message, FinishReason::Stop),
        (
            r#""status":"complete""#.to_owned(),
            &*message,
            FinishReason::Stop,
        ),
        (completed.to_owned(), CALL, FinishReason::ToolCalls),
        (completed.to_owned(), custom, FinishReason::ToolCalls),
        (completed.to_owned(), refusal, FinishReason::Refusal),
        (
            incomplete("max_output_tokens"),
            &*message,
            FinishReason::Length,
        ),
        (incomplete("max_output_tokens"), CALL, FinishReason::Length),
        (
            r#""status":"incomplete""#.to_owned(),
            &*message,
            FinishReason::Length,
        ),
        (
            incomplete("content_filter"),
            &*message,
            FinishReason::ContentFilter,
        ),
        (incomplete("steered"), &*message, other("steered")),
        (r#""status":"queued""#.to_owned(), "", FinishReason::Paused),
        (
            r#""status":"cancelled""#.to_owned(),
            &*message,
            other("cancelled"),
        ),
        (r#""x":1"#.to_owned(), &*message, FinishReason::Stop),
    ];
    for (status, item, expected) in rows {
        let response = read_response(&format!(r#"{status},"output":[{item}]"#)).unwrap();
        assert_eq!(response.finish, expected, "{status} {item}");
        let written = Responses.write_response(&response, &reply());
        let again = Responses.read_response(written.body, 0).unwrap();
        assert_eq!(again.finish, expected, "written: {status} {item}");
    }
}

#[test]
fn every_output_item_is_read_in_order() {
    let response = read_response(&format!(
        r#""status":"completed","output":[
            {{"type":"reasoning","id":"rs_1","summary":[],"content":[{{"type":"reasoning_text","text":"hm"}}],"encrypted_content":"XYZ"}},
            {{"type":"web_search_call","id":"ws_1"}},{CALL},{},
            {{"type":"some_future_type","role":"assistant","content":[{{"type":"output_text","text":"?"}}]}}]"#,
        text("a")
    ))
    .unwrap();
    let Part::Reasoning(reasoning) = &response.parts[0] else {
        panic!("{:?}", response.parts);
    };
    assert_eq!(
        reasoning.text, "hm",
        "the content, where there is no summary"
    );
    assert!(
        reasoning
            .native
            .as_ref()
            .unwrap()
            .get("encrypted_content")
            .is_some()
    );
    assert!(matches!(&response.parts[1], Part::Opaque(b) if b.kind == "web_search_call"));
    let call = response.tool_calls().next().unwrap();
    assert_eq!(call.id, "call_4", "a missing id is made up");
    assert_eq!(response.text(), "a");
    let id = response.parts[3].native().unwrap().get("item.id").unwrap();
    assert_eq!(id.as_str(), "\"msg_1\"");
    assert!(matches!(&response.parts[4], Part::Opaque(b) if b.kind == "some_future_type"));
    assert_eq!(response.id.as_deref(), Some("resp_1"));
    assert_eq!(response.reported_model.as_deref(), Some("x"));
}

#[test]
fn usage_needs_no_conversion() {
    let usage = r#""usage":{"input_tokens":10,"input_tokens_details":{"cached_tokens":4,"cache_write_tokens":2},
        "output_tokens":5,"output_tokens_details":{"reasoning_tokens":3},"total_tokens":15}"#;
    let response = read_response(&format!(r#""output":[],{usage}"#)).unwrap();
    let expected = Usage::new(10, 5)
        .with_cache_read(4)
        .with_cache_write(2)
        .with_reasoning(3);
    assert_eq!(response.usage, expected);
    let written = Responses.write_response(&response, &reply()).body;
    assert_eq!(Responses.read_response(written, 0).unwrap().usage, expected);
    let apart = r#""output":[],"usage":{"input_tokens":1,"output_tokens":2,"total_tokens":9}"#;
    assert_eq!(read_response(apart).unwrap().usage.reasoning, 6);
}

#[test]
fn a_foreign_response_has_all_fields_that_official_clients_require() {
    let other = Native::new(Dialect::new("anthropic-messages"));
    let response = Response::new(vec![
        Part::Reasoning(Reasoning {
            text: "hm".into(),
            native: other.with("field", Json::string("thinking")).into_option(),
        }),
        Part::text("a"),
        Part::text("b"),
        Part::ToolCall(majordomo_llm::ToolCall::new("toolu_1", "t", "{}")),
    ])
    .with_usage(Usage::new(3, 2));
    let written = Responses.write_response(&response, &reply());
    assert_eq!(
        written.body,
        concat!(
            r#"{"id":"resp_1","object":"response","created_at":7,"completed_at":7,"status":"completed","error":null,"incomplete_details":null,"model":"m","output":["#,
            r#"{"type":"reasoning","id":"rs_1_0","summary":[{"type":"summary_text","text":"hm"}]},"#,
            r#"{"type":"message","id":"msg_1_1","status":"completed","role":"assistant","content":[{"type":"output_text","text":"a","annotations":[],"logprobs":[]},{"type":"output_text","text":"b","annotations":[],"logprobs":[]}]},"#,
            r#"{"type":"function_call","id":"fc_1_2","status":"completed","call_id":"toolu_1","name":"t","arguments":"{}"}],"#,
            r#""background":false,"frequency_penalty":0,"instructions":null,"max_output_tokens":null,"max_tool_calls":null,"metadata":{},"#,
            r#""parallel_tool_calls":true,"presence_penalty":0,"previous_response_id":null,"prompt_cache_key":null,"reasoning":null,"safety_identifier":null,"#,
            r#""store":false,"temperature":1,"text":{"format":{"type":"text"}},"tool_choice":"auto","tools":[],"top_logprobs":0,"top_p":1,"#,
            r#""truncation":"disabled","service_tier":"default","#,
            r#""usage":{"input_tokens":3,"input_tokens_details":{"cached_tokens":0,"cache_write_tokens":0},"output_tokens":2,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":5}}"#
        )
    );
    assert!(written.losses.is_empty(), "{:?}", written.losses);
}

#[test]
fn echoed_fields_are_written_back_and_are_no_loss_elsewhere() {
    let response = read_response(
        r#""status":"completed","output":[],"tools":[{"type":"x"}],"metadata":{"a":"b"},"store":true,"user":null,"tool_usage":{"y":1}"#,
    )
    .unwrap();
    let written = Responses.write_response(&response, &reply());
    let body = String::from_utf8(written.body.to_vec()).unwrap();
    for field in [
        r#""tools":[{"type":"x"}]"#,
        r#""metadata":{"a":"b"}"#,
        r#""store":true"#,
        r#""tool_usage":{"y":1}"#,
    ] {
        assert_eq!(body.matches(field).count(), 1, "{field} in {body}");
    }
    assert!(written.losses.is_empty());
    let chat = crate::Protocol::Chat.codec();
    let losses = chat.write_response(&response, &reply()).losses;
    let losses: Vec<_> = losses.iter().map(|loss| &*loss.field).collect();
    assert_eq!(losses, ["tool_usage"]);
}

#[test]
fn an_inexpressible_finish_reason_is_a_listed_loss() {
    for finish in [
        FinishReason::StopSequence(None),
        FinishReason::ContextWindow,
        FinishReason::Paused,
    ] {
        let response = Response::new(vec![Part::text("x")]).with_finish(finish);
        let losses = Responses.write_response(&response, &reply()).losses;
        assert_eq!(losses[0].field, "finish");
    }
}

#[test]
fn bodies_that_are_not_responses_are_errors() {
    let failed =
        r#""status":"failed","error":{"code":"rate_limit_exceeded","message":"slow"},"output":[]"#;
    let error = read_response(failed).unwrap_err();
    assert_eq!(error.code(), Some("rate_limit_exceeded"));
    assert_eq!(error.message(), "slow");
    let silent = read_response(r#""status":"failed","error":null,"output":[]"#).unwrap_err();
    assert_eq!(silent.kind(), ErrorKind::Provider);
    let other = Responses.read_response(Bytes::from_static(b"{\"choices\":[]}"), 0);
    assert_eq!(other.unwrap_err().kind(), ErrorKind::BadResponse);
    let cut = Responses.read_response(Bytes::from_static(b"{\"output\":["), 0);
    assert_eq!(cut.unwrap_err().kind(), ErrorKind::BadResponse);
}

#[test]
fn errors_have_the_status_and_code_clients_branch_on() {
    let limited = Error::http(429, "slow down").with_retry_after(Some(Duration::from_secs(2)));
    let rows = [
        (
            Error::http(404, "no such model").with_code("model_not_found"),
            404,
            r#""code":"model_not_found""#,
        ),
        (limited, 429, r#""code":"rate_limit_exceeded""#),
        (
            Error::http(400, "x").with_code("context_length_exceeded"),
            400,
            r#""code":"context_length_exceeded""#,
        ),
        (
            Error::new(ErrorKind::Connect, "refused"),
            502,
            r#""type":"server_error""#,
        ),
    ];
    for (error, status, expected) in rows {
        let written = Responses.write_error(&error);
        let body = String::from_utf8(written.body.to_vec()).unwrap();
        assert_eq!(written.status, status, "{body}");
        assert!(body.contains(expected), "{body}");
    }
}

#[test]
fn error_codes_inside_a_stream_are_classified_without_a_status() {
    let class = |code: &str| {
        let frame = format!(
            r#"{{"type":"response.failed","response":{{"status":"failed","error":{{"code":"{code}","message":"m"}}}}}}"#
        );
        events(&[&frame]).unwrap_err().class()
    };
    assert_eq!(class("server_error"), Class::Transient);
    assert_eq!(class("vector_store_timeout"), Class::Transient);
    assert_eq!(class("insufficient_quota"), Class::Quota);
    assert_eq!(class("invalid_image"), Class::Invalid);
    assert_eq!(class("invalid_base64_image"), Class::Invalid);
    assert_eq!(class("image_too_large"), Class::Unsupported);
    assert_eq!(class("bio_policy"), Class::Policy);
}

#[test]
fn token_count_requests_and_responses_are_read_and_written() {
    let counting = Responses.count_tokens().unwrap();
    let body = r#"{"model":"x","input":"hi","future":1}"#;
    let incoming = counting.read_request(Bytes::from(body)).unwrap();
    let written = counting.write_request(&incoming.request, &Outgoing::new("x"));
    assert_eq!(written.body, body);
    let request = Request::user("hi").max_tokens(5).temperature(1.0);
    let written = counting.write_request(&request, &Outgoing::new("m").stream(true));
    assert_eq!(
        written.body,
        r#"{"model":"m","input":[{"type":"message","role":"user","content":"hi"}]}"#
    );
    let response = counting.write_response(51);
    assert_eq!(
        response,
        r#"{"object":"response.input_tokens","input_tokens":51}"#
    );
    assert_eq!(counting.read_response(&response).unwrap(), 51);
    assert!(counting.read_response(b"{}").is_err());
}

#[test]
fn models_are_listed_as_in_chat_completions() {
    let models = [ModelInfo {
        id: "a".into(),
        capabilities: None,
    }];
    let list = Responses.write_models(&models, 1);
    assert_eq!(Responses.read_models(&list).unwrap(), models);
}
