//! `[prices]`: a replacement for the price table, and prices of single targets.

use std::path::PathBuf;

use majordomo_ledger::{MoneyError, PriceCard, PriceOverride, Rate, TierOverride};

use super::Span;
use super::reader::{ConfigField, Section};

/// Prices beyond the shipped table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PriceSettings {
    /// A table that replaces the shipped one.
    pub file: Option<PathBuf>,
    /// The place of `file`, for diagnostics.
    pub file_span: Span,
    /// Prices by target, or by a pattern with `*`.
    pub overrides: Vec<(String, PriceCard)>,
}

pub(super) fn read_prices(mut section: Section<'_>) -> PriceSettings {
    let mut prices = PriceSettings::default();
    if let Some(field) = section.take("file") {
        prices.file_span = field.span.clone();
        prices.file = field.non_empty().map(|text| text.value.into());
    }
    for field in section.entries() {
        if field.key == "file" {
            continue;
        }
        if !field.key.contains('/') {
            section.reader.report(
                field.key_span.clone(),
                format!("`{}` is not a target", field.key),
                "write `[prices.\"provider/model\"]`; `*` stands for any text",
            );
            continue;
        }
        let title = format!("[prices.\"{}\"]", field.key);
        if let Some(entry) = field.section(title.clone())
            && let Some(price) = read_price(entry, &title, true)
        {
            match price.card() {
                Ok(card) => prices.overrides.push((field.key.clone(), card)),
                Err(error) => report(&field, &error),
            }
        }
    }
    prices
}

fn report(field: &ConfigField<'_>, error: &MoneyError) {
    let hint = "rates are US dollars per million tokens, such as `input = \"0.27\"`";
    field.report(error.to_string(), hint);
}

const ABOVE_HINT: &str = "state the input tokens above which these rates apply: `above = 200000`";

/// Reads the rates of a price. Each mistake is reported at its own line; `None` if there is
/// one.
fn read_price(mut section: Section<'_>, title: &str, with_tiers: bool) -> Option<PriceOverride> {
    let mut price = PriceOverride::default();
    let mut valid = true;
    for (key, rate) in [
        ("input", &mut price.input),
        ("output", &mut price.output),
        ("cache_read", &mut price.cache_read),
        ("cache_write", &mut price.cache_write),
        ("cache_write_1h", &mut price.cache_write_1h),
        ("reasoning", &mut price.reasoning),
        ("image", &mut price.image),
        ("request", &mut price.request),
    ] {
        let Some(field) = section.take(key) else {
            continue;
        };
        let Some(text) = field.non_empty() else {
            valid = false;
            continue;
        };
        let judged = match key {
            "image" | "request" => Rate::per_unit(&text.value),
            _ => Rate::per_million(&text.value),
        };
        if let Err(error) = judged {
            report(&field, &error);
            valid = false;
        }
        *rate = Some(text.value);
    }
    if with_tiers {
        let tiers = section.take("tiers");
        let tiers = tiers.and_then(|field| field.sections(&format!("`tiers` of {title}")));
        for mut tier in tiers.into_iter().flatten() {
            let above = tier.require("above", ABOVE_HINT);
            let above = above.and_then(|field| field.number(1, u64::from(u32::MAX)));
            match (above, read_price(tier, title, false)) {
                (Some(above), Some(rates)) => price.tiers.push(TierOverride { above, rates }),
                _ => valid = false,
            }
        }
    }
    section.finish();
    valid.then_some(price)
}
