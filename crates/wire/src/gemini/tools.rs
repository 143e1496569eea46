//! Tools and how they may be called, read and written.

use bytes::BytesMut;
use majordomo_llm::{Json, Native, Opaque, Prompt, Tool, ToolChoice};

use super::{GEMINI, keys, schema};
use crate::json::{Cursor, JsonKind, Object, ReadResult, Rest, keep, object, write_array};
use crate::loss::Losses;
use crate::splice::BodyFields;

/// Reads one entry of `tools`: functions, tools that Google runs, or both.
pub(super) fn read(cursor: &mut Cursor<'_>, prompt: &mut Prompt) -> ReadResult<()> {
    let mut hosted: Vec<(String, &str)> = Vec::new();
    let mut functions = false;
    let ((), raw) = cursor.with_raw(|cursor| {
        keys::object(cursor, |key, cursor| match key {
            "functionDeclarations" => {
                functions = true;
                keys::one_or_many(cursor, |cursor| {
                    prompt.tools.push(function(cursor)?);
                    Ok(())
                })
            }
            _ => {
                hosted.push((key.to_owned(), cursor.raw()?));
                Ok(())
            }
        })
    })?;
    let alone = !functions && hosted.len() == 1;
    for (kind, value) in hosted.into_iter().filter(|(_, value)| *value != "null") {
        let entry = match alone {
            true => keep(raw),
            false => {
                let mut entry = BytesMut::new();
                object(&mut entry, |o| o.raw(&kind, value));
                keep(&String::from_utf8_lossy(&entry))
            }
        };
        prompt.hosted_tools.push(Opaque {
            origin: GEMINI,
            kind,
            raw: entry,
        });
    }
    Ok(())
}

fn function(cursor: &mut Cursor<'_>) -> ReadResult<Tool> {
    let mut tool = Tool::new("");
    let mut rest = Rest::default();
    keys::object(cursor, |key, cursor| {
        match (key, cursor.peek()?) {
            ("name", _) => tool.name = cursor.string()?.into_owned(),
            ("description", JsonKind::String) => {
                tool.description = Some(cursor.string()?.into_owned());
            }
            ("parameters" | "parametersJsonSchema", JsonKind::Object) => {
                tool.parameters = Some(schema::read(cursor.raw()?));
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
pub(super) fn read_config(
    cursor: &mut Cursor<'_>,
    prompt: &mut Prompt,
    rest: &mut Rest,
) -> ReadResult<()> {
    keys::object(cursor, |key, cursor| match (key, cursor.peek()?) {
        ("functionCallingConfig", JsonKind::Object) => {
            let (choice, raw) = cursor.with_raw(choice)?;
            if let Choice::Partly(_) = choice {
                rest.push("toolConfig.functionCallingConfig", keep(raw));
            }
            let (Choice::Wholly(choice) | Choice::Partly(choice)) = choice;
            prompt.tool_choice = choice;
            Ok(())
        }
        (_, JsonKind::Null) => Ok(()),
        _ => rest.take(format!("toolConfig.{key}"), cursor),
    })
}

/// Whether the contract's choice says everything that the client said.
enum Choice {
    Wholly(ToolChoice),
    Partly(ToolChoice),
}

fn choice(cursor: &mut Cursor<'_>) -> ReadResult<Choice> {
    let mut mode = None;
    let mut names: Vec<String> = Vec::new();
    let mut more = false;
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
            more = true;
            Ok(())
        }
    })?;
    let whole = names.is_empty() && !more;
    Ok(match (mode.as_deref(), names.pop()) {
        (None | Some("AUTO" | "MODE_UNSPECIFIED" | ""), _) if whole => {
            Choice::Wholly(ToolChoice::Auto)
        }
        (Some("NONE"), _) if whole => Choice::Wholly(ToolChoice::None),
        (Some("ANY"), None) if whole => Choice::Wholly(ToolChoice::Required),
        (Some("ANY"), Some(name)) if names.is_empty() && !more => {
            Choice::Wholly(ToolChoice::Named(name))
        }
        // A choice among some of the tools.
        (Some("ANY"), _) => Choice::Partly(ToolChoice::Required),
        (Some("NONE"), _) => Choice::Partly(ToolChoice::None),
        _ => Choice::Partly(ToolChoice::Auto),
    })
}

/// Writes `tools` and `toolConfig`.
pub(super) fn write(prompt: &Prompt, fields: &mut BodyFields, losses: &mut Losses) {
    let mut hosted = Vec::new();
    for tool in &prompt.hosted_tools {
        match tool.origin == GEMINI {
            true => hosted.push(tool),
            false => losses.add(
                &format!("tools.{}", tool.kind),
                format!("a tool that only {} runs", tool.origin),
            ),
        }
    }
    if !prompt.tools.is_empty() || !hosted.is_empty() {
        write_array(fields.value("tools"), |a| {
            if !prompt.tools.is_empty() {
                a.object(|o| {
                    o.array("functionDeclarations", |a| {
                        for tool in &prompt.tools {
                            a.object(|o| write_function(tool, o, losses));
                        }
                    });
                });
            }
            for tool in hosted {
                a.raw(tool.raw.as_str());
            }
        });
    }
    write_config(prompt, fields);
    if prompt.parallel_tool_calls == Some(false) {
        losses.add(
            "parallel_tool_calls",
            "Gemini cannot be kept from parallel calls",
        );
    }
}

fn write_function(tool: &Tool, object: &mut Object<'_>, losses: &mut Losses) {
    let native = losses.own(tool.native.as_deref(), &GEMINI);
    object.string("name", &tool.name);
    if let Some(description) = &tool.description {
        object.string("description", description);
    }
    if let Some(parameters) = &tool.parameters {
        object.raw("parametersJsonSchema", parameters.as_str());
    }
    if tool.strict.is_some() {
        losses.add("strict", "Gemini has no strict tools");
    }
    object.native(native);
}

fn write_config(prompt: &Prompt, fields: &mut BodyFields) {
    const CALLING: &str = "functionCallingConfig";
    let own = prompt.native.as_deref().filter(|n| *n.dialect() == GEMINI);
    // The client's own words stand as long as the choice that they mean does.
    let kept = own
        .and_then(|native| native.get("toolConfig.functionCallingConfig"))
        .filter(|kept| still_means(kept, &prompt.tool_choice));
    let mut config = BytesMut::new();
    object(&mut config, |o| {
        if let Some(kept) = kept {
            o.raw(CALLING, kept.as_str());
        } else if !prompt.tools.is_empty() {
            write_choice(&prompt.tool_choice, CALLING, o);
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

fn write_choice(wanted: &ToolChoice, key: &str, object: &mut Object<'_>) {
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
    let read = crate::json::read_str(kept.as_str(), choice);
    matches!(read, Ok(Choice::Wholly(choice) | Choice::Partly(choice)) if choice == *wanted)
}
