//! `model_info` and custom prices: capabilities and `[prices]`.

use crate::draft::{Draft, DraftPrice, Rates, dollars};
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
    let places: Vec<&Field<'_>> = [Some(parameters), info.as_ref()]
        .into_iter()
        .flatten()
        .collect();
    if draft.prices.iter().any(|price| price.target == target) {
        for field in places.iter().flat_map(|place| place.entries()) {
            if rate_of(field.0).is_some() {
                let note = "a target has one price, of its first deployment";
                field.1.approximated(note);
            }
        }
    } else {
        draft.prices.extend(price(target, &places));
    }
    if let Some(info) = info {
        capabilities(&info, provider, id, draft);
    }
}

/// The price that a deployment and its `model_info` set.
fn price(target: String, places: &[&Field<'_>]) -> Option<DraftPrice> {
    let mut price = DraftPrice {
        target,
        rates: Rates::new(),
        tiers: Vec::new(),
    };
    let mut of_tiers = Vec::new();
    for (key, field) in places.iter().flat_map(|place| place.entries()) {
        let Some((rate, above)) = rate_of(key) else {
            continue;
        };
        let Some(amount) = field.number().and_then(|cost| dollars(cost * 1e6, 6)) else {
            field.unusable("a price per token");
            continue;
        };
        let rates = match above {
            None => {
                field.mapped(format!("{rate} in [prices]"));
                &mut price.rates
            }
            Some(above) => {
                of_tiers.push(field);
                let at = price.tiers.iter().position(|tier| tier.0 == above);
                let at = at.unwrap_or_else(|| {
                    price.tiers.push((above, Rates::new()));
                    price.tiers.len() - 1
                });
                &mut price.tiers[at].1
            }
        };
        if !rates.iter().any(|(known, _)| *known == rate) {
            rates.push((rate, amount));
        }
    }
    let order = |(rate, _): &(&str, String)| RATES.iter().position(|row| row.1 == *rate);
    price.rates.sort_by_key(order);
    price.tiers.sort_by_key(|tier| tier.0);
    for (_, rates) in &mut price.tiers {
        rates.sort_by_key(order);
    }
    for field in of_tiers {
        match price.rates.is_empty() {
            true => field.skipped("a tier needs the price of smaller requests"),
            false => field.mapped("tiers in [prices]"),
        }
    }
    (!price.rates.is_empty()).then_some(price)
}

/// The rate that a key sets, and the tokens above which it applies:
/// `input_cost_per_token_above_200k_tokens`.
fn rate_of(key: &str) -> Option<(&'static str, Option<u32>)> {
    RATES.iter().find_map(|(name, rate)| {
        let rest = key.strip_prefix(name)?;
        if rest.is_empty() {
            return Some((*rate, None));
        }
        let thousands = rest.strip_prefix("_above_")?.strip_suffix("k_tokens")?;
        let thousands: u32 = thousands.parse().ok()?;
        let above = thousands.checked_mul(1_000).filter(|above| *above > 0)?;
        Some((*rate, Some(above)))
    })
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
