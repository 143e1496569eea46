//! Strings and the variables in them.

use super::{ConfigReader, bare_variable};
use crate::config::Span;
use crate::config::secrets::{names, patterns};

/// A string with variables substituted. Substituted values are never displayed:
/// diagnostics quote the string as written.
#[derive(Clone)]
pub(in crate::config) struct ConfigText {
    pub(in crate::config) value: String,
    pub(in crate::config) span: Span,
    raw: String,
    /// Whether it must not be displayed at all.
    hidden: bool,
}

impl ConfigText {
    pub(super) fn read(reader: &ConfigReader<'_>, raw: &str, span: Span) -> Option<Self> {
        Some(Self {
            value: substitute(reader, raw, &span)?,
            hidden: reader.hides(&span),
            span,
            raw: raw.to_owned(),
        })
    }

    /// Whether it contains substituted variables.
    pub(in crate::config) fn is_substituted(&self) -> bool {
        self.raw != self.value
    }

    /// The string for diagnostics.
    pub(in crate::config) fn shown(&self) -> String {
        match self.hidden {
            true => "`***`".to_owned(),
            false => format!("`{}`", patterns::redacted(&self.raw)),
        }
    }
}

/// Substitutes `${NAME}`; `$${` is a literal `${`.
fn substitute(reader: &ConfigReader<'_>, raw: &str, span: &Span) -> Option<String> {
    if !raw.contains("${") {
        return literal(reader, raw, span);
    }
    let mut value = String::new();
    let mut rest = raw;
    let mut complete = true;
    while let Some(at) = rest.find("${") {
        if rest[..at].ends_with('$') {
            value.push_str(&rest[..at - 1]);
            value.push_str("${");
            rest = &rest[at + 2..];
            continue;
        }
        value.push_str(&rest[..at]);
        let Some(end) = rest[at..].find('}') else {
            reader.report(
                span.clone(),
                "`${` is never closed",
                "write `${NAME}` for a variable, `$${` for a literal `${`",
            );
            return None;
        };
        let name = &rest[at + 2..at + end];
        match reader.variable(name) {
            _ if name.is_empty() => {
                let hint = "write `${NAME}`, or `$${` for a literal `${`";
                reader.report(span.clone(), "`${}` names no variable", hint);
                complete = false;
            }
            Some(found) => {
                reader.redact_words(found);
                value.push_str(found);
            }
            None => {
                let (message, hint) = missing(reader, name, span);
                reader.report(span.clone(), message, hint);
                complete = false;
            }
        }
        rest = &rest[at + end + 1..];
    }
    value.push_str(rest);
    complete.then_some(value)
}

/// A string without `${`; reports `$NAME`.
fn literal(reader: &ConfigReader<'_>, raw: &str, span: &Span) -> Option<String> {
    let unescaped = bare_variable::unescape(raw, |name| reader.variable(name).is_some());
    let report = |name: &str| {
        let name = if reader.hides(span) { "NAME" } else { name };
        let message = format!("`${name}` is not substituted");
        let hint = format!("write `${{{name}}}` for the variable, `$${name}` for the literal text");
        reader.report(span.clone(), message, hint);
    };
    unescaped.map_err(report).ok()
}

/// Reports an unset variable. Where a secret is expected, the text may be the secret
/// instead of a name.
fn missing(reader: &ConfigReader<'_>, name: &str, span: &Span) -> (String, String) {
    let harmless = !reader.hides(span) && patterns::secret_spans(name).is_empty();
    if names::is_variable(name) || harmless {
        return (
            format!("the variable `{name}` is not set"),
            format!("set {name} in the environment that majordomo starts in"),
        );
    }
    (
        "`${…}` does not name a variable that is set".to_owned(),
        "name a variable: `${NAME}`; write a literal value without `${` and `}`".to_owned(),
    )
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::config::secrets::positions::HiddenSpans;
    use proptest::prelude::*;

    fn read(raw: &str) -> (Option<String>, Vec<String>) {
        let environment = BTreeMap::from([("A".to_owned(), "one".to_owned())]);
        let reader = ConfigReader::new(&environment, HiddenSpans::default());
        let text = ConfigText::read(&reader, raw, 0..raw.len()).map(|text| text.value);
        let (diagnostics, _) = reader.finish();
        (text, diagnostics.into_iter().map(|p| p.message).collect())
    }

    #[test]
    fn variables_are_substituted_once() {
        for (raw, value) in [
            ("plain", "plain"),
            ("${A}", "one"),
            ("x${A}y${A}", "xoneyone"),
            ("$B $", "$B $"),
            ("$${A}", "${A}"),
            ("{model}", "{model}"),
        ] {
            assert_eq!(read(raw), (Some(value.to_owned()), vec![]), "{raw}");
        }
    }

    #[test]
    fn every_missing_variable_is_reported() {
        let (text, diagnostics) = read("${B}${A}${C}");
        assert_eq!(text, None);
        assert_eq!(
            diagnostics,
            ["the variable `B` is not set", "the variable `C` is not set"]
        );
    }

    proptest! {
        #[test]
        fn no_string_panics(raw in "[$ {}A-Cß]{0,12}") {
            let (text, diagnostics) = read(&raw);
            prop_assert_eq!(text.is_none(), !diagnostics.is_empty());
        }
    }
}
