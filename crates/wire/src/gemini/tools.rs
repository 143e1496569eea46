//! Reads and writes `tools` and `toolConfig`.

use bytes::BytesMut;
use majordomo_llm::{Json, Native, Opaque, Prompt, Tool, ToolChoice};

use super::{GEMINI, keys, schema};
use crate::declared_tool::own_fields;
use crate::json::{Cursor, JsonKind, Object, ReadResult, Rest, keep, object, write_array};
use crate::loss::Losses;
use crate::splice::BodyFields;

/// Reads one element of `tools`: functions, tools hosted by Google, or both.
pub(super) fn read_tool(cursor: &mut Cursor<'_>, prompt: &mut Prompt) -> ReadResult<()> {
    let mut hosted: Vec<(String, &str)> = Vec::new();
    let mut functions = false;
    let ((), raw) = cursor.with_raw(|cursor| {
        keys::object(cursor, |key, cursor| match key {
            "functionDeclarations" => {
                functions = true;
                keys::one_or_many(cursor, |cursor| {
                    prompt.tools.push(read_function_declaration(cursor)?);
                    Ok(())
                })
            }
            _ => {
                hosted.push((key.to_owned(), cursor.raw()?));
                Ok(())
            }
        })
    })?;
    let single = !functions && hosted.len() == 1;
    for (kind, value) in hosted.into_iter().filter(|(_, value)| *value != "null") {
        let entry = match single {
            true => keep(raw),
            false => {
                let mut entry = BytesMut::new();
                object(&mut entry, |o| o.raw(&kind, value));
                keep(&String::from_utf8_lossy(&entry))
            }
        };
        prompt.hosted_tools.push(Opaque::new(GEMINI, kind, entry));
    }
    Ok(())
}

fn read_function_declaration(cursor: &mut Cursor<'_>) -> ReadResult<Tool> {
    let mut tool = Tool::new("");
    let mut rest = Rest::default();
    keys::object(cursor, |key, cursor| {
        match (key, cursor.peek()?) {
            ("name", _) => tool.name = cursor.string()?.into_owned(),
            ("description", JsonKind::String) => tool.description = cursor.optional_text()?,
            ("parameters" | "parametersJsonSchema", JsonKind::Object) => {
                tool.parameters = Some(schema::read_schema(cursor.raw()?));
            }
            (_, JsonKind::Null) => {}
            _ => rest.take(key, cursor)?,
        }
        Ok(())
    })?;
    tool.native = rest.into_native(GEMINI);
    Ok(tool)
}

/// Reads `toolConfig`.
pub(super) fn read_tool_config(
    cursor: &mut Cursor<'_>,
    prompt: &mut Prompt,
    rest: &mut Rest,
) -> ReadResult<()> {
    keys::object(cursor, |key, cursor| match (key, cursor.peek()?) {
        ("functionCallingConfig", JsonKind::Object) => {
            let (choice, raw) = cursor.with_raw(read_function_calling_config)?;
            if let GeminiToolChoice::Approximate(_) = choice {
                rest.push("toolConfig.functionCallingConfig", keep(raw));
            }
            let (GeminiToolChoice::Exact(choice) | GeminiToolChoice::Approximate(choice)) = choice;
            prompt.tool_choice = choice;
            Ok(())
        }
        (_, JsonKind::Null) => Ok(()),
        _ => rest.take(format!("toolConfig.{key}"), cursor),
    })
}

/// A `functionCallingConfig` as [`ToolChoice`].
enum GeminiToolChoice {
    /// Fully expressed.
    Exact(ToolChoice),
    /// The closest choice; the original is kept as a native field.
    Approximate(ToolChoice),
}

fn read_function_calling_config(cursor: &mut Cursor<'_>) -> ReadResult<GeminiToolChoice> {
    let mut mode = None;
    let mut names: Vec<String> = Vec::new();
    let mut has_unknown = false;
    keys::object(cursor, |key, cursor| match (key, cursor.peek()?) {
        ("mode", JsonKind::String) => {
            mode = Some(cursor.string()?.to_ascii_uppercase());
            Ok(())
        }
        ("allowedFunctionNames", JsonKind::Array) => cursor.array(|cursor| {
            names.push(cursor.string()?.into_owned());
            Ok(())
        }),
        (_, JsonKind::Null) => Ok(()),
        _ => {
            has_unknown = true;
            Ok(())
        }
    })?;
    let is_plain = names.is_empty() && !has_unknown;
    Ok(match (mode.as_deref(), names.pop()) {
        (None | Some("AUTO" | "MODE_UNSPECIFIED" | ""), _) if is_plain => {
            GeminiToolChoice::Exact(ToolChoice::Auto)
        }
        (Some("NONE"), _) if is_plain => GeminiToolChoice::Exact(ToolChoice::None),
        (Some("ANY"), None) if is_plain => GeminiToolChoice::Exact(ToolChoice::Required),
        (Some("ANY"), Some(name)) if names.is_empty() && !has_unknown => {
            GeminiToolChoice::Exact(ToolChoice::Named(name))
        }
        // A subset of the functions.
        (Some("ANY"), _) => GeminiToolChoice::Approximate(ToolChoice::Required),
        (Some("NONE"), _) => GeminiToolChoice::Approximate(ToolChoice::None),
        _ => GeminiToolChoice::Approximate(ToolChoice::Auto),
    })
}

/// Writes `tools` and `toolConfig`.
pub(super) fn write_tools(prompt: &Prompt, fields: &mut BodyFields, losses: &mut Losses) {
    let mut hosted = Vec::new();
    for tool in &prompt.hosted_tools {
        match tool.origin == GEMINI {
            true => hosted.push(tool),
            false => losses.add(
                &format!("tools.{}", tool.kind),
                format!("a tool hosted by {} only", tool.origin),
            ),
        }
    }
    if !prompt.tools.is_empty() || !hosted.is_empty() {
        write_array(fields.value("tools"), |a| {
            if !prompt.tools.is_empty() {
                a.object(|o| {
                    o.array("functionDeclarations", |a| {
                        for tool in &prompt.tools {
                            a.object(|o| write_function_declaration(tool, o, losses));
                        }
                    });
                });
            }
            for tool in hosted {
                a.raw(tool.raw.as_str());
            }
        });
    }
    write_tool_config(prompt, fields);
    if prompt.parallel_tool_calls == Some(false) {
        losses.add(
            "parallel_tool_calls",
            "Gemini cannot disable parallel calls",
        );
    }
}

fn write_function_declaration(tool: &Tool, object: &mut Object<'_>, losses: &mut Losses) {
    let native = own_fields(tool, &GEMINI, losses);
    object.string("name", &tool.name);
    if let Some(description) = &tool.description {
        object.string("description", description);
    }
    if let Some(parameters) = &tool.parameters {
        object.raw("parametersJsonSchema", parameters.as_str());
    }
    if tool.strict.is_some() {
        losses.add("strict", "Gemini has no strict mode for tools");
    }
    object.native(native);
}

fn write_tool_config(prompt: &Prompt, fields: &mut BodyFields) {
    const CALLING: &str = "functionCallingConfig";
    let own = prompt.native.as_deref().filter(|n| *n.dialect() == GEMINI);
    // The client's own config is kept while it still means the current choice.
    let kept = own
        .and_then(|native| native.get("toolConfig.functionCallingConfig"))
        .filter(|kept| still_means(kept, &prompt.tool_choice));
    let mut config = BytesMut::new();
    object(&mut config, |o| {
        if let Some(kept) = kept {
            o.raw(CALLING, kept.as_str());
        } else if !prompt.tools.is_empty() {
            write_function_calling_config(&prompt.tool_choice, CALLING, o);
        }
        let others = own.into_iter().flat_map(Native::fields);
        for (name, value) in others {
            match name.strip_prefix("toolConfig.") {
                Some(name) if name != CALLING => o.raw(name, value.as_str()),
                _ => {}
            }
        }
    });
    if &config[..] != b"{}" {
        fields.value("toolConfig").extend_from_slice(&config);
    }
}

fn write_function_calling_config(wanted: &ToolChoice, key: &str, object: &mut Object<'_>) {
    let (mode, name) = match wanted {
        ToolChoice::Auto => return,
        ToolChoice::None => ("NONE", None),
        ToolChoice::Required => ("ANY", None),
        ToolChoice::Named(name) => ("ANY", Some(name)),
    };
    object.object(key, |o| {
        o.string("mode", mode);
        if let Some(name) = name {
            o.array("allowedFunctionNames", |a| a.string(name));
        }
    });
}

fn still_means(kept: &Json, wanted: &ToolChoice) -> bool {
    let read = crate::json::read_str(kept.as_str(), read_function_calling_config);
    matches!(read, Ok(GeminiToolChoice::Exact(choice) | GeminiToolChoice::Approximate(choice)) if choice == *wanted)
}
