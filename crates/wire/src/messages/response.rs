//! Whole answers.

use bytes::{Bytes, BytesMut};
use majordomo_llm::{Error, ErrorKind, FinishReason, Part, RawBody, Response, Result, ToolCall};

use super::usage::{self, Counts};
use super::write_part::{Place, fits, write_call, write_part};
use super::{MESSAGES, call_id, finish, read_part};
use crate::conversation::CallIds;
use crate::failure::ErrorBody;
use crate::json::{self, Cursor, Kind, Read, ReadError, Rest, keep, object};
use crate::loss::Losses;
use crate::{Reply, Written};

/// Reads an answer.
pub(super) fn read(body: Bytes, first_call: usize) -> Result<Response> {
    let mut answer = Answer::default();
    json::read(&body, |cursor| {
        cursor.loose_object(|key, cursor| answer.read(key, cursor))
    })
    .map_err(ReadError::in_answer)?;
    if answer.is_error {
        return Err(ErrorBody::of(&body).into_error(None));
    }
    if !answer.has_content {
        let text = "the provider's answer has no content";
        return Err(Error::new(ErrorKind::BadResponse, text));
    }
    name_calls(&mut answer.parts, first_call);
    let called = answer.parts.iter().any(|p| matches!(p, Part::ToolCall(_)));
    let word = answer.stop_reason.unwrap_or_default();
    if let Some(details) = answer.stop_details {
        match finish::read_details(details) {
            Some(refusal) => answer.parts.push(refusal),
            None => answer.rest.push("stop_details", keep(details)),
        }
    }
    Ok(Response {
        finish: finish::read(&word, answer.stop_sequence, called),
        usage: answer.usage.usage(),
        id: answer.id.filter(|id| !id.is_empty()),
        reported_model: answer.model.filter(|model| !model.is_empty()),
        native: answer.rest.into_native(MESSAGES),
        raw: Some(RawBody::new(MESSAGES, body.clone())),
        ..Response::new(answer.parts)
    })
}

/// What an answer says, and the message of a stream's start.
#[derive(Default)]
pub(super) struct Answer<'a> {
    pub(super) id: Option<String>,
    pub(super) model: Option<String>,
    pub(super) parts: Vec<Part>,
    pub(super) stop_reason: Option<String>,
    pub(super) stop_sequence: Option<String>,
    pub(super) stop_details: Option<&'a str>,
    pub(super) usage: Counts,
    has_content: bool,
    is_error: bool,
    rest: Rest,
}

impl<'a> Answer<'a> {
    pub(super) fn read(&mut self, key: &str, cursor: &mut Cursor<'a>) -> Read<()> {
        match (key, cursor.peek()?) {
            ("id", _) => self.id = cursor.maybe_string()?.map(Into::into),
            ("model", _) => self.model = cursor.maybe_string()?.map(Into::into),
            ("content", Kind::Array | Kind::String) => {
                self.has_content = true;
                read_part::content(cursor, &mut self.parts)?;
            }
            ("stop_reason", _) => self.stop_reason = cursor.maybe_string()?.map(Into::into),
            ("stop_sequence", _) => self.stop_sequence = cursor.maybe_string()?.map(Into::into),
            ("stop_details", Kind::Object) => self.stop_details = Some(cursor.raw()?),
            ("usage", _) => self.usage = Counts::read(cursor)?,
            ("error", Kind::Object | Kind::String) => self.is_error = true,
            ("type" | "role" | "content" | "error", _) | (_, Kind::Null) => {}
            _ => self.rest.take(key, cursor)?,
        }
        Ok(())
    }
}

/// Gives ids to calls that came without.
fn name_calls(parts: &mut [Part], first_call: usize) {
    let calls = parts.iter_mut().filter_map(|part| match part {
        Part::ToolCall(call) => Some(call),
        _ => None,
    });
    for (n, call) in calls.enumerate() {
        if call.id.is_empty() {
            call.id = ToolCall::synthetic_id(first_call + n);
        }
    }
}

/// Writes an answer for a client.
pub(super) fn write(response: &Response, reply: &Reply) -> Written {
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
                        details = Some(finish::details(text));
                    }
                    part if !fits(part, Place::Answer, &mut losses) => {}
                    Part::ToolCall(call) => {
                        let id = ids.call(&call_id::write(&call.id));
                        array.object(|o| write_call(call, &id, o, &mut losses));
                    }
                    part => write_part(part, array, &mut losses),
                }
            }
        });
        finish::write(&response.finish, details.as_ref(), o, &mut losses);
        o.object("usage", |o| usage::write(&response.usage, o));
        let native = losses.own(response.native.as_deref(), &MESSAGES);
        o.native(native);
    });
    Written {
        body: body.freeze(),
        losses: losses.into_vec(),
    }
}
