//! Reads and writes complete (non-streaming) responses.

use bytes::{Bytes, BytesMut};
use majordomo_llm::{Error, ErrorKind, Part, RawBody, Response, Result, Usage};

use super::read_message::ChatMessageFields;
use super::write_assistant::write_assistant_fields;
use super::{CHAT, finish, usage};
use crate::conversation::{CallIds, assign_call_ids};
use crate::failure::ErrorBody;
use crate::json::{self, Cursor, JsonKind, ReadError, ReadResult, Rest, object};
use crate::loss::Losses;
use crate::{Reply, Written};

/// Reads a response; only the first of several `choices`.
pub(super) fn read_response(body: Bytes, first_call: usize) -> Result<Response> {
    let mut fields = ChatResponseBody::default();
    json::read(&body, |cursor| {
        cursor.loose_object(|key, cursor| fields.read_field(key, cursor))
    })
    .map_err(ReadError::in_response)?;
    if let Some(error) = fields.error {
        return Err(ErrorBody::inside(error).into_error(None));
    }
    let Some(choice) = fields.choice else {
        let text = "the provider's response has no choices";
        return Err(Error::new(ErrorKind::BadResponse, text));
    };
    let (mut parts, mut native) = choice.message.into_parts();
    assign_call_ids(&mut parts, first_call);
    let (called, refused) = (has_tool_calls(&parts), has_refusal(&parts));
    let reason = choice.finish_reason.as_deref().unwrap_or("stop");
    native.append(fields.rest);
    Ok(Response::new(parts)
        .with_finish(finish::read_finish_reason(reason, called, refused))
        .with_usage(fields.usage.unwrap_or_default())
        .with_id(fields.id.filter(|id| !id.is_empty()))
        .with_reported_model(fields.model.filter(|model| !model.is_empty()))
        .with_native(native.into_native(CHAT))
        .with_raw(Some(RawBody::new(CHAT, body.clone()))))
}

#[derive(Default)]
struct ChatResponseBody<'a> {
    id: Option<String>,
    model: Option<String>,
    choice: Option<ChatChoice<'a>>,
    usage: Option<Usage>,
    error: Option<&'a str>,
    rest: Rest,
}

#[derive(Default)]
struct ChatChoice<'a> {
    message: ChatMessageFields<'a>,
    finish_reason: Option<String>,
}

impl<'a> ChatResponseBody<'a> {
    fn read_field(&mut self, key: &str, cursor: &mut Cursor<'a>) -> ReadResult<()> {
        match (key, cursor.peek()?) {
            ("id", _) => self.id = cursor.maybe_string()?.map(Into::into),
            ("model", _) => self.model = cursor.maybe_string()?.map(Into::into),
            ("usage", _) => self.usage = usage::read_usage(cursor)?.or(self.usage),
            ("error", JsonKind::Object | JsonKind::String) => self.error = Some(cursor.raw()?),
            ("choices", JsonKind::Array) => cursor.array(|cursor| {
                if self.choice.is_none() {
                    self.choice = Some(read_choice(cursor)?);
                }
                Ok(())
            })?,
            ("object" | "created" | "choices" | "error", _) => {}
            _ => self.rest.take(key, cursor)?,
        }
        Ok(())
    }
}

fn read_choice<'a>(cursor: &mut Cursor<'a>) -> ReadResult<ChatChoice<'a>> {
    let mut choice = ChatChoice::default();
    cursor.loose_object(|key, cursor| {
        match (&**key, cursor.peek()?) {
            ("message", JsonKind::Object) => {
                cursor.loose_object(|key, cursor| choice.message.read_field(key, cursor))?;
            }
            ("finish_reason", _) => choice.finish_reason = cursor.maybe_string()?.map(Into::into),
            _ => {}
        }
        Ok(())
    })?;
    Ok(choice)
}

/// Writes a response for a client.
pub(super) fn write_response(response: &Response, reply: &Reply) -> Written {
    let mut losses = Losses::default();
    let mut ids = CallIds::new(|c| c.is_ascii_graphic());
    let (called, refused) = (
        has_tool_calls(&response.parts),
        has_refusal(&response.parts),
    );
    let mut body = BytesMut::with_capacity(1_024);
    object(&mut body, |o| {
        o.string("id", &reply.id);
        o.string("object", "chat.completion");
        o.number("created", reply.created);
        o.string("model", &reply.model);
        o.array("choices", |a| {
            a.object(|o| {
                o.number("index", 0);
                o.object("message", |o| {
                    o.string("role", "assistant");
                    let parts = client_parts(&response.parts, &mut losses);
                    let parts: Vec<&Part> = parts.iter().collect();
                    write_assistant_fields(o, &parts, None, &mut ids, &mut losses);
                    if !refused {
                        // Required by OpenAI's schema.
                        o.raw("refusal", "null");
                    }
                });
                o.raw("logprobs", "null");
                let reason = finish::write_finish_reason(&response.finish);
                let read_back = finish::read_finish_reason(reason, called, refused);
                losses.finish(&response.finish, &read_back);
                o.string("finish_reason", reason);
            });
        });
        o.object("usage", |o| usage::write_usage(&response.usage, o));
        let native = losses.own(response.native.as_deref(), &CHAT);
        o.native(native);
    });
    Written {
        body: body.freeze(),
        losses: losses.into_vec(),
    }
}

fn has_tool_calls(parts: &[Part]) -> bool {
    parts.iter().any(|part| part.as_tool_call().is_some())
}

fn has_refusal(parts: &[Part]) -> bool {
    let is_refusal = |part: &Part| matches!(part, Part::Refusal(text) if !text.text.is_empty());
    parts.iter().any(is_refusal)
}

/// Adapts the parts for a client: reasoning from any dialect moves to
/// [`REASONING_KEY`](super::REASONING_KEY).
fn client_parts(parts: &[Part], losses: &mut Losses) -> Vec<Part> {
    let mut adapted = Vec::with_capacity(parts.len());
    for part in parts {
        match part {
            Part::Reasoning(reasoning) => {
                let mut reasoning = reasoning.clone();
                if losses.own(reasoning.native.as_deref(), &CHAT).is_none() {
                    reasoning.native = super::client_reasoning_native();
                }
                adapted.push(Part::Reasoning(reasoning));
            }
            Part::ToolResult(_) => losses.part(part, "a response cannot hold tool results"),
            other @ (Part::Text(_)
            | Part::Refusal(_)
            | Part::Image(_)
            | Part::RemoteImage(_)
            | Part::ToolCall(_)
            | Part::File(_)
            | Part::Opaque(_)) => adapted.push(other.clone()),
        }
    }
    adapted
}
