//! Writes a request: copied unchanged, spliced, or built from scratch.

use bytes::BytesMut;
use majordomo_llm::{Message, OutputFormat, Prompt, Request, Role};

use super::generate::{OllamaEndpoint, endpoint};
use super::write_fields::{has_truncate, request_fields};
use super::write_message::{OllamaMessageWriter, differs_only_in_content};
use super::write_part::OllamaContent;
use super::{OLLAMA, ThinkSupport, image, options};
use crate::conversation::merge_assistant_messages;
use crate::json::{Array, object, write_array};
use crate::loss::{LossVerb, Losses};
use crate::splice::{self, BodyEdit, BodyFields, ElementOrigin, FieldAction};
use crate::{Outgoing, Written};

/// Writes the body for a target.
pub(super) fn write_request(request: &Request, to: &Outgoing<'_>) -> Written {
    let needs_shaping = (to.ollama.num_ctx.is_some() && !options::has_num_ctx(request.prompt()))
        || (to.ollama.refuse_overlong && !has_truncate(request.prompt()))
        || (to.ollama.thinking != ThinkSupport::default() && request.prompt().effort.is_some())
        || schema_instruction(request.prompt(), to).is_some();
    let untouched = match needs_shaping {
        true => None,
        false => splice::untouched(request, &OLLAMA, to, true),
    };
    match untouched {
        Some(body) => Written {
            body,
            losses: Vec::new(),
        },
        None => splice_request(request, to).unwrap_or_else(|| build_request(request.prompt(), to)),
    }
}

/// Builds a request that has no bytes of this dialect.
fn build_request(prompt: &Prompt, to: &Outgoing<'_>) -> Written {
    let mut losses = Losses::default();
    let endpoint = endpoint(prompt);
    let mut fields = request_fields(prompt, to, false, &mut losses);
    if endpoint == OllamaEndpoint::Generate {
        add_generate_fields(prompt, to, true, &mut fields, &mut losses);
    }
    let options = options::option_fields(prompt, to.ollama.num_ctx);
    let mut body = BytesMut::with_capacity(4_096);
    object(&mut body, |o| {
        o.string("model", to.model);
        if endpoint == OllamaEndpoint::Chat {
            write_array(o.value("messages"), |array| {
                write_messages(prompt, to, array, &mut losses);
            });
        }
        fields.write(o);
        if !options.is_empty() {
            o.object("options", |o| options.write(o));
        }
        // Always written, since the default is to stream.
        o.bool("stream", to.stream);
    });
    Written {
        body: body.freeze(),
        losses: losses.into_vec(),
    }
}

/// Writes `messages`, the instructions first.
fn write_messages(prompt: &Prompt, to: &Outgoing<'_>, array: &mut Array<'_>, losses: &mut Losses) {
    let is_system = |message: &&Message| message.role == Role::System;
    let leading = prompt.messages.iter().take_while(is_system).count();
    if prompt.messages.iter().skip(leading).any(|m| is_system(&m)) {
        losses.record(
            LossVerb::Folded,
            "system",
            "moved to the front, where templates expect it",
        );
    }
    let mut writer = OllamaMessageWriter::new(array, losses, &prompt.messages);
    let inline = prompt.messages.iter().filter(is_system);
    writer.instructions(
        &prompt.system,
        inline,
        schema_instruction(prompt, to).as_deref(),
    );
    let joined = merge_assistant_messages(&prompt.messages, &OLLAMA);
    for message in joined.iter().filter(|m| m.role != Role::System) {
        writer.write(message);
    }
}

/// Splices the changes into the client's bytes, if they are in this dialect and
/// for the same endpoint.
fn splice_request(request: &Request, to: &Outgoing<'_>) -> Option<Written> {
    let source = splice::source(request, &OLLAMA)?;
    let (old, new): (&Prompt, &Prompt) = (source.prompt(), request.prompt());
    let text = std::str::from_utf8(source.bytes()).ok()?;
    let endpoint = endpoint(new);
    let is_chat = splice::member(text, "messages").is_some();
    if endpoint != self::endpoint(old)
        || (endpoint == OllamaEndpoint::Chat && !is_chat && !new.messages.is_empty())
    {
        return None;
    }
    let unshaped = Outgoing {
        ollama: Default::default(),
        ..to.clone()
    };
    let mut losses = Losses::default();
    let mut old_fields = request_fields(old, &unshaped, true, &mut Losses::default());
    let mut new_fields = request_fields(new, to, true, &mut losses);
    if endpoint == OllamaEndpoint::Generate {
        let images_changed = images(old) != images(new);
        add_generate_fields(
            old,
            &unshaped,
            images_changed,
            &mut old_fields,
            &mut Losses::default(),
        );
        add_generate_fields(new, to, images_changed, &mut new_fields, &mut losses);
    }
    let old_options = options::option_fields(old, None);
    let new_options = options::option_fields(new, to.ollama.num_ctx);
    let has_options = splice::member(text, "options").is_some_and(|value| value.starts_with('{'));
    if !has_options && !new_options.is_empty() {
        object(new_fields.value("options"), |o| new_options.write(o));
    }
    let edit = BodyEdit {
        old: &old_fields,
        new: &new_fields,
        aliases: &[],
        streams: true,
    };
    let body = edit.write(
        source.bytes(),
        source.spans(),
        to,
        |key, value, out| match key {
            "messages" if !same_conversation(new, old, to) => {
                let Some(elements) = splice::elements(value) else {
                    return FieldAction::Keep;
                };
                write_array(out, |array| {
                    splice_messages(new, old, &elements, to, array, &mut losses);
                });
                FieldAction::Replace
            }
            "options" if has_options && old_options != new_options => {
                let edit = BodyEdit {
                    old: &old_options,
                    new: &new_options,
                    aliases: &[],
                    streams: true,
                };
                match edit.splice(value, out, |_, _, _| FieldAction::Keep) {
                    true => FieldAction::Replace,
                    false => FieldAction::Keep,
                }
            }
            _ => FieldAction::Keep,
        },
    )?;
    Some(Written {
        body,
        losses: losses.into_vec(),
    })
}

fn same_conversation(new: &Prompt, old: &Prompt, to: &Outgoing<'_>) -> bool {
    new.messages == old.messages
        && new.system == old.system
        && schema_instruction(new, to).is_none()
}

/// Writes `messages`, copying the bytes of unchanged ones. Added instructions are
/// merged into a leading system message.
fn splice_messages(
    new: &Prompt,
    old: &Prompt,
    raw: &[&str],
    to: &Outgoing<'_>,
    array: &mut Array<'_>,
    losses: &mut Losses,
) {
    let mut writer = OllamaMessageWriter::new(array, losses, &new.messages);
    let schema_instruction = schema_instruction(new, to);
    let adds_instructions = schema_instruction.is_some() || !new.system.is_empty();
    let mut origins = splice::align(&old.messages, &new.messages);
    let mut rest = new.messages.as_slice();
    if adds_instructions {
        let leading = rest.first().filter(|first| first.role == Role::System);
        writer.instructions(&new.system, leading, schema_instruction.as_deref());
        if leading.is_some() {
            rest = &rest[1..];
            origins.remove(0);
        }
    }
    for (message, origin) in rest.iter().zip(origins) {
        match origin {
            ElementOrigin::Same(from) => writer.keep(message, raw[from]),
            ElementOrigin::Changed(from)
                if differs_only_in_content(&old.messages[from], message) =>
            {
                writer.splice(&old.messages[from], message, raw[from]);
            }
            _ => writer.write(message),
        }
    }
}

/// Returns the schema as an instruction, for servers that ignore `format`.
fn schema_instruction(prompt: &Prompt, to: &Outgoing<'_>) -> Option<String> {
    match &prompt.output {
        OutputFormat::Schema(output) if to.ollama.schema_in_words => Some(format!(
            "Answer with one JSON value that satisfies this JSON Schema, and with nothing else: \
             no markdown, no code fence, no explanation.\n{}",
            output.schema.as_str()
        )),
        _ => None,
    }
}

fn images(prompt: &Prompt) -> Vec<&majordomo_llm::Part> {
    let parts = prompt.messages.iter().flat_map(|message| &message.parts);
    parts.filter(|part| image::belongs(part)).collect()
}

/// Adds `prompt`, `system` and, if `with_images`, `images` for `/api/generate`.
fn add_generate_fields(
    prompt: &Prompt,
    to: &Outgoing<'_>,
    with_images: bool,
    fields: &mut BodyFields,
    losses: &mut Losses,
) {
    let parts = prompt.messages.iter().flat_map(|message| &message.parts);
    let content = OllamaContent::collect(parts, "\n\n", losses);
    fields.string("prompt", &content.text);
    let mut system: Vec<String> = prompt.system.iter().map(|t| t.text.clone()).collect();
    system.extend(schema_instruction(prompt, to));
    if !system.is_empty() {
        fields.string("system", &system.join("\n\n"));
    }
    if with_images && !content.images.is_empty() {
        write_array(fields.value("images"), |array| {
            for image in &content.images {
                image::write(image, array);
            }
        });
    }
}
