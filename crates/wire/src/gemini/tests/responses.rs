use std::time::{Duration, SystemTime};

use majordomo_llm::{
    Capabilities, Class, Error, ErrorKind, FinishReason, Json, KeyOwner, ModelInfo, Native, Part,
    Reasoning, Text, ToolCall, Usage,
};

use super::*;
use crate::FailedResponse;

fn read_response(body: &str) -> Response {
    Gemini
        .read_response(Bytes::from(body.to_owned()), 4)
        .unwrap()
}

fn finish(candidate: &str) -> FinishReason {
    read_response(&format!(r#"{{"candidates":[{{{candidate}}}]}}"#)).finish
}

fn write_response(response: &Response) -> (String, Vec<String>) {
    let written = Gemini.write_response(response, &reply());
    let losses = written.losses.into_iter().map(|loss| loss.field).collect();
    (String::from_utf8(written.body.to_vec()).unwrap(), losses)
}

#[test]
fn a_response_is_read_with_all_its_fields() {
    let response = read_response(
        r#"{"candidates":[{"content":{"role":"model","parts":[
                {"text":"hm","thought":true},{"text":""},{"text":"yes","thoughtSignature":"c2ln"},
                {"functionCall":{"name":"a"}},{"functionCall":{"id":"own","name":"b","args":{"x": 1}}},
                {"inlineData":{"mimeType":"image/png","data":"AQ=="}},{"executableCode":{"code":"1"}}]},
              "finishReason":"STOP","index":0,"avgLogprobs":-0.5},
             {"content":{"parts":[{"text":"another"}]},"index":1}],
            "usageMetadata":{"promptTokenCount":10,"cachedContentTokenCount":4,"candidatesTokenCount":5,
                "thoughtsTokenCount":7,"toolUsePromptTokenCount":3,"totalTokenCount":25},
            "modelVersion":"gemini-3","responseId":"r1","createTime":"t"}"#,
    );
    assert_eq!(response.parts.len(), 6, "an empty text is dropped");
    assert_eq!(response.text(), "yes");
    assert!(matches!(&response.parts[0], Part::Reasoning(r) if r.text == "hm"));
    let calls: Vec<_> = response
        .tool_calls()
        .map(|c| (c.id.as_str(), c.arguments.as_str()))
        .collect();
    assert_eq!(calls, [("call_4", "{}"), ("own", r#"{"x": 1}"#)]);
    assert_eq!(response.finish, FinishReason::ToolCalls);
    assert_eq!(
        response.usage,
        Usage::new(13, 12).with_cache_read(4).with_reasoning(7)
    );
    assert_eq!(response.id.as_deref(), Some("r1"));
    assert_eq!(response.reported_model.as_deref(), Some("gemini-3"));
    let native = response.native.as_ref().unwrap();
    assert_eq!(
        native.get("candidate.avgLogprobs").unwrap().as_str(),
        "-0.5"
    );
    assert_eq!(native.get("createTime").unwrap().as_str(), "\"t\"");
}

#[test]
fn every_finish_reason_is_read() {
    let filtered = FinishReason::ContentFilter;
    let other = |name: &str| FinishReason::Other(name.into());
    let rows = [
        (r#""STOP""#, FinishReason::Stop),
        ("1", FinishReason::Stop),
        ("0", FinishReason::Stop),
        (r#""MAX_TOKENS""#, FinishReason::Length),
        ("2", FinishReason::Length),
        (r#""SAFETY""#, filtered.clone()),
        ("3", filtered.clone()),
        (r#""MODEL_ARMOR""#, filtered.clone()),
        (r#""PROHIBITED_CONTENT""#, filtered.clone()),
        (r#""IMAGE_SAFETY""#, filtered.clone()),
        (r#""CONTINUATION""#, FinishReason::Paused),
        (
            r#""MALFORMED_FUNCTION_CALL""#,
            other("MALFORMED_FUNCTION_CALL"),
        ),
        ("9", other("MALFORMED_FUNCTION_CALL")),
        (r#""OTHER""#, other("OTHER")),
        (r#""WHIM""#, other("WHIM")),
        ("77", other("77")),
        ("null", FinishReason::Stop),
    ];
    for (name, expected) in rows {
        assert_eq!(
            finish(&format!(r#""finishReason":{name}"#)),
            expected,
            "{name}"
        );
    }
    let call = r#""content":{"parts":[{"functionCall":{"name":"t"}}]}"#;
    let with = |name: &str| finish(&format!(r#"{call},"finishReason":"{name}""#));
    assert_eq!(with("STOP"), FinishReason::ToolCalls);
    assert_eq!(with("MAX_TOKENS"), FinishReason::Length);
    assert_eq!(finish(call), FinishReason::ToolCalls);
}

#[test]
fn a_blocked_prompt_is_a_content_filter_finish_and_no_candidate_is_an_error() {
    let blocked = read_response(
        r#"{"promptFeedback":{"blockReason":"SAFETY"},"usageMetadata":{"promptTokenCount":4,"totalTokenCount":4}}"#,
    );
    assert_eq!(blocked.finish, FinishReason::ContentFilter);
    assert_eq!((blocked.parts.len(), blocked.usage.input), (0, 4));
    let (body, _) = write_response(&blocked);
    assert!(
        body.contains(r#""promptFeedback":{"blockReason":"SAFETY"}"#),
        "{body}"
    );
    assert_eq!(read_response(&body).finish, FinishReason::ContentFilter);

    for body in [
        "{}",
        r#"{"candidates":[]}"#,
        r#"{"promptFeedback":{}}"#,
        "[]",
        "x",
    ] {
        let error = Gemini
            .read_response(Bytes::from_static(body.as_bytes()), 0)
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::BadResponse, "{body}");
    }
    let error = Gemini
        .read_response(
            Bytes::from_static(
                br#"{"error":{"code":503,"message":"busy","status":"UNAVAILABLE"}}"#,
            ),
            0,
        )
        .unwrap_err();
    assert_eq!(
        (error.status(), error.code()),
        (Some(503), Some("UNAVAILABLE"))
    );
}

#[test]
fn missing_counts_are_derived_from_the_total() {
    let usage = |fields: &str| {
        let body = format!(r#"{{"candidates":[{{}}],"usageMetadata":{{{fields}}}}}"#);
        let usage = read_response(&body).usage;
        (usage.input, usage.output, usage.reasoning)
    };
    assert_eq!(
        usage(r#""promptTokenCount":8,"totalTokenCount":8"#),
        (8, 0, 0)
    );
    assert_eq!(
        usage(r#""promptTokenCount":8,"thoughtsTokenCount":2,"totalTokenCount":15"#),
        (8, 7, 2)
    );
    assert_eq!(
        usage(r#""promptTokenCount":8,"candidatesTokenCount":1,"thoughtsTokenCount":null"#),
        (8, 1, 0)
    );
    assert_eq!(
        usage(r#""promptTokenCount":9,"totalTokenCount":3"#),
        (9, 0, 0)
    );
}

#[test]
fn a_response_is_written_as_google_writes_it() {
    let mut response = Response::new(vec![
        Part::Reasoning(Reasoning::new("hm")),
        Part::text("yes"),
        Part::ToolCall(ToolCall::new("a", "t", r#"{"x": 1}"#)),
    ]);
    response.usage = Usage::new(10, 12)
        .with_cache_read(4)
        .with_cache_write(2)
        .with_reasoning(7);
    let (body, losses) = write_response(&response);
    assert_eq!(
        body,
        concat!(
            r#"{"candidates":[{"content":{"parts":[{"text":"hm","thought":true},{"text":"yes"},"#,
            r#"{"functionCall":{"id":"a","name":"t","args":{"x": 1}}}],"role":"model"},"finishReason":"STOP","index":0}],"#,
            r#""usageMetadata":{"promptTokenCount":10,"candidatesTokenCount":5,"totalTokenCount":22,"cachedContentTokenCount":4,"thoughtsTokenCount":7},"#,
            r#""modelVersion":"m","responseId":"id-1"}"#
        )
    );
    assert_eq!(losses, ["usage.cache_write"]);
    let (empty, _) = write_response(&Response::new(vec![]));
    assert!(empty.contains(r#""parts":[{"text":""}]"#), "{empty}");
}

#[test]
fn unrepresentable_content_is_reported_as_a_loss() {
    let mut reasoning = Reasoning::new("hm");
    reasoning.native = Native::new(majordomo_llm::Dialect::new("anthropic-messages"))
        .with("signature", Json::string("s"))
        .into_option();
    let mut response = Response::new(vec![
        Part::Reasoning(reasoning),
        Part::Refusal(Text::new("no")),
    ]);
    let rows = [
        (FinishReason::Refusal, "SAFETY", "finish"),
        (FinishReason::ContextWindow, "MAX_TOKENS", "finish"),
        (FinishReason::Other("error".into()), "OTHER", "finish"),
        (
            FinishReason::StopSequence(Some("x".into())),
            "STOP",
            "stop_sequence",
        ),
    ];
    for (reason, name, loss) in rows {
        response.finish = reason;
        let (body, losses) = write_response(&response);
        assert!(
            body.contains(&format!(r#""finishReason":"{name}""#)),
            "{body}"
        );
        assert!(
            body.contains(r#"{"text":"hm","thought":true},{"text":"no"}"#),
            "{body}"
        );
        assert_eq!(losses, ["signature", "refusal", loss]);
    }
}

#[test]
fn the_original_finish_reason_is_returned_to_gemini_clients() {
    let response =
        read_response(r#"{"candidates":[{"finishReason":"RECITATION","finishMessage":"m"}]}"#);
    assert_eq!(response.finish, FinishReason::ContentFilter);
    let (body, losses) = write_response(&response);
    assert!(
        body.contains(r#""finishReason":"RECITATION","index":0,"finishMessage":"m""#),
        "{body}"
    );
    assert!(losses.is_empty());
    let edited = response.with_finish(FinishReason::Stop);
    assert!(
        write_response(&edited)
            .0
            .contains(r#""finishReason":"STOP""#)
    );
}

fn read_failed(status: u16, body: &str) -> Error {
    Gemini.read_error(&FailedResponse {
        status,
        header: &|_| None,
        body: body.as_bytes(),
        now: SystemTime::UNIX_EPOCH,
    })
}

#[test]
fn errors_are_read_with_reason_retry_delay_and_class() {
    let body = |code: u16, status: &str, details: &str| {
        format!(
            r#"{{"error":{{"code":{code},"message":"m","status":"{status}","details":[{details}]}}}}"#
        )
    };
    let retry = r#"{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"34.4s"}"#;
    let daily = r#"{"@type":"x/QuotaFailure","violations":[{"quotaId":"GenerateRequestsPerDayPerProjectPerModel-FreeTier"}]}"#;
    let project = r#"{"@type":"x/QuotaFailure","violations":[{"quotaId":"GenerateRequestsPerDayPerProject-FreeTier"}]}"#;
    let minute = r#"{"@type":"x/QuotaFailure","violations":[{"quotaId":"GenerateRequestsPerMinutePerProjectPerModel-FreeTier"}]}"#;
    let key = r#"{"@type":"x/ErrorInfo","reason":"API_KEY_INVALID","domain":"googleapis.com"}"#;
    let rows = [
        (429, body(429, "RESOURCE_EXHAUSTED", &format!("{minute},{retry}")), Class::RateLimited),
        (429, body(429, "RESOURCE_EXHAUSTED", &format!("{daily},{retry}")), Class::RateLimited),
        (429, body(429, "RESOURCE_EXHAUSTED", &format!("{project},{retry}")), Class::Quota),
        (429, body(429, "RESOURCE_EXHAUSTED", ""), Class::Transient),
        (400, body(400, "INVALID_ARGUMENT", key), Class::Auth),
        (400, body(400, "FAILED_PRECONDITION", ""), Class::Unsupported),
        (400, body(400, "INVALID_ARGUMENT", ""), Class::Invalid),
        (403, body(403, "PERMISSION_DENIED", ""), Class::Forbidden),
        (403, body(403, "PERMISSION_DENIED", key), Class::Auth),
        (404, format!("[{}]", body(404, "NOT_FOUND", "")), Class::ModelNotFound),
        (503, body(503, "UNAVAILABLE", ""), Class::Transient),
        (
            400,
            r#"{"error":{"code":400,"status":"INVALID_ARGUMENT","message":"The input token count (9) exceeds the maximum number of tokens allowed (8)."}}"#.to_owned(),
            Class::ContextLength,
        ),
    ];
    for (status, body, class) in rows {
        let error = read_failed(status, &body);
        assert_eq!(error.class(), class, "{body}");
        let delay = body.contains("34.4").then(|| Duration::from_secs_f64(34.4));
        assert_eq!(error.retry_after(), delay, "{body}");
    }
}

#[test]
fn errors_are_written_as_googles_clients_expect_them() {
    let error = Error::http(429, "slow down")
        .with_code("rate_limit_error")
        .with_retry_after(Some(Duration::from_millis(1_500)));
    let reply = Gemini.write_error(&error);
    assert_eq!(reply.status, 429);
    assert_eq!(reply.headers, [("retry-after", "2".to_owned())]);
    assert_eq!(
        reply.body,
        concat!(
            r#"{"error":{"code":429,"message":"HTTP 429 [rate_limit_error]: slow down","status":"RESOURCE_EXHAUSTED","details":["#,
            r#"{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"rate_limit_error"},"#,
            r#"{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"1.5s"}]}}"#
        )
    );
    let again = read_failed(429, std::str::from_utf8(&reply.body).unwrap());
    assert_eq!(again.retry_after(), error.retry_after());
    assert_eq!(again.class(), error.class());

    let key = Error::http(401, "bad key").with_key_owner(KeyOwner::Client);
    let body = Gemini.write_error(&key).body;
    assert!(String::from_utf8_lossy(&body).contains(r#""status":"UNAUTHENTICATED","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID"}]"#));

    let names = [
        (400, "INVALID_ARGUMENT"),
        (404, "NOT_FOUND"),
        (409, "ABORTED"),
        (500, "INTERNAL"),
        (503, "UNAVAILABLE"),
        (504, "DEADLINE_EXCEEDED"),
    ];
    for (status, name) in names {
        let reply = Gemini.write_error(&Error::http(status, "m"));
        let text = String::from_utf8(reply.body.to_vec()).unwrap();
        assert!(text.contains(&format!(r#""status":"{name}"}}"#)), "{text}");
    }
}

#[test]
fn models_are_listed_with_their_limits() {
    let read = Gemini
        .read_models(
            br#"{"models":[{"name":"models/a","inputTokenLimit":100,"outputTokenLimit":10,"displayName":"A"},
                {"name":"publishers/google/models/b"},{"name":"tunedModels/c"},{"displayName":"nameless"}],"nextPageToken":"x"}"#,
        )
        .unwrap();
    let ids: Vec<_> = read.iter().map(|model| model.id.as_str()).collect();
    assert_eq!(ids, ["a", "b", "tunedModels/c"]);
    let capabilities = read[0].capabilities.as_ref().unwrap();
    assert_eq!(
        (capabilities.context_window, capabilities.max_output),
        (Some(100), Some(10))
    );
    assert_eq!(read[1].capabilities, None);

    let models = [ModelInfo {
        id: "a".into(),
        capabilities: Some(Capabilities::default().with_context_window(Some(100))),
    }];
    let written = Gemini.write_models(&models, 7);
    assert_eq!(Gemini.read_models(&written).unwrap(), models);
}

#[test]
fn tokens_are_counted_for_contents_and_for_complete_requests() {
    let counter = Gemini.count_tokens().unwrap();
    let count = |body: &str, model: &str| {
        let incoming = counter.read_request(Bytes::from(body.to_owned())).unwrap();
        let written = counter.write_request(&incoming.request, &Outgoing::new(model));
        (incoming, String::from_utf8(written.body.to_vec()).unwrap())
    };
    let plain = r#"{ "contents":[{"parts":[{"text":"hi"}]}]}"#;
    assert_eq!(count(plain, "m").1, plain);

    let nested = r#"{ "generateContentRequest": {"model":"models/x", "contents":[{"parts":[{"text":"hi"}]}], "systemInstruction":{"parts":[{"text":"s"}]}} }"#;
    let (incoming, written) = count(nested, "y");
    assert_eq!(incoming.model.as_deref(), Some("x"));
    assert_eq!(incoming.request.prompt().system_text(), "s");
    assert_eq!(written, nested.replace("models/x", "models/y"));

    let write = |request: &Request| {
        let body = counter.write_request(request, &Outgoing::new("y")).body;
        String::from_utf8(body.to_vec()).unwrap()
    };
    let mut edited = incoming.request.clone();
    edited.edit().messages[0].parts[0] = Part::text("ho");
    assert_eq!(
        write(&edited),
        r#"{"generateContentRequest":{"model":"models/y", "contents":[{"parts":[{"text":"ho"}]}], "systemInstruction":{"parts":[{"text":"s"}]}}}"#
    );
    assert_eq!(
        write(&Request::user("hi")),
        r#"{"contents":[{"role":"user","parts":[{"text":"hi"}]}]}"#
    );
    assert_eq!(
        write(&Request::user("hi").system("s")),
        r#"{"generateContentRequest":{"model":"models/y","contents":[{"role":"user","parts":[{"text":"hi"}]}],"systemInstruction":{"parts":[{"text":"s"}]}}}"#
    );

    assert_eq!(
        counter
            .read_response(br#"{"totalTokens":7,"x":1}"#)
            .unwrap(),
        7
    );
    assert_eq!(counter.write_response(7), r#"{"totalTokens":7}"#);
    let error = counter.read_response(b"{}").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::BadResponse);
}
