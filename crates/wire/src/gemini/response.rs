//! Reads and writes complete (non-streaming) responses.

use bytes::{Bytes, BytesMut};
use majordomo_llm::{
    Error, ErrorKind, FinishReason, Json, Native, Part, RawBody, Response, Result, ToolCall,
};

use super::stream_chunk::GeminiStreamChunk;
use super::write_part::{write_function_call, write_part, write_thought};
use super::{GEMINI, finish, usage};
use crate::conversation::CallIds;
use crate::failure::ErrorBody;
use crate::json::{self, Array, Object, ReadError, Rest, object};
use crate::loss::Losses;
use crate::{Reply, Written};

/// Reads a response; only the first of several `candidates`.
pub(super) fn read_response(body: Bytes, first_call: usize) -> Result<Response> {
    let mut chunk = GeminiStreamChunk::default();
    let mut rest = Rest::default();
    json::read(&body, |cursor| {
        cursor.loose_object(|key, cursor| chunk.read_field(key, cursor, &mut None, Some(&mut rest)))
    })
    .map_err(ReadError::in_response)?;
    if let Some(error) = chunk.error {
        return Err(ErrorBody::inside(error).into_error(None));
    }
    if !chunk.has_candidate && !chunk.blocked {
        let text = "the provider's response has no candidates";
        return Err(Error::new(ErrorKind::BadResponse, text));
    }
    let parts = chunk.parts.into_iter();
    let mut parts: Vec<Part> = parts
        .filter_map(|(part, raw)| part.into_part(raw))
        .collect();
    let called = assign_missing_ids(&mut parts, first_call);
    let reason = match (chunk.finish_reason, chunk.has_candidate) {
        (_, false) => FinishReason::ContentFilter,
        (name, true) => {
            let name = name.unwrap_or_default();
            let reason = finish::read_finish_reason(&name, called);
            // Several names map to one reason; Gemini clients get the original.
            if finish::write_finish_reason(&reason, &mut Losses::default()) != name
                && !name.is_empty()
            {
                rest.push("candidate.finishReason", Json::string(&name));
            }
            reason
        }
    };
    let non_empty = |text: Option<std::borrow::Cow<'_, str>>| {
        text.filter(|text| !text.is_empty()).map(Into::into)
    };
    Ok(Response::new(parts)
        .with_finish(reason)
        .with_usage(chunk.usage.unwrap_or_default())
        .with_id(non_empty(chunk.id))
        .with_reported_model(non_empty(chunk.model))
        .with_native(rest.into_native(GEMINI))
        .with_raw(Some(RawBody::new(GEMINI, body.clone()))))
}

/// Assigns ids to calls without one; returns whether there are calls.
fn assign_missing_ids(parts: &mut [Part], first_call: usize) -> bool {
    let mut calls = 0;
    for part in parts {
        if let Part::ToolCall(call) = part {
            if call.id.is_empty() {
                call.id = ToolCall::synthetic_id(first_call + calls);
            }
            calls += 1;
        }
    }
    calls > 0
}

/// Writes a response for a client.
pub(super) fn write_response(response: &Response, reply: &Reply) -> Written {
    let mut losses = Losses::default();
    let mut body = BytesMut::with_capacity(1_024);
    let native = losses.own(response.native.as_deref(), &GEMINI);
    object(&mut body, |o| {
        o.array("candidates", |a| {
            a.object(|o| write_candidate(response, native, o, &mut losses));
        });
        o.object("usageMetadata", |o| {
            usage::write_usage(&response.usage, o, &mut losses)
        });
        o.string("modelVersion", &reply.model);
        o.string("responseId", &reply.id);
        o.native(native);
    });
    Written {
        body: body.freeze(),
        losses: losses.into_vec(),
    }
}

fn write_candidate(
    response: &Response,
    native: Option<&Native>,
    object: &mut Object<'_>,
    losses: &mut Losses,
) {
    let mut ids = CallIds::new(|c| c.is_ascii_graphic());
    object.object("content", |o| {
        let out = o.value("parts");
        let start = out.len();
        json::write_array(out, |array| {
            for part in &response.parts {
                match part {
                    Part::ToolCall(call) => {
                        let id = ids.call(&call.id);
                        array.object(|o| write_function_call(call, Some(&id), None, o, losses));
                    }
                    part @ (Part::Text(_)
                    | Part::Refusal(_)
                    | Part::Image(_)
                    | Part::RemoteImage(_)
                    | Part::Reasoning(_)
                    | Part::ToolResult(_)
                    | Part::File(_)
                    | Part::Opaque(_)) => write_response_part(part, array, losses),
                }
            }
        });
        // Clients treat a content without parts as a malformed response.
        if &out[start..] == b"[]" {
            out.truncate(start);
            out.extend_from_slice(br#"[{"text":""}]"#);
        }
        o.string("role", "model");
    });
    let name = finish::write_finish_reason(&response.finish, losses);
    let called = response.tool_calls().next().is_some();
    let original = native
        .and_then(|native| native.get("candidate.finishReason"))
        .and_then(|name| name.to::<String>().ok())
        .filter(|name| finish::read_finish_reason(name, called) == response.finish);
    object.string("finishReason", original.as_deref().unwrap_or(name));
    object.number("index", 0);
    for (name, value) in native.into_iter().flat_map(Native::fields) {
        match name.strip_prefix("candidate.") {
            Some("finishReason") | None => {}
            Some(name) => object.raw(name, value.as_str()),
        }
    }
}

/// Writes a part other than a call. Clients see reasoning from any dialect.
pub(super) fn write_response_part(part: &Part, array: &mut Array<'_>, losses: &mut Losses) {
    match part {
        Part::Reasoning(reasoning) => {
            let native = losses.own(reasoning.native.as_deref(), &GEMINI);
            array.object(|o| write_thought(&reasoning.text, native, o));
        }
        Part::ToolResult(_) => losses.part(part, "a response cannot hold tool results"),
        part @ (Part::Text(_)
        | Part::Refusal(_)
        | Part::Image(_)
        | Part::RemoteImage(_)
        | Part::ToolCall(_)
        | Part::File(_)
        | Part::Opaque(_)) => write_part(part, array, losses),
    }
}
