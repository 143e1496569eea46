//! Whole responses.

use bytes::{Bytes, BytesMut};
use majordomo_llm::{Error, ErrorKind, FinishReason, Part, RawBody, Response, Result, Usage};

use super::envelope::{self, ResponsesEnvelope};
use super::finish::{self, ResponsesEnd};
use super::read_message::read_output_item;
use super::write_item::{ItemHeader, ResponsesItemWriter, group_items};
use super::{RESPONSES, usage};
use crate::arguments::complete_arguments;
use crate::conversation::assign_call_ids;
use crate::failure::ErrorBody;
use crate::json::{self, Cursor, JsonKind, ReadError, ReadResult, Rest, object, write_array};
use crate::loss::{LossVerb, Losses};
use crate::{Reply, Written};

/// Reads a response.
pub(super) fn read_response(body: Bytes, first_call: usize) -> Result<Response> {
    let fields = json::read(&body, ResponsesResponseBody::read).map_err(ReadError::in_response)?;
    if let Some(error) = fields.error() {
        return Err(error);
    }
    if !fields.has_output {
        let text = "the provider's response has no output";
        return Err(Error::new(ErrorKind::BadResponse, text));
    }
    let finish = fields.finish(false, false);
    let mut parts: Vec<Part> = fields.items.into_iter().flatten().collect();
    assign_call_ids(&mut parts, first_call);
    complete_arguments(&mut parts);
    Ok(Response::new(parts)
        .with_finish(finish)
        .with_usage(fields.usage.unwrap_or_default())
        .with_id(fields.id)
        .with_reported_model(fields.model)
        .with_native(fields.rest.into_native(RESPONSES))
        .with_raw(Some(RawBody::new(RESPONSES, body.clone()))))
}

/// The fields of a response object, whole or from a stream's event.
#[derive(Default)]
pub(super) struct ResponsesResponseBody<'a> {
    pub(super) id: Option<String>,
    pub(super) model: Option<String>,
    pub(super) usage: Option<Usage>,
    /// The parts of each item, in order.
    pub(super) items: Vec<Vec<Part>>,
    has_output: bool,
    status: Option<String>,
    reason: Option<String>,
    error: Option<&'a str>,
    rest: Rest,
}

impl<'a> ResponsesResponseBody<'a> {
    pub(super) fn read(cursor: &mut Cursor<'a>) -> ReadResult<Self> {
        let mut fields = Self::default();
        cursor.loose_object(|key, cursor| fields.read_field(key, cursor))?;
        Ok(fields)
    }

    fn read_field(&mut self, key: &str, cursor: &mut Cursor<'a>) -> ReadResult<()> {
        let known = |text: Option<std::borrow::Cow<'_, str>>| {
            let text = text.filter(|text| !text.is_empty());
            text.map(std::borrow::Cow::into_owned)
        };
        match (key, cursor.peek()?) {
            ("id", _) => self.id = known(cursor.maybe_string()?),
            ("model", _) => self.model = known(cursor.maybe_string()?),
            ("usage", _) => self.usage = usage::read_usage(cursor)?.or(self.usage),
            ("error", JsonKind::Object | JsonKind::String) => self.error = Some(cursor.raw()?),
            ("status", JsonKind::String) => self.read_status(cursor)?,
            ("incomplete_details", JsonKind::Object) => cursor.loose_object(|key, cursor| {
                if key == "reason" {
                    self.reason = known(cursor.maybe_string()?);
                }
                Ok(())
            })?,
            ("output", JsonKind::Array) => {
                self.has_output = true;
                cursor.array(|cursor| {
                    if cursor.peek()? == JsonKind::Object {
                        self.items.push(read_output_item(cursor)?);
                    }
                    Ok(())
                })?;
            }
            // Bookkeeping, and a copy of the output texts.
            (
                "object" | "created_at" | "completed_at" | "error" | "incomplete_details"
                | "output" | "output_text" | "status",
                _,
            ) => {}
            (_, JsonKind::Null) => {}
            // The default tier, which every response reports unless another one was paid for.
            ("service_tier", JsonKind::String) => {
                let (tier, raw) = cursor.with_raw(Cursor::string)?;
                if tier != "default" {
                    self.rest.push(key, json::keep(raw));
                }
            }
            _ if envelope::is_echo(key) => {
                self.rest.take(format!("echo.{key}"), cursor)?;
            }
            _ => self.rest.take(key, cursor)?,
        }
        Ok(())
    }

    /// Reads the status; one that does not follow from the finish reason is
    /// kept.
    fn read_status(&mut self, cursor: &mut Cursor<'_>) -> ReadResult<()> {
        let (word, raw) = cursor.with_raw(Cursor::string)?;
        if !matches!(&*word, "" | "completed" | "complete" | "incomplete") {
            self.rest.push("echo.status", json::keep(raw));
        }
        self.status = Some(word.into_owned()).filter(|word| !word.is_empty());
        Ok(())
    }

    /// The error of a failed response.
    pub(super) fn error(&self) -> Option<Error> {
        match (self.error, self.status.as_deref()) {
            (Some(error), _) => Some(ErrorBody::inside(error).into_error(None)),
            (None, Some("failed")) => Some(ErrorBody::default().into_error(None)),
            _ => None,
        }
    }

    /// The finish reason. A stream may have seen calls and refusals that its
    /// last event does not repeat.
    pub(super) fn finish(&self, called: bool, refused: bool) -> FinishReason {
        let mut parts = self.items.iter().flatten();
        finish::read_finish_reason(&ResponsesEnd {
            status: self.status.as_deref(),
            reason: self.reason.as_deref(),
            called_tools: called || parts.clone().any(is_call),
            refused: refused || parts.any(|part| matches!(part, Part::Refusal(_))),
        })
    }
}

/// Whether a part requires the client to act.
pub(super) fn is_call(part: &Part) -> bool {
    match part {
        Part::ToolCall(_) => true,
        Part::Opaque(_)
        | Part::Text(_)
        | Part::Refusal(_)
        | Part::Image(_)
        | Part::RemoteImage(_)
        | Part::Reasoning(_)
        | Part::ToolResult(_)
        | Part::File(_) => false,
    }
}

/// Writes a response for a client.
pub(super) fn write_response(response: &Response, reply: &Reply) -> Written {
    let mut losses = Losses::default();
    let mut output = BytesMut::with_capacity(1_024);
    write_array(&mut output, |array| {
        let mut writer = ResponsesItemWriter::new(&mut losses).responding_to(&reply.echo);
        let status = envelope::status(&response.finish);
        for (place, item) in group_items(&response.parts).iter().enumerate() {
            let id = envelope::item_id(&reply.id, item.prefix(), place);
            writer.write(item, None, Some(ItemHeader { id: &id, status }), array);
        }
    });
    if let Some(why) = finish::finish_loss(&response.finish) {
        losses.record(LossVerb::Converted, "finish", why);
    }
    let native = losses.own(response.native.as_deref(), &RESPONSES);
    let mut body = BytesMut::with_capacity(output.len() + 1_024);
    object(&mut body, |o| {
        ResponsesEnvelope::of(reply)
            .finished(&response.finish)
            .output(&output)
            .usage(&response.usage)
            .native(native)
            .write(o);
    });
    Written {
        body: body.freeze(),
        losses: losses.into_vec(),
    }
}
