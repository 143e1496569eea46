//! Typed access to one value.

use std::time::Duration;

use secrecy::SecretString;
use toml::de::{DeArray, DeValue};

use super::text::has_unset_variable;
use super::{ConfigReader, ConfigText, Section};
use crate::config::secrets::names::{foreign_reference, is_reference};
use crate::config::secrets::patterns;
use crate::config::suggest::suggest;
use crate::config::{Span, Variables, units};

/// A key's value, or one item of an array.
#[derive(Clone)]
pub(in crate::config) struct ConfigField<'a> {
    pub(in crate::config) reader: &'a ConfigReader<'a>,
    pub(in crate::config) key: String,
    /// The key with the sections that contain it, such as `server.tls`.
    pub(super) path: String,
    pub(in crate::config) key_span: Span,
    pub(in crate::config) span: Span,
    pub(in crate::config) value: &'a DeValue<'a>,
}

impl<'a> ConfigField<'a> {
    /// Reports a diagnostic at this value.
    pub(in crate::config) fn report(&self, message: impl Into<String>, hint: impl Into<String>) {
        if self.is_unknown() {
            return;
        }
        self.reader.report(self.span.clone(), message, hint);
    }

    /// Warns at this value.
    pub(in crate::config) fn warn(&self, message: impl Into<String>, hint: impl Into<String>) {
        if !self.is_unknown() {
            self.reader.warn(self.span.clone(), message, hint);
        }
    }

    /// Whether its value depends on a variable that is not set and need not be, so that it
    /// cannot be checked.
    pub(in crate::config) fn is_unknown(&self) -> bool {
        self.reader.variables == Variables::Optional
            && matches!(self.value, DeValue::String(raw) if has_unset_variable(self.reader, raw))
    }

    /// A string, with variables substituted.
    pub(in crate::config) fn text(&self) -> Option<ConfigText> {
        let DeValue::String(raw) = self.value else {
            return self.type_error("a quoted string", "quote it");
        };
        ConfigText::read(self.reader, raw, self.span.clone())
    }

    /// A string that is not blank.
    pub(in crate::config) fn non_empty(&self) -> Option<ConfigText> {
        let text = self.text()?;
        if text.value.trim().is_empty() {
            self.report(
                format!("`{}` is empty", self.key),
                "set a value or remove the key",
            );
            return None;
        }
        Some(text)
    }

    /// A string that is never displayed.
    pub(in crate::config) fn secret(&self) -> Option<SecretString> {
        if !matches!(self.value, DeValue::String(raw) if is_reference(raw)) {
            self.reader.hide(self.span.clone());
        }
        if let DeValue::String(raw) = self.value
            && let Some(name) = foreign_reference(raw)
        {
            // A name with digits may be a key after all.
            let is_key = name.contains(|c: char| c.is_ascii_digit());
            let shown = if is_key { "NAME" } else { name };
            let message = format!("the variable `{shown}` is not substituted");
            self.report(message, format!("write `${{{shown}}}` for the variable"));
            return None;
        }
        let text = self.non_empty()?;
        Some(SecretString::from(text.value))
    }

    /// Like [`secret`](Self::secret), with a hint for a list of several.
    pub(in crate::config) fn one_secret(&self, hint: &str) -> Option<SecretString> {
        if matches!(self.value, DeValue::Array(_)) {
            self.reader.hide(self.span.clone());
            return self.type_error("a quoted string", hint);
        }
        self.secret()
    }

    /// Whether the string contains no variables.
    pub(in crate::config) fn is_literal(&self) -> bool {
        matches!(self.value, DeValue::String(raw) if !raw.contains("${"))
    }

    pub(in crate::config) fn flag(&self) -> Option<bool> {
        match self.value {
            DeValue::Boolean(flag) => Some(*flag),
            _ => self.type_error("`true` or `false`", self.unquote_hint()),
        }
    }

    /// An integer within bounds; a very large upper bound is not mentioned.
    pub(in crate::config) fn number(&self, least: u64, most: u64) -> Option<u64> {
        let expected = if most >= u64::from(u32::MAX) {
            format!("an integer of at least {least}")
        } else {
            format!("an integer from {least} to {most}")
        };
        let DeValue::Integer(number) = self.value else {
            return self.type_error(&expected, self.unquote_hint());
        };
        let number = u64::from_str_radix(number.as_str(), number.radix()).ok();
        let fits = number.filter(|number| (least..=most).contains(number));
        if fits.is_none() {
            self.report(
                format!("`{}` is out of range", self.key),
                format!("write {expected}"),
            );
        }
        fits
    }

    /// A number within bounds.
    pub(in crate::config) fn decimal(&self, least: f64, most: f64) -> Option<f64> {
        let expected = format!("a number from {least} to {most}");
        let number: Option<f64> = match self.value {
            DeValue::Integer(number) => number.as_str().parse().ok(),
            DeValue::Float(number) => number.as_str().parse().ok(),
            _ => return self.type_error(&expected, self.unquote_hint()),
        };
        let fits = number.filter(|number| (least..=most).contains(number));
        if fits.is_none() {
            self.report(
                format!("`{}` is out of range", self.key),
                format!("write {expected}"),
            );
        }
        fits
    }

    pub(in crate::config) fn duration(&self) -> Option<Duration> {
        if let DeValue::Integer(number) = self.value {
            let hint = format!("add a unit: `{} = \"{}s\"`", self.key, number.as_str());
            return self.type_error("a quoted duration", &hint);
        }
        let text = self.text()?;
        let duration = units::duration(&text.value);
        if duration.is_none() {
            let message = format!("{} is not a duration", text.shown());
            self.report(
                message,
                "write a number with a unit, such as `500ms`, `30s`, `5m` or `1h`",
            );
        }
        duration
    }

    /// A duration, or `"off"`.
    pub(in crate::config) fn duration_or_off(&self) -> Option<Option<Duration>> {
        match self.value {
            DeValue::String(text) if text.as_ref() == "off" => Some(None),
            DeValue::Boolean(false) => Some(None),
            _ => self.positive_duration().map(Some),
        }
    }

    /// A duration above zero.
    pub(in crate::config) fn positive_duration(&self) -> Option<Duration> {
        let duration = self.duration()?;
        if duration.is_zero() {
            self.report(
                format!("`{}` is zero", self.key),
                "write a time such as `30s`",
            );
            return None;
        }
        Some(duration)
    }

    /// A positive size in bytes.
    pub(in crate::config) fn size(&self) -> Option<u64> {
        let hint = "write a size with a unit, such as `4MB` or `32MiB`";
        let size = match self.value {
            DeValue::Integer(number) => u64::from_str_radix(number.as_str(), number.radix()).ok(),
            DeValue::String(_) => units::size(&self.text()?.value),
            _ => return self.type_error("a size", hint),
        };
        match size {
            Some(0) => self.report(format!("`{}` is zero", self.key), hint),
            Some(size) => return Some(size),
            None => self.report(format!("{} is not a size", self.shown()), hint),
        }
        None
    }

    /// A size in bytes; 0 and `"off"` disable the feature.
    pub(in crate::config) fn size_or_off(&self) -> Option<u64> {
        match self.value {
            DeValue::String(text) if text.as_ref() == "off" => Some(0),
            DeValue::Boolean(false) => Some(0),
            DeValue::Integer(number) if number.as_str() == "0" => Some(0),
            _ => self.size(),
        }
    }

    /// One of the given keywords.
    pub(in crate::config) fn choice<T: Copy>(&self, words: &[(&str, T)]) -> Option<T> {
        #[cfg(test)]
        {
            let words = words.iter().map(|(word, _)| (*word).to_owned());
            let mut asked = self.reader.asked.borrow_mut();
            asked.words.insert(self.path.clone(), words.collect());
        }
        let text = self.text()?;
        let found = words.iter().find(|(word, _)| *word == text.value);
        if found.is_none() {
            let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            let message = format!("{} is not a value of `{}`", text.shown(), self.key);
            self.report(message, suggest(&text.value, &known));
        }
        found.map(|(_, value)| *value)
    }

    /// The items of an array.
    pub(in crate::config) fn items(&self) -> Option<Vec<ConfigField<'a>>> {
        let DeValue::Array(array) = self.value else {
            return self.type_error("an array", "enclose it in `[` and `]`");
        };
        let item = |value: &'a toml::Spanned<DeValue<'a>>| ConfigField {
            reader: self.reader,
            key: self.key.clone(),
            path: self.path.clone(),
            key_span: value.span(),
            span: value.span(),
            value: value.get_ref(),
        };
        Some(array.iter().map(item).collect())
    }

    /// An array of strings.
    pub(in crate::config) fn texts(&self) -> Option<Vec<ConfigText>> {
        let items = self.items()?;
        Some(items.iter().filter_map(ConfigField::non_empty).collect())
    }

    /// A table; `title` names it in diagnostics.
    pub(in crate::config) fn section(&self, title: impl Into<String>) -> Option<Section<'a>> {
        self.section_or(title, &format!("write it as `[{}]`", self.path))
    }

    /// Like [`section`](Self::section), with a hint for a value that is not a table.
    pub(in crate::config) fn section_or(
        &self,
        title: impl Into<String>,
        hint: &str,
    ) -> Option<Section<'a>> {
        let DeValue::Table(table) = self.value else {
            return self.type_error("a table", hint);
        };
        let span = self.key_span.clone();
        Some(Section::new(self.reader, title, &self.path, span, table))
    }

    /// An array of tables; `title` names each in diagnostics.
    pub(in crate::config) fn sections(&self, title: &str) -> Option<Vec<Section<'a>>> {
        if !matches!(self.value, DeValue::Array(_)) {
            let hint = format!("write it as `[[{}]]`", self.path);
            return self.type_error("an array of tables", &hint);
        }
        let items = self.items()?;
        Some(
            items
                .iter()
                .filter_map(|item| item.section(title))
                .collect(),
        )
    }

    /// What to do about a string in the place of another type.
    fn unquote_hint(&self) -> &'static str {
        match self.value {
            DeValue::String(raw) if raw.contains("${") => {
                "variables are substituted only where a string is expected: write the value itself"
            }
            _ => "remove the quotes",
        }
    }

    /// The value for diagnostics, as written in the file.
    pub(in crate::config) fn shown(&self) -> String {
        match self.value {
            _ if self.reader.hides(&self.span) => "this".to_owned(),
            DeValue::String(raw) => format!("\"{}\"", patterns::redacted(raw)),
            DeValue::Integer(number) => number.as_str().to_owned(),
            DeValue::Float(number) => number.as_str().to_owned(),
            DeValue::Boolean(flag) => flag.to_string(),
            _ => "this".to_owned(),
        }
    }

    pub(in crate::config) fn type_error<T>(&self, expected: &str, hint: &str) -> Option<T> {
        let found = match self.value {
            DeValue::String(_) => "a string",
            DeValue::Integer(_) | DeValue::Float(_) => "a number",
            DeValue::Boolean(_) => "a boolean",
            DeValue::Datetime(_) => "a date",
            DeValue::Array(array) if is_array_of_tables(array) => "an array of tables",
            DeValue::Array(_) => "an array",
            DeValue::Table(_) => "a table",
        };
        let message = format!("`{}` must be {expected}, but is {found}", self.key);
        self.report(message, hint);
        None
    }
}

fn is_array_of_tables(array: &DeArray<'_>) -> bool {
    let mut items = array.iter();
    items.len() > 0 && items.all(|item| matches!(item.get_ref(), DeValue::Table(_)))
}
