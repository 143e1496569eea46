//! Complete responses.

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_core::Stream;
use serde::{Deserialize, Serialize};

use crate::{
    AttemptLog, Dialect, Event, EventStream, Message, Native, Part, Result, Role, ToolCall, Usage,
};

/// Why the model stopped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FinishReason {
    /// The response is complete.
    Stop,
    /// The model generated a stop sequence; which one, if the provider reports it.
    StopSequence(Option<String>),
    /// The token limit was reached.
    Length,
    /// The context window is full.
    ContextWindow,
    /// The model called tools.
    ToolCalls,
    /// The provider's content filter stopped the response.
    ContentFilter,
    /// The model declined.
    Refusal,
    /// The model paused; send the conversation again to continue.
    Paused,
    /// Any other reason, as reported by the provider.
    Other(String),
}

impl FinishReason {
    /// Returns the reason's name, as in `tool_calls`. Omits the stop sequence, which is
    /// content.
    pub fn name(&self) -> &str {
        match self {
            Self::Stop => "stop",
            Self::StopSequence(_) => "stop_sequence",
            Self::Length => "length",
            Self::ContextWindow => "context_window",
            Self::ToolCalls => "tool_calls",
            Self::ContentFilter => "content_filter",
            Self::Refusal => "refusal",
            Self::Paused => "paused",
            Self::Other(reason) => reason,
        }
    }
}

/// A response body in the provider's bytes.
#[derive(Clone, Debug, PartialEq)]
pub struct RawBody {
    /// The dialect of the body.
    pub dialect: Dialect,
    /// The body.
    pub bytes: Bytes,
}

impl RawBody {
    /// Creates a body in this dialect.
    pub fn new(dialect: Dialect, bytes: Bytes) -> Self {
        Self { dialect, bytes }
    }
}

/// A complete response.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Response {
    /// The content, in order.
    pub parts: Vec<Part>,
    /// Why the model stopped.
    pub finish: FinishReason,
    /// Token usage.
    pub usage: Usage,
    /// The target that served the request, as `provider/model`. A chain sets it; a model
    /// that may be called without one sets it itself.
    pub model: String,
    /// The model name reported by the provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reported_model: Option<String>,
    /// The provider's response id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Fields that only the original dialect understands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub native: Option<Box<Native>>,
    /// The provider's bytes, including everything that the contract does not model.
    #[serde(skip)]
    pub raw: Option<RawBody>,
    /// The targets tried, and what was changed for them.
    #[serde(default, alias = "ledger")]
    pub attempt_log: AttemptLog,
}

impl Response {
    /// Creates a response that finished normally: with `ToolCalls` if it contains tool
    /// calls, otherwise with `Stop`.
    pub fn new(parts: Vec<Part>) -> Self {
        let calls_tools = parts.iter().any(|part| part.as_tool_call().is_some());
        Self {
            parts,
            finish: if calls_tools {
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

    /// Concatenates all text parts.
    pub fn text(&self) -> String {
        self.parts.iter().filter_map(Part::as_text).collect()
    }

    /// Iterates over the tool calls.
    pub fn tool_calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.parts.iter().filter_map(Part::as_tool_call)
    }

    /// Returns `true` if the response has no content beyond whitespace and reasoning.
    ///
    /// A refusal, a content filter's stop and a pause do not count as empty.
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

    /// Converts the response into events, for targets that cannot stream.
    ///
    /// An [`Assembler`](crate::Assembler) folds them back into an equal response.
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
                part @ (Part::Text(_)
                | Part::Image(_)
                | Part::RemoteImage(_)
                | Part::Reasoning(_)
                | Part::ToolResult(_)
                | Part::File(_)
                | Part::Opaque(_)) => events.push(Event::Part(part.clone())),
            }
        }
        events.push(Event::Usage(self.usage));
        events.push(Event::Finish(self.finish.clone()));
        events
    }

    /// Converts the response into a stream of its events, for models that cannot stream.
    pub fn into_event_stream(self) -> EventStream {
        Box::pin(ReadyEvents(self.to_events().into()))
    }

    /// Creates the assistant message that continues the conversation.
    pub fn to_message(&self) -> Message {
        Message::new(Role::Assistant, self.parts.clone())
    }

    /// Sets [`finish`](Self::finish).
    #[must_use]
    pub fn with_finish(mut self, finish: FinishReason) -> Self {
        self.finish = finish;
        self
    }

    /// Sets [`usage`](Self::usage).
    #[must_use]
    pub fn with_usage(mut self, usage: Usage) -> Self {
        self.usage = usage;
        self
    }

    /// Sets [`model`](Self::model).
    #[must_use]
    pub fn with_model(mut self, model: impl Into<String>) -> Self {
        self.model = model.into();
        self
    }

    /// Sets [`reported_model`](Self::reported_model).
    #[must_use]
    pub fn with_reported_model(mut self, reported_model: Option<String>) -> Self {
        self.reported_model = reported_model;
        self
    }

    /// Sets [`id`](Self::id).
    #[must_use]
    pub fn with_id(mut self, id: Option<String>) -> Self {
        self.id = id;
        self
    }

    /// Sets [`native`](Self::native).
    #[must_use]
    pub fn with_native(mut self, native: Option<Box<Native>>) -> Self {
        self.native = native;
        self
    }

    /// Sets [`raw`](Self::raw).
    #[must_use]
    pub fn with_raw(mut self, raw: Option<RawBody>) -> Self {
        self.raw = raw;
        self
    }

    /// Sets [`attempt_log`](Self::attempt_log).
    #[must_use]
    pub fn with_attempt_log(mut self, attempt_log: AttemptLog) -> Self {
        self.attempt_log = attempt_log;
        self
    }
}

/// Events that are all known.
struct ReadyEvents(VecDeque<Event>);

impl Stream for ReadyEvents {
    type Item = Result<Event>;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        Poll::Ready(self.0.pop_front().map(Ok))
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
    fn a_response_survives_conversion_to_events_and_back() {
        let signed = Native::new(Dialect::new("d")).with("signature", Json::string("s"));
        let native = signed.into_option();
        let response = Response {
            usage: Usage::new(3, 4),
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
    fn a_response_is_empty_only_without_any_content() {
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
        assert!(
            !filtered.is_empty(),
            "a content filter's stop is an outcome"
        );
    }
}
