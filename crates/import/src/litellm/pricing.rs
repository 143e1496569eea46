//! `model_info` and custom prices: capabilities and `[prices]`.

use crate::draft::{Draft, dollars};
use crate::source::Field;

/// Prices per token and their keys in `[prices]`.
const RATES: [(&str, &str); 6] = [
    ("input_cost_per_token", "input"),
    ("output_cost_per_token", "output"),
    ("cache_read_input_token_cost", "cache_read"),
    ("cache_creation_input_token_cost", "cache_write"),
    (
        "cache_creation_input_token_cost_above_1hr",
        "cache_write_1h",
    ),
    ("output_cost_per_reasoning_token", "reasoning"),
];

pub(super) fn model_info(
    parameters: &Field<'_>,
    entry: &Field<'_>,
    provider: &str,
    id: &str,
    draft: &mut Draft,
) {
    let info = entry.get("model_info");
    let target = format!("{provider}/{id}");
    let is_new = !draft.prices.iter().any(|(known, _)| *known == target);
    let mut rates = Vec::new();
    for (key, rate) in RATES {
        let places = [Some(parameters), info.as_ref()].into_iter().flatten();
        for field in places.filter_map(|place| place.get(key)) {
            let amount = field.number().and_then(|cost| dollars(cost * 1e6, 6));
            match amount {
                Some(_) if !is_new => field.mapped("the price of the target, which has one"),
                Some(amount) => {
                    if !rates.iter().any(|(known, _)| *known == rate) {
                        rates.push((rate, amount));
                    }
                    field.mapped(format!("{rate} in [prices]"));
                }
                None => field.unusable("a price per token"),
            }
        }
    }
    if is_new && !rates.is_empty() {
        draft.prices.push((target, rates));
    }
    if let Some(info) = info {
        capabilities(&info, provider, id, draft);
    }
}

fn capabilities(info: &Field<'_>, provider: &str, id: &str, draft: &mut Draft) {
    for (key, name) in [
        ("supports_vision", "images"),
        ("supports_function_calling", "tools"),
        ("supports_response_schema", "structured"),
    ] {
        let Some(field) = info.get(key) else {
            continue;
        };
        let Some(flag) = field.flag() else {
            field.unusable("true or false");
            continue;
        };
        let model = draft.model(provider, id);
        let place = match name {
            "images" => &mut model.images,
            "tools" => &mut model.tools,
            _ => &mut model.structured,
        };
        *place = Some(flag);
        field.mapped(format!("{name} of the model"));
    }
    let tokens = |key: &str| {
        let field = info.get(key)?;
        let number = field.whole(1, u32::MAX);
        if number.is_none() {
            field.unusable("a number of tokens");
        }
        Some((field, number?))
    };
    if let Some((field, window)) = tokens("max_input_tokens") {
        draft.model(provider, id).context_window = Some(window);
        field.approximated("context_window, which covers prompt and response together");
    }
    let output = tokens("max_output_tokens");
    let older = tokens("max_tokens");
    for (field, most) in [output, older].into_iter().flatten() {
        let model = draft.model(provider, id);
        let fits = model.context_window.is_none_or(|window| most <= window);
        match (fits, model.max_output) {
            (true, None) => {
                model.max_output = Some(most);
                field.mapped("max_output of the model");
            }
            (true, Some(_)) => field.mapped("max_output of the model, given by another key"),
            (false, _) => field.skipped("it exceeds the context window"),
        }
    }
    if let Some(field) = info.get("mode") {
        match field.text() {
            Some("chat" | "completion" | "embedding" | "responses") => {
                field.mapped("a route serves every kind of request that its target has");
            }
            _ => field.skipped("majordomo serves chat, completions and embeddings"),
        }
    }
}
