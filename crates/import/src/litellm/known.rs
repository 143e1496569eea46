//! Documented keys without a counterpart, with the reasons.
//!
//! A key that is neither read elsewhere nor listed here is reported as unknown.

use super::known_parameters::{DEPLOYMENT, INFO, PARAMS};
use super::known_settings::{GENERAL, LIBRARY, ROUTER, TOP};
use super::reasons::{METADATA, Reasons};
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
        }
        if let Some(info) = entry.get("model_info") {
            list(&info, INFO);
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
