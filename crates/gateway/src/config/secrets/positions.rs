//! Finds secrets in a parsed file by position.
//!
//! `[[keys]]` and `[providers]` are where secrets belong: everything there is masked
//! except values known to be harmless, and only while they have the expected type. A key
//! whose name marks a secret is masked with everything in it, in every section.

use majordomo::nearest::most_similar;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::names::{SECRET_NAMES, is_reference, is_secret_name, is_word};
use super::patterns;
use crate::config::Span;

type SpannedValue<'a> = Spanned<DeValue<'a>>;

/// Sections whose values are displayed unless they look like secrets.
const ORDINARY: [&str; 16] = [
    "server",
    "fetch",
    "vision",
    "health",
    "chain",
    "aliases",
    "routes",
    "teams",
    "end_users",
    "ledger",
    "prices",
    "limits",
    "page",
    "log",
    "capture",
    "cluster",
];

/// Settings of a client key that are no secrets.
const KEY_SETTINGS: [&str; 10] = [
    "name",
    "team",
    "role",
    "scope",
    "expires",
    "asserts_users",
    "capture",
    "limits",
    "budget",
    "when_exhausted",
];

/// Longest value of a setting that is one of a few words.
const LONGEST_CHOICE: usize = 8;

/// Finds all spans that must be masked, with their text where they are strings.
pub(in crate::config) fn find(text: &str, table: &DeTable<'_>) -> HiddenSpans {
    let mut hidden = HiddenSpans {
        text: text.to_owned(),
        ..HiddenSpans::default()
    };
    for (name, value) in table {
        hidden.mask_lookalikes(name.span(), name.get_ref());
        let key: &str = name.get_ref();
        let sections = ORDINARY.into_iter().chain(["keys", "providers"]);
        match most_similar(key, sections) {
            Some("keys") => hidden.keys(value),
            Some("providers") => hidden.providers(value),
            Some("aliases" | "prices") => hidden.user_names(value),
            Some(_) => hidden.ordinary(value),
            None if is_secret_name(key) => hidden.all(value),
            // The reader knows whether it is a misplaced setting.
            None => hidden.ordinary(value),
        }
    }
    hidden
}

/// Spans and words to mask.
#[derive(Default)]
pub(in crate::config) struct HiddenSpans {
    text: String,
    pub(in crate::config) spans: Vec<Span>,
    /// The secrets themselves, to be masked in messages.
    pub(in crate::config) words: Vec<String>,
}

impl HiddenSpans {
    /// `[[keys]]`, or any value with that name.
    fn keys(&mut self, value: &SpannedValue<'_>) {
        match value.get_ref() {
            DeValue::Array(entries) => {
                for entry in entries.iter() {
                    self.keys(entry);
                }
            }
            DeValue::Table(entry) => {
                for (name, value) in entry {
                    let known = KEY_SETTINGS.into_iter().chain(["models", "hash", "key"]);
                    match (most_similar(name.get_ref(), known), value.get_ref()) {
                        (Some("hash" | "key"), _) => self.secret(value),
                        (Some("limits" | "budget"), DeValue::Table(_)) => self.ordinary(value),
                        (Some("asserts_users" | "capture"), DeValue::Boolean(_)) => {
                            self.ordinary(value)
                        }
                        (Some("expires"), DeValue::Datetime(_)) => self.ordinary(value),
                        (Some(name), DeValue::String(_)) if name != "models" => {
                            self.ordinary(value);
                        }
                        (Some("models"), DeValue::Array(models)) if texts(models) => {
                            self.ordinary(value);
                        }
                        _ => self.secret(value),
                    }
                    self.name(name);
                }
            }
            _ => self.secret(value),
        }
    }

    /// `[providers]`, or any value with that name.
    fn providers(&mut self, value: &SpannedValue<'_>) {
        let DeValue::Table(providers) = value.get_ref() else {
            return self.secret(value);
        };
        for (name, provider) in providers {
            self.mask_lookalikes(name.span(), name.get_ref());
            match provider.get_ref() {
                DeValue::Table(provider) => self.provider(provider),
                // Most likely a key or a DSN.
                _ => {
                    self.secret(provider);
                    self.name(name);
                }
            }
        }
    }

    fn provider(&mut self, provider: &DeTable<'_>) {
        for (name, value) in provider {
            let known = [
                "kind",
                "base_url",
                "models",
                "api_key",
                "dsn",
                "headers",
                "proxy",
                "timeout",
                "version",
                "cache",
                "client_credentials",
                "trace",
            ];
            match (most_similar(name.get_ref(), known), value.get_ref()) {
                (Some("kind"), DeValue::String(_)) => self.ordinary(value),
                (Some("timeout" | "version"), DeValue::String(_)) => self.ordinary(value),
                (Some("base_url" | "proxy"), DeValue::String(url)) if !url.contains('@') => {
                    self.ordinary(value);
                }
                (Some("cache" | "client_credentials" | "trace"), DeValue::Boolean(_)) => {}
                (Some("cache" | "client_credentials" | "trace"), DeValue::String(text))
                    if is_word(text) && text.len() <= LONGEST_CHOICE => {}
                (Some("models"), DeValue::Table(_)) => self.user_names(value),
                (None, DeValue::Boolean(_)) if !is_secret_name(name.get_ref()) => {}
                (None, DeValue::Integer(number))
                    if !is_secret_name(name.get_ref()) && number.as_str().len() < 6 => {}
                _ => self.secret(value),
            }
            self.name(name);
        }
    }

    /// A table with user-defined names, which reveal nothing about the values.
    fn user_names(&mut self, value: &SpannedValue<'_>) {
        let DeValue::Table(table) = value.get_ref() else {
            return self.ordinary(value);
        };
        for (name, value) in table {
            self.mask_lookalikes(name.span(), name.get_ref());
            match SECRET_NAMES.contains(&name.get_ref().to_lowercase().as_str()) {
                true => self.secret(value),
                false => self.ordinary(value),
            }
        }
    }

    /// A value that may be displayed, except for parts that look like secrets.
    fn ordinary(&mut self, value: &SpannedValue<'_>) {
        match value.get_ref() {
            DeValue::String(text) => self.mask_lookalikes(value.span(), text),
            DeValue::Array(items) => {
                for item in items.iter() {
                    self.ordinary(item);
                }
            }
            DeValue::Table(table) => self.ordinary_table(table),
            _ => {}
        }
    }

    fn ordinary_table(&mut self, table: &DeTable<'_>) {
        let text = |value: Option<&SpannedValue<'_>>| match value.map(Spanned::get_ref) {
            Some(DeValue::String(text)) => Some(text.to_string()),
            _ => None,
        };
        // A condition on a header that holds a secret, under the right key or a likely one.
        let names = |key: &str| text(table.get(key)).is_some_and(|name| is_secret_name(&name));
        let of_header = ["name", "header", "header_name", "field"]
            .into_iter()
            .any(names);
        let is_tls = table.contains_key("cert");
        for (name, value) in table {
            self.mask_lookalikes(name.span(), name.get_ref());
            let key: &str = name.get_ref();
            match value.get_ref() {
                // The path of a private key is not a secret.
                DeValue::String(path) if is_tls && key == "key" && is_path(path) => {
                    self.ordinary(value);
                }
                // An address with a user part.
                DeValue::String(address) if key.ends_with("listen") && address.contains('@') => {
                    self.secret(value);
                }
                _ if is_secret_name(key) || (of_header && key == "value") => self.secret(value),
                _ => self.ordinary(value),
            }
        }
    }

    /// A value in the position of a secret. A variable reference is displayed.
    fn secret(&mut self, value: &SpannedValue<'_>) {
        match value.get_ref() {
            DeValue::String(text) if is_reference(text) => {}
            _ => self.all(value),
        }
    }

    /// Masks a value with everything in it.
    pub(in crate::config) fn all(&mut self, value: &SpannedValue<'_>) {
        let span = value.span();
        // The span of a table with a header covers only the header.
        let raw = self.text.get(span.clone()).unwrap_or_default().to_owned();
        let inline = raw.starts_with(['{', '[']) && !raw.starts_with("[[");
        match value.get_ref() {
            DeValue::Table(table) => {
                if inline && raw.starts_with('{') {
                    self.spans.push(span);
                }
                for (name, value) in table {
                    self.hide(name.span(), name.get_ref());
                    self.all(value);
                }
            }
            DeValue::Array(items) => {
                let header = |item: &SpannedValue<'_>| matches!(item.get_ref(), DeValue::Table(_));
                if inline && !items.iter().any(header) {
                    self.spans.push(span);
                }
                for item in items.iter() {
                    self.all(item);
                }
            }
            DeValue::String(text) => self.hide(span, text),
            _ => self.hide(span, &raw),
        }
    }

    /// A key's name among secrets: only plain words are displayed.
    fn name(&mut self, name: &Spanned<std::borrow::Cow<'_, str>>) {
        if !is_word(name.get_ref()) {
            self.hide(name.span(), name.get_ref());
        }
    }

    fn hide(&mut self, span: Span, text: &str) {
        self.spans.push(span);
        self.words.push(text.to_owned());
    }

    /// Masks the parts of a string that look like secrets.
    fn mask_lookalikes(&mut self, span: Span, text: &str) {
        let parts = patterns::secret_spans(text);
        if parts.is_empty() {
            return;
        }
        let raw = self.text.get(span.clone()).unwrap_or_default();
        // In a string with escapes, offsets do not match; mask all of it.
        match raw.find(text) {
            Some(at) => {
                let start = span.start + at;
                let places = parts
                    .iter()
                    .map(|part| start + part.start..start + part.end);
                self.spans.extend(places);
            }
            None => self.spans.push(span),
        }
        let words = parts.into_iter().map(|part| text[part].to_owned());
        self.words.extend(words);
    }
}

fn texts(items: &[SpannedValue<'_>]) -> bool {
    let text = |item: &SpannedValue<'_>| matches!(item.get_ref(), DeValue::String(_));
    items.iter().all(text)
}

/// Whether a text is a file's path rather than its contents.
fn is_path(text: &str) -> bool {
    let begins = ["/", "./", "../", "~/"]
        .iter()
        .any(|start| text.starts_with(start));
    let ends = [".pem", ".key", ".crt", ".cer"]
        .iter()
        .any(|end| text.ends_with(end));
    let is_url = text.contains("://") || text.contains('@') || text.contains('?');
    (begins || ends) && !is_url && !text.contains("-----") && !text.chars().any(char::is_control)
}
