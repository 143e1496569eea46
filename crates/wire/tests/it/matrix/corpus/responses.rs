//! Model responses.

use majordomo_llm::{Event, FinishReason, Part, Reasoning, Response, Text, ToolCall, Usage};

use super::{png, reasoning};

fn response_of(parts: Vec<Part>) -> Response {
    Response::new(parts).with_usage(Usage::new(12, 7))
}

fn finished_with(finish: FinishReason) -> Response {
    response_of(vec!["So far".into()]).with_finish(finish)
}

fn call(id: &str, name: &str, arguments: &str) -> Part {
    Part::ToolCall(ToolCall::new(id, name, arguments))
}

/// All responses, by name.
pub(crate) fn responses() -> Vec<(&'static str, Response)> {
    let usage = |usage: Usage| response_of(vec!["hi".into()]).with_usage(usage);
    let weather = || call("call_1", "get_weather", r#"{"city":"Paris"}"#);
    let mut refused = response_of(vec![Part::Refusal(Text::new("I would rather not."))]);
    refused.finish = FinishReason::Refusal;
    let mut all = vec![
        ("a text", response_of(vec!["hi".into()])),
        (
            "a text of many scripts",
            response_of(vec![
                "Grüße 你好 👩‍👩‍👧 \u{2028}\r\n\"x\" data: [DONE]\n\n".into(),
            ]),
        ),
        ("nothing", response_of(vec![])),
        ("a tool call", response_of(vec![weather()])),
        (
            "a tool call without arguments",
            response_of(vec![call("call_1", "now", "{}")]),
        ),
        (
            "a text and a tool call",
            response_of(vec!["Let me look.".into(), weather()]),
        ),
        (
            "parallel tool calls",
            response_of(vec![
                weather(),
                call(
                    "call_2",
                    "write",
                    r#"{"text":"Grüße \"👋\"\n","list":[1,2.5,null,{}]}"#,
                ),
            ]),
        ),
        (
            "reasoning of unknown origin",
            response_of(vec![Part::Reasoning(Reasoning::new("hm")), "42".into()]),
        ),
        (
            "reasoning and a tool call",
            response_of(vec![Part::Reasoning(Reasoning::new("hm")), weather()]),
        ),
        ("a refusal", refused),
        ("an image", response_of(vec!["Here it is.".into(), png()])),
        ("finish: token limit", finished_with(FinishReason::Length)),
        (
            "finish: stop sequence",
            finished_with(FinishReason::StopSequence(Some("END".into()))),
        ),
        (
            "finish: context window",
            finished_with(FinishReason::ContextWindow),
        ),
        (
            "finish: content filter",
            finished_with(FinishReason::ContentFilter),
        ),
        ("finish: paused", finished_with(FinishReason::Paused)),
        (
            "usage of every kind",
            usage(
                Usage::new(100, 50)
                    .with_cache_read(60)
                    .with_cache_write(20)
                    .with_reasoning(30),
            ),
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
                events.extend(chunks(&text.text).map(Event::Text));
                events.push(Event::EndPart(text.native.clone()));
            }
            Part::Refusal(text) => {
                events.extend(chunks(&text.text).map(Event::Refusal));
                events.push(Event::EndPart(text.native.clone()));
            }
            Part::Reasoning(reasoning) => {
                events.push(Event::Reasoning(String::new()));
                events.extend(chunks(&reasoning.text).map(Event::Reasoning));
                events.push(Event::EndPart(reasoning.native.clone()));
            }
            Part::ToolCall(call) => {
                events.push(Event::ToolCallStart {
                    index,
                    id: Some(call.id.clone()),
                    name: call.name.clone(),
                    native: call.native.clone(),
                });
                let fragments = chunks(&call.arguments);
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
fn chunks(text: &str) -> impl Iterator<Item = String> {
    let characters: Vec<char> = text.chars().collect();
    let chunks: Vec<String> = characters
        .chunks(2)
        .map(|pair| pair.iter().collect())
        .collect();
    chunks.into_iter()
}
