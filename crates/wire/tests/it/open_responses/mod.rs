//! The HTTP cases of the Open Responses compliance suite, from a provider of every dialect.
//!
//! Each case is a client's request. It is written for the provider, the provider's response is
//! read, and the client's response is checked field by field against the specification's
//! schema, whole and streamed: [`schema`].

mod schema;

use bytes::{Bytes, BytesMut};
use majordomo_llm::{Event, FinishReason, Part, Reasoning, Response, ToolCall, Usage};
use majordomo_wire::{Outgoing, Protocol, Reply};
use serde_json::{Value, json};

/// A request, and its provider's response.
struct Case {
    name: &'static str,
    request: Value,
    response: Response,
}

fn text(text: &str) -> Response {
    Response::new(vec![Part::text(text)]).with_usage(Usage::new(7, 3))
}

fn cases() -> Vec<Case> {
    let tool = json!({
        "type": "function", "name": "get_weather", "description": "Get the current weather",
        "parameters": {"type": "object", "properties": {"location": {"type": "string"}}, "required": ["location"]},
    });
    let call = ToolCall::new("call_1", "get_weather", r#"{"location":"Lisbon"}"#);
    let thinking = vec![
        Part::Reasoning(Reasoning::new("It rains.")),
        Part::text("Take an umbrella."),
    ];
    vec![
        Case {
            name: "basic text",
            request: json!({"input": [{"type": "message", "role": "user", "content": "Say hello."}]}),
            response: text("Hello to you."),
        },
        Case {
            name: "system prompt",
            request: json!({"instructions": "Be kind.", "input": [
                {"type": "message", "role": "system", "content": "You are a pirate."},
                {"type": "message", "role": "user", "content": "Say hello."}]}),
            response: text("Ahoy!"),
        },
        Case {
            name: "tool calling",
            request: json!({"input": [{"type": "message", "role": "user", "content": "Weather?"}],
                "tools": [tool], "tool_choice": "auto", "parallel_tool_calls": false}),
            response: Response::new(vec![Part::ToolCall(call)])
                .with_finish(FinishReason::ToolCalls),
        },
        Case {
            name: "image input",
            request: json!({"input": [{"type": "message", "role": "user", "content": [
                {"type": "input_text", "text": "What do you see?"},
                {"type": "input_image", "image_url": "data:image/png;base64,iVBORw0KGgo="}]}]}),
            response: text("A red heart."),
        },
        Case {
            name: "multi-turn",
            request: json!({"input": [
                {"type": "message", "role": "user", "content": "My name is Alice."},
                {"type": "message", "role": "assistant", "content": "Hello Alice!"},
                {"type": "message", "role": "user", "content": "What is my name?"}]}),
            response: text("Alice."),
        },
        Case {
            name: "settings",
            request: json!({"input": "hi", "temperature": 0.5, "top_p": 0.9, "max_output_tokens": 99,
                "metadata": {"a": "b"}, "reasoning": {"effort": "low"}, "store": true,
                "prompt_cache_key": "k", "safety_identifier": "u", "truncation": "auto", "top_logprobs": 2,
                "text": {"format": {"type": "json_schema", "name": "n", "schema": {"type": "object"}}}}),
            response: Response::new(thinking).with_usage(Usage::new(1, 1).with_reasoning(1)),
        },
        Case {
            name: "incomplete",
            request: json!({"input": "hi", "max_output_tokens": 1}),
            response: text("Hel").with_finish(FinishReason::Length),
        },
    ]
}

fn reply(request: &Bytes) -> Reply {
    let codec = Protocol::Responses.codec();
    let incoming = codec
        .read_request(request.clone())
        .expect("a valid request");
    Reply {
        id: "resp_1".into(),
        model: "m".into(),
        created: 1_700_000_000,
        stream_usage: true,
        echo: codec.echo(&incoming.request),
        ..Reply::default()
    }
}

/// The provider's response, read again.
fn from_provider(provider: Protocol, request: &Bytes, response: &Response) -> Response {
    let incoming = Protocol::Responses.codec().read_request(request.clone());
    let codec = provider.codec();
    let sent = codec.write_request(
        &incoming.expect("a valid request").request,
        &Outgoing::new("m"),
    );
    codec
        .read_request(sent.body)
        .expect("what we write can be read");
    let received = codec.write_response(response, &reply(request));
    codec
        .read_response(received.body, 0)
        .expect("a valid response")
}

fn streamed(response: &Response, reply: &Reply) -> Vec<Value> {
    let mut writer = Protocol::Responses.codec().stream_writer(reply);
    let mut out = BytesMut::new();
    let events: Vec<Event> = response.to_events();
    for event in &events {
        writer.write(event, &mut out);
    }
    let text = String::from_utf8(out.to_vec()).expect("streams are UTF-8");
    let frames = text.split("\n\n").filter(|frame| !frame.is_empty());
    let events = frames.map(|frame| {
        let (name, data) = frame.split_once('\n').expect("a name and data");
        let data: Value =
            serde_json::from_str(data.strip_prefix("data: ").expect("data")).expect("JSON");
        let name = name.strip_prefix("event: ").expect("a name");
        assert_eq!(data["type"], name, "the name of an event is its type");
        data
    });
    events.collect()
}

#[test]
fn every_case_passes_from_a_provider_of_every_dialect_whole_and_streamed() {
    for provider in Protocol::ALL {
        for case in cases() {
            let place = format!("{} from {provider:?}", case.name);
            let request = Bytes::from(case.request.to_string());
            let reply = reply(&request);
            let response = from_provider(provider, &request, &case.response);
            let written = Protocol::Responses
                .codec()
                .write_response(&response, &reply);
            let whole: Value = serde_json::from_slice(&written.body).unwrap();
            let mut faults = schema::response(&whole);
            repeats(&whole, &case, &mut faults);
            let events = streamed(&response, &reply);
            faults.extend(schema::stream(&events));
            let last = &events.last().unwrap()["response"];
            faults.extend(schema::response(last));
            repeats(last, &case, &mut faults);
            assert!(faults.is_empty(), "{place}: {faults:#?}\n{whole:#}");
            let expected = match case.response.finish {
                FinishReason::Length => "incomplete",
                _ => "completed",
            };
            assert_eq!(
                (&whole["status"], &last["status"]),
                (&expected.into(), &expected.into())
            );
            assert_eq!(
                whole["output"].as_array().map(Vec::is_empty),
                Some(false),
                "{place}"
            );
        }
    }
}

/// The fields of the request that the response must repeat.
fn repeats(response: &Value, case: &Case, faults: &mut Vec<String>) {
    let settings = case.request.as_object().expect("a request is an object");
    let not_repeated = ["input", "store"];
    for (name, given) in settings
        .iter()
        .filter(|(name, _)| !not_repeated.contains(&name.as_str()))
    {
        if !contains(&response[name], given) {
            faults.push(format!(
                "{name} is {}, the request has {given}",
                response[name]
            ));
        }
    }
    if response["store"] != false {
        faults.push("nothing is stored".into());
    }
}

/// Whether a value has everything of another one; it may have more fields.
fn contains(value: &Value, expected: &Value) -> bool {
    match (value, expected) {
        (Value::Object(value), Value::Object(expected)) => expected
            .iter()
            .all(|(name, inner)| value.get(name).is_some_and(|v| contains(v, inner))),
        (Value::Array(value), Value::Array(expected)) => {
            value.len() == expected.len() && value.iter().zip(expected).all(|(v, e)| contains(v, e))
        }
        _ => value == expected,
    }
}

#[test]
fn the_checks_can_fail() {
    let request = Bytes::from_static(br#"{"input":"hi"}"#);
    let reply = reply(&request);
    let written = Protocol::Responses
        .codec()
        .write_response(&text("a"), &reply);
    let whole: Value = serde_json::from_slice(&written.body).unwrap();
    assert!(schema::response(&whole).is_empty());
    for name in whole.as_object().unwrap().keys() {
        let mut broken = whole.clone();
        broken.as_object_mut().unwrap().remove(name);
        assert_eq!(schema::response(&broken).len(), 1, "{name} is not checked");
    }
    let mut events = streamed(&text("a"), &reply);
    assert!(schema::stream(&events).is_empty());
    for at in 0..events.len() {
        let mut lacking = events.clone();
        lacking.remove(at);
        assert!(
            !schema::stream(&lacking).is_empty(),
            "event {at} is not missed"
        );
    }
    events[0]["type"] = "response.began".into();
    assert!(!schema::stream(&events).is_empty());
}

#[test]
fn a_translated_response_repeats_only_the_tools_that_a_target_can_have() {
    let request = json!({
        "input": "Weather?",
        "tools": [
            {"type": "web_search"},
            {"type": "function", "name": "get_weather", "allowed_callers": ["me"], "defer_loading": true},
            {"type": "code_interpreter", "container": {"type": "auto"}},
            {"type": "custom", "name": "exec", "allowed_callers": ["me"]},
            {"type": "namespace", "name": "n", "description": "d", "x": 1, "tools": [
                {"type": "function", "name": "f", "allowed_callers": ["me"]},
                {"type": "web_search"}]},
        ],
    });
    let request = Bytes::from(request.to_string());
    let response = from_provider(Protocol::Chat, &request, &text("Sunny."));
    let written = Protocol::Responses
        .codec()
        .write_response(&response, &reply(&request));
    let whole: Value = serde_json::from_slice(&written.body).unwrap();
    let expected = json!([
        {"type": "function", "name": "get_weather", "description": null, "parameters": null, "strict": null},
        {"type": "custom", "name": "exec"},
        {"type": "namespace", "name": "n", "description": "d", "tools": [{"type": "function", "name": "f"}]},
    ]);
    assert_eq!(
        whole["tools"], expected,
        "without what only its own dialect has"
    );
}
