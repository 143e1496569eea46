//! Tool calls of a stream, put together from fragments.

use majordomo_llm::{Event, Native, Result};

use super::stream_chunk::CallDelta;
use crate::json;
use crate::tool_call_limits::{MAX_TOOL_CALLS, too_many_tool_calls};

/// The calls in the order of their first fragments.
#[derive(Default)]
pub(super) struct StreamCalls(Vec<Call>);

/// One tool call; its place in the list is its index among the events.
struct Call {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: String,
    /// Whether its start was told; that waits for a name.
    told: bool,
    ended: bool,
    extra: Option<Box<Native>>,
}

impl StreamCalls {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Finds the call that a fragment belongs to, or begins a new one.
    pub(super) fn take(&mut self, delta: CallDelta<'_>, events: &mut Vec<Event>) -> Result<()> {
        let id = delta.id.as_deref().unwrap_or_default();
        let name = delta.name.as_deref().unwrap_or_default();
        let found = self.find(delta.index, id, name);
        let at = found.unwrap_or(self.0.len());
        if found.is_none() {
            if self.0.len() >= MAX_TOOL_CALLS {
                return Err(too_many_tool_calls());
            }
            self.end_complete(events);
            self.0.push(Call {
                index: delta.index,
                id: id.to_owned(),
                name: name.to_owned(),
                arguments: String::new(),
                told: false,
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
        call.tell(at, events);
        call.extend(at, delta.arguments, events);
        Ok(())
    }

    fn find(&self, index: Option<u64>, id: &str, name: &str) -> Option<usize> {
        let last_where = |f: &dyn Fn(&Call) -> bool| self.0.iter().rposition(f);
        match index {
            // A new id under an old index is a new call.
            Some(_) => last_where(&|call| call.index == index)
                .filter(|at| id.is_empty() || self.0[*at].id.is_empty() || self.0[*at].id == id),
            None if !id.is_empty() => last_where(&|call| call.id == id),
            None if !name.is_empty() => None,
            None => self.0.len().checked_sub(1),
        }
    }

    /// Calls before a new one are over if what they have is a whole value;
    /// others stay open, since fragments may interleave.
    fn end_complete(&mut self, events: &mut Vec<Event>) {
        for (at, call) in self.0.iter_mut().enumerate() {
            if !call.ended && call.told && json::is_complete(&call.arguments) {
                call.ended = true;
                events.push(Event::ToolCallEnd { index: at });
            }
        }
    }

    /// The stream is complete, and so are all calls.
    pub(super) fn end_all(&mut self, events: &mut Vec<Event>) {
        for (at, call) in self.0.iter_mut().enumerate() {
            if !call.told {
                call.force(at, events);
            }
            if !call.ended {
                call.ended = true;
                events.push(Event::ToolCallEnd { index: at });
            }
        }
    }
}

impl Call {
    fn tell(&mut self, at: usize, events: &mut Vec<Event>) {
        if !self.told && !self.name.is_empty() {
            self.force(at, events);
        }
    }

    fn force(&mut self, at: usize, events: &mut Vec<Event>) {
        self.told = true;
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

    fn extend(&mut self, at: usize, fragment: String, events: &mut Vec<Event>) {
        // Some servers repeat the whole arguments at the end.
        let repeated = fragment == self.arguments && json::is_complete(&fragment);
        if fragment.is_empty() || self.ended || repeated {
            return;
        }
        self.arguments.push_str(&fragment);
        if self.told {
            events.push(Event::ToolCallArguments {
                index: at,
                fragment,
            });
        }
    }
}
