//! Echoes a request as plain text, one line per fact.
//!
//! The response of the model `heard`: it shows what an SDK sent in the contract's
//! terms, so its test sees what the codec's reader made of the request.

use majordomo_llm::{Native, OutputFormat, Part, Prompt, Role, ToolChoice};

/// Describes a request.
pub(crate) fn describe(prompt: &Prompt) -> String {
    let mut lines = Vec::new();
    for text in &prompt.system {
        lines.push(format!("system text {}", text.text));
    }
    for message in &prompt.messages {
        let who = match message.role {
            Role::System => "system",
            Role::User => "user",
            Role::Assistant => "assistant",
            Role::Tool => "tool",
        };
        lines.extend(message.parts.iter().flat_map(|p| part(who, p)));
    }
    for tool in &prompt.tools {
        let schema = tool
            .parameters
            .as_ref()
            .map_or("none", |json| json.as_str());
        lines.push(format!("offers {} {schema}", tool.name));
    }
    match &prompt.tool_choice {
        ToolChoice::Auto => {}
        ToolChoice::None => lines.push("choice none".into()),
        ToolChoice::Required => lines.push("choice required".into()),
        ToolChoice::Named(name) => lines.push(format!("choice named {name}")),
    }
    match &prompt.output {
        OutputFormat::Text => {}
        OutputFormat::Json => lines.push("wants json".into()),
        OutputFormat::Schema(schema) => lines.push(format!("wants {}", schema.schema.as_str())),
    }
    lines.extend(prompt.max_tokens.map(|n| format!("at most {n} tokens")));
    lines.extend(prompt.temperature.map(|t| format!("temperature {t}")));
    lines.extend(prompt.effort.map(|effort| format!("effort {effort:?}")));
    lines.extend(prompt.stop.iter().map(|text| format!("stops at {text}")));
    lines.join("\n")
}

fn part(who: &str, part: &Part) -> Vec<String> {
    let line = match part {
        Part::Text(text) => format!("{who} text {}", text.text),
        Part::Refusal(text) => format!("{who} refusal {}", text.text),
        Part::Image(image) => {
            let (kind, size) = (&image.media_type, image.data.len());
            format!("{who} image {kind} {size} bytes")
        }
        Part::RemoteImage(image) => format!("{who} image at {}", image.url),
        Part::Reasoning(reasoning) => {
            let state = state(who, reasoning.native.as_deref());
            let line = format!("{who} reasoning {}", reasoning.text);
            return [Some(line), state].into_iter().flatten().collect();
        }
        Part::ToolCall(call) => {
            let state = state(who, call.native.as_deref());
            let line = format!("{who} call {} {} {}", call.id, call.name, call.arguments);
            return [Some(line), state].into_iter().flatten().collect();
        }
        Part::ToolResult(result) => {
            let outcome = if result.is_error { "error" } else { "result" };
            let who = format!("{who} {outcome} {}", result.call_id);
            return result
                .parts
                .iter()
                .flat_map(|p| self::part(&who, p))
                .collect();
        }
        Part::File(file) => format!("{who} file {} {} bytes", file.media_type, file.data.len()),
        Part::Opaque(block) => format!("{who} opaque {}", block.kind),
    };
    vec![line]
}

/// Dialect-specific state: a signature, encrypted content, an id.
fn state(who: &str, native: Option<&Native>) -> Option<String> {
    let fields = native?.fields();
    let fields: String = fields
        .map(|(name, value)| format!(" {name}={}", value.as_str()))
        .collect();
    Some(format!("{who} state{fields}"))
}
