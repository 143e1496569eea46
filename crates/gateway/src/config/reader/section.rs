//! A table of the file.

use std::time::Duration;

use majordomo::nearest::nearest;
use toml::de::{DeTable, DeValue};

use super::{ConfigField, ConfigReader};
use crate::config::Span;
use crate::config::secrets::names::{SETTINGS, is_secret_name, may_be_secret_name};

/// A table whose keys are taken one by one.
pub(in crate::config) struct Section<'a> {
    pub(in crate::config) reader: &'a ConfigReader<'a>,
    /// Its name in diagnostics, such as `[server]`.
    pub(in crate::config) title: String,
    /// Its path in the file, such as `server.tls`; empty for the file itself.
    path: String,
    pub(in crate::config) span: Span,
    table: &'a DeTable<'a>,
    /// Every requested key.
    known: Vec<&'static str>,
}

impl<'a> Section<'a> {
    pub(in crate::config) fn new(
        reader: &'a ConfigReader<'a>,
        title: impl Into<String>,
        path: &str,
        span: Span,
        table: &'a DeTable<'a>,
    ) -> Self {
        Self {
            reader,
            title: title.into(),
            path: path.to_owned(),
            span,
            table,
            known: Vec::new(),
        }
    }

    /// Takes an optional value.
    pub(in crate::config) fn take(&mut self, key: &'static str) -> Option<ConfigField<'a>> {
        self.known.push(key);
        let (name, value) = self.table.get_key_value(key)?;
        Some(ConfigField {
            reader: self.reader,
            key: key.to_owned(),
            path: self.path_of(key),
            key_span: name.span(),
            span: value.span(),
            value: value.get_ref(),
        })
    }

    /// The path of a key of this table.
    fn path_of(&self, key: &str) -> String {
        match self.path.as_str() {
            "" => key.to_owned(),
            path => format!("{path}.{key}"),
        }
    }

    /// Takes a required value.
    pub(in crate::config) fn require(
        &mut self,
        key: &'static str,
        hint: &str,
    ) -> Option<ConfigField<'a>> {
        let field = self.take(key);
        if field.is_none() {
            let message = format!("{} has no `{key}`", self.title);
            self.reader.report(self.span.clone(), message, hint);
        }
        field
    }

    pub(in crate::config) fn flag(&mut self, key: &'static str) -> Option<bool> {
        self.take(key)?.flag()
    }

    pub(in crate::config) fn duration(&mut self, key: &'static str) -> Option<Duration> {
        self.take(key)?.duration()
    }

    pub(in crate::config) fn size(&mut self, key: &'static str) -> Option<u64> {
        self.take(key)?.size()
    }

    /// An integer within bounds.
    pub(in crate::config) fn number(
        &mut self,
        key: &'static str,
        least: u64,
        most: u64,
    ) -> Option<u64> {
        self.take(key)?.number(least, most)
    }

    /// All entries in file order, for tables with user-defined keys.
    pub(in crate::config) fn entries(&self) -> Vec<ConfigField<'a>> {
        let mut fields: Vec<ConfigField<'a>> = self
            .table
            .iter()
            .map(|(name, value)| ConfigField {
                reader: self.reader,
                key: name.get_ref().to_string(),
                path: self.path_of(name.get_ref()),
                key_span: name.span(),
                span: value.span(),
                value: value.get_ref(),
            })
            .collect();
        fields.sort_by_key(|field| field.key_span.start);
        fields
    }

    /// Notes every unknown key, to be reported with a hint.
    pub(in crate::config) fn finish(self) {
        #[cfg(test)]
        {
            let mut asked = self.reader.asked.borrow_mut();
            let keys = asked.keys.entry(self.path.clone()).or_default();
            keys.extend(&self.known);
        }
        for (name, value) in self.table {
            let key: &str = name.get_ref();
            if self.known.contains(&key) {
                continue;
            }
            let close = nearest(key, self.known.iter().copied());
            let misplaced = self.path.is_empty() && SETTINGS.contains(&key);
            let harmless = misplaced || close.is_some_and(|close| !is_secret_name(close));
            // The value of an unknown key may be a secret.
            if may_be_secret_name(key) || !(harmless || is_small(value.get_ref())) {
                self.reader.hide_all(value);
            }
            self.reader.note_unknown_key(UnknownKey {
                key: key.to_owned(),
                span: name.span(),
                title: self.title.clone(),
                path: self.path.clone(),
                known: self.known.clone(),
            });
        }
    }
}

/// A key that its section does not have.
pub(in crate::config) struct UnknownKey {
    pub(in crate::config) key: String,
    pub(in crate::config) span: Span,
    /// The section's name in diagnostics.
    pub(in crate::config) title: String,
    /// The section's path in the file.
    pub(in crate::config) path: String,
    /// The keys that the section has.
    pub(in crate::config) known: Vec<&'static str>,
}

/// Whether a value is too short for a secret.
fn is_small(value: &DeValue<'_>) -> bool {
    match value {
        DeValue::Boolean(_) => true,
        DeValue::Integer(number) => number.as_str().len() < 6,
        _ => false,
    }
}
