use majordomo_llm::{Class, Error, ErrorKind, FinishReason, ModelInfo, Part, Response, Usage};

use super::*;

fn read_choice(message: &str, finish: &str) -> Response {
    let body = format!(
        r#"{{"id":"i","model":"x","choices":[{{"index":0,"message":{message},"finish_reason":{finish}}}]}}"#
    );
    Chat.read_response(Bytes::from(body), 4).unwrap()
}

#[test]
fn finish_reasons_depend_on_the_content() {
    let text = r#"{"content":"x"}"#;
    let call = r#"{"tool_calls":[{"function":{"name":"t","arguments":{"a":1}}}]}"#;
    let rows = [
        (text, "\"stop\"", FinishReason::Stop),
        (text, "\"eos\"", FinishReason::Stop),
        (text, "\"\"", FinishReason::Stop),
        (text, "null", FinishReason::Stop),
        (text, "\"length\"", FinishReason::Length),
        (text, "\"model_length\"", FinishReason::Length),
        (text, "\"content_filter\"", FinishReason::ContentFilter),
        (text, "\"abort\"", FinishReason::Other("abort".into())),
        (call, "\"tool_calls\"", FinishReason::ToolCalls),
        (call, "\"stop\"", FinishReason::ToolCalls),
        (r#"{"refusal":"no"}"#, "\"stop\"", FinishReason::Refusal),
    ];
    for (message, finish, expected) in rows {
        assert_eq!(
            read_choice(message, finish).finish,
            expected,
            "{message} {finish}"
        );
    }
}

#[test]
fn tool_calls_of_every_form_are_read_and_get_ids() {
    let response = read_choice(
        r#"{"content":null,"refusal":"","tool_calls":[
            {"id":"","function":{"name":"a","arguments":{"x": 1}}},
            {"id":"i","type":"function","function":{"name":"b","arguments":null},"extra_content":{"google":{}}},
            {"function":{"name":"c","arguments":"broken {"}}]}"#,
        "\"tool_calls\"",
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
            ("call_6", "c", "broken {")
        ]
    );
    assert!(
        response.parts[1]
            .native()
            .unwrap()
            .get("extra_content")
            .is_some()
    );
}

#[test]
fn usage_is_normalized() {
    let usage = |json: &str| {
        let body = format!(r#"{{"choices":[{{"message":{{"content":"x"}}}}],"usage":{json}}}"#);
        Chat.read_response(Bytes::from(body), 0).unwrap().usage
    };
    let full = r#"{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15,
        "prompt_tokens_details":{"cached_tokens":4,"cache_write_tokens":2},
        "completion_tokens_details":{"reasoning_tokens":3}}"#;
    let expected = Usage::new(10, 5)
        .with_cache_read(4)
        .with_cache_write(2)
        .with_reasoning(3);
    assert_eq!(usage(full), expected);
    // Reasoning counted only in the total.
    let partial = usage(r#"{"prompt_tokens":35,"completion_tokens":12,"total_tokens":109}"#);
    assert_eq!((partial.output, partial.reasoning), (74, 62));
    let deepseek =
        usage(r#"{"prompt_tokens":9,"completion_tokens":1,"prompt_cache_hit_tokens":8}"#);
    assert_eq!(deepseek.cache_read, 8);
    assert_eq!(
        usage(r#"{"prompt_tokens":null,"completion_tokens":"x"}"#),
        Usage::default()
    );
    assert_eq!(usage("null"), Usage::default());
}

#[test]
fn an_error_in_a_successful_response_is_an_error() {
    let body = r#"{"error":{"message":"Token limit reached","code":429},"choices":[]}"#;
    let error = Chat
        .read_response(Bytes::from_static(body.as_bytes()), 0)
        .unwrap_err();
    assert_eq!(
        (error.status(), error.message()),
        (Some(429), "Token limit reached")
    );
    for body in ["{}", r#"{"choices":[]}"#, "<html>"] {
        let error = Chat.read_response(Bytes::from(body), 0).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::BadResponse, "{body}");
    }
}

#[test]
fn a_response_is_written_as_clients_expect_it() {
    let mut response = Response::new(vec![
        Part::Reasoning(majordomo_llm::Reasoning::new("hm")),
        Part::text("hi"),
        Part::ToolCall(majordomo_llm::ToolCall::new("c", "t", "{\"a\":1}")),
    ]);
    response.usage = Usage::new(3, 2);
    let written = Chat.write_response(&response, &reply());
    assert_eq!(
        written.body,
        concat!(
            r#"{"id":"id-1","object":"chat.completion","created":7,"model":"m","choices":[{"index":0,"#,
            r#""message":{"role":"assistant","reasoning_content":"hm","content":"hi","tool_calls":[{"id":"c","type":"function","#,
            r#""function":{"name":"t","arguments":"{\"a\":1}"}}],"refusal":null},"logprobs":null,"finish_reason":"tool_calls"}],"#,
            r#""usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5,"#,
            r#""prompt_tokens_details":{"cached_tokens":0},"completion_tokens_details":{"reasoning_tokens":0}}}"#
        )
    );
    assert!(written.losses.is_empty());
}

#[test]
fn a_call_without_arguments_is_written_with_an_empty_object() {
    let call = majordomo_llm::ToolCall::new("c", "t", "");
    let response = Response::new(vec![Part::ToolCall(call)]);
    let written = Chat.write_response(&response, &reply());
    let body = String::from_utf8_lossy(&written.body);
    assert!(body.contains(r#""arguments":"{}""#), "{body}");
}

#[test]
fn errors_carry_the_codes_clients_branch_on() {
    let wait = Some(std::time::Duration::from_millis(1_200));
    let rows = [
        (Error::http(401, "bad key"), 502, "server_error", "null"),
        (
            Error::http(404, "gone"),
            404,
            "invalid_request_error",
            "\"model_not_found\"",
        ),
        (
            Error::http(400, "maximum context length"),
            400,
            "invalid_request_error",
            "\"context_length_exceeded\"",
        ),
        (
            Error::http(429, "slow").with_retry_after(wait),
            429,
            "rate_limit_error",
            "\"rate_limit_exceeded\"",
        ),
        (Error::http(503, "down"), 503, "server_error", "null"),
        (
            Error::new(ErrorKind::Deadline, "late"),
            504,
            "server_error",
            "null",
        ),
        (
            Error::new(ErrorKind::Truncated, "cut"),
            502,
            "server_error",
            "null",
        ),
    ];
    for (error, status, kind, code) in rows {
        let reply = Chat.write_error(&error);
        let words = match error.class() {
            Class::ContextLength => crate::overlong::CHAT.sentence,
            _ => "",
        };
        let body = format!(
            r#"{{"error":{{"message":"{words}{error}","type":"{kind}","param":null,"code":{code}}}}}"#
        );
        assert_eq!((reply.status, reply.body), (status, Bytes::from(body)));
        let retries = usize::from(error.class() == Class::RateLimited);
        assert_eq!(reply.headers.len(), retries);
    }
}

#[test]
fn model_lists_are_read_with_extensions_and_written_without() {
    let body = br#"{"object":"list","data":[
        {"id":"a","object":"model","created":1},
        {"id":"b","context_length":4096,"architecture":{"input_modalities":["text"]},"top_provider":{"max_completion_tokens":100}},
        {"id":"c","capabilities":{"vision":true,"function_calling":false},"max_context_length":8}]}"#;
    let models = Chat.read_models(body).unwrap();
    assert_eq!(
        models[0],
        ModelInfo {
            id: "a".into(),
            capabilities: None
        }
    );
    let b = models[1].capabilities.as_ref().unwrap();
    assert_eq!(
        (b.context_window, b.max_output, b.takes_images()),
        (Some(4096), Some(100), false)
    );
    let c = models[2].capabilities.as_ref().unwrap();
    assert_eq!((c.tools, c.takes_images()), (false, true));
    assert_eq!(
        Chat.write_models(&models[..1], 7),
        r#"{"object":"list","data":[{"id":"a","object":"model","created":7,"owned_by":"majordomo"}]}"#
    );
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
        (FinishReason::ContentFilter, false),
    ];
    for (finish, lost) in rows {
        let mut response = Response::new(vec![Part::text("x")]);
        response.finish = finish;
        let losses = Chat.write_response(&response, &reply()).losses;
        let named = losses.iter().any(|loss| loss.field == "finish");
        assert_eq!(named, lost, "{:?}", response.finish);
    }
}

#[test]
fn a_tool_call_without_arguments_has_an_empty_object() {
    for function in [
        r#"{"name":"f"}"#,
        r#"{"name":"f","arguments":null}"#,
        r#"{"name":"f","arguments":""}"#,
        r#"{"name":"f","arguments":{}}"#,
        r#"{"name":"f","arguments":[]}"#,
    ] {
        let message = format!(r#"{{"tool_calls":[{{"id":"a","function":{function}}}]}}"#);
        let response = read_choice(&message, "\"tool_calls\"");
        let call = response.tool_calls().next().unwrap();
        assert_eq!(call.arguments, "{}", "{function}");
    }
}
