//! The filter of log lines: `RUST_LOG`, as most Rust programs understand it.

use tracing_subscriber::filter::Targets;

/// The filter of `RUST_LOG`: a level, or levels per module, such as
/// `warn,majordomo_gateway=debug`. `None` if the variable is not set; the error is the text
/// for an invalid one.
pub(crate) fn parse(variable: Option<&str>) -> Result<Option<Targets>, String> {
    let Some(text) = variable.map(str::trim).filter(|text| !text.is_empty()) else {
        return Ok(None);
    };
    let parsed = text.parse().map(Some);
    parsed.map_err(|error| format!("RUST_LOG is ignored: {error}"))
}

#[cfg(test)]
mod tests {
    use tracing::Level;

    use super::*;

    #[test]
    fn levels_and_modules_are_understood() {
        for unset in [None, Some(""), Some(" ")] {
            assert_eq!(parse(unset), Ok(None));
        }
        let filter = parse(Some("warn,majordomo_gateway=debug"))
            .unwrap()
            .unwrap();
        for (module, level, written) in [
            ("majordomo_gateway::record", Level::DEBUG, true),
            ("majordomo_gateway::record", Level::TRACE, false),
            ("majordomo", Level::WARN, true),
            ("majordomo", Level::INFO, false),
        ] {
            assert_eq!(
                filter.would_enable(module, &level),
                written,
                "{module} {level}"
            );
        }
    }

    #[test]
    fn an_invalid_filter_is_an_error() {
        let error = parse(Some("majordomo=loud")).unwrap_err();
        assert!(error.starts_with("RUST_LOG is ignored: "), "{error}");
    }
}
