//! Model responses.

use majordomo_llm::{Event, FinishReason, Part, Reasoning, Response, Text, ToolCall, Usage};

use super::{png, reasoning};

fn says(parts: Vec<Part>) -> Response {
    Response {
        usage: Usage {
            input: 12,
            output: 7,
            ..Usage::default()
        },
        ..Response::new(parts)
    }
}

fn ends(finish: FinishReason) -> Response {
    Response {
        finish,
        ..says(vec!["So far".into()])
    }
}

fn call(id: &str, name: &str, arguments: &str) -> Part {
    Part::ToolCall(ToolCall::new(id, name, arguments))
}

/// All responses, by name.
pub(crate) fn responses() -> Vec<(&'static str, Response)> {
    let usage = |usage: Usage| Response {
        usage,
        ..says(vec!["hi".into()])
    };
    let weather = || call("call_1", "get_weather", r#"{"city":"Paris"}"#);
    let mut refused = says(vec![Part::Refusal(Text::new("I would rather not."))]);
    refused.finish = FinishReason::Refusal;
    let mut all = vec![
        ("a text", says(vec!["hi".into()])),
        (
            "a text of many scripts",
            says(vec![
                "Grüße 你好 👩‍👩‍👧 \u{2028}\r\n\"x\" data: [DONE]\n\n".into(),
            ]),
        ),
        ("nothing", says(vec![])),
        ("a tool call", says(vec![weather()])),
        (
            "a tool call without arguments",
            says(vec![call("call_1", "now", "{}")]),
        ),
        (
            "a text and a tool call",
            says(vec!["Let me look.".into(), weather()]),
        ),
        (
            "parallel tool calls",
            says(vec![
                weather(),
                call(
                    "call_2",
                    "write",
                    r#"{"text":"Grüße \"👋\"\n","list":[1,2.5,null,{}]}"#,
                ),
            ]),
        ),
        (
            "thoughts of unknown origin",
            says(vec![Part::Reasoning(Reasoning::new("hm")), "42".into()]),
        ),
        (
            "thoughts and a tool call",
            says(vec![Part::Reasoning(Reasoning::new("hm")), weather()]),
        ),
        ("a refusal", refused),
        ("a picture", says(vec!["Here it is.".into(), png()])),
        ("it reached the limit", ends(FinishReason::Length)),
        (
            "it met a text that ends it",
            ends(FinishReason::StopSequence(Some("END".into()))),
        ),
        ("it filled its window", ends(FinishReason::ContextWindow)),
        ("a filter cut it", ends(FinishReason::ContentFilter)),
        ("it paused", ends(FinishReason::Paused)),
        (
            "counts of every kind",
            usage(Usage {
                input: 100,
                output: 50,
                cache_read: 60,
                cache_write: 20,
                reasoning: 30,
            }),
        ),
    ];
    all.extend(reasoning::responses());
    all
}

/// The response as stream events, in small chunks.
pub(crate) fn events(response: &Response) -> Vec<Event> {
    let mut events = vec![Event::Start {
        id: response.id.clone(),
        model: response.reported_model.clone(),
    }];
    for (index, part) in response.parts.iter().enumerate() {
        match part {
            Part::Text(text) => {
                events.extend(pieces(&text.text).map(Event::Text));
                events.push(Event::EndPart(text.native.clone()));
            }
            Part::Refusal(text) => {
                events.extend(pieces(&text.text).map(Event::Refusal));
                events.push(Event::EndPart(text.native.clone()));
            }
            Part::Reasoning(thought) => {
                events.push(Event::Reasoning(String::new()));
                events.extend(pieces(&thought.text).map(Event::Reasoning));
                events.push(Event::EndPart(thought.native.clone()));
            }
            Part::ToolCall(call) => {
                events.push(Event::ToolCallStart {
                    index,
                    id: Some(call.id.clone()),
                    name: call.name.clone(),
                    native: call.native.clone(),
                });
                let fragments = pieces(&call.arguments);
                events
                    .extend(fragments.map(|fragment| Event::ToolCallArguments { index, fragment }));
                events.push(Event::ToolCallEnd { index });
            }
            part => events.push(Event::Part(part.clone())),
        }
    }
    events.push(Event::Usage(response.usage));
    events.push(Event::Finish(response.finish.clone()));
    events
}

/// Splits into chunks of two characters, like tokens.
fn pieces(text: &str) -> impl Iterator<Item = String> {
    let characters: Vec<char> = text.chars().collect();
    let pieces: Vec<String> = characters
        .chunks(2)
        .map(|pair| pair.iter().collect())
        .collect();
    pieces.into_iter()
}
