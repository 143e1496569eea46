//! Writes a request: unedited, edited, or from scratch.

use bytes::BytesMut;
use majordomo_llm::{Message, OutputFormat, Part, Prompt, Request, Role, Text};

use super::write_message::{MessagesMessageWriter, ReusableMessage, ReusablePart};
use super::write_part::write_native;
use super::write_settings::request_fields;
use super::{MESSAGES, call_id};
use crate::json::{object, write_array, write_string};
use crate::loss::Losses;
use crate::splice::{self, BodyEdit, ElementOrigin, FieldAction, ToolsField};
use crate::{Outgoing, Written};

/// Stands for JSON output without a schema, which the dialect lacks.
const JSON_INSTRUCTION: &str =
    "Answer with one JSON object and nothing else: no explanation, no code fence.";

/// Writes the body for a target.
pub(super) fn write_request(request: &Request, to: &Outgoing<'_>) -> Written {
    if let Some(body) = splice::untouched(request, &MESSAGES, to, false) {
        return Written {
            body,
            losses: Vec::new(),
        };
    }
    splice_request(request, to).unwrap_or_else(|| build_request(request, to))
}

fn build_request(request: &Request, to: &Outgoing<'_>) -> Written {
    let prompt = request.prompt();
    let mut losses = Losses::default();
    let fields = request_fields(prompt, to, ToolsField::Written, &mut losses);
    let (first, messages) = prompt
        .messages
        .split_at(count_leading_system(&prompt.messages));
    let mut system = instructions(prompt, first, &mut losses);
    let json = Text::new(JSON_INSTRUCTION);
    if prompt.output == OutputFormat::Json {
        system.push(&json);
    }
    let mut body = splice::body_buffer(request);
    object(&mut body, |o| {
        o.string("model", to.model);
        if !system.is_empty() {
            write_system(&system, &[], o.value("system"), &mut losses);
        }
        write_array(o.value("messages"), |array| {
            MessagesMessageWriter::new(array, &mut losses).write(messages, &[]);
        });
        fields.write(o);
        if to.stream {
            o.bool("stream", true);
        }
    });
    Written {
        body: body.freeze(),
        losses: losses.into_vec(),
    }
}

/// Splices the changes into the client's own bytes, if they are of this
/// dialect.
fn splice_request(request: &Request, to: &Outgoing<'_>) -> Option<Written> {
    let source = splice::source(request, &MESSAGES)?;
    // An edit: Messages has no such output.
    if request.prompt().output == OutputFormat::Json {
        return None;
    }
    let old = source.prompt();
    let mut losses = Losses::default();
    // A client that itself begins with a system message keeps it there.
    let first = match count_leading_system(&old.messages) {
        0 => count_leading_system(&request.prompt().messages),
        _ => 0,
    };
    let (first, messages) = request.prompt().messages.split_at(first);
    let system = instructions(request.prompt(), first, &mut losses);
    let same_system = first.is_empty() && request.prompt().system == old.system;

    let tools = ToolsField::of(old, request.prompt());
    let mut new_fields = request_fields(request.prompt(), to, tools, &mut losses);
    if old.system.is_empty() && !system.is_empty() {
        write_system(&system, &[], new_fields.value("system"), &mut losses);
    }
    let edit = BodyEdit {
        old: &request_fields(old, to, tools, &mut Losses::default()),
        new: &new_fields,
        aliases: &[],
        streams: false,
    };
    let mut up_to_date = messages == old.messages;
    let body = edit.write(
        source.bytes(),
        source.spans(),
        to,
        |key, value, out| match key {
            "system" if !same_system => {
                let reusable = reusable_system(&system, &old.system, value);
                write_system(&system, &reusable, out, &mut losses);
                if system.is_empty() {
                    FieldAction::Remove
                } else {
                    FieldAction::Replace
                }
            }
            "messages" if !up_to_date => {
                let one_to_one = |raw: &Vec<&str>| raw.len() == old.messages.len();
                let Some(elements) = splice::elements(value).filter(one_to_one) else {
                    return FieldAction::Keep;
                };
                up_to_date = true;
                let reusable = reusable_messages(messages, &old.messages, &elements);
                write_array(out, |array| {
                    MessagesMessageWriter::new(array, &mut losses).write(messages, &reusable);
                });
                FieldAction::Replace
            }
            // Superseded by `output_config`.
            "output_format"
                if (&request.prompt().output, request.prompt().effort)
                    != (&old.output, old.effort) =>
            {
                FieldAction::Remove
            }
            _ => FieldAction::Keep,
        },
    )?;
    // A source without `messages` has no place for new ones: write from
    // scratch.
    up_to_date.then(|| Written {
        body,
        losses: losses.into_vec(),
    })
}

/// Counts the system messages before the first other one; they belong to
/// `system`.
fn count_leading_system(messages: &[Message]) -> usize {
    let is_system = |message: &&Message| message.role == Role::System;
    messages.iter().take_while(is_system).count()
}

/// Collects the texts of `system`.
fn instructions<'p>(
    prompt: &'p Prompt,
    first: &'p [Message],
    losses: &mut Losses,
) -> Vec<&'p Text> {
    let mut texts: Vec<&Text> = prompt.system.iter().collect();
    for message in first {
        losses.own(message.native.as_deref(), &MESSAGES);
        for part in &message.parts {
            match part {
                Part::Text(text) => texts.push(text),
                other @ (Part::Refusal(_)
                | Part::Image(_)
                | Part::RemoteImage(_)
                | Part::Reasoning(_)
                | Part::ToolCall(_)
                | Part::ToolResult(_)
                | Part::File(_)
                | Part::Opaque(_)) => losses.part(other, "system accepts only text"),
            }
        }
    }
    texts.retain(|text| !text.text.trim().is_empty() || own_block(text).is_some());
    texts
}

/// A `system` block that is not text.
fn own_block(text: &Text) -> Option<&majordomo_llm::Json> {
    let native = text.native.as_deref();
    native
        .filter(|native| *native.dialect() == MESSAGES)?
        .get("block")
}

/// Writes a single plain text as a string, everything else as a list.
fn write_system(
    texts: &[&Text],
    reusable: &[Option<&str>],
    out: &mut BytesMut,
    losses: &mut Losses,
) {
    if let [only] = texts
        && reusable.is_empty()
        && losses.own(only.native.as_deref(), &MESSAGES).is_none()
    {
        return write_string(out, &only.text);
    }
    write_array(out, |array| {
        for (at, text) in texts.iter().enumerate() {
            let raw = reusable.get(at).copied().flatten();
            let native = losses.own(text.native.as_deref(), &MESSAGES);
            match (raw, own_block(text)) {
                (Some(raw), _) => array.raw(raw),
                (None, Some(block)) => array.raw(block.as_str()),
                (None, None) => array.object(|o| {
                    o.string("type", "text");
                    o.string("text", &text.text);
                    write_native(o, native);
                }),
            }
        }
    });
}

/// Returns the original text of each unchanged block, if `system` was a list.
fn reusable_system<'s>(new: &[&Text], old: &[Text], value: &'s str) -> Vec<Option<&'s str>> {
    let Some(elements) = splice::elements(value).filter(|e| e.len() == old.len()) else {
        return Vec::new();
    };
    let old: Vec<&Text> = old.iter().collect();
    let origins = splice::align(&old, new);
    let bytes = origins.into_iter().map(|origin| match origin {
        ElementOrigin::Same(from) => Some(elements[from]),
        _ => None,
    });
    bytes.collect()
}

/// Determines how much of each message's original text can be reused.
fn reusable_messages<'s>(
    new: &[Message],
    old: &'s [Message],
    raw: &[&'s str],
) -> Vec<ReusableMessage<'s>> {
    let origins = splice::align(old, new);
    let reusable = new
        .iter()
        .zip(origins)
        .map(|(message, origin)| match origin {
            ElementOrigin::Same(from) => ReusableMessage {
                whole: Some(raw[from]).filter(|_| has_valid_ids(message)),
                ..reusable_content(message, &old[from], raw[from])
            },
            ElementOrigin::Changed(from) => reusable_content(message, &old[from], raw[from]),
            ElementOrigin::New => ReusableMessage::default(),
        });
    reusable.collect()
}

fn reusable_content<'s>(new: &Message, old: &'s Message, raw: &'s str) -> ReusableMessage<'s> {
    let users = |role| matches!(role, Role::User | Role::Tool);
    let same_role = new.role == old.role || (users(new.role) && users(old.role));
    if !same_role || new.native != old.native {
        return ReusableMessage::default();
    }
    let elements = splice::member(raw, "content").and_then(splice::elements);
    let parts = match elements.filter(|elements| elements.len() == old.parts.len()) {
        None => Vec::new(),
        Some(elements) => splice::align(&old.parts, &new.parts)
            .into_iter()
            .map(|origin| match origin {
                ElementOrigin::Same(from) => ReusablePart::Same(elements[from]),
                ElementOrigin::Changed(from) => {
                    ReusablePart::Changed(elements[from], &old.parts[from])
                }
                ElementOrigin::New => ReusablePart::Nothing,
            })
            .collect(),
    };
    ReusableMessage {
        whole: None,
        shell: Some(raw).filter(|raw| splice::member(raw, "content").is_some()),
        parts,
    }
}

/// Invalid ids must be rewritten, in calls and results alike.
fn has_valid_ids(message: &Message) -> bool {
    message.tool_calls().all(|call| call_id::is_valid(&call.id))
        && message
            .tool_results()
            .all(|result| call_id::is_valid(&result.call_id))
}
