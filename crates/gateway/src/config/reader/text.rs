//! Strings and the variables in them.

use super::Reader;
use crate::config::Span;
use crate::config::secrets::{names, shape};

/// A string with variables substituted. Substituted values are never displayed:
/// diagnostics quote the string as written.
#[derive(Clone)]
pub(in crate::config) struct Text {
    pub(in crate::config) value: String,
    pub(in crate::config) span: Span,
    raw: String,
    /// Whether it must not be displayed at all.
    hidden: bool,
}

impl Text {
    pub(super) fn read(reader: &Reader<'_>, raw: &str, span: Span) -> Option<Self> {
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
            false => format!("`{}`", shape::concealed(&self.raw)),
        }
    }
}

/// Substitutes `${NAME}`; `$${` is a literal `${`.
fn substitute(reader: &Reader<'_>, raw: &str, span: &Span) -> Option<String> {
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
                "write `${NAME}` for a variable, `$${` for the characters themselves",
            );
            return None;
        };
        let name = &rest[at + 2..at + end];
        match reader.variable(name) {
            _ if name.is_empty() => {
                let hint = "write `${NAME}`, or `$${` for the characters themselves";
                reader.report(span.clone(), "`${}` names no variable", hint);
                complete = false;
            }
            Some(found) => {
                reader.keep_out(found);
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

/// Reports an unset variable. Where a secret is expected, the text may be the secret
/// instead of a name.
fn missing(reader: &Reader<'_>, name: &str, span: &Span) -> (String, String) {
    let harmless = !reader.hides(span) && shape::parts(name).is_empty();
    if names::is_variable(name) || harmless {
        return (
            format!("the variable `{name}` is not set"),
            format!("set {name} in the environment that majordomo starts in"),
        );
    }
    (
        "what stands in `${…}` is no variable that is set".to_owned(),
        "name a variable: `${NAME}`; what is no variable stands without `${` and `}`".to_owned(),
    )
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::config::secrets::positions::Hidden;
    use proptest::prelude::*;

    fn read(raw: &str) -> (Option<String>, Vec<String>) {
        let environment = BTreeMap::from([("A".to_owned(), "one".to_owned())]);
        let reader = Reader::new(&environment, Hidden::default());
        let text = Text::read(&reader, raw, 0..raw.len()).map(|text| text.value);
        let (problems, _) = reader.finish();
        (text, problems.into_iter().map(|p| p.message).collect())
    }

    #[test]
    fn variables_are_put_in_once() {
        for (raw, value) in [
            ("plain", "plain"),
            ("${A}", "one"),
            ("x${A}y${A}", "xoneyone"),
            ("$A $", "$A $"),
            ("$${A}", "${A}"),
            ("{model}", "{model}"),
        ] {
            assert_eq!(read(raw), (Some(value.to_owned()), vec![]), "{raw}");
        }
    }

    #[test]
    fn every_missing_variable_is_named() {
        let (text, problems) = read("${B}${A}${C}");
        assert_eq!(text, None);
        assert_eq!(
            problems,
            ["the variable `B` is not set", "the variable `C` is not set"]
        );
    }

    proptest! {
        #[test]
        fn no_text_panics(raw in "[$ {}A-Cß]{0,12}") {
            let (text, problems) = read(&raw);
            prop_assert_eq!(text.is_none(), !problems.is_empty());
        }
    }
}
