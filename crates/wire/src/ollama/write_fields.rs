//! Writes the settings of a request, except `options`.

use majordomo_llm::{Effort, OutputFormat, Prompt, Tool, ToolChoice};

use super::generate::{GENERATE_ONLY, OllamaEndpoint, endpoint};
use super::{OLLAMA, ThinkSupport};
use crate::emulated_call;
use crate::function_tool;
use crate::json::write_array;
use crate::loss::{LossVerb, Losses};
use crate::splice::BodyFields;
use crate::{EmulatedCall, Outgoing};

/// Returns all fields but `model`, `stream`, `options` and the messages or prompt.
/// With `same_dialect` the client sent this dialect, so unknown settings are kept.
pub(super) fn request_fields(
    prompt: &Prompt,
    to: &Outgoing<'_>,
    same_dialect: bool,
    losses: &mut Losses,
) -> BodyFields {
    let mut fields = BodyFields::default();
    let emulates = emulated_call(prompt, to).is_some();
    write_tools(prompt, emulates, same_dialect, &mut fields, losses);
    match &prompt.output {
        OutputFormat::Text if emulates => {
            emulated_call::write_schema(prompt, fields.value("format"))
        }
        OutputFormat::Text => {}
        OutputFormat::Json => fields.string("format", "json"),
        OutputFormat::Schema(output) => {
            fields.put("format", output.schema.as_str());
            for (name, is_set) in [
                ("output.name", output.name.is_some()),
                ("output.strict", output.strict.is_some()),
            ] {
                if is_set {
                    losses.add(name, "Ollama has no such setting");
                }
            }
        }
    }
    if let Some(effort) = prompt.effort {
        write_think(effort, to.ollama.thinking, &mut fields, losses);
    }
    for (name, is_set) in [
        ("reasoning_budget", prompt.reasoning_budget.is_some()),
        ("cache_key", prompt.cache_key.is_some()),
        ("user", prompt.user.is_some()),
    ] {
        if is_set {
            losses.add(name, "Ollama has no such setting");
        }
    }
    let is_chat = endpoint(prompt) == OllamaEndpoint::Chat;
    let native = losses.own(prompt.native.as_deref(), &OLLAMA);
    for (name, value) in native.into_iter().flat_map(|native| native.fields()) {
        if is_chat && !same_dialect && GENERATE_ONLY.contains(&name) {
            losses.add(name, "only /api/generate has this setting");
        } else if !name.contains('.') {
            fields.put(name, value.as_str());
        }
    }
    if to.ollama.refuse_overlong && !has_truncate(prompt) {
        fields.put("truncate", false);
    }
    fields
}

/// Whether the request sets `truncate`.
pub(super) fn has_truncate(prompt: &Prompt) -> bool {
    let own = prompt.native.as_deref().filter(|n| *n.dialect() == OLLAMA);
    own.is_some_and(|native| native.get("truncate").is_some())
}

/// Returns the forced call that `format` can emulate: Ollama Cloud ignores it.
pub(super) fn emulated_call(prompt: &Prompt, to: &Outgoing<'_>) -> Option<EmulatedCall> {
    match to.ollama.schema_in_words {
        true => None,
        false => EmulatedCall::of(prompt),
    }
}

fn write_tools(
    prompt: &Prompt,
    emulates: bool,
    same_dialect: bool,
    fields: &mut BodyFields,
    losses: &mut Losses,
) {
    let (hosted, foreign): (Vec<_>, Vec<_>) =
        prompt.hosted_tools.iter().partition(|h| h.origin == OLLAMA);
    for tool in foreign {
        losses.add(
            &format!("tools.{}", tool.kind),
            format!("a tool hosted by {} only", tool.origin),
        );
    }
    if prompt.tools.is_empty() && hosted.is_empty() {
        return;
    }
    match &prompt.tool_choice {
        ToolChoice::Auto => {}
        ToolChoice::None => {
            return losses.add("tools", "omitted, since Ollama cannot forbid their use");
        }
        ToolChoice::Required | ToolChoice::Named(_) if emulates => {
            let why = "the call is written as text and read back";
            losses.record(LossVerb::Converted, "tool_choice", why);
            losses.record(LossVerb::Added, "output", "the schema of the forced call");
        }
        ToolChoice::Required | ToolChoice::Named(_) => {
            losses.add("tool_choice", "Ollama leaves it to the model");
        }
    }
    if prompt.parallel_tool_calls.is_some() {
        losses.add("parallel_tool_calls", "Ollama leaves it to the model");
    }
    write_array(fields.value("tools"), |a| {
        for tool in &prompt.tools {
            a.object(|o| match tool.strict {
                Some(_) if !same_dialect => {
                    losses.add("strict", "Ollama has no such setting");
                    let plain = Tool {
                        strict: None,
                        ..tool.clone()
                    };
                    function_tool::write_function_tool(&plain, o, &OLLAMA, losses);
                }
                _ => function_tool::write_function_tool(tool, o, &OLLAMA, losses),
            });
        }
        for tool in hosted {
            a.raw(tool.raw.as_str());
        }
    });
}

/// Writes `think` with the closest value the model supports.
fn write_think(
    effort: Effort,
    support: ThinkSupport,
    fields: &mut BodyFields,
    losses: &mut Losses,
) {
    let (level, exact) = match (effort, support) {
        (Effort::None, ThinkSupport::Unsupported) => return,
        (_, ThinkSupport::Unsupported) => return losses.add("effort", "the model cannot think"),
        (Effort::None, _) => ("false", true),
        (_, ThinkSupport::OnOff) => ("true", effort == Effort::Medium),
        (Effort::Minimal | Effort::Low, _) => ("\"low\"", effort == Effort::Low),
        (Effort::Medium, _) => ("\"medium\"", true),
        (Effort::High, _) => ("\"high\"", true),
        (Effort::XHigh | Effort::Max, ThinkSupport::UpToHigh) => ("\"high\"", false),
        (Effort::XHigh | Effort::Max, _) => ("\"max\"", effort == Effort::Max),
    };
    if !exact {
        losses.record(
            LossVerb::Adjusted,
            "effort",
            format!("the closest value is {level}"),
        );
    }
    fields.put("think", level);
}
