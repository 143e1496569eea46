//! Whole answers.

use bytes::{Bytes, BytesMut};
use majordomo_llm::{Error, ErrorKind, FinishReason, Part, RawBody, Response, Result, Usage};

use super::envelope::{self, Envelope};
use super::finish::{self, End};
use super::read_message::read_said;
use super::write_item::{Face, ItemWriter, items};
use super::{RESPONSES, usage};
use crate::conversation::name_calls;
use crate::failure::ErrorBody;
use crate::json::{self, Cursor, Kind, Read, ReadError, Rest, object, write_array};
use crate::loss::Losses;
use crate::{Reply, Written};

/// Reads an answer.
pub(super) fn read(body: Bytes, first_call: usize) -> Result<Response> {
    let answer = json::read(&body, Answer::read).map_err(ReadError::in_answer)?;
    if let Some(error) = answer.error() {
        return Err(error);
    }
    if !answer.has_output {
        let text = "the provider's answer has no output";
        return Err(Error::new(ErrorKind::BadResponse, text));
    }
    let finish = answer.finish(false, false);
    let mut parts: Vec<Part> = answer.items.into_iter().flatten().collect();
    name_calls(&mut parts, first_call);
    Ok(Response {
        finish,
        usage: answer.usage.unwrap_or_default(),
        id: answer.id,
        reported_model: answer.model,
        native: answer.rest.into_native(RESPONSES),
        raw: Some(RawBody::new(RESPONSES, body.clone())),
        ..Response::new(parts)
    })
}

/// A response object: a whole answer, or what a stream's events carry.
#[derive(Default)]
pub(super) struct Answer<'a> {
    pub(super) id: Option<String>,
    pub(super) model: Option<String>,
    pub(super) usage: Option<Usage>,
    /// What each item says, in order.
    pub(super) items: Vec<Vec<Part>>,
    has_output: bool,
    status: Option<String>,
    reason: Option<String>,
    error: Option<&'a str>,
    rest: Rest,
}

impl<'a> Answer<'a> {
    pub(super) fn read(cursor: &mut Cursor<'a>) -> Read<Self> {
        let mut answer = Self::default();
        cursor.loose_object(|key, cursor| answer.field(key, cursor))?;
        Ok(answer)
    }

    fn field(&mut self, key: &str, cursor: &mut Cursor<'a>) -> Read<()> {
        let known = |text: Option<std::borrow::Cow<'_, str>>| {
            let text = text.filter(|text| !text.is_empty());
            text.map(std::borrow::Cow::into_owned)
        };
        match (key, cursor.peek()?) {
            ("id", _) => self.id = known(cursor.maybe_string()?),
            ("model", _) => self.model = known(cursor.maybe_string()?),
            ("usage", _) => self.usage = usage::read(cursor)?.or(self.usage),
            ("error", Kind::Object | Kind::String) => self.error = Some(cursor.raw()?),
            ("status", Kind::String) => self.status(cursor)?,
            ("incomplete_details", Kind::Object) => cursor.loose_object(|key, cursor| {
                if key == "reason" {
                    self.reason = known(cursor.maybe_string()?);
                }
                Ok(())
            })?,
            ("output", Kind::Array) => {
                self.has_output = true;
                cursor.array(|cursor| {
                    if cursor.peek()? == Kind::Object {
                        self.items.push(read_said(cursor)?);
                    }
                    Ok(())
                })?;
            }
            // Bookkeeping, and the texts of the output once more.
            (
                "object" | "created_at" | "completed_at" | "error" | "incomplete_details"
                | "output" | "output_text" | "status",
                _,
            ) => {}
            (_, Kind::Null) => {}
            _ if envelope::is_echo(key) => {
                self.rest.take(format!("echo.{key}"), cursor)?;
            }
            _ => self.rest.take(key, cursor)?,
        }
        Ok(())
    }

    /// A status that does not follow from the finish is kept.
    fn status(&mut self, cursor: &mut Cursor<'_>) -> Read<()> {
        let (word, raw) = cursor.with_raw(Cursor::string)?;
        if !matches!(&*word, "completed" | "complete" | "incomplete") {
            self.rest.push("echo.status", json::keep(raw));
        }
        self.status = Some(word.into_owned());
        Ok(())
    }

    /// What went wrong, if something did.
    pub(super) fn error(&self) -> Option<Error> {
        match (self.error, self.status.as_deref()) {
            (Some(error), _) => Some(ErrorBody::inside(error).into_error(None)),
            (None, Some("failed")) => Some(ErrorBody::default().into_error(None)),
            _ => None,
        }
    }

    /// Why it ended. A stream may have seen calls and refusals that its last
    /// event does not repeat.
    pub(super) fn finish(&self, called: bool, refused: bool) -> FinishReason {
        let mut parts = self.items.iter().flatten();
        finish::read(&End {
            status: self.status.as_deref(),
            reason: self.reason.as_deref(),
            called_tools: called || parts.clone().any(is_call),
            refused: refused || parts.any(|part| matches!(part, Part::Refusal(_))),
        })
    }
}

/// Whether the client must act: a call of a function or of a custom tool.
pub(super) fn is_call(part: &Part) -> bool {
    match part {
        Part::ToolCall(_) => true,
        Part::Opaque(block) => block.kind == "custom_tool_call",
        _ => false,
    }
}

/// Writes an answer for a client.
pub(super) fn write(response: &Response, reply: &Reply) -> Written {
    let mut losses = Losses::default();
    let mut output = BytesMut::with_capacity(1_024);
    write_array(&mut output, |array| {
        let mut writer = ItemWriter::new(&mut losses);
        let status = envelope::status(&response.finish);
        for (place, item) in items(&response.parts).iter().enumerate() {
            let id = envelope::item_id(&reply.id, item.prefix(), place);
            writer.write(item, None, Some(Face { id: &id, status }), array);
        }
    });
    if let Some(why) = finish::loss(&response.finish) {
        losses.add("finish", why);
    }
    let native = losses.own(response.native.as_deref(), &RESPONSES);
    let mut body = BytesMut::with_capacity(output.len() + 1_024);
    object(&mut body, |o| {
        Envelope::of(reply)
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
