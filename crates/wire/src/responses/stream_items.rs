//! The items of a stream, from their first sign to their last word.
//!
//! Servers differ in what they repeat: some never say that an item began, some
//! never say that it ended, some change its id on the way. An item is found by
//! its place in the output, by its id where there is no place, and whatever was
//! not told piece by piece is told when the item is complete.

use std::borrow::Cow;

use majordomo_llm::{Event, Part};

use super::PARAGRAPH;
use super::response::is_call;
use super::stream_event::StreamEvent;

/// The items in the order of their first sign. The place of a call in this list
/// is its index among the events.
#[derive(Default)]
pub(super) struct StreamItems(Vec<StreamItem>);

#[derive(Default)]
struct StreamItem {
    output_index: Option<u64>,
    id: Option<String>,
    told: Told,
    done: bool,
}

/// What was told of an item.
#[derive(Default)]
enum Told {
    #[default]
    Nothing,
    /// Texts of a message; the last one is open.
    Texts { count: usize, index: u64 },
    /// Reasoning: from its summary or from its content, which say the same.
    Reasoning { of: Source, index: u64 },
    /// A call that was started, and its arguments so far.
    Call { call_id: String, arguments: String },
    /// The arguments of a call whose name is not known.
    Early { arguments: String },
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    Summary,
    Content,
}

impl StreamItems {
    /// An item began. Only a call says something before its first piece.
    pub(super) fn added(
        &mut self,
        event: &StreamEvent<'_>,
        parts: Vec<Part>,
        events: &mut Vec<Event>,
    ) {
        let at = self.find(event);
        let Some(Part::ToolCall(call)) = parts.into_iter().next() else {
            return;
        };
        let item = &mut self.0[at];
        if !matches!(item.told, Told::Nothing) || call.name.is_empty() {
            return;
        }
        item.told = Told::Call {
            call_id: call.id.clone(),
            arguments: call.arguments.clone(),
        };
        start_call(at, call, events);
    }

    /// More of a text that the model says.
    pub(super) fn text(
        &mut self,
        event: StreamEvent<'_>,
        into: fn(String) -> Event,
        events: &mut Vec<Event>,
    ) {
        let at = self.find(&event);
        let Some(delta) = some(event.delta) else {
            return;
        };
        let told = &mut self.0[at].told;
        match told {
            Told::Texts { index, .. } if *index == event.text_index => {}
            Told::Texts { count, index } => {
                events.push(Event::EndPart(None));
                *index = event.text_index;
                *count += 1;
            }
            _ => {
                *told = Told::Texts {
                    count: 1,
                    index: event.text_index,
                }
            }
        }
        events.push(into(delta.into_owned()));
    }

    /// More of what the model thinks.
    pub(super) fn reasoning(
        &mut self,
        event: StreamEvent<'_>,
        source: Source,
        events: &mut Vec<Event>,
    ) {
        let at = self.find(&event);
        let Some(delta) = some(event.delta) else {
            return;
        };
        let told = &mut self.0[at].told;
        match told {
            Told::Reasoning { of, .. } if *of != source => return,
            Told::Reasoning { index, .. } if *index == event.text_index => {}
            Told::Reasoning { index, .. } => {
                *index = event.text_index;
                events.push(Event::Reasoning(PARAGRAPH.to_owned()));
            }
            _ => {
                *told = Told::Reasoning {
                    of: source,
                    index: event.text_index,
                }
            }
        }
        events.push(Event::Reasoning(delta.into_owned()));
    }

    /// More of a call's arguments.
    pub(super) fn arguments(&mut self, event: StreamEvent<'_>, events: &mut Vec<Event>) {
        let at = self.find(&event);
        let Some(delta) = some(event.delta) else {
            return;
        };
        let item = &mut self.0[at];
        if item.done {
            return;
        }
        match &mut item.told {
            Told::Call { arguments, .. } => {
                arguments.push_str(&delta);
                events.push(Event::ToolCallArguments {
                    index: at,
                    fragment: delta.into_owned(),
                });
            }
            Told::Early { arguments } => arguments.push_str(&delta),
            told => {
                *told = Told::Early {
                    arguments: delta.into_owned(),
                }
            }
        }
    }

    /// An item is complete: what was not told of it is told now.
    pub(super) fn done(
        &mut self,
        event: &StreamEvent<'_>,
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
            finish_item(at, std::mem::take(&mut item.told), parts, events);
        }
    }

    /// The stream is complete: items that its last event has and that never
    /// were complete are so now, and no call stays open.
    pub(super) fn complete(&mut self, output: Vec<Vec<Part>>, events: &mut Vec<Event>) {
        // Some servers count places in another way, so only look for what is missing.
        let done = self.0.iter().filter(|item| item.done).count();
        let missing = match done < output.len() {
            true => output,
            false => Vec::new(),
        };
        for (place, parts) in missing.into_iter().enumerate() {
            let event = StreamEvent {
                output_index: Some(place as u64),
                ..StreamEvent::default()
            };
            let at = self.find_call(&parts).unwrap_or_else(|| self.find(&event));
            self.finish(at, parts, events);
        }
        for (at, item) in self.0.iter_mut().enumerate() {
            if !item.done && matches!(item.told, Told::Call { .. }) {
                events.push(Event::ToolCallEnd { index: at });
            }
            item.done = true;
        }
    }

    /// The call that was told under the same id as one of these parts.
    fn find_call(&self, parts: &[Part]) -> Option<usize> {
        let wanted = parts.iter().find_map(|part| match part {
            Part::ToolCall(call) => Some(&call.id),
            _ => None,
        })?;
        self.0
            .iter()
            .position(|item| matches!(&item.told, Told::Call { call_id, .. } if call_id == wanted))
    }

    /// Finds the item of an event, or makes room for a new one.
    fn find(&mut self, event: &StreamEvent<'_>) -> usize {
        let items = &self.0;
        let found = match (event.output_index, &event.item_id) {
            (Some(place), _) => items.iter().position(|i| i.output_index == Some(place)),
            (None, Some(id)) => items.iter().position(|i| i.id.as_deref() == Some(&**id)),
            // Without either, pieces belong to the latest item that is open.
            (None, None) if event.item.is_none() => items.iter().rposition(|i| !i.done),
            (None, None) => None,
        };
        found.unwrap_or_else(|| {
            self.0.push(StreamItem {
                output_index: event.output_index,
                id: event.item_id.as_deref().map(str::to_owned),
                ..StreamItem::default()
            });
            self.0.len() - 1
        })
    }
}

fn some(delta: Option<Cow<'_, str>>) -> Option<Cow<'_, str>> {
    delta.filter(|delta| !delta.is_empty())
}

fn start_call(at: usize, call: majordomo_llm::ToolCall, events: &mut Vec<Event>) {
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

fn finish_item(at: usize, told: Told, parts: Vec<Part>, events: &mut Vec<Event>) {
    match told {
        Told::Call { arguments, .. } => {
            let whole = parts.iter().find_map(|part| match part {
                Part::ToolCall(call) => Some(call.arguments.as_str()),
                _ => None,
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
        Told::Reasoning { .. } => {
            let native = parts.into_iter().find_map(|part| match part {
                Part::Reasoning(reasoning) => reasoning.native,
                _ => None,
            });
            events.push(Event::EndPart(native));
        }
        Told::Texts { count, .. } => {
            let mut parts = parts.into_iter().skip(count - 1);
            let native = parts.next().and_then(|part| part.native().cloned());
            events.push(Event::EndPart(native.map(Box::new)));
            parts.for_each(|part| tell(at, part, events));
        }
        Told::Nothing | Told::Early { .. } => {
            parts.into_iter().for_each(|part| tell(at, part, events));
        }
    }
}

/// Tells a part that came whole.
fn tell(at: usize, part: Part, events: &mut Vec<Event>) {
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
        other => events.push(Event::Part(other)),
    }
}

/// Whether parts ask the client to act, or decline.
pub(super) fn outcome(parts: &[Part]) -> (bool, bool) {
    let refused = parts.iter().any(|part| matches!(part, Part::Refusal(_)));
    (parts.iter().any(is_call), refused)
}
