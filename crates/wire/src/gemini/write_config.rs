//! Writes `generationConfig`.

use bytes::BytesMut;
use majordomo_llm::{Effort, Native, OutputFormat, Prompt};

use super::GEMINI;
use super::generation::Generation;
use crate::Outgoing;
use crate::json::{Object, object, write_array};
use crate::loss::Losses;
use crate::splice::Fields;

/// Keys that mean the same; a request keeps the one that it came with.
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

/// The settings, in the order of writing.
pub(super) fn fields(prompt: &Prompt, to: &Outgoing<'_>, losses: &mut Losses) -> Fields {
    let mut fields = Fields::default();
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
    output(&prompt.output, &mut fields, losses);
    let own = prompt.native.as_deref().filter(|n| *n.dialect() == GEMINI);
    thinking(prompt, own, to, &mut fields, losses);
    for (name, value) in own.into_iter().flat_map(Native::fields) {
        if let Some(name) = name.strip_prefix("generationConfig.") {
            fields.put(name, value.as_str());
        }
    }
    fields
}

fn output(output: &OutputFormat, fields: &mut Fields, losses: &mut Losses) {
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
        losses.add("output.strict", "Gemini has no strict schemas");
    }
}

fn thinking(
    prompt: &Prompt,
    own: Option<&Native>,
    to: &Outgoing<'_>,
    fields: &mut Fields,
    losses: &mut Losses,
) {
    let mut config = BytesMut::new();
    object(&mut config, |o| {
        effort(prompt, to.model, o, losses);
        o.nested(own, "thinkingConfig");
    });
    if &config[..] != b"{}" {
        fields.value("thinkingConfig").extend_from_slice(&config);
    }
}

/// A level or a budget, never both: together they are refused.
fn effort(prompt: &Prompt, model: &str, object: &mut Object<'_>, losses: &mut Losses) {
    let generation = Generation::of(model);
    match (generation, prompt.effort, prompt.reasoning_budget) {
        (_, None, None) => {}
        (Generation::Unthinking, effort, budget) => {
            for (field, set) in [
                ("effort", effort.is_some()),
                ("reasoning_budget", budget.is_some()),
            ] {
                if set {
                    losses.add(field, "this model cannot be told how hard to think");
                }
            }
        }
        (Generation::Budgets, effort, Some(budget)) => {
            object.number("thinkingBudget", budget);
            if effort.is_some() {
                losses.add("effort", "the budget is told instead");
            }
        }
        (Generation::Budgets, Some(effort), None) => {
            let budget = budget_of(effort, model);
            object.number("thinkingBudget", budget);
            if budget != 0 {
                losses.add("effort", "this model knows budgets of tokens, not levels");
            }
        }
        (Generation::Levels, Some(effort), budget) => {
            let (word, exact) = level_of(effort, model);
            object.string("thinkingLevel", word);
            if !exact {
                losses.add("effort", format!("the nearest level is {word}"));
            }
            if budget.is_some() {
                losses.add("reasoning_budget", "the level is told instead");
            }
        }
        (Generation::Levels, None, Some(budget)) => object.number("thinkingBudget", budget),
    }
}

/// The budgets that Google itself gives to the words.
fn budget_of(effort: Effort, model: &str) -> u32 {
    match effort {
        // This one always thinks.
        Effort::None if model.contains("pro") => 128,
        Effort::None => 0,
        Effort::Minimal | Effort::Low => 1_024,
        Effort::Medium => 8_192,
        Effort::High | Effort::XHigh | Effort::Max => 24_576,
    }
}

/// The nearest level, and whether it is the same. Only the small models have
/// the lowest one, and none can be kept from thinking.
fn level_of(effort: Effort, model: &str) -> (&'static str, bool) {
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
