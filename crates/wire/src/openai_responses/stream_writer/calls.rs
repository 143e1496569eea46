//! Writes the tool calls of a stream.

use bytes::BytesMut;
use majordomo_llm::{Native, ToolCall};

use super::{ADDED, ResponsesStreamWriter};
use crate::custom_input::{InputDecoder, unwrap_input};
use crate::json::Object;
use crate::openai_responses::RESPONSES;
use crate::openai_responses::stream_event_writer::ResponsesEventWriter;
use crate::openai_responses::stream_output::ResponsesOpenCall;
use crate::openai_responses::write_item::declared_call;
use crate::sealed_state::seal_call;

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
        let sealed = seal_call(native, &RESPONSES, &mut self.losses);
        let native = native.filter(|_| sealed.is_none());
        if let Some(sealed) = sealed {
            self.call_state(&sealed, out);
        }
        let native = self.losses.own(native, &RESPONSES).cloned();
        let own_id = native
            .as_ref()
            .and_then(|native| native.get("id")?.to().ok());
        let tool = declared_call(name, native.as_ref(), Some(&self.reply.echo));
        let (place, id_of_place) = self.place(if tool.is_custom { "ctc" } else { "fc" });
        let call = ResponsesOpenCall {
            index,
            place,
            id: own_id.unwrap_or(id_of_place),
            call_id: id
                .filter(|id| !id.is_empty())
                .unwrap_or(&fallback_id)
                .to_owned(),
            tool,
            arguments: String::new(),
            input: InputDecoder::default(),
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
        if !call.tool.is_custom {
            let kind = "response.function_call_arguments.delta";
            return call_event(&mut self.frames, out, kind, call, |o| {
                o.string("delta", fragment);
            });
        }
        let text = call.input.push(fragment);
        input_delta(&mut self.frames, out, call, &text);
    }

    /// Ends a call. Clients parse the arguments of a function, so missing ones become an
    /// empty object.
    pub(super) fn end_call(&mut self, index: usize, status: &str, out: &mut BytesMut) {
        let Some(at) = self.calls.iter().position(|call| call.index == index) else {
            return;
        };
        if self.calls[at].arguments.is_empty() && !self.calls[at].tool.is_custom {
            self.arguments(index, "{}", out);
        }
        let call = self.calls.remove(at);
        if call.tool.is_custom {
            let input = unwrap_input(&call.arguments);
            // Arguments of another form than expected were not streamed.
            if !call.input.has_begun() {
                input_delta(&mut self.frames, out, &call, &input);
            }
            let kind = "response.custom_tool_call_input.done";
            call_event(&mut self.frames, out, kind, &call, |o| {
                o.string("input", &input);
            });
        } else {
            let kind = "response.function_call_arguments.done";
            call_event(&mut self.frames, out, kind, &call, |o| {
                o.string("name", &call.tool.name);
                o.string("arguments", &call.arguments);
            });
        }
        self.done(call.place, call.item(status), out);
    }
}

fn input_delta(
    frames: &mut ResponsesEventWriter,
    out: &mut BytesMut,
    call: &ResponsesOpenCall,
    text: &str,
) {
    if !text.is_empty() {
        let kind = "response.custom_tool_call_input.delta";
        call_event(frames, out, kind, call, |o| o.string("delta", text));
    }
}

/// Writes an event about a call.
fn call_event(
    frames: &mut ResponsesEventWriter,
    out: &mut BytesMut,
    kind: &str,
    call: &ResponsesOpenCall,
    fill: impl FnOnce(&mut Object<'_>),
) {
    frames.event(out, kind, |o| {
        o.string("item_id", &call.id);
        o.number("output_index", call.place);
        fill(o);
    });
}
