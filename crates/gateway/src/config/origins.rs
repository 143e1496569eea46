//! `origins` of `[server]`: the sites whose pages may ask.

use super::Origins;
use super::reader::Field;

/// Reads the list; what is no origin is reported and left out.
pub(super) fn read(field: Field<'_>) -> Origins {
    let mut origins = Origins::default();
    for item in field.items().unwrap_or_default() {
        let Some(text) = item.filled() else {
            continue;
        };
        // The text is not repeated: it may hold a password.
        if let Err(problem) = origins.add(&text.value) {
            item.report(format!("this {problem}"), problem.hint());
        }
    }
    origins
}
