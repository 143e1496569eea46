//! Documented keys without a counterpart, with the reasons.
//!
//! A key that is neither read elsewhere nor listed here is reported as unknown.

use super::known_parameters::{DEPLOYMENT, INFO, PARAMS};
use super::known_settings::{GENERAL, LIBRARY, ROUTER, TOP};
use super::reasons::{CAPABILITIES, CLOUD, METADATA, PRICES, Reasons};
use crate::source::Field;

/// Reports every documented key of the file that has no counterpart.
pub(super) fn report(root: &Field<'_>) {
    list(root, TOP);
    for (name, reasons) in [
        ("litellm_settings", LIBRARY),
        ("general_settings", GENERAL),
        ("router_settings", ROUTER),
    ] {
        if let Some(section) = root.get(name) {
            list(&section, reasons);
        }
    }
    for entry in root
        .get("model_list")
        .map(|it| it.items())
        .unwrap_or_default()
    {
        if let Some(parameters) = entry.get("litellm_params") {
            list(&parameters, PARAMS);
            families(&parameters);
        }
        if let Some(info) = entry.get("model_info") {
            list(&info, INFO);
            families(&info);
        }
        list(&entry, DEPLOYMENT);
    }
    for entry in root
        .get("credential_list")
        .map(|it| it.items())
        .unwrap_or_default()
    {
        if let Some(name) = entry.get("credential_name") {
            name.mapped("deployments that name it get its values");
        }
        if let Some(info) = entry.get("credential_info") {
            info.skipped(METADATA);
        }
        if let Some(values) = entry.get("credential_values") {
            list(&values, PARAMS);
            families(&values);
        }
    }
}

fn list(section: &Field<'_>, reasons: Reasons) {
    for (reason, keys) in reasons {
        for key in keys.split_whitespace() {
            if let Some(field) = section.get(key)
                && !field.is_reported()
            {
                field.skipped(*reason);
            }
        }
    }
}

/// Reports keys of a deployment that only their names' parts tell apart: there are hundreds, such
/// as a price for each kind of token, service tier and length.
fn families(section: &Field<'_>) {
    for (key, field) in section.entries() {
        if let Some(reason) = family(key)
            && !field.is_reported()
        {
            field.skipped(reason);
        }
    }
}

fn family(key: &str) -> Option<&'static str> {
    let begins = |prefixes: &[&str]| prefixes.iter().any(|prefix| key.starts_with(prefix));
    let is_price = ["cost_per_", "_cost_", "_uplift_"]
        .iter()
        .any(|part| key.contains(part))
        || key.ends_with("_cost")
        || key.ends_with("_pricing");
    if is_price {
        Some(PRICES)
    } else if begins(&["supports_", "supported_"]) {
        Some(CAPABILITIES)
    } else if begins(&[
        "aws_",
        "azure_",
        "vertex_",
        "watsonx_",
        "s3_",
        "anthropic_",
        "openai_",
        "token_exchange_",
    ]) {
        Some(CLOUD)
    } else {
        None
    }
}
