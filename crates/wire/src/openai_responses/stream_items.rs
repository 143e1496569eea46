//! Tracks the output items of a stream from their first event to their last.
//!
//! Servers differ in what they send: some omit the event that starts an item, some the one
//! that ends it, some change the item's id. Items are matched by output index, or by id if
//! there is no index, and content that was not emitted from deltas is emitted when the item is
//! complete.

use std::borrow::Cow;

use majordomo_llm::{Event, Part, ToolCall};

use super::PARAGRAPH;
use super::read_message::CUSTOM_CALL;
use super::response::is_call;
use super::stream_event::ResponsesStreamEvent;
use crate::custom_input::{ARGUMENTS_END, escape_input};
use crate::declared_tool::text;

/// The items in order of appearance. A call's position in this list is its
/// index in the emitted events.
#[derive(Default)]
pub(super) struct ResponsesStreamItems(Vec<ResponsesStreamItem>);

#[derive(Default)]
struct ResponsesStreamItem {
    output_index: Option<u64>,
    id: Option<String>,
    emitted: Emitted,
    done: bool,
}

/// The events emitted for an item so far.
#[derive(Default)]
enum Emitted {
    #[default]
    Nothing,
    /// Texts of a message; the last one is open.
    Texts { count: usize, index: u64 },
    /// Reasoning, from its summary or from its content, which are equivalent.
    Reasoning { of: ReasoningSource, index: u64 },
    /// A started call, and its arguments so far.
    Call { call_id: String, arguments: String },
    /// The arguments of a call whose name is not known yet.
    Early { arguments: String },
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ReasoningSource {
    Summary,
    Content,
}

impl ResponsesStreamItems {
    /// Starts an item. Only a call emits an event before its first delta.
    pub(super) fn added(
        &mut self,
        event: &ResponsesStreamEvent<'_>,
        parts: Vec<Part>,
        events: &mut Vec<Event>,
    ) {
        let at = self.find(event);
        let Some(Part::ToolCall(call)) = parts.into_iter().next() else {
            return;
        };
        let item = &mut self.0[at];
        if !matches!(item.emitted, Emitted::Nothing) || call.name.is_empty() {
            return;
        }
        let mut call = call;
        // The input of a custom tool follows, in place of the end of the arguments.
        if is_custom(&call) {
            let open = call.arguments.len().saturating_sub(ARGUMENTS_END.len());
            call.arguments.truncate(open);
        }
        item.emitted = Emitted::Call {
            call_id: call.id.clone(),
            arguments: call.arguments.clone(),
        };
        start_call(at, call, events);
    }

    /// Extends a text.
    pub(super) fn text(
        &mut self,
        event: ResponsesStreamEvent<'_>,
        into: fn(String) -> Event,
        events: &mut Vec<Event>,
    ) {
        let at = self.find(&event);
        let Some(delta) = some(event.delta) else {
            return;
        };
        let emitted = &mut self.0[at].emitted;
        match emitted {
            Emitted::Texts { index, .. } if *index == event.text_index => {}
            Emitted::Texts { count, index } => {
                events.push(Event::EndPart(None));
                *index = event.text_index;
                *count += 1;
            }
            _ => {
                *emitted = Emitted::Texts {
                    count: 1,
                    index: event.text_index,
                }
            }
        }
        events.push(into(delta.into_owned()));
    }

    /// Extends reasoning.
    pub(super) fn reasoning(
        &mut self,
        event: ResponsesStreamEvent<'_>,
        source: ReasoningSource,
        events: &mut Vec<Event>,
    ) {
        let at = self.find(&event);
        let Some(delta) = some(event.delta) else {
            return;
        };
        let emitted = &mut self.0[at].emitted;
        match emitted {
            Emitted::Reasoning { of, .. } if *of != source => return,
            Emitted::Reasoning { index, .. } if *index == event.text_index => {}
            Emitted::Reasoning { index, .. } => {
                *index = event.text_index;
                events.push(Event::Reasoning(PARAGRAPH.to_owned()));
            }
            _ => {
                *emitted = Emitted::Reasoning {
                    of: source,
                    index: event.text_index,
                }
            }
        }
        events.push(Event::Reasoning(delta.into_owned()));
    }

    /// Extends the input of a custom tool, which is part of the arguments. If the call's name
    /// is not known yet, the input is skipped, because it comes again with the whole item.
    pub(super) fn input(&mut self, mut event: ResponsesStreamEvent<'_>, events: &mut Vec<Event>) {
        let at = self.find(&event);
        if matches!(self.0[at].emitted, Emitted::Call { .. }) {
            event.delta = event.delta.map(|delta| escape_input(&delta).into());
            self.arguments(event, events);
        }
    }

    /// Extends a call's arguments.
    pub(super) fn arguments(&mut self, event: ResponsesStreamEvent<'_>, events: &mut Vec<Event>) {
        let at = self.find(&event);
        let Some(delta) = some(event.delta) else {
            return;
        };
        let item = &mut self.0[at];
        if item.done {
            return;
        }
        match &mut item.emitted {
            Emitted::Call { arguments, .. } => {
                arguments.push_str(&delta);
                events.push(Event::ToolCallArguments {
                    index: at,
                    fragment: delta.into_owned(),
                });
            }
            Emitted::Early { arguments } => arguments.push_str(&delta),
            emitted => {
                *emitted = Emitted::Early {
                    arguments: delta.into_owned(),
                }
            }
        }
    }

    /// Ends an item, emitting what was not emitted yet.
    pub(super) fn done(
        &mut self,
        event: &ResponsesStreamEvent<'_>,
        parts: Vec<Part>,
        events: &mut Vec<Event>,
    ) {
        let at = match (event.output_index, self.find_call(&parts)) {
            (None, Some(at)) => at,
            _ => self.find(event),
        };
        self.finish(at, parts, events);
    }

    fn finish(&mut self, at: usize, parts: Vec<Part>, events: &mut Vec<Event>) {
        let item = &mut self.0[at];
        if !std::mem::replace(&mut item.done, true) {
            finish_item(at, std::mem::take(&mut item.emitted), parts, events);
        }
    }

    /// Ends the stream: completes the items that are only in its last event,
    /// and ends all open calls.
    pub(super) fn complete(&mut self, output: Vec<Vec<Part>>, events: &mut Vec<Event>) {
        // Some servers number items differently, so only look for missing ones.
        let done = self.0.iter().filter(|item| item.done).count();
        let missing = match done < output.len() {
            true => output,
            false => Vec::new(),
        };
        for (place, parts) in missing.into_iter().enumerate() {
            let event = ResponsesStreamEvent {
                output_index: Some(place as u64),
                ..ResponsesStreamEvent::default()
            };
            let at = self.find_call(&parts).unwrap_or_else(|| self.find(&event));
            self.finish(at, parts, events);
        }
        for (at, item) in self.0.iter_mut().enumerate() {
            if !item.done && matches!(item.emitted, Emitted::Call { .. }) {
                events.push(Event::ToolCallEnd { index: at });
            }
            item.done = true;
        }
    }

    /// The started call with the same id as one of these parts.
    fn find_call(&self, parts: &[Part]) -> Option<usize> {
        let wanted = parts.iter().find_map(|part| match part {
            Part::ToolCall(call) => Some(&call.id),
            Part::Text(_)
            | Part::Refusal(_)
            | Part::Image(_)
            | Part::RemoteImage(_)
            | Part::Reasoning(_)
            | Part::ToolResult(_)
            | Part::File(_)
            | Part::Opaque(_) => None,
        })?;
        self.0.iter().position(
            |item| matches!(&item.emitted, Emitted::Call { call_id, .. } if call_id == wanted),
        )
    }

    /// Finds the item of an event, or adds a new one.
    fn find(&mut self, event: &ResponsesStreamEvent<'_>) -> usize {
        let items = &self.0;
        let found = match (event.output_index, &event.item_id) {
            (Some(place), _) => items.iter().position(|i| i.output_index == Some(place)),
            (None, Some(id)) => items.iter().position(|i| i.id.as_deref() == Some(&**id)),
            // Without index and id, a delta belongs to the latest open item.
            (None, None) if event.item.is_none() => items.iter().rposition(|i| !i.done),
            (None, None) => None,
        };
        found.unwrap_or_else(|| {
            self.0.push(ResponsesStreamItem {
                output_index: event.output_index,
                id: event.item_id.as_deref().map(str::to_owned),
                ..ResponsesStreamItem::default()
            });
            self.0.len() - 1
        })
    }
}

fn is_custom(call: &ToolCall) -> bool {
    let kind = call
        .native
        .as_deref()
        .and_then(|native| text(native, "field"));
    kind.is_some_and(|kind| kind == CUSTOM_CALL)
}

fn some(delta: Option<Cow<'_, str>>) -> Option<Cow<'_, str>> {
    delta.filter(|delta| !delta.is_empty())
}

fn start_call(at: usize, call: ToolCall, events: &mut Vec<Event>) {
    events.push(Event::ToolCallStart {
        index: at,
        id: Some(call.id).filter(|id| !id.is_empty()),
        name: call.name,
        native: call.native,
    });
    if !call.arguments.is_empty() {
        events.push(Event::ToolCallArguments {
            index: at,
            fragment: call.arguments,
        });
    }
}

fn finish_item(at: usize, emitted: Emitted, parts: Vec<Part>, events: &mut Vec<Event>) {
    match emitted {
        Emitted::Call { arguments, .. } => {
            let whole = parts.iter().find_map(|part| match part {
                Part::ToolCall(call) => Some(call.arguments.as_str()),
                Part::Text(_)
                | Part::Refusal(_)
                | Part::Image(_)
                | Part::RemoteImage(_)
                | Part::Reasoning(_)
                | Part::ToolResult(_)
                | Part::File(_)
                | Part::Opaque(_) => None,
            });
            let missing = whole.and_then(|whole| whole.strip_prefix(&*arguments));
            if let Some(missing) = missing.filter(|missing| !missing.is_empty()) {
                events.push(Event::ToolCallArguments {
                    index: at,
                    fragment: missing.to_owned(),
                });
            }
            events.push(Event::ToolCallEnd { index: at });
        }
        Emitted::Reasoning { .. } => {
            let native = parts.into_iter().find_map(|part| match part {
                Part::Reasoning(reasoning) => reasoning.native,
                Part::Text(_)
                | Part::Refusal(_)
                | Part::Image(_)
                | Part::RemoteImage(_)
                | Part::ToolCall(_)
                | Part::ToolResult(_)
                | Part::File(_)
                | Part::Opaque(_) => None,
            });
            events.push(Event::EndPart(native));
        }
        Emitted::Texts { count, .. } => {
            let mut parts = parts.into_iter().skip(count - 1);
            let native = parts.next().and_then(|part| part.native().cloned());
            events.push(Event::EndPart(native.map(Box::new)));
            parts.for_each(|part| emit(at, part, events));
        }
        Emitted::Nothing | Emitted::Early { .. } => {
            parts.into_iter().for_each(|part| emit(at, part, events));
        }
    }
}

/// Emits a whole part.
fn emit(at: usize, part: Part, events: &mut Vec<Event>) {
    match part {
        Part::Text(text) => {
            events.push(Event::Text(text.text));
            events.push(Event::EndPart(text.native));
        }
        Part::Refusal(text) => {
            events.push(Event::Refusal(text.text));
            events.push(Event::EndPart(text.native));
        }
        Part::Reasoning(reasoning) => {
            events.push(Event::Reasoning(reasoning.text));
            events.push(Event::EndPart(reasoning.native));
        }
        Part::ToolCall(call) => {
            start_call(at, call, events);
            events.push(Event::ToolCallEnd { index: at });
        }
        other @ (Part::Image(_)
        | Part::RemoteImage(_)
        | Part::ToolResult(_)
        | Part::File(_)
        | Part::Opaque(_)) => events.push(Event::Part(other)),
    }
}

/// Whether the parts call tools, and whether they refuse.
pub(super) fn outcome(parts: &[Part]) -> (bool, bool) {
    let refused = parts.iter().any(|part| matches!(part, Part::Refusal(_)));
    (parts.iter().any(is_call), refused)
}
