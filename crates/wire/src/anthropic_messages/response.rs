//! Whole responses.

use std::borrow::Cow;

use bytes::{Bytes, BytesMut};
use majordomo_llm::{Error, ErrorKind, FinishReason, Part, RawBody, Reasoning, Response, Result};

use super::usage::{self, MessagesUsageCounts};
use super::write_part::{
    BlockPosition, fits, seal_state, write_part, write_sealed, write_tool_use,
};
use super::{MESSAGES, call_id, finish, read_part};
use crate::conversation::{CallIds, assign_call_ids};
use crate::failure::ErrorBody;
use crate::json::{self, Cursor, JsonKind, ReadError, ReadResult, Rest, keep, object};
use crate::loss::Losses;
use crate::sealed_state::seal_call;
use crate::{Reply, Written};

/// Reads a response.
pub(super) fn read_response(body: Bytes, first_call: usize) -> Result<Response> {
    let mut fields = MessagesResponseBody::default();
    json::read(&body, |cursor| {
        cursor.loose_object(|key, cursor| fields.read_field(key, cursor))
    })
    .map_err(ReadError::in_response)?;
    if fields.is_error {
        return Err(ErrorBody::of(&body).into_error(None));
    }
    if !fields.has_content {
        let text = "the provider's response has no content";
        return Err(Error::new(ErrorKind::BadResponse, text));
    }
    assign_call_ids(&mut fields.parts, first_call);
    let called = fields.parts.iter().any(|p| p.as_tool_call().is_some());
    let word = fields.stop_reason.unwrap_or_default();
    if let Some(details) = fields.stop_details {
        match finish::read_stop_details(details) {
            Some(refusal) => fields.parts.push(refusal),
            None => fields.rest.push("stop_details", keep(details)),
        }
    }
    Ok(Response::new(fields.parts)
        .with_finish(finish::read_finish_reason(
            &word,
            fields.stop_sequence,
            called,
        ))
        .with_usage(fields.usage.usage())
        .with_id(fields.id.filter(|id| !id.is_empty()))
        .with_reported_model(fields.model.filter(|model| !model.is_empty()))
        .with_native(fields.rest.into_native(MESSAGES))
        .with_raw(Some(RawBody::new(MESSAGES, body.clone()))))
}

/// The fields of a response, or of the message in `message_start`.
#[derive(Default)]
pub(super) struct MessagesResponseBody<'a> {
    pub(super) id: Option<String>,
    pub(super) model: Option<String>,
    pub(super) parts: Vec<Part>,
    pub(super) stop_reason: Option<String>,
    pub(super) stop_sequence: Option<String>,
    pub(super) stop_details: Option<&'a str>,
    pub(super) usage: MessagesUsageCounts,
    has_content: bool,
    is_error: bool,
    rest: Rest,
}

impl<'a> MessagesResponseBody<'a> {
    pub(super) fn read_field(&mut self, key: &str, cursor: &mut Cursor<'a>) -> ReadResult<()> {
        match (key, cursor.peek()?) {
            ("id", _) => self.id = cursor.maybe_string()?.map(Into::into),
            ("model", _) => self.model = cursor.maybe_string()?.map(Into::into),
            ("content", JsonKind::Array | JsonKind::String) => {
                self.has_content = true;
                read_part::read_content(cursor, &mut self.parts)?;
            }
            ("stop_reason", _) => self.stop_reason = cursor.maybe_string()?.map(Into::into),
            ("stop_sequence", _) => self.stop_sequence = cursor.maybe_string()?.map(Into::into),
            ("stop_details", JsonKind::Object) => self.stop_details = Some(cursor.raw()?),
            ("usage", _) => self.usage = MessagesUsageCounts::read(cursor)?,
            ("error", JsonKind::Object | JsonKind::String) => self.is_error = true,
            ("type" | "role" | "content" | "error", _) | (_, JsonKind::Null) => {}
            _ => self.rest.take(key, cursor)?,
        }
        Ok(())
    }
}

/// Returns reasoning of another dialect with its state sealed, for clients to send back.
fn sealed_reasoning(reasoning: &Reasoning, losses: &mut Losses) -> Option<Part> {
    let native = seal_state(&reasoning.text, reasoning.native.as_deref(), losses)?;
    Some(Part::Reasoning(Reasoning {
        text: reasoning.text.clone(),
        native: Some(native),
    }))
}

/// Writes a response for a client.
pub(super) fn write_response(response: &Response, reply: &Reply) -> Written {
    let mut losses = Losses::default();
    let mut ids = CallIds::new(|_| true);
    let mut details = None;
    let mut body = BytesMut::with_capacity(1_024);
    object(&mut body, |o| {
        o.string("id", &reply.id);
        o.string("type", "message");
        o.string("role", "assistant");
        o.string("model", &reply.model);
        o.array("content", |array| {
            for part in &response.parts {
                match part {
                    Part::Refusal(text) if response.finish == FinishReason::Refusal => {
                        losses.own(text.native.as_deref(), &MESSAGES);
                        details = Some(finish::stop_details(text));
                    }
                    part if !fits(part, BlockPosition::Response, &mut losses) => {}
                    Part::Reasoning(reasoning) => {
                        let sealed = sealed_reasoning(reasoning, &mut losses);
                        write_part(sealed.as_ref().unwrap_or(part), array, &mut losses);
                    }
                    Part::ToolCall(call) => {
                        let sealed = seal_call(call.native.as_deref(), &MESSAGES, &mut losses);
                        let mut call = Cow::Borrowed(call);
                        if let Some(sealed) = sealed {
                            array.object(|o| write_sealed(&sealed, o));
                            call.to_mut().native = None;
                        }
                        let id = ids.call(&call_id::encode(&call.id));
                        array.object(|o| write_tool_use(&call, &id, o, &mut losses));
                    }
                    part @ (Part::Text(_)
                    | Part::Refusal(_)
                    | Part::Image(_)
                    | Part::RemoteImage(_)
                    | Part::ToolResult(_)
                    | Part::File(_)
                    | Part::Opaque(_)) => write_part(part, array, &mut losses),
                }
            }
        });
        finish::write_finish_reason(&response.finish, details.as_ref(), o, &mut losses);
        o.object("usage", |o| usage::write_usage(&response.usage, o));
        let native = losses.own(response.native.as_deref(), &MESSAGES);
        o.native(native);
    });
    Written {
        body: body.freeze(),
        losses: losses.into_vec(),
    }
}
