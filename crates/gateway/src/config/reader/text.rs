//! Strings and the variables in them.

use super::{ConfigReader, bare_variable};
use crate::config::secrets::names::is_variable;
use crate::config::secrets::{names, patterns};
use crate::config::{Span, Variables};

/// A string with variables substituted. Substituted values are never displayed:
/// diagnostics quote the string as written.
#[derive(Clone)]
pub(in crate::config) struct ConfigText {
    pub(in crate::config) value: String,
    pub(in crate::config) span: Span,
    raw: String,
    /// Whether it must not be displayed at all.
    hidden: bool,
    /// Whether a variable in it is not set, so that its value is not the real one.
    pub(in crate::config) is_unknown: bool,
}

impl ConfigText {
    pub(super) fn read(reader: &ConfigReader<'_>, raw: &str, span: Span) -> Option<Self> {
        let (value, is_unknown) = substitute(reader, raw, &span)?;
        Some(Self {
            value,
            is_unknown,
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

/// The placeholder for a variable that is not set, if that is allowed.
const UNSET: &str = "unset";

/// Substitutes `${NAME}` and `${NAME:-default}`; `$${` is a literal `${`. Also returns
/// whether a variable without a default is not set.
fn substitute(reader: &ConfigReader<'_>, raw: &str, span: &Span) -> Option<(String, bool)> {
    if !raw.contains("${") {
        return literal(reader, raw, span).map(|value| (value, false));
    }
    let mut value = String::new();
    let mut rest = raw;
    let (mut complete, mut is_unknown) = (true, false);
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
        let (name, default) = split_default(&rest[at + 2..at + end]);
        // As in a shell, an empty variable takes the default too.
        let set = reader.variable(name);
        let set = set.filter(|value| default.is_none() || !value.is_empty());
        match set {
            _ if name.is_empty() => {
                let hint = "write `${NAME}`, or `$${` for a literal `${`";
                reader.report(span.clone(), "`${}` names no variable", hint);
                complete = false;
            }
            _ if default.is_some_and(|default| default.contains("${")) => {
                let hint = "write the default itself: `${NAME:-text}`";
                reader.report(span.clone(), "a default cannot contain a variable", hint);
                complete = false;
            }
            None if is_other_form(name) && !reader.hides(span) => {
                let hint = "write `${NAME}`, or `${NAME:-default}` for one that may be unset";
                let message = "this form of a reference is not known";
                reader.report(span.clone(), message, hint);
                complete = false;
            }
            Some(found) => {
                reader.redact_words(found);
                value.push_str(found);
            }
            None => match (default, reader.variables) {
                (Some(default), _) => value.push_str(default),
                (None, Variables::Optional) => {
                    let (message, hint) = missing(reader, name, span);
                    reader.warn(span.clone(), message, hint);
                    value.push_str(UNSET);
                    reader.note_unset();
                    is_unknown = true;
                }
                (None, Variables::Required) => {
                    let (message, hint) = missing(reader, name, span);
                    reader.report(span.clone(), message, hint);
                    complete = false;
                }
            },
        }
        rest = &rest[at + end + 1..];
    }
    value.push_str(rest);
    complete.then_some((value, is_unknown))
}

/// The name and the default of a reference.
fn split_default(reference: &str) -> (&str, Option<&str>) {
    match reference.split_once(":-") {
        Some((name, default)) => (name, Some(default)),
        None => (reference, None),
    }
}

/// Whether a reference has the form that shells have for other purposes, such as `${NAME:?}`
/// and `${NAME-default}`.
fn is_other_form(name: &str) -> bool {
    let end = name.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    end.is_some_and(|end| {
        is_variable(&name[..end]) && name[end..].starts_with([':', '-', '?', '+', '=', '#', '%'])
    })
}

/// Whether a string refers to a variable that is not set and has no default.
pub(super) fn has_unset_variable(reader: &ConfigReader<'_>, raw: &str) -> bool {
    let references = raw.split("${").skip(1);
    let mut names = references.filter_map(|rest| Some(split_default(rest.split_once('}')?.0)));
    names.any(|(name, default)| default.is_none() && reader.variable(name).is_none())
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
            format!(
                "set {name} in the environment that majordomo starts in, or write `${{{name}:-default}}`"
            ),
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
        let environment = BTreeMap::from([
            ("A".to_owned(), "one".to_owned()),
            ("E".to_owned(), String::new()),
        ]);
        let reader = ConfigReader::new(&environment, Variables::Required, HiddenSpans::default());
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
            ("${E}", ""),
            ("${A:-two}", "one"),
            ("${B:-two}", "two"),
            ("${B:-}", ""),
            ("${E:-two}", "two"),
            ("x${B:-127.0.0.1:80}y", "x127.0.0.1:80y"),
            ("${B:-$A}", "$A"),
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
