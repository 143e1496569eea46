//! Reads and writes complete (non-streaming) responses of either endpoint.

use bytes::{Bytes, BytesMut};
use majordomo_llm::{Error, ErrorKind, Native, Part, RawBody, Response, Result};

use super::generate::OllamaEndpoint;
use super::stream_chunk::OllamaStreamChunk;
use super::write_message::{Audience, write_assistant_fields};
use super::{OLLAMA, finish, usage};
use crate::conversation::{CallIds, assign_call_ids};
use crate::failure::ErrorBody;
use crate::json::{self, Object, ReadError, object};
use crate::loss::Losses;
use crate::{Reply, Written, rfc3339};

/// Reads a response.
pub(super) fn read_response(body: Bytes, first_call: usize) -> Result<Response> {
    let mut fields = OllamaStreamChunk::default();
    json::read(&body, |cursor| {
        cursor.loose_object(|key, cursor| fields.read_field(key, cursor))
    })
    .map_err(ReadError::in_response)?;
    if let Some(error) = fields.error {
        return Err(ErrorBody::inside(error).into_error(None));
    }
    if !fields.has_message && fields.done.is_none() {
        let text = "the provider's response has no message";
        return Err(Error::new(ErrorKind::BadResponse, text));
    }
    if fields.done == Some(false) {
        let text = "the provider's response is not `done`";
        return Err(Error::new(ErrorKind::Truncated, text));
    }
    let native = fields.take_native();
    let (mut parts, _) = fields.message.into_parts();
    assign_call_ids(&mut parts, first_call);
    let called = parts.iter().any(|part| part.as_tool_call().is_some());
    let reason = fields.done_reason.as_deref().unwrap_or("stop");
    Ok(Response::new(parts)
        .with_finish(finish::read_finish_reason(reason, called))
        .with_usage(fields.usage.unwrap_or_default())
        .with_reported_model(
            fields
                .model
                .map(Into::into)
                .filter(|m: &String| !m.is_empty()),
        )
        .with_native(native)
        .with_raw(Some(RawBody::new(OLLAMA, body.clone()))))
}

/// Writes a response for a client.
pub(super) fn write_response(
    response: &Response,
    reply: &Reply,
    endpoint: OllamaEndpoint,
) -> Written {
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
                Part::ToolResult(_) => losses.part(part, "a response cannot hold tool results"),
                part @ (Part::Text(_)
                | Part::Refusal(_)
                | Part::Image(_)
                | Part::RemoteImage(_)
                | Part::Reasoning(_)
                | Part::ToolCall(_)
                | Part::File(_)
                | Part::Opaque(_)) => parts.push(part),
            }
        }
        match endpoint {
            OllamaEndpoint::Chat => o.object("message", |o| {
                o.string("role", "assistant");
                write_assistant_fields(o, &parts, Audience::Client, &mut ids, &mut losses);
                o.nested(native, "message");
            }),
            OllamaEndpoint::Generate => {
                let mut message = BytesMut::new();
                object(&mut message, |o| {
                    write_assistant_fields(o, &parts, Audience::Client, &mut ids, &mut losses);
                });
                flatten(&message, o);
            }
        }
        write_final_fields(response, native, reply, o, &mut losses);
    });
    Written {
        body: body.freeze(),
        losses: losses.into_vec(),
    }
}

/// Writes the fields of a message one level up, with `content` as `response`.
fn flatten(message: &[u8], object: &mut Object<'_>) {
    let _ = json::read(message, |cursor| {
        cursor.loose_object(|key, cursor| {
            let key = if key == "content" { "response" } else { key };
            object.raw(key, cursor.raw()?);
            Ok(())
        })
    });
}

fn write_final_fields(
    response: &Response,
    native: Option<&Native>,
    reply: &Reply,
    object: &mut Object<'_>,
    losses: &mut Losses,
) {
    // The whole response is one step.
    let measured = usage::OllamaDurations {
        total: reply.stopwatch.elapsed().unwrap_or_default(),
        ..usage::OllamaDurations::default()
    };
    let reason = finish::write_finish_reason(&response.finish);
    let called = response.tool_calls().next().is_some();
    losses.finish(
        &response.finish,
        &finish::read_finish_reason(reason, called),
    );
    object.bool("done", true);
    object.string("done_reason", reason);
    usage::write_usage(&response.usage, native, measured, object, losses);
    for (name, value) in native.into_iter().flat_map(Native::fields) {
        if !name.contains('.') && !usage::is_duration(name) {
            object.raw(name, value.as_str());
        }
    }
}
