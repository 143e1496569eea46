//! Reads the object-valued settings: thinking, output, tool choice, cache
//! control, metadata.

use majordomo_llm::{Effort, Json, OutputFormat, OutputSchema, Prompt, ToolChoice};

use crate::json::{Cursor, JsonKind, ReadResult, Rest, keep};

/// Settings that are only meaningful together.
#[derive(Default)]
pub(super) struct MessagesSettings<'a> {
    thinking: Option<ThinkingSetting<'a>>,
}

struct ThinkingSetting<'a> {
    kind: Option<String>,
    budget: Option<u64>,
    rest: Rest,
    raw: &'a str,
}

impl<'a> MessagesSettings<'a> {
    /// Reads one field; `null` counts as absent.
    pub(super) fn read_setting(
        &mut self,
        key: &str,
        cursor: &mut Cursor<'a>,
        prompt: &mut Prompt,
        rest: &mut Rest,
    ) -> ReadResult<()> {
        match (key, cursor.peek()?) {
            ("thinking", JsonKind::Object) => self.thinking = Some(ThinkingSetting::read(cursor)?),
            ("output_config", JsonKind::Object) => read_output_config(cursor, prompt, rest)?,
            // The name of the format before it moved into `output_config`.
            ("output_format", JsonKind::Object) => read_format(key, cursor, prompt, rest)?,
            ("tool_choice", JsonKind::Object) => read_tool_choice(cursor, prompt, rest)?,
            ("cache_control", JsonKind::Object) => read_cache_control(cursor, prompt, rest)?,
            ("metadata", JsonKind::Object) => read_metadata(cursor, prompt, rest)?,
            (
                "thinking" | "output_config" | "output_format" | "tool_choice" | "cache_control"
                | "metadata",
                JsonKind::Null,
            ) => {}
            _ => rest.take(key, cursor)?,
        }
        Ok(())
    }

    /// Applies thinking and effort, which form one setting.
    pub(super) fn apply(self, prompt: &mut Prompt, rest: &mut Rest) {
        let Some(thinking) = self.thinking else {
            return;
        };
        match (thinking.kind.as_deref(), thinking.budget, prompt.effort) {
            (Some("enabled"), Some(budget), _) => prompt.reasoning_budget = Some(budget),
            (Some("adaptive"), None, Some(_)) => {}
            (Some("disabled"), None, None) => prompt.effort = Some(Effort::None),
            _ => return rest.push("thinking", keep(thinking.raw)),
        }
        rest.append(thinking.rest);
    }
}

impl<'a> ThinkingSetting<'a> {
    fn read(cursor: &mut Cursor<'a>) -> ReadResult<Self> {
        let (mut kind, mut budget, mut rest) = (None, None, Rest::default());
        let ((), raw) = cursor.with_raw(|cursor| {
            cursor.object(|key, cursor| {
                match &**key {
                    "type" => kind = cursor.maybe_string()?.map(Into::into),
                    "budget_tokens" => budget = cursor.optional(Cursor::unsigned)?,
                    _ => rest.take(format!("thinking.{key}"), cursor)?,
                }
                Ok(())
            })
        })?;
        Ok(Self {
            kind,
            budget,
            rest,
            raw,
        })
    }
}

fn read_output_config(
    cursor: &mut Cursor<'_>,
    prompt: &mut Prompt,
    rest: &mut Rest,
) -> ReadResult<()> {
    cursor.object(|key, cursor| {
        match (&**key, cursor.peek()?) {
            ("effort", JsonKind::String) => {
                let (word, raw) = cursor.with_raw(Cursor::string)?;
                match read_effort(&word) {
                    Some(effort) => prompt.effort = Some(effort),
                    None => rest.push("output_config.effort", keep(raw)),
                }
            }
            ("format", JsonKind::Object) => {
                read_format("output_config.format", cursor, prompt, rest)?
            }
            ("effort" | "format", JsonKind::Null) => {}
            _ => rest.take(format!("output_config.{key}"), cursor)?,
        }
        Ok(())
    })
}

fn read_effort(word: &str) -> Option<Effort> {
    Some(match word {
        "low" => Effort::Low,
        "medium" => Effort::Medium,
        "high" => Effort::High,
        "xhigh" => Effort::XHigh,
        "max" => Effort::Max,
        _ => return None,
    })
}

/// Reads a JSON schema; any other format is kept under its name.
fn read_format(
    name: &str,
    cursor: &mut Cursor<'_>,
    prompt: &mut Prompt,
    rest: &mut Rest,
) -> ReadResult<()> {
    let mut kind = None;
    let mut schema: Option<Json> = None;
    let ((), raw) = cursor.with_raw(|cursor| {
        cursor.object(|key, cursor| {
            match &**key {
                "type" => kind = cursor.maybe_string()?,
                "schema" => schema = cursor.optional(Cursor::raw)?.map(keep),
                _ => {}
            }
            Ok(())
        })
    })?;
    match (kind.as_deref(), schema) {
        (Some("json_schema"), Some(schema)) => {
            prompt.output = OutputFormat::Schema(OutputSchema {
                schema,
                name: None,
                strict: None,
            });
        }
        _ => rest.push(name, keep(raw)),
    }
    Ok(())
}

fn read_tool_choice(
    cursor: &mut Cursor<'_>,
    prompt: &mut Prompt,
    rest: &mut Rest,
) -> ReadResult<()> {
    let (mut kind, mut name, mut one_at_a_time) = (None, None, None);
    let mut more = Rest::default();
    let ((), raw) = cursor.with_raw(|cursor| {
        cursor.object(|key, cursor| {
            match &**key {
                "type" => kind = cursor.maybe_string()?,
                "name" => name = cursor.maybe_string()?,
                "disable_parallel_tool_use" => one_at_a_time = cursor.optional(Cursor::bool)?,
                _ => more.take(format!("tool_choice.{key}"), cursor)?,
            }
            Ok(())
        })
    })?;
    prompt.tool_choice = match (kind.as_deref(), name) {
        (Some("auto"), _) => ToolChoice::Auto,
        (Some("any"), _) => ToolChoice::Required,
        (Some("none"), _) => ToolChoice::None,
        (Some("tool"), Some(name)) => ToolChoice::Named(name.into_owned()),
        _ => {
            rest.push("tool_choice", keep(raw));
            return Ok(());
        }
    };
    prompt.parallel_tool_calls = one_at_a_time.map(|one: bool| !one);
    rest.append(more);
    Ok(())
}

/// Reads automatic cache control; blocks carry their own.
fn read_cache_control(
    cursor: &mut Cursor<'_>,
    prompt: &mut Prompt,
    rest: &mut Rest,
) -> ReadResult<()> {
    let mut kind = None;
    let mut more = Rest::default();
    let ((), raw) = cursor.with_raw(|cursor| {
        cursor.object(|key, cursor| {
            match &**key {
                "type" => kind = cursor.maybe_string()?,
                _ => more.take(format!("cache_control.{key}"), cursor)?,
            }
            Ok(())
        })
    })?;
    if kind.as_deref() == Some("ephemeral") {
        prompt.prompt_cache = true;
        rest.append(more);
    } else {
        rest.push("cache_control", keep(raw));
    }
    Ok(())
}

fn read_metadata(cursor: &mut Cursor<'_>, prompt: &mut Prompt, rest: &mut Rest) -> ReadResult<()> {
    cursor.object(|key, cursor| {
        match (&**key, cursor.peek()?) {
            ("user_id", JsonKind::String | JsonKind::Null) => {
                prompt.user = cursor.optional_text()?
            }
            _ => rest.take(format!("metadata.{key}"), cursor)?,
        }
        Ok(())
    })
}
