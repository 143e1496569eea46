//! Codec for clients of the legacy endpoint `/v1/completions`: one text instead of a
//! conversation.
//!
//! The prompt becomes a user's message, so every model can serve it; providers are never
//! called at this endpoint. Settings that a conversation cannot express, such as `suffix`, are
//! rejected. The codec of Chat Completions reads the settings that both endpoints share, and a
//! provider's responses.

use bytes::{Bytes, BytesMut};
use majordomo_llm::{
    Dialect, Error, Event, FinishReason, Message, ModelInfo, Part, Request, Response, Result, Usage,
};

use super::read_request::ChatRequestFields;
use super::{CHAT, Chat, error, finish, usage};
use crate::handles_all::handles_all;
use crate::json::{self, Cursor, Fault, JsonKind, Object, ReadResult, object};
use crate::loss::Losses;
use crate::overlong;
use crate::{
    ClientError, Codec, ErrorReply, FailedResponse, Incoming, Loss, Outgoing, ReadError, Reply,
    StreamReader, StreamWriter, Written,
};

/// Returns the codec for clients of `/v1/completions`. It differs from that of
/// [`Protocol::Chat`](crate::Protocol::Chat) in the requests it reads and the responses it
/// writes.
pub fn text_completions() -> &'static dyn Codec {
    &TextCompletions
}

struct TextCompletions;

impl Codec for TextCompletions {
    fn dialect(&self) -> Dialect {
        CHAT
    }

    fn takes_image_url(&self, _url: &str) -> bool {
        false
    }

    fn read_request(&self, body: Bytes) -> Result<Incoming, ReadError> {
        read_request(&body)
    }

    fn write_request(&self, request: &Request, to: &Outgoing<'_>) -> Written {
        Chat.write_request(request, to)
    }

    fn read_response(&self, body: Bytes, first_call: usize) -> Result<Response> {
        Chat.read_response(body, first_call)
    }

    fn write_response(&self, response: &Response, reply: &Reply) -> Written {
        write_response(response, reply)
    }

    fn stream_reader(&self) -> Box<dyn StreamReader> {
        Chat.stream_reader()
    }

    fn stream_writer(&self, reply: &Reply) -> Box<dyn StreamWriter> {
        Box::new(TextCompletionWriter::new(reply))
    }

    fn read_error(&self, failed: &FailedResponse<'_>) -> Error {
        Chat.read_error(failed)
    }

    fn write_client_error(&self, error: &ClientError) -> ErrorReply {
        Chat.write_client_error(error)
    }

    fn read_models(&self, body: &[u8]) -> Result<Vec<ModelInfo>> {
        Chat.read_models(body)
    }

    fn write_models(&self, models: &[ModelInfo], created: u64) -> Bytes {
        Chat.write_models(models, created)
    }
}

/// Reads a request. Its bytes are not kept, since no provider gets this form.
fn read_request(body: &[u8]) -> Result<Incoming, ReadError> {
    let mut fields = ChatRequestFields::default();
    let mut text = String::new();
    json::read(body, |cursor| {
        cursor.object(|key, cursor| match &**key {
            "prompt" => read_prompt(&mut text, cursor),
            "suffix" => reject(
                cursor,
                &["null", "\"\""],
                "text cannot be inserted before `suffix`",
            ),
            "echo" => reject(cursor, &["null", "false"], "the prompt cannot be repeated"),
            "n" | "best_of" => reject(cursor, &["null", "1"], "one completion per request"),
            "logprobs" => reject(
                cursor,
                &["null"],
                "log probabilities are not available here",
            ),
            "messages" | "tools" | "tool_choice" | "functions" => {
                let why = "not a setting of text completions; use /v1/chat/completions";
                reject(cursor, &["null"], why)
            }
            key => fields.read_field(key, cursor),
        })
    })?;
    if !text.is_empty() {
        fields.prompt.messages.push(Message::user(text));
    }
    fields.prompt.native = fields.rest.into_native(CHAT);
    Ok(Incoming {
        model: fields.model,
        stream: fields.stream,
        stream_usage: fields.stream_usage,
        request: Request::from(fields.prompt),
    })
}

/// Reads a string, or a list with one.
fn read_prompt(text: &mut String, cursor: &mut Cursor<'_>) -> ReadResult<()> {
    let one = |cursor: &mut Cursor<'_>| match cursor.peek()? {
        JsonKind::String => Ok(cursor.string()?.into_owned()),
        _ => Err(cursor.fault("prompts are texts here, not tokens")),
    };
    if cursor.peek()? != JsonKind::Array {
        *text = cursor.optional(one)?.unwrap_or_default();
        return Ok(());
    }
    let mut prompts = 0;
    cursor.array(|cursor| {
        prompts += 1;
        if prompts > 1 {
            return Err(cursor.fault("one prompt per request"));
        }
        *text = one(cursor)?;
        Ok(())
    })
}

/// Rejects a setting unless its value has no effect.
fn reject(cursor: &mut Cursor<'_>, idle: &[&str], why: &'static str) -> ReadResult<()> {
    let fault: Fault = cursor.fault(why);
    match idle.contains(&cursor.raw()?) {
        true => Ok(()),
        false => Err(fault),
    }
}

/// Content that responses cannot hold.
const TEXT_ONLY: &str = "text completions hold text only";

fn write_response(response: &Response, reply: &Reply) -> Written {
    let mut losses = Losses::default();
    let mut body = BytesMut::with_capacity(1_024);
    let mut text = String::new();
    for part in &response.parts {
        match part {
            Part::Text(part) | Part::Refusal(part) => text.push_str(&part.text),
            other @ (Part::Image(_)
            | Part::RemoteImage(_)
            | Part::Reasoning(_)
            | Part::ToolCall(_)
            | Part::ToolResult(_)
            | Part::File(_)
            | Part::Opaque(_)) => losses.part(other, TEXT_ONLY),
        }
    }
    object(&mut body, |o| {
        write_head(reply, o);
        write_choice(&text, Some(&response.finish), o, &mut losses);
        o.object("usage", |o| usage::write_usage(&response.usage, o));
    });
    Written {
        body: body.freeze(),
        losses: losses.into_vec(),
    }
}

fn write_head(reply: &Reply, object: &mut Object<'_>) {
    object.string("id", &reply.id);
    object.string("object", "text_completion");
    object.number("created", reply.created);
    object.string("model", &reply.model);
}

fn write_choice(
    text: &str,
    reason: Option<&FinishReason>,
    object: &mut Object<'_>,
    losses: &mut Losses,
) {
    object.array("choices", |a| {
        a.object(|o| {
            o.string("text", text);
            o.number("index", 0);
            o.raw("logprobs", "null");
            match reason {
                Some(reason) => {
                    let written = finish::write_finish_reason(reason);
                    losses.finish(reason, &finish::read_finish_reason(written, false, false));
                    o.string("finish_reason", written);
                }
                None => o.raw("finish_reason", "null"),
            }
        });
    });
}

/// Encodes events as `text_completion`s.
struct TextCompletionWriter {
    reply: Reply,
    usage: Option<Usage>,
    losses: Losses,
}

impl TextCompletionWriter {
    fn new(reply: &Reply) -> Self {
        Self {
            reply: reply.clone(),
            usage: None,
            losses: Losses::default(),
        }
    }

    fn write_text(&mut self, text: &str, reason: Option<&FinishReason>, out: &mut BytesMut) {
        out.extend_from_slice(b"data: ");
        object(out, |o| {
            write_head(&self.reply, o);
            write_choice(text, reason, o, &mut self.losses);
        });
        out.extend_from_slice(b"\n\n");
    }

    fn finish(&mut self, reason: &FinishReason, out: &mut BytesMut) {
        self.write_text("", Some(reason), out);
        if self.reply.stream_usage {
            let usage = self.usage.unwrap_or_default();
            out.extend_from_slice(b"data: ");
            object(out, |o| {
                write_head(&self.reply, o);
                o.raw("choices", "[]");
                o.object("usage", |o| usage::write_usage(&usage, o));
            });
            out.extend_from_slice(b"\n\n");
        }
        out.extend_from_slice(b"data: [DONE]\n\n");
    }
}

handles_all!(11 of Event);

impl StreamWriter for TextCompletionWriter {
    fn write(&mut self, event: &Event, out: &mut BytesMut) {
        match event {
            Event::Text(text) | Event::Refusal(text) if text.is_empty() => {}
            Event::Text(text) | Event::Refusal(text) => self.write_text(text, None, out),
            Event::Part(Part::Text(part) | Part::Refusal(part)) => {
                self.write_text(&part.text, None, out);
            }
            Event::Part(part) => self.losses.part(part, TEXT_ONLY),
            Event::Reasoning(_) => self.losses.add("reasoning", TEXT_ONLY),
            Event::ToolCallStart { .. } => self.losses.add("tool_calls", TEXT_ONLY),
            Event::Usage(usage) => self.usage = Some(*usage),
            Event::Finish(reason) => self.finish(reason, out),
            Event::Start { .. }
            | Event::EndPart(_)
            | Event::ToolCallArguments { .. }
            | Event::ToolCallEnd { .. } => {}
            _ => {}
        }
    }

    fn fail_with(&mut self, error: &ClientError, out: &mut BytesMut) {
        out.extend_from_slice(b"data: ");
        object(out, |o| error::write_into(error, &overlong::CHAT, o));
        out.extend_from_slice(b"\n\n");
    }

    fn losses(&self) -> Vec<Loss> {
        self.losses.clone().into_vec()
    }
}

#[cfg(test)]
mod tests;
