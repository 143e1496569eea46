//! Tools as `{"type": "function", "function": {…}}`, a form shared by two
//! dialects.

use majordomo_llm::{Dialect, Opaque, Prompt, Tool};

use crate::declared_tool::own_fields;
use crate::json::{Cursor, JsonKind, Object, ReadResult, Rest, keep};
use crate::loss::Losses;

/// Reads a tool into the prompt; anything but a function is kept verbatim.
pub(crate) fn read_function_tool(
    cursor: &mut Cursor<'_>,
    prompt: &mut Prompt,
    dialect: Dialect,
) -> ReadResult<()> {
    let mut kind = None;
    let mut found = None;
    let mut rest = Rest::default();
    let ((), raw) = cursor.with_raw(|cursor| {
        cursor.object(|key, cursor| {
            match &**key {
                "type" => kind = cursor.maybe_string()?,
                "function" if cursor.peek()? == JsonKind::Object => {
                    found = Some(read_function(cursor, &mut rest)?);
                }
                _ => rest.take(key.as_ref(), cursor)?,
            }
            Ok(())
        })
    })?;
    match found {
        Some(mut tool) => {
            tool.native = rest.into_native(dialect);
            prompt.tools.push(tool);
        }
        None => prompt
            .hosted_tools
            .push(Opaque::new(dialect, kind.unwrap_or_default(), keep(raw))),
    }
    Ok(())
}

fn read_function(cursor: &mut Cursor<'_>, rest: &mut Rest) -> ReadResult<Tool> {
    let mut tool = Tool::new("");
    cursor.object(|key, cursor| {
        match &**key {
            "name" => tool.name = cursor.string()?.into_owned(),
            "description" => tool.description = cursor.optional_text()?,
            "parameters" => tool.parameters = cursor.optional(Cursor::raw)?.map(keep),
            "strict" => tool.strict = cursor.optional(Cursor::bool)?,
            _ => rest.take(format!("function.{key}"), cursor)?,
        }
        Ok(())
    })?;
    Ok(tool)
}

/// Writes a tool's fields.
pub(crate) fn write_function_tool(
    tool: &Tool,
    object: &mut Object<'_>,
    dialect: &Dialect,
    losses: &mut Losses,
) {
    let native = own_fields(tool, dialect, losses);
    object.string("type", "function");
    object.object("function", |o| {
        o.string("name", &tool.name);
        if let Some(description) = &tool.description {
            o.string("description", description);
        }
        if let Some(parameters) = &tool.parameters {
            o.raw("parameters", parameters.as_str());
        }
        if let Some(strict) = tool.strict {
            o.bool("strict", strict);
        }
        o.nested(native, "function");
    });
    object.native(native);
}
