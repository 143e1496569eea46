//! Writes the tool calls of a stream.

use bytes::BytesMut;
use majordomo_llm::{Native, ToolCall};

use super::{ADDED, ResponsesStreamWriter};
use crate::responses::RESPONSES;
use crate::responses::stream_output::ResponsesOpenCall;

impl ResponsesStreamWriter {
    pub(super) fn start_call(
        &mut self,
        index: usize,
        id: Option<&str>,
        name: &str,
        native: Option<&Native>,
        out: &mut BytesMut,
    ) {
        if self.calls.iter().any(|call| call.index == index) {
            return;
        }
        self.begin(out);
        self.end_open("completed", out);
        let fallback_id = ToolCall::synthetic_id(self.reply.first_call + self.call_count);
        self.call_count += 1;
        let native = self.losses.own(native, &RESPONSES).cloned();
        let own_id = native
            .as_ref()
            .and_then(|native| native.get("id")?.to().ok());
        let (place, id_of_place) = self.place("fc");
        let call = ResponsesOpenCall {
            index,
            place,
            id: own_id.unwrap_or(id_of_place),
            call_id: id
                .filter(|id| !id.is_empty())
                .unwrap_or(&fallback_id)
                .to_owned(),
            name: name.to_owned(),
            arguments: String::new(),
            native,
        };
        let item = call.item("in_progress");
        self.frames.item(out, ADDED, place, &item);
        self.calls.push(call);
    }

    pub(super) fn arguments(&mut self, index: usize, fragment: &str, out: &mut BytesMut) {
        let call = self.calls.iter_mut().find(|call| call.index == index);
        let Some(call) = call.filter(|_| !fragment.is_empty()) else {
            return;
        };
        call.arguments.push_str(fragment);
        let kind = "response.function_call_arguments.delta";
        self.frames.event(out, kind, |o| {
            o.string("item_id", &call.id);
            o.number("output_index", call.place);
            o.string("delta", fragment);
        });
    }

    /// Ends a call. Clients parse the arguments, so missing ones become an
    /// empty object.
    pub(super) fn end_call(&mut self, index: usize, status: &str, out: &mut BytesMut) {
        let Some(at) = self.calls.iter().position(|call| call.index == index) else {
            return;
        };
        if self.calls[at].arguments.is_empty() {
            self.arguments(index, "{}", out);
        }
        let call = self.calls.remove(at);
        let kind = "response.function_call_arguments.done";
        self.frames.event(out, kind, |o| {
            o.string("item_id", &call.id);
            o.number("output_index", call.place);
            o.string("name", &call.name);
            o.string("arguments", &call.arguments);
        });
        self.done(call.place, call.item(status), out);
    }
}
