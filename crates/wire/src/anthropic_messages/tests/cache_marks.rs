//! Prompt-cache breakpoints: their positions, and that nothing else changes.

use majordomo_llm::{Json, Message, Part, Tool, ToolCall, ToolResult};
use proptest::prelude::*;

use super::*;
use crate::anthropic_messages::{mark_prompt_cache, sets_cache_marks};
use crate::{Protocol, splice};

const MARK: &str = r#""cache_control":{"type":"ephemeral"}"#;

fn marked(body: &str) -> (String, Option<String>) {
    let (body, marked) = mark_prompt_cache(Bytes::from(body.to_owned()));
    (String::from_utf8(body.to_vec()).unwrap(), marked)
}

#[test]
fn tools_system_and_the_last_turn_are_marked_and_nothing_else_changes() {
    for (body, expected, what) in [
        (
            r#"{ "model":"m", "messages": [] }"#,
            r#"{ "model":"m", "messages": [],MARK }"#,
            "last turn",
        ),
        (
            r#"{"system":"s","tools":[{"name":"a"}, {"name":"b"} ]}"#,
            r#"{"system":[{"type":"text","text":"s",MARK}],"tools":[{"name":"a"}, {"name":"b",MARK} ],MARK}"#,
            "system, tools, last turn",
        ),
        (
            r#"{"system":[{"type":"text","text":"s"},{"type":"text","text":""}]}"#,
            r#"{"system":[{"type":"text","text":"s",MARK},{"type":"text","text":""}],MARK}"#,
            "system, last turn",
        ),
        (
            r#"{"system":" ","tools":[{"name":"a","defer_loading":true}]}"#,
            r#"{"system":" ","tools":[{"name":"a","defer_loading":true}],MARK}"#,
            "last turn",
        ),
        (
            r#"{"system":"\n \t"}"#,
            r#"{"system":"\n \t",MARK}"#,
            "last turn",
        ),
        (
            r#"{"system":[{"type":"text","text":"\n\""},{"type":"text","text":"\r\n"}]}"#,
            r#"{"system":[{"type":"text","text":"\n\"",MARK},{"type":"text","text":"\r\n"}],MARK}"#,
            "system, last turn",
        ),
        (
            r#"{"tools":[],"cache_control":{"type":"ephemeral"},"system":"s"}"#,
            r#"{"tools":[],MARK,"system":[{"type":"text","text":"s",MARK}]}"#,
            "system",
        ),
        (
            r#"{"tools":[{"name":"a","cache_control":null}],"cache_control":null}"#,
            r#"{"tools":[{"name":"a",MARK}],MARK}"#,
            "tools, last turn",
        ),
    ] {
        let (out, described) = marked(body);
        assert_eq!(out, expected.replace("MARK", MARK), "{body}");
        assert_eq!(described.as_deref(), Some(what), "{body}");
    }
    for body in ["[]", "no JSON", r#"{"cache_control":{"type":"ephemeral"}}"#] {
        assert_eq!(marked(body), (body.to_owned(), None));
    }
}

#[test]
fn a_clients_own_marks_are_found_wherever_they_stand() {
    let own = r#""cache_control":{"type":"ephemeral"}"#;
    let escaped = r#""cache\u005fcontrol":{"type":"ephemeral"}"#;
    for mark in [own, escaped] {
        for body in [
            format!(r#"{{"messages":[],{mark}}}"#),
            format!(r#"{{"messages":[],"tools":[{{"name":"a"}},{{"name":"b",{mark}}}]}}"#),
            format!(r#"{{"messages":[],"system":[{{"type":"text","text":"s",{mark}}}]}}"#),
            format!(
                r#"{{"messages":[{{"role":"user","content":[{{"type":"text","text":"s",{mark}}}]}}]}}"#
            ),
            format!(
                r#"{{"messages":[{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"t","content":[{{"type":"text","text":"s",{mark}}}]}}]}}]}}"#
            ),
            // A document within a result, and a text within a document.
            format!(
                r#"{{"messages":[{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"t","content":[{{"type":"document","source":{{"type":"content","content":[{{"type":"text","text":"s",{mark}}}]}}}}]}}]}}]}}"#
            ),
            format!(
                r#"{{"messages":[{{"role":"user","content":[{{"type":"search_result","source":"u","title":"t","content":[{{"type":"text","text":"s",{mark}}}]}}]}}]}}"#
            ),
        ] {
            assert!(sets_cache_marks(&read(&body).request), "{body}");
        }
    }
    for body in [
        r#"{"messages":[]}"#,
        r#"{"messages":[{"role":"user","content":"what is \"cache_control\"?"}],"cache_control":null}"#,
        r#"{"messages":[{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"set","input":{"cache_control":{"type":"ephemeral"}}}]}]}"#,
    ] {
        assert!(!sets_cache_marks(&read(body).request), "{body}");
    }
    assert!(!sets_cache_marks(&Request::user("hi")));
}

#[test]
fn clients_of_other_dialects_set_marks_as_well_but_may_talk_about_them() {
    for (protocol, body, own) in [
        (
            Protocol::Chat,
            r#"{"messages":[{"role":"user","content":[{"type":"text","text":"s","cache_control":{"type":"ephemeral"}}]}]}"#,
            true,
        ),
        (
            Protocol::Chat,
            r#"{"messages":[{"role":"user","content":"s"}],"tools":[{"type":"function","function":{"name":"a"},"cache_control":{"type":"ephemeral"}}]}"#,
            true,
        ),
        (
            Protocol::Responses,
            r#"{"input":[{"role":"user","content":[{"type":"input_text","text":"s","cache_control":{"type":"ephemeral"}}]}]}"#,
            true,
        ),
        (
            Protocol::Gemini,
            r#"{"contents":[{"role":"user","parts":[{"text":"s","cache_control":{"type":"ephemeral"}}]}]}"#,
            true,
        ),
        (
            Protocol::Chat,
            r#"{"messages":[{"role":"user","content":"what is \"cache_control\"?"}]}"#,
            false,
        ),
        (
            Protocol::Responses,
            r#"{"input":"what is \"cache_control\"?"}"#,
            false,
        ),
    ] {
        let read = protocol.codec().read_request(body.to_owned().into());
        assert_eq!(sets_cache_marks(&read.unwrap().request), own, "{body}");
    }
}

/// A user's message, a model's message, and perhaps a tool call with its result.
type Turn = (String, String, Option<String>);

/// The request of each turn of a conversation.
fn turns_of(system: Option<String>, tools: usize, turns: &[Turn]) -> Vec<Request> {
    let mut request = Request::default();
    if let Some(system) = system {
        request = request.system(system);
    }
    for number in 0..tools {
        request = request.tool(Tool::new(format!("tool_{number}")));
    }
    let mut requests = Vec::new();
    for (number, (asked, said, called)) in turns.iter().enumerate() {
        request = request.message(Message::user(asked.as_str()));
        requests.push(request.clone());
        let mut message = Message::assistant(said.as_str());
        if let Some(argument) = called {
            let arguments = Json::parse(serde_json::json!({ "a": argument }).to_string());
            let arguments = arguments.unwrap();
            let call = ToolCall::new(format!("call_{number}"), "tool_0", arguments.as_str());
            message.parts.push(Part::ToolCall(call.clone()));
            request = request.message(message);
            let result = ToolResult::new(&call, argument.as_str());
            request = request.message(Message::tool_results_message([result]));
            requests.push(request.clone());
            message = Message::assistant("done");
        }
        request = request.message(message);
    }
    requests
}

/// The bytes of a body's tools, system and messages.
fn prefix(body: &str) -> (Option<&str>, Option<&str>, Vec<&str>) {
    let messages = splice::member(body, "messages").and_then(splice::elements);
    (
        splice::member(body, "tools"),
        splice::member(body, "system"),
        messages.unwrap_or_default(),
    )
}

proptest! {
    #[test]
    fn each_turn_begins_with_the_bytes_of_the_turn_before(
        system in proptest::option::of("[a-z\"\\\\é ]{1,20}"),
        tools in 0usize..4,
        turns in proptest::collection::vec(
            ("[a-z\"é]{1,12}", "[a-z\"é]{1,12}", proptest::option::of("[a-z\"]{1,8}")),
            1..6,
        ),
    ) {
        let bodies: Vec<String> = turns_of(system, tools, &turns)
            .iter()
            .map(|request| {
                let (body, _) = write(request);
                // As a client of this dialect would send it again.
                let again = read(&body).request;
                assert!(!sets_cache_marks(&again));
                marked(&write(&again).0).0
            })
            .collect();
        for pair in bodies.windows(2) {
            let (before, after) = (prefix(&pair[0]), prefix(&pair[1]));
            prop_assert_eq!(before.0, after.0);
            prop_assert_eq!(before.1, after.1);
            prop_assert_eq!(&before.2[..], &after.2[..before.2.len()]);
        }
        for body in &bodies {
            prop_assert!(body.matches(MARK).count() <= 4, "{}", body);
            prop_assert!(body.contains(MARK), "{}", body);
        }
    }
}
