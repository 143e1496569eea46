//! Folds a stream's events into one response.
//!
//! Every consumer of events uses this module, so that all agree on the result.

use crate::{Event, FinishReason, Native, Part, Reasoning, Response, Text, ToolCall, Usage};

/// Folds [`Event`]s into a [`Response`].
///
/// Events out of order are ignored; they never cause a panic.
///
/// ```
/// use majordomo_llm::{Assembler, Event, FinishReason};
///
/// let mut assembler = Assembler::default();
/// for event in [
///     Event::Text("Hel".into()),
///     Event::Text("lo".into()),
///     Event::Finish(FinishReason::Stop),
/// ] {
///     assembler.push(event);
/// }
/// assert!(assembler.is_finished());
/// assert_eq!(assembler.into_response().text(), "Hello");
/// ```
#[derive(Debug, Default)]
pub struct Assembler {
    started: bool,
    slots: Vec<Slot>,
    id: Option<String>,
    model: Option<String>,
    usage: Usage,
    finish: Option<FinishReason>,
    /// The number of the first synthetic call id; keeps ids unique in a conversation.
    first_call: usize,
}

/// A part, in order of its first event. Calls may be open concurrently.
#[derive(Debug)]
enum Slot {
    Open(Part),
    Closed(Part),
    Call {
        index: usize,
        call: ToolCall,
        ended: bool,
    },
}

impl Assembler {
    /// Creates an assembler that numbers missing call ids from `call_<first>`.
    pub fn numbering_calls_from(first: usize) -> Self {
        Self {
            first_call: first,
            ..Self::default()
        }
    }

    /// Applies the next event and returns the tool calls that it completed.
    pub fn push(&mut self, event: Event) -> Vec<ToolCall> {
        match event {
            Event::Start { id, model } => {
                if std::mem::replace(&mut self.started, true) {
                    *self = Self {
                        started: true,
                        ..Self::numbering_calls_from(self.first_call)
                    };
                }
                self.id = id;
                self.model = model;
            }
            Event::Text(delta) => self.extend(Part::text(delta)),
            Event::Refusal(delta) => self.extend(Part::Refusal(Text::new(delta))),
            Event::Reasoning(delta) => self.extend(Part::Reasoning(Reasoning::new(delta))),
            Event::EndPart(native) => self.close(native),
            Event::Part(part) => {
                self.close(None);
                self.slots.push(Slot::Closed(part));
            }
            Event::ToolCallStart {
                index,
                id,
                name,
                native,
            } => self.start_call(index, id, name, native),
            Event::ToolCallArguments { index, fragment } => {
                if let Some((call, false)) = self.call_mut(index) {
                    call.arguments.push_str(&fragment);
                }
            }
            Event::ToolCallEnd { index } => return self.end_call(index).into_iter().collect(),
            Event::Usage(usage) => self.usage = usage,
            Event::Finish(reason) => {
                if self.finish.is_none() {
                    self.finish = Some(reason);
                    return self.end_all_calls();
                }
            }
        }
        Vec::new()
    }

    /// Returns `true` after [`Event::Finish`].
    pub fn is_finished(&self) -> bool {
        self.finish.is_some()
    }

    /// Converts the events so far into a response. If the stream has not finished, the
    /// response's `finish` is `Other("incomplete")`.
    pub fn into_response(self) -> Response {
        let parts = self
            .slots
            .into_iter()
            .map(|slot| match slot {
                Slot::Open(part) | Slot::Closed(part) => part,
                Slot::Call { call, .. } => Part::ToolCall(call),
            })
            .collect();
        Response {
            usage: self.usage,
            id: self.id,
            reported_model: self.model,
            finish: self
                .finish
                .unwrap_or_else(|| FinishReason::Other("incomplete".into())),
            ..Response::new(parts)
        }
    }

    /// Appends a delta to the open part of its kind, or opens a new part.
    fn extend(&mut self, delta: Part) {
        if let Some(Slot::Open(open)) = self.slots.last_mut() {
            match (open, &delta) {
                (Part::Text(open), Part::Text(more))
                | (Part::Refusal(open), Part::Refusal(more)) => {
                    return open.text.push_str(&more.text);
                }
                (Part::Reasoning(open), Part::Reasoning(more)) => {
                    return open.text.push_str(&more.text);
                }
                _ => {}
            }
        }
        self.close(None);
        self.slots.push(Slot::Open(delta));
    }

    fn close(&mut self, native: Option<Box<Native>>) {
        if !matches!(self.slots.last(), Some(Slot::Open(_))) {
            return;
        }
        if let Some(Slot::Open(mut part)) = self.slots.pop() {
            match &mut part {
                Part::Text(p) | Part::Refusal(p) => p.native = native,
                Part::Reasoning(p) => p.native = native,
                Part::Image(_)
                | Part::RemoteImage(_)
                | Part::ToolCall(_)
                | Part::ToolResult(_)
                | Part::File(_)
                | Part::Opaque(_) => {}
            }
            self.slots.push(Slot::Closed(part));
        }
    }

    fn start_call(
        &mut self,
        index: usize,
        id: Option<String>,
        name: String,
        native: Option<Box<Native>>,
    ) {
        if self.call_mut(index).is_some() {
            return;
        }
        self.close(None);
        let earlier = self.calls().count();
        let id = id
            .filter(|id| !id.is_empty())
            .unwrap_or_else(|| ToolCall::synthetic_id(self.first_call + earlier));
        let call = ToolCall {
            native,
            ..ToolCall::new(id, name, "")
        };
        self.slots.push(Slot::Call {
            index,
            call,
            ended: false,
        });
    }

    fn calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.slots.iter().filter_map(|slot| match slot {
            Slot::Call { call, .. } => Some(call),
            _ => None,
        })
    }

    fn call_mut(&mut self, wanted: usize) -> Option<(&mut ToolCall, bool)> {
        self.slots.iter_mut().find_map(|slot| match slot {
            Slot::Call { index, call, ended } if *index == wanted => Some((call, *ended)),
            _ => None,
        })
    }

    fn end_call(&mut self, wanted: usize) -> Option<ToolCall> {
        self.slots.iter_mut().find_map(|slot| match slot {
            Slot::Call { index, call, ended } if *index == wanted && !*ended => {
                *ended = true;
                Some(complete(call))
            }
            _ => None,
        })
    }

    /// Ends all open calls, for dialects without an explicit end of call.
    fn end_all_calls(&mut self) -> Vec<ToolCall> {
        let open = |slot: &mut Slot| match slot {
            Slot::Call { call, ended, .. } if !*ended => {
                *ended = true;
                Some(complete(call))
            }
            _ => None,
        };
        self.slots.iter_mut().filter_map(open).collect()
    }
}

/// Completes a call. Missing arguments become an empty object.
fn complete(call: &mut ToolCall) -> ToolCall {
    if call.arguments.trim().is_empty() {
        call.arguments = "{}".into();
    }
    call.clone()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Dialect, Json};

    fn start(index: usize, id: Option<&str>) -> Event {
        Event::ToolCallStart {
            index,
            id: id.map(Into::into),
            name: format!("tool{index}"),
            native: None,
        }
    }

    fn arguments(index: usize, fragment: &str) -> Event {
        Event::ToolCallArguments {
            index,
            fragment: fragment.into(),
        }
    }

    fn fold(events: Vec<Event>) -> (Vec<ToolCall>, Response) {
        let mut assembler = Assembler::numbering_calls_from(7);
        let calls = events
            .into_iter()
            .flat_map(|event| assembler.push(event))
            .collect();
        (calls, assembler.into_response())
    }

    #[test]
    fn a_response_that_starts_over_keeps_nothing_of_the_first_attempt() {
        let begin = |id: &str| Event::Start {
            id: Some(id.into()),
            model: None,
        };
        let (calls, response) = fold(vec![
            begin("one"),
            Event::Text("half".into()),
            start(0, Some("a")),
            arguments(0, "{\"x\":"),
            Event::Usage(Usage {
                input: 9,
                ..Usage::default()
            }),
            begin("two"),
            start(0, None),
            Event::Finish(FinishReason::ToolCalls),
        ]);
        assert_eq!(response.id.as_deref(), Some("two"));
        assert_eq!(response.text(), "");
        assert_eq!(response.usage, Usage::default());
        assert_eq!(calls, [ToolCall::new("call_7", "tool0", "{}")]);
    }

    #[test]
    fn interleaved_calls_are_separated_and_keep_their_starting_order() {
        let (calls, response) = fold(vec![
            start(1, Some("a")),
            start(5, Some("b")),
            arguments(5, "{\"x\""),
            arguments(1, "{}"),
            arguments(5, ":1}"),
            Event::ToolCallEnd { index: 5 },
            Event::Finish(FinishReason::ToolCalls),
        ]);
        let texts: Vec<_> = calls.iter().map(|c| c.arguments.as_str()).collect();
        assert_eq!(
            texts,
            ["{\"x\":1}", "{}"],
            "completed in order of completion"
        );
        let ids: Vec<_> = response.tool_calls().map(|c| c.id.as_str()).collect();
        assert_eq!(ids, ["a", "b"]);
    }

    #[test]
    fn missing_call_ids_are_synthesized_with_consecutive_numbers() {
        let (calls, _) = fold(vec![
            start(0, None),
            start(1, Some("")),
            Event::Finish(FinishReason::ToolCalls),
        ]);
        let ids: Vec<_> = calls.iter().map(|c| c.id.as_str()).collect();
        assert_eq!(ids, ["call_7", "call_8"]);
        assert_eq!(calls[0].arguments, "{}", "no arguments are an empty object");
    }

    #[test]
    fn native_state_is_attached_to_the_part_that_it_closes() {
        let signed = Native::new(Dialect::new("d")).with("signature", Json::string("s"));
        let (_, response) = fold(vec![
            Event::Reasoning("hm".into()),
            Event::EndPart(signed.clone().into_option()),
            Event::Text("a".into()),
            Event::EndPart(None),
            Event::Text("b".into()),
            Event::Finish(FinishReason::Stop),
        ]);
        assert_eq!(response.parts[0].native(), Some(&signed));
        assert_eq!(response.parts.len(), 3, "an ended part is not extended");
        assert_eq!(response.text(), "ab");
    }

    #[test]
    fn the_last_usage_wins_and_an_unfinished_response_is_marked_incomplete() {
        let usage = |output| Event::Usage(Usage::new(0, output));
        let (_, response) = fold(vec![usage(1), Event::Text("x".into()), usage(9)]);
        assert_eq!(response.usage.output, 9);
        assert_eq!(response.finish, FinishReason::Other("incomplete".into()));
    }

    #[test]
    fn events_of_unknown_or_ended_calls_are_ignored() {
        let (calls, response) = fold(vec![
            arguments(3, "lost"),
            Event::ToolCallEnd { index: 3 },
            start(0, Some("a")),
            Event::ToolCallEnd { index: 0 },
            arguments(0, "late"),
            Event::ToolCallEnd { index: 0 },
            Event::Finish(FinishReason::ToolCalls),
            Event::Finish(FinishReason::Stop),
        ]);
        assert_eq!(calls.len(), 1);
        assert_eq!(response.tool_calls().next().unwrap().arguments, "{}");
        assert_eq!(response.finish, FinishReason::ToolCalls);
    }
}
