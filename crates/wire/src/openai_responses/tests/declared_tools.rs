//! Custom tools, namespaces and tools declared in the conversation, through every other
//! dialect and back.

use bytes::BytesMut;
use majordomo_llm::{Event, Part, Prompt, Request, Response, Role, Tool, ToolCall};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Responses, read, reply};
use crate::{Codec, Outgoing, Protocol, Reply};

const OTHERS: [Protocol; 4] = [
    Protocol::Chat,
    Protocol::Messages,
    Protocol::Gemini,
    Protocol::Ollama,
];

/// As Codex declares its tools for its default model.
const ADDITIONAL: &str = r#"{"type":"additional_tools","role":"developer","tools":[
    {"type":"namespace","name":"functions","description":"Local tools.","tools":[
        {"type":"custom","name":"exec","description":"Runs code.",
         "format":{"type":"grammar","syntax":"lark","definition":"start: /.+/"}},
        {"type":"function","name":"wait","parameters":{"type":"object","properties":{"s":{"type":"number"}}}}]}]}"#;

fn body() -> String {
    format!(
        r#"{{"model":"x","input":[{ADDITIONAL},
            {{"type":"message","role":"user","content":"hi"}},
            {{"type":"custom_tool_call","call_id":"c1","name":"exec","namespace":"functions","input":"say \"1\"","id":"ctc_1","status":"completed"}},
            {{"type":"custom_tool_call_output","call_id":"c1","output":"1"}},
            {{"type":"function_call","call_id":"c2","name":"wait","namespace":"functions","arguments":"{{\"s\":1}}"}},
            {{"type":"function_call_output","call_id":"c2","output":"done"}}],
            "tools":[{{"type":"custom","name":"apply_patch"}}]}}"#
    )
}

/// The request that a target of this dialect receives, read again, with the listed changes.
fn crossed(request: &Request, to: Protocol) -> (Prompt, Vec<String>) {
    let written = to.codec().write_request(request, &Outgoing::new("m"));
    let read = to.codec().read_request(written.body).unwrap();
    let listed = written
        .losses
        .iter()
        .map(|loss| format!("{} {}", loss.field, loss.verb));
    (read.request.prompt().clone(), listed.collect())
}

fn calls(prompt: &Prompt) -> Vec<(String, Value)> {
    let calls = prompt
        .messages
        .iter()
        .flat_map(|message| message.tool_calls());
    calls
        .map(|call| (call.name.clone(), call.parse().unwrap()))
        .collect()
}

#[test]
fn every_dialect_gets_all_tools_as_functions_and_the_conversion_is_listed() {
    let request = read(&body()).request;
    for protocol in OTHERS {
        let (prompt, listed) = crossed(&request, protocol);
        let names: Vec<&str> = prompt.tools.iter().map(|tool| &*tool.name).collect();
        assert_eq!(
            names,
            ["apply_patch", "functions__exec", "functions__wait"],
            "{protocol:?}"
        );
        let exec = &prompt.tools[1];
        let parameters: Value = exec.parameters.as_ref().unwrap().to().unwrap();
        assert_eq!(
            parameters["properties"]["input"]["type"], "string",
            "{protocol:?}"
        );
        assert_eq!(parameters["required"], json!(["input"]), "{protocol:?}");
        let described = exec.description.as_deref().unwrap_or_default();
        for expected in ["Runs code.", "start: /.+/", "functions__*: Local tools."] {
            assert!(described.contains(expected), "{protocol:?}: {described}");
        }
        assert_eq!(
            calls(&prompt),
            [
                ("functions__exec".to_owned(), json!({"input": "say \"1\""})),
                ("functions__wait".to_owned(), json!({"s": 1})),
            ],
            "{protocol:?}"
        );
        let results = prompt
            .messages
            .iter()
            .flat_map(|message| message.tool_results());
        let results: Vec<String> = results.map(|result| result.text()).collect();
        assert_eq!(results, ["1", "done"], "{protocol:?}");
        for expected in [
            "tools.custom converted",
            "tools.namespace converted",
            "additional_tools moved",
        ] {
            assert!(
                listed.contains(&expected.to_owned()),
                "{protocol:?}: {listed:?}"
            );
        }
        assert!(
            listed.iter().all(|change| !change.contains("dropped")),
            "{listed:?}"
        );
        let system = prompt
            .messages
            .iter()
            .filter(|m| m.role == Role::System)
            .count();
        assert_eq!(
            system + prompt.system.len(),
            0,
            "{protocol:?}: no empty instructions"
        );
    }
}

#[test]
fn an_edited_request_keeps_the_declarations_of_its_own_dialect() {
    let body = body();
    let mut request = read(&body).request;
    request.edit().max_tokens = Some(5);
    let (edited, losses) = super::write(&request);
    assert!(losses.is_empty());
    let expected = body.replace(r#""model":"x""#, r#""model":"m""#);
    let expected = expected.strip_suffix('}').unwrap();
    assert_eq!(edited, format!(r#"{expected},"max_output_tokens":5}}"#));

    let mut request = read(&body).request;
    request.edit().tools.push(Tool::new("more"));
    let written: Value = serde_json::from_str(&super::write(&request).0).unwrap();
    let tools = written["tools"].as_array().unwrap();
    let names: Vec<&Value> = tools.iter().map(|tool| &tool["name"]).collect();
    assert_eq!(names, ["apply_patch", "more"], "the item has the others");
    assert_eq!(tools[0]["type"], "custom");
}

#[test]
fn a_tool_that_is_declared_twice_is_written_once() {
    let twice = r#"{"input":[
        {"type":"additional_tools","role":"developer","tools":[{"type":"function","name":"a","description":"late"},{"type":"function","name":"b","description":"1"}]},
        {"type":"additional_tools","role":"developer","tools":[{"type":"function","name":"b","description":"2"},{"type":"web_search"}]}],
        "tools":[{"type":"function","name":"a","description":"first"}]}"#;
    let (prompt, listed) = crossed(&read(twice).request, Protocol::Messages);
    let tools: Vec<_> = prompt
        .tools
        .iter()
        .map(|tool| (&*tool.name, tool.description.as_deref()))
        .collect();
    assert_eq!(tools, [("a", Some("first")), ("b", Some("2"))]);
    assert!(listed.contains(&"tools.additional_tools.web_search dropped".to_owned()));
}

fn replying() -> Reply {
    Reply {
        echo: Responses.echo(&read(&body()).request),
        ..reply()
    }
}

#[test]
fn a_response_repeats_of_each_tool_what_a_target_of_another_dialect_can_get() {
    let body = r#"{"model":"x","input":"hi","tools":[
        {"type":"function","name":"f","parameters":{"a":[1]},"allowed_callers":["?"],"defer_loading":true,"output_schema":5,"x":1},
        {"type":"function","name":"g","parameters":null,"strict":true,"description":null},
        {"type":"custom","name":"c","format":{"type":"text"},"allowed_callers":["?"]},
        {"type":"namespace","name":"n","description":"d","y":2,"tools":[
            {"type":"function","name":"h","allowed_callers":["?"]},
            {"type":"custom","name":"i","defer_loading":1},
            {"type":"mcp","server_label":"s"}]},
        {"type":"web_search"}]}"#;
    let reply = Reply {
        echo: Responses.echo(&read(body).request),
        ..reply()
    };
    let written = Responses.write_response(&Response::new(vec![Part::text("a")]), &reply);
    let written: Value = serde_json::from_slice(&written.body).unwrap();
    assert_eq!(
        written["tools"],
        json!([
            {"type":"function","name":"f","parameters":{"a":[1]},"description":null,"strict":null},
            {"type":"function","name":"g","parameters":null,"strict":true,"description":null},
            {"type":"custom","name":"c","format":{"type":"text"}},
            {"type":"namespace","name":"n","description":"d","tools":[
                {"type":"function","name":"h"},
                {"type":"custom","name":"i"}]},
        ])
    );
}

/// The items that a client gets of these calls, whole and streamed.
fn written_calls(calls: &[ToolCall]) -> (Vec<Value>, Vec<Value>) {
    let response = Response::new(calls.iter().cloned().map(Part::ToolCall).collect());
    let whole = Responses.write_response(&response, &replying());
    assert!(whole.losses.is_empty());
    let whole: Value = serde_json::from_slice(&whole.body).unwrap();
    let mut out = BytesMut::new();
    let mut writer = Responses.stream_writer(&replying());
    for event in response.to_events() {
        writer.write(&event, &mut out);
    }
    let text = String::from_utf8(out.to_vec()).unwrap();
    let events = text.lines().filter_map(|line| line.strip_prefix("data: "));
    let events = events
        .map(|event| serde_json::from_str(event).unwrap())
        .collect();
    (whole["output"].as_array().unwrap().clone(), events)
}

#[test]
fn calls_come_back_as_the_client_declared_their_tools() {
    let (items, events) = written_calls(&[
        ToolCall::new("1", "functions__exec", r#"{"input":"a\nb"}"#),
        ToolCall::new("2", "functions__wait", r#"{"s":1}"#),
        ToolCall::new("3", "apply_patch", "not as asked"),
        ToolCall::new("4", "unknown__tool", "{}"),
    ]);
    let strip = |items: &[Value]| -> Vec<Value> {
        let mut items = items.to_vec();
        for item in &mut items {
            let item = item.as_object_mut().unwrap();
            item.remove("id");
        }
        items
    };
    let expected = [
        json!({"type":"custom_tool_call","status":"completed","call_id":"1","name":"exec","namespace":"functions","input":"a\nb"}),
        json!({"type":"function_call","status":"completed","call_id":"2","name":"wait","namespace":"functions","arguments":"{\"s\":1}"}),
        json!({"type":"custom_tool_call","status":"completed","call_id":"3","name":"apply_patch","input":"not as asked"}),
        json!({"type":"function_call","status":"completed","call_id":"4","name":"unknown__tool","arguments":"{}"}),
    ];
    assert_eq!(strip(&items), expected);
    let last = &events.last().unwrap()["response"]["output"];
    assert_eq!(strip(last.as_array().unwrap()), expected);
    let of = |kind: &str, key: &str| -> Vec<Value> {
        let found = events.iter().filter(|event| event["type"] == kind);
        found.map(|event| event[key].clone()).collect()
    };
    assert_eq!(
        of("response.custom_tool_call_input.delta", "delta"),
        ["a\nb", "not as asked"]
    );
    assert_eq!(
        of("response.custom_tool_call_input.done", "input"),
        ["a\nb", "not as asked"]
    );
    assert_eq!(
        of("response.function_call_arguments.done", "name"),
        ["wait", "unknown__tool"]
    );
}

/// The call of a custom tool, as OpenAI streams it.
fn custom_stream(deltas: &[String]) -> Vec<String> {
    let item = |status: &str, input: &str| json!({"type":"custom_tool_call","id":"ctc_1","status":status,"call_id":"c","name":"exec","namespace":"functions","input":input});
    let mut frames = vec![
        json!({"type":"response.created","response":{"id":"resp_1"}}).to_string(),
        json!({"type":"response.output_item.added","output_index":0,"item":item("in_progress", "")}).to_string(),
    ];
    for delta in deltas {
        frames.push(json!({"type":"response.custom_tool_call_input.delta","output_index":0,"item_id":"ctc_1","delta":delta}).to_string());
    }
    let input: String = deltas.concat();
    let done = item("completed", &input);
    frames
        .push(json!({"type":"response.output_item.done","output_index":0,"item":done}).to_string());
    frames.push(json!({"type":"response.completed","response":{"id":"resp_1","status":"completed","output":[done]}}).to_string());
    frames
}

proptest! {
    /// A provider's stream reaches a client of the same dialect through the contract.
    #[test]
    fn streamed_custom_calls_survive_the_contract(
        deltas in prop::collection::vec(r#"(\PC|["\\\n]){1,6}"#, 0..6),
    ) {
        let frames = custom_stream(&deltas);
        let frames: Vec<&str> = frames.iter().map(String::as_str).collect();
        let events = super::events(&frames).unwrap();
        let whole = super::assemble(&events);
        let call = whole.tool_calls().next().unwrap();
        prop_assert_eq!(&call.name, "functions__exec");
        let arguments: Value = call.parse().unwrap();
        prop_assert_eq!(&arguments["input"], &Value::from(deltas.concat()));

        let mut out = BytesMut::new();
        let mut writer = Responses.stream_writer(&reply());
        for event in &events {
            writer.write(event, &mut out);
        }
        let text = String::from_utf8(out.to_vec()).unwrap();
        let written = text.lines().filter_map(|line| line.strip_prefix("data: "));
        let written: Vec<Value> = written.map(|event| serde_json::from_str(event).unwrap()).collect();
        let streamed: String = written
            .iter()
            .filter(|event| event["type"] == "response.custom_tool_call_input.delta")
            .filter_map(|event| event["delta"].as_str())
            .collect();
        prop_assert_eq!(&streamed, &deltas.concat());
        let item = &written.last().unwrap()["response"]["output"][0];
        prop_assert_eq!(&item["type"], "custom_tool_call");
        prop_assert_eq!(&item["name"], "exec");
        prop_assert_eq!(&item["namespace"], "functions");
        prop_assert_eq!(&item["input"], &Value::from(deltas.concat()));
    }

    /// A call crosses to another dialect's provider and back to the client's form.
    #[test]
    fn inputs_survive_every_other_dialect(input in r#"(\PC|["\\\n{}]){0,20}"#, custom: bool) {
        let name = if custom { "functions__exec" } else { "functions__wait" };
        let arguments = match custom {
            true => crate::custom_input::wrap_input(&input),
            false => json!({"s": input}).to_string(),
        };
        for protocol in OTHERS {
            let response = Response::new(vec![Part::ToolCall(ToolCall::new("c", name, arguments.clone()))]);
            let sent = protocol.codec().write_response(&response, &reply()).body;
            let received = protocol.codec().read_response(sent, 0).unwrap();
            let mut out = BytesMut::new();
            let mut writer = Responses.stream_writer(&replying());
            for event in received.to_events() {
                writer.write(&event, &mut out);
            }
            let text = String::from_utf8(out.to_vec()).unwrap();
            let last = text.lines().rfind(|line| line.starts_with("data: ")).unwrap();
            let last: Value = serde_json::from_str(&last[6..]).unwrap();
            let item = &last["response"]["output"][0];
            match custom {
                true => prop_assert_eq!(&item["input"], &Value::from(input.clone())),
                false => {
                    let arguments: Value = serde_json::from_str(item["arguments"].as_str().unwrap()).unwrap();
                    prop_assert_eq!(&arguments["s"], &Value::from(input.clone()));
                }
            }
        }
    }
}

#[test]
fn a_call_that_stays_open_at_the_end_is_closed() {
    let mut out = BytesMut::new();
    let mut writer = Responses.stream_writer(&replying());
    let start = Event::ToolCallStart {
        index: 0,
        id: None,
        name: "functions__exec".into(),
        native: None,
    };
    let fragment = r#"{"input":"half"#.to_owned();
    for event in [
        start,
        Event::ToolCallArguments { index: 0, fragment },
        Event::Finish(majordomo_llm::FinishReason::Length),
    ] {
        writer.write(&event, &mut out);
    }
    let text = String::from_utf8(out.to_vec()).unwrap();
    assert!(text.contains(r#""status":"incomplete","call_id":"call_0","name":"exec","namespace":"functions","input":"half""#), "{text}");
}
