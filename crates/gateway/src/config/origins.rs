//! `origins` of `[server]`: sites whose pages may call the gateway.

use super::Origins;
use super::reader::ConfigField;

/// Reads the list; invalid origins are reported and skipped.
pub(super) fn read_origins(field: ConfigField<'_>) -> Origins {
    let mut origins = Origins::default();
    for item in field.items().unwrap_or_default() {
        let Some(text) = item.non_empty() else {
            continue;
        };
        // The text is not quoted because it may contain a password.
        if let Err(problem) = origins.add(&text.value) {
            item.report(format!("this {problem}"), problem.hint());
        }
    }
    origins
}
