//! Round trips change nothing but the listed losses.

use majordomo_llm::{FinishReason, Part, Prompt, Usage};
use proptest::prelude::*;

use super::corpus::{block, call, hidden, prompts, responses, signed};
use super::*;

#[test]
fn requests_round_trip() {
    for (name, prompt, expected) in prompts() {
        let (body, losses) = write(&Request::from(prompt.clone()));
        assert_eq!(losses, expected, "{name}");
        let again = Prompt::clone(read(&body).request.prompt());
        match expected {
            [] => assert_eq!(again, prompt, "{name}: {body}"),
            _ => assert_ne!(again, prompt, "{name}: a loss that is none"),
        }
    }
}

#[test]
fn a_reverted_edit_changes_no_byte() {
    for (name, prompt, _) in prompts() {
        let (body, _) = write(&Request::from(prompt));
        let mut request = read(&body).request;
        let user = request.prompt().user.clone();
        request.edit().user = user;
        assert!(request.untouched(&MESSAGES).is_none());
        assert_eq!(write(&request), (body, vec![]), "{name}");
    }
}

fn response(parts: Vec<Part>, finish: FinishReason) -> Response {
    Response::new(parts)
        .with_finish(finish)
        .with_usage(
            Usage::new(30, 9)
                .with_cache_read(10)
                .with_cache_write(5)
                .with_reasoning(2),
        )
        .with_id(Some("msg_1".into()))
        .with_reported_model(Some("m".into()))
}

#[test]
fn responses_round_trip() {
    for (name, parts, finish) in responses() {
        let response = response(parts, finish);
        let written = Messages.write_response(&response, &reply());
        assert!(written.losses.is_empty(), "{name}");
        let mut again = Messages.read_response(written.body, 0).unwrap();
        again.raw = None;
        assert_eq!(again, response, "{name}");
    }
}

/// The events that a reader would emit for a response.
fn streamed(response: &Response) -> Vec<Event> {
    let mut events = vec![Event::Start {
        id: None,
        model: None,
    }];
    for (index, part) in response.parts.iter().enumerate() {
        match part {
            Part::Text(text) => {
                events.push(Event::Text(text.text.clone()));
                events.push(Event::EndPart(text.native.clone()));
            }
            Part::Reasoning(reasoning) => {
                events.push(Event::Reasoning(reasoning.text.clone()));
                events.push(Event::EndPart(reasoning.native.clone()));
            }
            Part::ToolCall(call) => {
                events.push(Event::ToolCallStart {
                    index,
                    id: Some(call.id.clone()),
                    name: call.name.clone(),
                    native: None,
                });
                let fragment = call.arguments.clone();
                events.push(Event::ToolCallArguments { index, fragment });
                events.push(Event::ToolCallEnd { index });
            }
            other => events.push(Event::Part(other.clone())),
        }
    }
    events.push(Event::Usage(response.usage));
    events.push(Event::Finish(response.finish.clone()));
    events
}

#[test]
fn streams_round_trip() {
    for (name, parts, finish) in responses() {
        let response = response(parts, finish);
        for whole in [false, true] {
            let events = match whole {
                false => streamed(&response),
                true => {
                    let parts = response.parts.iter().cloned().map(Event::Part);
                    let end = [
                        Event::Usage(response.usage),
                        Event::Finish(response.finish.clone()),
                    ];
                    parts.chain(end).collect()
                }
            };
            let (text, losses) = written(&events);
            assert!(losses.is_empty(), "{name}");
            let (mut reader, mut again) = (Messages.stream_reader(), Vec::new());
            reader.push(text.as_bytes(), &mut again).unwrap();
            reader.finish(&mut again).unwrap();
            assert_eq!(assemble(again), response, "{name}, whole parts: {whole}");
        }
    }
}

fn any_part() -> impl Strategy<Value = Part> {
    prop_oneof![
        "[a-zé\"\\\\\n]{1,6}x".prop_map(Part::text),
        "[a-z.:]{1,6}".prop_map(|id| call(&id, r#"{"x":1}"#)),
        Just(signed("hm")),
        Just(hidden()),
        Just(block(r#"{"type":"server_tool_use"}"#)),
    ]
}

proptest! {
    #[test]
    fn arbitrary_responses_round_trip(parts in prop::collection::vec(any_part(), 0..6)) {
        let mut seen = std::collections::HashSet::new();
        let unique = |part: &Part| match part {
            Part::ToolCall(call) => seen.insert(call.id.clone()),
            _ => true,
        };
        let parts: Vec<Part> = parts.into_iter().filter(unique).collect();
        let finish = Response::new(parts.clone()).finish;
        let response = response(parts, finish);
        let body = Messages.write_response(&response, &reply()).body;
        prop_assert_eq!(&Messages.read_response(body, 0).unwrap().parts, &response.parts);
        let (text, _) = written(&streamed(&response));
        let (mut reader, mut again) = (Messages.stream_reader(), Vec::new());
        for byte in text.as_bytes().chunks(7) {
            reader.push(byte, &mut again).unwrap();
        }
        reader.finish(&mut again).unwrap();
        prop_assert_eq!(assemble(again), response);
    }
}
