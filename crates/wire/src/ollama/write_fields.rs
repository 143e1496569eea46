//! Writes the settings of a request.

use majordomo_llm::{Effort, OutputFormat, Prompt, Tool, ToolChoice};

use super::generate::{Form, ONLY_HERE, form};
use super::{OLLAMA, Thinking};
use crate::Outgoing;
use crate::function_tool;
use crate::json::write_array;
use crate::loss::Losses;
use crate::splice::Fields;

/// Everything but model, stream, options and what is asked. `same` when the
/// request came in this dialect, so that what the server does not know may stay.
pub(super) fn fields(
    prompt: &Prompt,
    to: &Outgoing<'_>,
    same: bool,
    losses: &mut Losses,
) -> Fields {
    let mut fields = Fields::default();
    tools(prompt, same, &mut fields, losses);
    match &prompt.output {
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
        think(effort, to.ollama.thinking, &mut fields, losses);
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
    let chat = form(prompt) == Form::Chat;
    let native = losses.own(prompt.native.as_deref(), &OLLAMA);
    for (name, value) in native.into_iter().flat_map(|native| native.fields()) {
        if chat && !same && ONLY_HERE.contains(&name) {
            losses.add(name, "only /api/generate has it");
        } else if !name.contains('.') {
            fields.put(name, value.as_str());
        }
    }
    if to.ollama.refuse_overlong && !has_truncate(prompt) {
        fields.put("truncate", false);
    }
    fields
}

/// Whether the request itself says what happens to a prompt that is too long.
pub(super) fn has_truncate(prompt: &Prompt) -> bool {
    let own = prompt.native.as_deref().filter(|n| *n.dialect() == OLLAMA);
    own.is_some_and(|native| native.get("truncate").is_some())
}

fn tools(prompt: &Prompt, same: bool, fields: &mut Fields, losses: &mut Losses) {
    let (hosted, foreign): (Vec<_>, Vec<_>) =
        prompt.hosted_tools.iter().partition(|h| h.origin == OLLAMA);
    for tool in foreign {
        losses.add(
            &format!("tools.{}", tool.kind),
            format!("a tool that only {} runs", tool.origin),
        );
    }
    if prompt.tools.is_empty() && hosted.is_empty() {
        return;
    }
    match &prompt.tool_choice {
        ToolChoice::Auto => {}
        ToolChoice::None => {
            return losses.add("tools", "left out, since nothing else forbids their use");
        }
        ToolChoice::Required | ToolChoice::Named(_) => {
            losses.add("tool_choice", "Ollama lets the model decide");
        }
    }
    if prompt.parallel_tool_calls.is_some() {
        losses.add("parallel_tool_calls", "Ollama lets the model decide");
    }
    write_array(fields.value("tools"), |a| {
        for tool in &prompt.tools {
            a.object(|o| match tool.strict {
                Some(_) if !same => {
                    losses.add("strict", "Ollama has no such setting");
                    let plain = Tool {
                        strict: None,
                        ..tool.clone()
                    };
                    function_tool::write(&plain, o, &OLLAMA, losses);
                }
                _ => function_tool::write(tool, o, &OLLAMA, losses),
            });
        }
        for tool in hosted {
            a.raw(tool.raw.as_str());
        }
    });
}

/// The nearest value that the model knows.
fn think(effort: Effort, known: Thinking, fields: &mut Fields, losses: &mut Losses) {
    let (level, exact) = match (effort, known) {
        (Effort::None, Thinking::Never) => return,
        (_, Thinking::Never) => return losses.add("effort", "the model cannot think"),
        (Effort::None, _) => ("false", true),
        (_, Thinking::Switch) => ("true", effort == Effort::Medium),
        (Effort::Minimal | Effort::Low, _) => ("\"low\"", effort == Effort::Low),
        (Effort::Medium, _) => ("\"medium\"", true),
        (Effort::High, _) => ("\"high\"", true),
        (Effort::XHigh | Effort::Max, Thinking::ToHigh) => ("\"high\"", false),
        (Effort::XHigh | Effort::Max, _) => ("\"max\"", effort == Effort::Max),
    };
    if !exact {
        losses.add("effort", format!("the nearest is {level}"));
    }
    fields.put("think", level);
}
