//! Whole answers.

use bytes::{Bytes, BytesMut};
use majordomo_llm::{Error, ErrorKind, Part, RawBody, Response, Result, Usage};

use super::read_message::MessageFields;
use super::write_message::write_answer;
use super::{CHAT, finish, usage};
use crate::conversation::{CallIds, name_calls};
use crate::failure::ErrorBody;
use crate::json::{self, Cursor, Kind, Read, ReadError, Rest, object};
use crate::loss::Losses;
use crate::{Reply, Written};

/// Reads an answer; of several choices the first one.
pub(super) fn read(body: Bytes, first_call: usize) -> Result<Response> {
    let mut answer = Answer::default();
    json::read(&body, |cursor| {
        cursor.loose_object(|key, cursor| answer.read(key, cursor))
    })
    .map_err(ReadError::in_answer)?;
    if let Some(error) = answer.error {
        return Err(ErrorBody::inside(error).into_error(None));
    }
    let Some(choice) = answer.choice else {
        let text = "the provider's answer has no choices";
        return Err(Error::new(ErrorKind::BadResponse, text));
    };
    let (mut parts, mut native) = choice.message.into_parts();
    name_calls(&mut parts, first_call);
    let (called, refused) = (called(&parts), refused(&parts));
    let word = choice.finish.as_deref().unwrap_or("stop");
    native.append(answer.rest);
    Ok(Response {
        finish: finish::read(word, called, refused),
        usage: answer.usage.unwrap_or_default(),
        id: answer.id.filter(|id| !id.is_empty()),
        reported_model: answer.model.filter(|model| !model.is_empty()),
        native: native.into_native(CHAT),
        raw: Some(RawBody::new(CHAT, body.clone())),
        ..Response::new(parts)
    })
}

#[derive(Default)]
struct Answer<'a> {
    id: Option<String>,
    model: Option<String>,
    choice: Option<Choice<'a>>,
    usage: Option<Usage>,
    error: Option<&'a str>,
    rest: Rest,
}

#[derive(Default)]
struct Choice<'a> {
    message: MessageFields<'a>,
    finish: Option<String>,
}

impl<'a> Answer<'a> {
    fn read(&mut self, key: &str, cursor: &mut Cursor<'a>) -> Read<()> {
        match (key, cursor.peek()?) {
            ("id", _) => self.id = cursor.maybe_string()?.map(Into::into),
            ("model", _) => self.model = cursor.maybe_string()?.map(Into::into),
            ("usage", _) => self.usage = usage::read(cursor)?.or(self.usage),
            ("error", Kind::Object | Kind::String) => self.error = Some(cursor.raw()?),
            ("choices", Kind::Array) => cursor.array(|cursor| {
                if self.choice.is_none() {
                    self.choice = Some(choice(cursor)?);
                }
                Ok(())
            })?,
            ("object" | "created" | "choices" | "error", _) => {}
            _ => self.rest.take(key, cursor)?,
        }
        Ok(())
    }
}

fn choice<'a>(cursor: &mut Cursor<'a>) -> Read<Choice<'a>> {
    let mut choice = Choice::default();
    cursor.loose_object(|key, cursor| {
        match (&**key, cursor.peek()?) {
            ("message", Kind::Object) => {
                cursor.loose_object(|key, cursor| choice.message.read(key, cursor))?;
            }
            ("finish_reason", _) => choice.finish = cursor.maybe_string()?.map(Into::into),
            _ => {}
        }
        Ok(())
    })?;
    Ok(choice)
}

/// Writes an answer for a client.
pub(super) fn write(response: &Response, reply: &Reply) -> Written {
    let mut losses = Losses::default();
    let mut ids = CallIds::new(|c| c.is_ascii_graphic());
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
                    let parts = shown(&response.parts, &mut losses);
                    let parts: Vec<&Part> = parts.iter().collect();
                    write_answer(o, &parts, &mut ids, &mut losses);
                    if !refused(&response.parts) {
                        // OpenAI's own schema asks for it.
                        o.raw("refusal", "null");
                    }
                });
                o.raw("logprobs", "null");
                let word = finish::write(&response.finish);
                let understood =
                    finish::read(word, called(&response.parts), refused(&response.parts));
                losses.finish(&response.finish, &understood);
                o.string("finish_reason", word);
            });
        });
        o.object("usage", |o| usage::write(&response.usage, o));
        let native = losses.own(response.native.as_deref(), &CHAT);
        o.native(native);
    });
    Written {
        body: body.freeze(),
        losses: losses.into_vec(),
    }
}

fn called(parts: &[Part]) -> bool {
    parts.iter().any(|part| matches!(part, Part::ToolCall(_)))
}

fn refused(parts: &[Part]) -> bool {
    let is_refusal = |part: &Part| matches!(part, Part::Refusal(text) if !text.text.is_empty());
    parts.iter().any(is_refusal)
}

/// A client sees reasoning of every origin, under the name that most know, and
/// can parse the arguments of a call that has none.
fn shown(parts: &[Part], losses: &mut Losses) -> Vec<Part> {
    let mut shown = Vec::with_capacity(parts.len());
    for part in parts {
        match part {
            Part::Reasoning(reasoning) => {
                let mut reasoning = reasoning.clone();
                if losses.own(reasoning.native.as_deref(), &CHAT).is_none() {
                    reasoning.native = super::shown_reasoning();
                }
                shown.push(Part::Reasoning(reasoning));
            }
            Part::ToolCall(call) if call.arguments.trim().is_empty() => {
                let mut call = call.clone();
                call.arguments = "{}".into();
                shown.push(Part::ToolCall(call));
            }
            Part::ToolResult(_) => losses.part(part, "an answer has no tool results"),
            other => shown.push(other.clone()),
        }
    }
    shown
}
