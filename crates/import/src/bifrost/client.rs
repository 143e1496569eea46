//! Settings of the server.

use crate::draft::{Draft, is_address};
use crate::secret::looks_secret;
use crate::source::Field;

pub(super) fn read(client: &Field<'_>, draft: &mut Draft) {
    if let Some(field) = client.get("max_request_body_size_mb") {
        match field.whole(1, 65_536) {
            Some(size) => {
                draft.max_body = Some(size);
                field.mapped("max_body in [server]");
            }
            None => field.unusable("a number of megabytes"),
        }
    }
    if let Some(field) = client.get("log_retention_days") {
        match field.whole(1, 3_000) {
            Some(days) => {
                draft.retention = Some(format!("{days}d"));
                field.mapped("retention in [ledger]");
            }
            None => field.unusable("a number of days"),
        }
    }
    for field in client
        .get("allowed_origins")
        .map(|it| it.items())
        .unwrap_or_default()
    {
        let text = field.text().unwrap_or_default().trim_end_matches('/');
        let is_site = is_address(text) && text.matches('/').count() == 2;
        match is_site && !looks_secret(text) {
            true => {
                draft.origins.push(text.to_ascii_lowercase());
                field.mapped("origins in [server]");
            }
            false => {
                field.skipped("origins are single sites; `*` would open the gateway to any page")
            }
        }
    }
    draft.origins.sort();
    draft.origins.dedup();
    for key in [
        "disable_content_logging",
        "enforce_auth_on_inference",
        "enforce_governance_header",
        "enforce_scim_auth",
    ] {
        if let Some(field) = client.get(key) {
            match field.flag() {
                Some(true) => field.mapped("majordomo always does this once a key is configured"),
                _ => field.approximated(
                    "content is never recorded, and keys are required once one is configured",
                ),
            }
        }
    }
    if let Some(field) = client.get("enable_logging") {
        field.approximated("requests are recorded in [ledger], without content");
    }
    for (_, field) in client.entries() {
        let handled = matches!(field.path.as_str(), "client.allowed_origins");
        if !handled && !field.is_reported() {
            field.skipped("a setting for Bifrost's own process");
        }
    }
}
