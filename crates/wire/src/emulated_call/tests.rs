//! Forced calls that Ollama is made to write as text.

use majordomo_llm::Request;
use proptest::prelude::*;

use super::*;
use crate::{Outgoing, Protocol};

fn tool(name: &str, parameters: &str) -> Tool {
    Tool {
        parameters: Some(Json::parse(parameters).unwrap()),
        ..Tool::new(name)
    }
}

fn forced(choice: ToolChoice, tools: Vec<Tool>) -> Request {
    let mut request = Request::user("weather in Paris?");
    request.edit().tools = tools;
    request.edit().tool_choice = choice;
    request
}

/// Returns the `format` of the body, and the listed changes of the choice.
fn written(request: &Request, to: &Outgoing<'_>) -> (serde_json::Value, Vec<String>) {
    let written = Protocol::Ollama.codec().write_request(request, to);
    let body: serde_json::Value = serde_json::from_slice(&written.body).unwrap();
    assert!(body["tools"].is_array(), "the model still knows the tools");
    let listed = written
        .losses
        .iter()
        .map(|loss| format!("{} {}", loss.field, loss.verb));
    (body["format"].clone(), listed.collect())
}

const CITY: &str = r#"{"type":"object","properties":{"city":{"type":"string"}}}"#;

#[test]
fn a_forced_call_becomes_the_schema_of_its_text() {
    let (named, required) = (ToolChoice::Named("weather".into()), ToolChoice::Required);
    let weather = || tool("weather", CITY);
    let clock = || Tool::new("clock");
    let one = serde_json::json!({
        "type": "object",
        "properties": {
            "name": {"type": "string", "enum": ["weather"]},
            "arguments": {"type": "object", "properties": {"city": {"type": "string"}}},
        },
        "required": ["name", "arguments"],
    });
    let other = serde_json::json!({
        "type": "object",
        "properties": {
            "name": {"type": "string", "enum": ["clock"]},
            "arguments": {"type": "object"},
        },
        "required": ["name", "arguments"],
    });
    for (choice, tools, wanted) in [
        (named, vec![clock(), weather()], one.clone()),
        (required.clone(), vec![weather()], one.clone()),
        (
            required,
            vec![weather(), clock()],
            serde_json::json!({"anyOf": [one, other]}),
        ),
    ] {
        let (format, listed) = written(&forced(choice, tools), &Outgoing::new("m"));
        assert_eq!(format, wanted);
        assert_eq!(listed, ["tool_choice converted", "output added"]);
    }
}

#[test]
fn references_of_a_schema_still_find_their_definitions() {
    let schema = r##"{"type":"object","properties":{"at":{"$ref":"#/$defs/P"}},"$defs":{"P":{"type":"string"}}}"##;
    let one = forced(ToolChoice::Required, vec![tool("go", schema)]);
    let (format, _) = written(&one, &Outgoing::new("m"));
    assert_eq!(format["$defs"]["P"]["type"], "string");
    // Several schemas could mean different things by one name.
    let two = forced(
        ToolChoice::Required,
        vec![tool("go", schema), tool("weather", CITY)],
    );
    let (format, _) = written(&two, &Outgoing::new("m"));
    let free = &format["anyOf"][0]["properties"]["arguments"];
    assert_eq!(*free, serde_json::json!({"type": "object"}));
}

#[test]
fn a_choice_that_cannot_be_emulated_is_dropped_as_before() {
    let mut request = forced(ToolChoice::Required, vec![tool("weather", CITY)]);
    let mut cloud = Outgoing::new("m");
    cloud.ollama.schema_in_words = true;
    let (format, listed) = written(&request, &cloud);
    assert_eq!(
        (format.is_null(), listed[0].as_str()),
        (true, "tool_choice dropped")
    );

    request.edit().output = OutputFormat::Json;
    let (format, listed) = written(&request, &Outgoing::new("m"));
    assert_eq!(
        (format.as_str(), listed[0].as_str()),
        (Some("json"), "tool_choice dropped")
    );
}

fn call() -> EmulatedCall {
    let request = forced(ToolChoice::Required, vec![tool("weather", CITY)]);
    EmulatedCall::of(request.prompt()).unwrap()
}

#[test]
fn only_a_complete_call_of_a_demanded_tool_is_read() {
    for (text, arguments) in [
        (
            r#"{"name":"weather","arguments":{"city":"Paris"}}"#,
            Some(r#"{"city":"Paris"}"#),
        ),
        (" {\"arguments\": {}, \"name\": \"weather\"}\n", Some("{}")),
        (r#"{"name":"weather","arguments":{"city":"Par"#, None),
        (r#"{"name":"other","arguments":{}}"#, None),
        (r#"{"name":"weather","arguments":"Paris"}"#, None),
        (r#"{"name":"weather"}"#, None),
        ("It is raining.", None),
        ("", None),
    ] {
        let whole = call().read_response(Response::new(vec![Part::text(text)]));
        let read = whole
            .tool_calls()
            .next()
            .map(|call| call.arguments.as_str());
        assert_eq!(read, arguments, "{text}");
        assert_eq!(
            whole.text().is_empty(),
            arguments.is_some() || text.is_empty()
        );
        let finish = match arguments {
            Some(_) => FinishReason::ToolCalls,
            None => FinishReason::Stop,
        };
        assert_eq!(whole.finish, finish, "{text}");
    }
}

#[test]
fn calls_of_the_models_own_stay_as_they_are() {
    let own = Part::ToolCall(ToolCall::new("call_7", "weather", "{}"));
    let text = Part::text(r#"{"name":"weather","arguments":{}}"#);
    let response = Response::new(vec![text, own]);
    assert_eq!(call().read_response(response.clone()).parts, response.parts);
}

fn streamed(lines: &[String]) -> Vec<Event> {
    let mut reader = call().read_stream(Protocol::Ollama.codec().stream_reader());
    let mut events = Vec::new();
    for line in lines {
        reader.push(line.as_bytes(), &mut events).unwrap();
    }
    reader.finish(&mut events).unwrap();
    events
}

proptest! {
    #[test]
    fn a_stream_in_any_pieces_is_read_like_the_whole(
        city in "[a-zé\" ]{0,12}",
        cut in any::<prop::sample::Index>(),
        is_call in any::<bool>(),
    ) {
        let city = serde_json::json!({ "city": city });
        let text = match is_call {
            true => serde_json::json!({"name": "weather", "arguments": city}).to_string(),
            false => city.to_string(),
        };
        let mut at = cut.index(text.len() + 1);
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        let line = |content: &str, done: bool| {
            let message = serde_json::json!({"role": "assistant", "content": content});
            let line = serde_json::json!({"model": "m", "message": message, "done": done});
            format!("{line}\n")
        };
        let lines = [line(&text[..at], false), line(&text[at..], false), line("", true)];
        let events = streamed(&lines);
        let texts: String = events.iter().filter_map(|event| match event {
            Event::Text(text) => Some(text.as_str()),
            _ => None,
        }).collect();
        let arguments = events.iter().find_map(|event| match event {
            Event::ToolCallArguments { fragment, .. } => Some(fragment.as_str()),
            _ => None,
        });
        let finish = match is_call {
            true => FinishReason::ToolCalls,
            false => FinishReason::Stop,
        };
        prop_assert_eq!(events.last(), Some(&Event::Finish(finish)));
        match is_call {
            true => {
                let city = city.to_string();
                prop_assert_eq!((texts.as_str(), arguments), ("", Some(city.as_str())));
            }
            false => prop_assert_eq!((texts.as_str(), arguments), (text.as_str(), None)),
        }
    }
}
