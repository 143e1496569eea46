//! Assembles streamed tool calls from their `delta.tool_calls` fragments.

use majordomo_llm::{Event, Native, Result};

use super::stream_chunk::ChatToolCallDelta;
use crate::json;
use crate::tool_call_limits::{MAX_TOOL_CALLS, too_many_tool_calls};

/// The calls of one stream, in the order of their first fragments.
#[derive(Default)]
pub(super) struct ChatToolCallStates(Vec<ChatToolCallState>);

/// One tool call; its position in the list is its index in the events.
struct ChatToolCallState {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: String,
    /// Whether `ToolCallStart` was emitted, which needs the name.
    started: bool,
    ended: bool,
    extra: Option<Box<Native>>,
}

impl ChatToolCallStates {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds a fragment to the call it belongs to, or starts a new call.
    pub(super) fn push(
        &mut self,
        delta: ChatToolCallDelta<'_>,
        events: &mut Vec<Event>,
    ) -> Result<()> {
        let id = delta.id.as_deref().unwrap_or_default();
        let name = delta.name.as_deref().unwrap_or_default();
        let found = self.find(delta.index, id, name);
        let at = found.unwrap_or(self.0.len());
        if found.is_none() {
            if self.0.len() >= MAX_TOOL_CALLS {
                return Err(too_many_tool_calls());
            }
            self.end_complete(events);
            self.0.push(ChatToolCallState {
                index: delta.index,
                id: id.to_owned(),
                name: name.to_owned(),
                arguments: String::new(),
                started: false,
                ended: false,
                extra: None,
            });
        }
        let call = &mut self.0[at];
        if call.name.is_empty() {
            call.name.push_str(name);
        }
        if call.id.is_empty() {
            call.id.push_str(id);
        }
        call.extra = call.extra.take().or(delta.extra);
        call.start_if_named(at, events);
        call.push_arguments(at, delta.arguments, events);
        Ok(())
    }

    fn find(&self, index: Option<u64>, id: &str, name: &str) -> Option<usize> {
        let last_where = |f: &dyn Fn(&ChatToolCallState) -> bool| self.0.iter().rposition(f);
        match index {
            // A new id under a known index is a new call.
            Some(_) => last_where(&|call| call.index == index)
                .filter(|at| id.is_empty() || self.0[*at].id.is_empty() || self.0[*at].id == id),
            None if !id.is_empty() => last_where(&|call| call.id == id),
            None if !name.is_empty() => None,
            None => self.0.len().checked_sub(1),
        }
    }

    /// Ends the earlier calls whose arguments are complete JSON; the others stay
    /// open, since fragments may interleave.
    fn end_complete(&mut self, events: &mut Vec<Event>) {
        for (at, call) in self.0.iter_mut().enumerate() {
            if !call.ended && call.started && json::is_complete(&call.arguments) {
                call.ended = true;
                events.push(Event::ToolCallEnd { index: at });
            }
        }
    }

    /// Ends all calls at the end of the stream.
    pub(super) fn end_all(&mut self, events: &mut Vec<Event>) {
        for (at, call) in self.0.iter_mut().enumerate() {
            if !call.started {
                call.start(at, events);
            }
            if !call.ended {
                call.ended = true;
                events.push(Event::ToolCallEnd { index: at });
            }
        }
    }
}

impl ChatToolCallState {
    fn start_if_named(&mut self, at: usize, events: &mut Vec<Event>) {
        if !self.started && !self.name.is_empty() {
            self.start(at, events);
        }
    }

    fn start(&mut self, at: usize, events: &mut Vec<Event>) {
        self.started = true;
        events.push(Event::ToolCallStart {
            index: at,
            id: Some(self.id.clone()).filter(|id| !id.is_empty()),
            name: self.name.clone(),
            native: self.extra.take(),
        });
        if !self.arguments.is_empty() {
            events.push(Event::ToolCallArguments {
                index: at,
                fragment: self.arguments.clone(),
            });
        }
    }

    fn push_arguments(&mut self, at: usize, fragment: String, events: &mut Vec<Event>) {
        // Some servers repeat the complete arguments at the end.
        let repeated = fragment == self.arguments && json::is_complete(&fragment);
        if fragment.is_empty() || self.ended || repeated {
            return;
        }
        self.arguments.push_str(&fragment);
        if self.started {
            events.push(Event::ToolCallArguments {
                index: at,
                fragment,
            });
        }
    }
}
