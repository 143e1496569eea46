//! Whole answers, of either form.

use bytes::{Bytes, BytesMut};
use majordomo_llm::{Error, ErrorKind, Native, Part, RawBody, Response, Result};

use super::generate::Form;
use super::stream_chunk::Chunk;
use super::write_message::{Reader, write_answer};
use super::{OLLAMA, finish, usage};
use crate::conversation::{CallIds, name_calls};
use crate::failure::ErrorBody;
use crate::json::{self, Object, ReadError, object};
use crate::loss::Losses;
use crate::{Reply, Written, rfc3339};

/// Reads an answer.
pub(super) fn read(body: Bytes, first_call: usize) -> Result<Response> {
    let mut answer = Chunk::default();
    json::read(&body, |cursor| {
        cursor.loose_object(|key, cursor| answer.read(key, cursor))
    })
    .map_err(ReadError::in_answer)?;
    if let Some(error) = answer.error {
        return Err(ErrorBody::inside(error).into_error(None));
    }
    if !answer.said && answer.done.is_none() {
        let text = "the provider's answer has no message";
        return Err(Error::new(ErrorKind::BadResponse, text));
    }
    if answer.done == Some(false) {
        let text = "the provider's answer ended before the model said that it was done";
        return Err(Error::new(ErrorKind::Truncated, text));
    }
    let native = answer.native();
    let (mut parts, _) = answer.message.into_parts();
    name_calls(&mut parts, first_call);
    let called = parts.iter().any(|part| matches!(part, Part::ToolCall(_)));
    let word = answer.finish.as_deref().unwrap_or("stop");
    Ok(Response {
        finish: finish::read(word, called),
        usage: answer.usage.unwrap_or_default(),
        reported_model: answer
            .model
            .map(Into::into)
            .filter(|m: &String| !m.is_empty()),
        native,
        raw: Some(RawBody::new(OLLAMA, body.clone())),
        ..Response::new(parts)
    })
}

/// Writes an answer for a client.
pub(super) fn write(response: &Response, reply: &Reply, form: Form) -> Written {
    let mut losses = Losses::default();
    let mut ids = CallIds::new(|c| c.is_ascii_graphic());
    let mut body = BytesMut::with_capacity(1_024);
    object(&mut body, |o| {
        o.string("model", &reply.model);
        o.string("created_at", &rfc3339::from_unix(reply.created));
        let native = losses.own(response.native.as_deref(), &OLLAMA);
        let mut parts = Vec::with_capacity(response.parts.len());
        for part in &response.parts {
            match part {
                Part::ToolResult(_) => losses.part(part, "an answer has no tool results"),
                part => parts.push(part),
            }
        }
        match form {
            Form::Chat => o.object("message", |o| {
                o.string("role", "assistant");
                write_answer(o, &parts, Reader::Client, &mut ids, &mut losses);
                o.nested(native, "message");
            }),
            Form::Generate => {
                let mut message = BytesMut::new();
                object(&mut message, |o| {
                    write_answer(o, &parts, Reader::Client, &mut ids, &mut losses);
                });
                flatten(&message, o);
            }
        }
        end(response, native, o, &mut losses);
    });
    Written {
        body: body.freeze(),
        losses: losses.into_vec(),
    }
}

/// The fields of a message without the message around them; its content is
/// called the response.
fn flatten(message: &[u8], object: &mut Object<'_>) {
    let _ = json::read(message, |cursor| {
        cursor.loose_object(|key, cursor| {
            let key = if key == "content" { "response" } else { key };
            object.raw(key, cursor.raw()?);
            Ok(())
        })
    });
}

fn end(response: &Response, native: Option<&Native>, object: &mut Object<'_>, losses: &mut Losses) {
    let word = finish::write(&response.finish);
    let called = response.tool_calls().next().is_some();
    losses.finish(&response.finish, &finish::read(word, called));
    object.bool("done", true);
    object.string("done_reason", word);
    usage::write(&response.usage, native, object, losses);
    for (name, value) in native.into_iter().flat_map(Native::fields) {
        if !name.contains('.') && !usage::is_duration(name) {
            object.raw(name, value.as_str());
        }
    }
}
