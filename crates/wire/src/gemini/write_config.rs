//! Writes `generationConfig`.

use bytes::BytesMut;
use majordomo_llm::{Effort, Native, OutputFormat, Prompt};

use super::GEMINI;
use super::generation::GeminiGeneration;
use crate::Outgoing;
use crate::json::{Object, object, write_array};
use crate::loss::{LossVerb, Losses};
use crate::splice::BodyFields;

/// Synonymous keys; a spliced request keeps the one it used.
pub(super) const ALIASES: &[&[&str]] = &[
    &["maxOutputTokens", "max_output_tokens"],
    &["topP", "top_p"],
    &["topK", "top_k"],
    &["presencePenalty", "presence_penalty"],
    &["frequencyPenalty", "frequency_penalty"],
    &["stopSequences", "stop_sequences"],
    &["responseMimeType", "response_mime_type"],
    &[
        "responseJsonSchema",
        "response_json_schema",
        "responseSchema",
        "response_schema",
    ],
    &["thinkingConfig", "thinking_config"],
];

/// Returns the fields of `generationConfig`, in the order they are written.
pub(super) fn generation_config_fields(
    prompt: &Prompt,
    to: &Outgoing<'_>,
    losses: &mut Losses,
) -> BodyFields {
    let mut fields = BodyFields::default();
    if let Some(tokens) = prompt.max_tokens {
        fields.put("maxOutputTokens", tokens);
    }
    for (key, value) in [
        ("temperature", prompt.temperature),
        ("topP", prompt.top_p),
        ("presencePenalty", prompt.presence_penalty),
        ("frequencyPenalty", prompt.frequency_penalty),
    ] {
        if let Some(value) = value.filter(|value| value.is_finite()) {
            fields.put(key, value);
        }
    }
    if let Some(k) = prompt.top_k {
        fields.put("topK", k);
    }
    if let Some(seed) = prompt.seed {
        fields.put("seed", seed);
    }
    if !prompt.stop.is_empty() {
        write_array(fields.value("stopSequences"), |a| {
            for text in &prompt.stop {
                a.string(text);
            }
        });
    }
    write_output(&prompt.output, &mut fields, losses);
    let own = prompt.native.as_deref().filter(|n| *n.dialect() == GEMINI);
    write_thinking_config(prompt, own, to, &mut fields, losses);
    for (name, value) in own.into_iter().flat_map(Native::fields) {
        if let Some(name) = name.strip_prefix("generationConfig.") {
            fields.put(name, value.as_str());
        }
    }
    fields
}

fn write_output(output: &OutputFormat, fields: &mut BodyFields, losses: &mut Losses) {
    if *output == OutputFormat::Text {
        return;
    }
    fields.string("responseMimeType", "application/json");
    let OutputFormat::Schema(schema) = output else {
        return;
    };
    fields.put("responseJsonSchema", schema.schema.as_str());
    if schema.name.is_some() {
        losses.add("output.name", "Gemini's schemas have no name");
    }
    if schema.strict.is_some() {
        losses.add("output.strict", "Gemini has no strict mode for schemas");
    }
}

fn write_thinking_config(
    prompt: &Prompt,
    own: Option<&Native>,
    to: &Outgoing<'_>,
    fields: &mut BodyFields,
    losses: &mut Losses,
) {
    let mut config = BytesMut::new();
    object(&mut config, |o| {
        write_effort(prompt, to.model, o, losses);
        o.nested(own, "thinkingConfig");
    });
    if &config[..] != b"{}" {
        fields.value("thinkingConfig").extend_from_slice(&config);
    }
}

/// Writes a level or a budget, never both, which the API rejects.
fn write_effort(prompt: &Prompt, model: &str, object: &mut Object<'_>, losses: &mut Losses) {
    let generation = GeminiGeneration::of(model);
    match (generation, prompt.effort, prompt.reasoning_budget) {
        (_, None, None) => {}
        (GeminiGeneration::NoThinking, effort, budget) => {
            for (field, set) in [
                ("effort", effort.is_some()),
                ("reasoning_budget", budget.is_some()),
            ] {
                if set {
                    losses.add(field, "this model has no thinking settings");
                }
            }
        }
        (GeminiGeneration::ThinkingBudget, effort, Some(budget)) => {
            object.number("thinkingBudget", budget);
            if effort.is_some() {
                losses.add("effort", "replaced by the budget");
            }
        }
        (GeminiGeneration::ThinkingBudget, Some(effort), None) => {
            let budget = thinking_budget(effort, model);
            object.number("thinkingBudget", budget);
            if budget != 0 {
                losses.record(
                    LossVerb::Converted,
                    "effort",
                    "this model takes a token budget, not a level",
                );
            }
        }
        (GeminiGeneration::ThinkingLevel, Some(effort), budget) => {
            let (level, exact) = thinking_level(effort, model);
            object.string("thinkingLevel", level);
            if !exact {
                losses.record(
                    LossVerb::Adjusted,
                    "effort",
                    format!("the closest level is {level}"),
                );
            }
            if budget.is_some() {
                losses.add("reasoning_budget", "replaced by the level");
            }
        }
        (GeminiGeneration::ThinkingLevel, None, Some(budget)) => {
            object.number("thinkingBudget", budget)
        }
    }
}

/// Returns the budget Google documents for an effort level.
fn thinking_budget(effort: Effort, model: &str) -> u32 {
    match effort {
        // Pro models cannot disable thinking.
        Effort::None if model.contains("pro") => 128,
        Effort::None => 0,
        Effort::Minimal | Effort::Low => 1_024,
        Effort::Medium => 8_192,
        Effort::High | Effort::XHigh | Effort::Max => 24_576,
    }
}

/// Returns the closest level and whether it is exact. Only the Lite models have
/// `MINIMAL`, and no model can disable thinking.
fn thinking_level(effort: Effort, model: &str) -> (&'static str, bool) {
    match effort {
        Effort::None | Effort::Minimal if model.contains("lite") => {
            ("MINIMAL", effort == Effort::Minimal)
        }
        Effort::None | Effort::Minimal => ("LOW", false),
        Effort::Low => ("LOW", true),
        Effort::Medium => ("MEDIUM", true),
        Effort::High => ("HIGH", true),
        Effort::XHigh | Effort::Max => ("HIGH", false),
    }
}
