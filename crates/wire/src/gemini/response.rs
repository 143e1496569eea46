//! Whole answers.

use bytes::{Bytes, BytesMut};
use majordomo_llm::{
    Error, ErrorKind, FinishReason, Json, Native, Part, RawBody, Response, Result, ToolCall,
};

use super::stream_chunk::Chunk;
use super::write_part::{write_call, write_part, write_thought};
use super::{GEMINI, finish, usage};
use crate::conversation::CallIds;
use crate::failure::ErrorBody;
use crate::json::{self, Array, Object, ReadError, Rest, object};
use crate::loss::Losses;
use crate::{Reply, Written};

/// Reads an answer; of several candidates the first one.
pub(super) fn read(body: Bytes, first_call: usize) -> Result<Response> {
    let mut chunk = Chunk::default();
    let mut rest = Rest::default();
    json::read(&body, |cursor| {
        cursor.loose_object(|key, cursor| chunk.read(key, cursor, &mut None, Some(&mut rest)))
    })
    .map_err(ReadError::in_answer)?;
    if let Some(error) = chunk.error {
        return Err(ErrorBody::inside(error).into_error(None));
    }
    if !chunk.answered && !chunk.blocked {
        let text = "the provider's answer has no candidates";
        return Err(Error::new(ErrorKind::BadResponse, text));
    }
    let parts = chunk.parts.into_iter();
    let mut parts: Vec<Part> = parts
        .filter_map(|(part, raw)| part.into_part(raw))
        .collect();
    let called = name_calls(&mut parts, first_call);
    let reason = match (chunk.finish, chunk.answered) {
        (_, false) => FinishReason::ContentFilter,
        (word, true) => {
            let word = word.unwrap_or_default();
            let reason = finish::read(&word, called);
            // Several words mean the same; the provider's own goes back to its clients.
            if finish::write(&reason, &mut Losses::default()) != word && !word.is_empty() {
                rest.push("candidate.finishReason", Json::string(&word));
            }
            reason
        }
    };
    let known = |text: Option<std::borrow::Cow<'_, str>>| {
        text.filter(|text| !text.is_empty()).map(Into::into)
    };
    Ok(Response {
        finish: reason,
        usage: chunk.usage.unwrap_or_default(),
        id: known(chunk.id),
        reported_model: known(chunk.model),
        native: rest.into_native(GEMINI),
        raw: Some(RawBody::new(GEMINI, body.clone())),
        ..Response::new(parts)
    })
}

/// Gives calls an id that have none; tells whether there are calls at all.
fn name_calls(parts: &mut [Part], first_call: usize) -> bool {
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

/// Writes an answer for a client.
pub(super) fn write(response: &Response, reply: &Reply) -> Written {
    let mut losses = Losses::default();
    let mut body = BytesMut::with_capacity(1_024);
    let native = losses.own(response.native.as_deref(), &GEMINI);
    object(&mut body, |o| {
        o.array("candidates", |a| {
            a.object(|o| write_candidate(response, native, o, &mut losses));
        });
        o.object("usageMetadata", |o| {
            usage::write(&response.usage, o, &mut losses)
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
                        array.object(|o| write_call(call, Some(&id), None, o, losses));
                    }
                    part => write_said(part, array, losses),
                }
            }
        });
        // Clients take a content without parts for a broken answer.
        if &out[start..] == b"[]" {
            out.truncate(start);
            out.extend_from_slice(br#"[{"text":""}]"#);
        }
        o.string("role", "model");
    });
    let word = finish::write(&response.finish, losses);
    let called = response.tool_calls().next().is_some();
    let own = native
        .and_then(|native| native.get("candidate.finishReason"))
        .and_then(|word| word.to::<String>().ok())
        .filter(|word| finish::read(word, called) == response.finish);
    object.string("finishReason", own.as_deref().unwrap_or(word));
    object.number("index", 0);
    for (name, value) in native.into_iter().flat_map(Native::fields) {
        match name.strip_prefix("candidate.") {
            Some("finishReason") | None => {}
            Some(name) => object.raw(name, value.as_str()),
        }
    }
}

/// A part of an answer that is no call. A client sees reasoning of every origin.
pub(super) fn write_said(part: &Part, array: &mut Array<'_>, losses: &mut Losses) {
    match part {
        Part::Reasoning(reasoning) => {
            let native = losses.own(reasoning.native.as_deref(), &GEMINI);
            array.object(|o| write_thought(&reasoning.text, native, o));
        }
        Part::ToolResult(_) => losses.part(part, "an answer has no tool results"),
        part => write_part(part, array, losses),
    }
}
