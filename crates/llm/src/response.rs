//! What a model answered.

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::{AttemptLog, Dialect, Event, Message, Native, Part, Role, ToolCall, Usage};

/// Why the model stopped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FinishReason {
    /// It was done.
    Stop,
    /// It wrote one of the request's stop sequences; which one, where the provider says.
    StopSequence(Option<String>),
    /// It reached the token limit.
    Length,
    /// It filled its context window.
    ContextWindow,
    /// It asks for tools.
    ToolCalls,
    /// The provider's filter cut it off.
    ContentFilter,
    /// The model declined.
    Refusal,
    /// It paused and wants the conversation sent again.
    Paused,
    /// The provider's own word for something else.
    Other(String),
}

/// An answer in the provider's own bytes.
#[derive(Clone, Debug, PartialEq)]
pub struct RawBody {
    /// The dialect that they are in.
    pub dialect: Dialect,
    /// The body.
    pub bytes: Bytes,
}

impl RawBody {
    /// A body of this dialect.
    pub fn new(dialect: Dialect, bytes: Bytes) -> Self {
        Self { dialect, bytes }
    }
}

/// A complete answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Response {
    /// What was said, in order.
    pub parts: Vec<Part>,
    /// Why it ended.
    pub finish: FinishReason,
    /// What it cost.
    pub usage: Usage,
    /// The target that served, as `provider/model`.
    pub model: String,
    /// The model's name in the provider's own words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reported_model: Option<String>,
    /// The provider's id of this answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Fields of the dialect that it was read from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub native: Option<Box<Native>>,
    /// The provider's bytes: what the contract does not model is in there, too.
    #[serde(skip)]
    pub raw: Option<RawBody>,
    /// Who was asked on the way here, and what was changed for them.
    #[serde(default, alias = "ledger")]
    pub attempt_log: AttemptLog,
}

impl Response {
    /// An answer of these parts that ended by itself.
    pub fn new(parts: Vec<Part>) -> Self {
        let asks_tools = parts.iter().any(|part| matches!(part, Part::ToolCall(_)));
        Self {
            parts,
            finish: if asks_tools {
                FinishReason::ToolCalls
            } else {
                FinishReason::Stop
            },
            usage: Usage::default(),
            model: String::new(),
            reported_model: None,
            id: None,
            native: None,
            raw: None,
            attempt_log: AttemptLog::default(),
        }
    }

    /// All text parts, joined.
    pub fn text(&self) -> String {
        self.parts.iter().filter_map(Part::as_text).collect()
    }

    /// The tools that the model asks for.
    pub fn tool_calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.parts.iter().filter_map(|part| match part {
            Part::ToolCall(call) => Some(call),
            _ => None,
        })
    }

    /// Whether the answer says nothing: no tool call, no image or file, and at
    /// most white space. Reasoning alone is not an answer; a refusal, a filter's
    /// cut and a pause are outcomes of their own.
    ///
    /// ```
    /// use majordomo_llm::{Part, Response};
    ///
    /// assert!(Response::new(vec![Part::text(" \n")]).is_empty());
    /// assert!(!Response::new(vec![Part::text("yes")]).is_empty());
    /// ```
    pub fn is_empty(&self) -> bool {
        let outcome = matches!(
            self.finish,
            FinishReason::Refusal | FinishReason::ContentFilter | FinishReason::Paused
        );
        !outcome
            && self.parts.iter().all(|part| match part {
                Part::Text(text) => text.text.trim().is_empty(),
                Part::Reasoning(_) => true,
                Part::Refusal(_)
                | Part::Image(_)
                | Part::RemoteImage(_)
                | Part::ToolCall(_)
                | Part::ToolResult(_)
                | Part::File(_)
                | Part::Opaque(_) => false,
            })
    }

    /// The events that fold back into this answer, for targets that cannot stream.
    pub fn to_events(&self) -> Vec<Event> {
        let mut events = vec![Event::Start {
            id: self.id.clone(),
            model: self.reported_model.clone(),
        }];
        let mut calls = 0;
        for part in &self.parts {
            match part {
                Part::Text(text) if text.native.is_none() => {
                    events.push(Event::Text(text.text.clone()));
                    events.push(Event::EndPart(None));
                }
                Part::Refusal(text) => {
                    events.push(Event::Refusal(text.text.clone()));
                    events.push(Event::EndPart(text.native.clone()));
                }
                Part::Reasoning(reasoning) if !reasoning.text.is_empty() => {
                    events.push(Event::Reasoning(reasoning.text.clone()));
                    events.push(Event::EndPart(reasoning.native.clone()));
                }
                Part::ToolCall(call) => {
                    events.extend(call_events(calls, call));
                    calls += 1;
                }
                part => events.push(Event::Part(part.clone())),
            }
        }
        events.push(Event::Usage(self.usage));
        events.push(Event::Finish(self.finish.clone()));
        events
    }

    /// The answer as the next message of the conversation.
    pub fn to_message(&self) -> Message {
        Message::new(Role::Assistant, self.parts.clone())
    }
}

fn call_events(index: usize, call: &ToolCall) -> [Event; 3] {
    [
        Event::ToolCallStart {
            index,
            id: Some(call.id.clone()),
            name: call.name.clone(),
            native: call.native.clone(),
        },
        Event::ToolCallArguments {
            index,
            fragment: call.arguments.clone(),
        },
        Event::ToolCallEnd { index },
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Assembler, Dialect, Json, Reasoning, Text};

    #[test]
    fn an_answer_survives_being_streamed() {
        let signed = Native::new(Dialect::new("d")).with("signature", Json::string("s"));
        let native = signed.into_option();
        let response = Response {
            usage: Usage {
                input: 3,
                output: 4,
                ..Usage::default()
            },
            ..Response::new(vec![
                Part::Reasoning(Reasoning {
                    text: "hm".into(),
                    native: native.clone(),
                }),
                Part::Reasoning(Reasoning {
                    text: String::new(),
                    native: native.clone(),
                }),
                Part::text("a"),
                Part::text("b"),
                Part::Text(Text {
                    text: String::new(),
                    native,
                }),
                Part::image("image/png", vec![1]),
                Part::ToolCall(ToolCall::new("x", "add", "{\"a\":1}")),
                Part::ToolCall(ToolCall::new("y", "add", "{}")),
            ])
        };
        let mut assembler = Assembler::default();
        for event in response.to_events() {
            assembler.push(event);
        }
        assert_eq!(assembler.into_response(), response);
    }

    #[test]
    fn an_answer_is_empty_only_when_it_says_nothing() {
        let of = |parts| Response::new(parts).is_empty();
        assert!(of(vec![]));
        assert!(of(vec![Part::text("\n\t ")]));
        assert!(of(vec![Part::Reasoning(Reasoning::new("hm"))]));
        assert!(!of(vec![Part::text(" x ")]));
        assert!(!of(vec![Part::image("image/png", vec![1])]));
        assert!(!of(vec![Part::ToolCall(ToolCall::new("a", "b", "{}"))]));
        let filtered = Response {
            finish: FinishReason::ContentFilter,
            ..Response::new(vec![])
        };
        assert!(!filtered.is_empty(), "a filter's cut is an outcome");
    }
}
