//! Typed access to a parsed file that reports everything unexpected.
//!
//! A [`Section`] is a table: requested keys are known, and keys left at the end are
//! mistakes with a suggestion. A [`ConfigField`] is one value: it has the expected type
//! or yields a diagnostic. Reading continues after a mistake, so all are reported at
//! once.
//!
//! May use `diagnostic`, `secrets`, `suggest` and `units`.

mod bare_variable;
mod field;
mod section;
mod text;

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

pub(super) use field::ConfigField;
pub(super) use section::{Section, UnknownKey};
pub(super) use text::ConfigText;

use toml::Spanned;
use toml::de::DeValue;

use super::secrets::positions::HiddenSpans;
use super::{Diagnostic, Span, Variables};

/// The environment for substitution, and the diagnostics collected so far.
pub(super) struct ConfigReader<'e> {
    environment: &'e BTreeMap<String, String>,
    pub(super) variables: Variables,
    diagnostics: RefCell<Vec<Diagnostic>>,
    unknown_keys: RefCell<Vec<UnknownKey>>,
    hidden: RefCell<HiddenSpans>,
    holds_secrets: Cell<bool>,
    lacks_variables: Cell<bool>,
    /// The keys and words that sections read, for the tests of `schema`.
    #[cfg(test)]
    pub(super) asked: RefCell<Asked>,
}

/// Keys by the path of their section, and words by the path of their key.
#[cfg(test)]
#[derive(Default)]
pub(super) struct Asked {
    pub(super) keys: BTreeMap<String, Vec<&'static str>>,
    pub(super) words: BTreeMap<String, Vec<String>>,
}

impl<'e> ConfigReader<'e> {
    /// Creates a reader of a file with these masked spans.
    pub(super) fn new(
        environment: &'e BTreeMap<String, String>,
        variables: Variables,
        hidden: HiddenSpans,
    ) -> Self {
        Self {
            environment,
            variables,
            diagnostics: RefCell::default(),
            unknown_keys: RefCell::default(),
            hidden: RefCell::new(hidden),
            holds_secrets: Cell::default(),
            lacks_variables: Cell::default(),
            #[cfg(test)]
            asked: RefCell::default(),
        }
    }

    /// Adds a diagnostic.
    pub(super) fn report(&self, span: Span, message: impl Into<String>, hint: impl Into<String>) {
        self.add(Diagnostic::at(span, message, hint));
    }

    /// Adds a diagnostic that leaves the file valid.
    pub(super) fn warn(&self, span: Span, message: impl Into<String>, hint: impl Into<String>) {
        self.add(Diagnostic::warning(span, message, hint));
    }

    pub(super) fn add(&self, diagnostic: Diagnostic) {
        self.diagnostics.borrow_mut().push(diagnostic);
    }

    fn note_unknown_key(&self, unknown: UnknownKey) {
        self.unknown_keys.borrow_mut().push(unknown);
    }

    pub(super) fn take_unknown_keys(&self) -> Vec<UnknownKey> {
        self.unknown_keys.take()
    }

    /// Masks a span.
    pub(super) fn hide(&self, span: Span) {
        self.hidden.borrow_mut().spans.push(span);
    }

    /// Masks a value with everything in it.
    pub(super) fn hide_all(&self, value: &Spanned<DeValue<'_>>) {
        self.hidden.borrow_mut().all(value);
    }

    /// Masks the value of a variable in all messages.
    fn redact_words(&self, word: &str) {
        self.hidden.borrow_mut().words.push(word.to_owned());
    }

    /// Whether a span is fully masked.
    pub(super) fn hides(&self, place: &Span) -> bool {
        let hidden = self.hidden.borrow();
        let mut spans = hidden.spans.iter();
        spans.any(|span| span.start <= place.start && place.end <= span.end)
    }

    /// Records that the file itself contains a secret, not just a reference.
    pub(super) fn note_secret(&self) {
        self.holds_secrets.set(true);
    }

    pub(super) fn holds_secrets(&self) -> bool {
        self.holds_secrets.get()
    }

    /// Records that a placeholder stands for a variable.
    fn note_unset(&self) {
        self.lacks_variables.set(true);
    }

    pub(super) fn lacks_variables(&self) -> bool {
        self.lacks_variables.get()
    }

    pub(super) fn variable(&self, name: &str) -> Option<&'e str> {
        self.environment.get(name).map(String::as_str)
    }

    pub(super) fn environment(&self) -> &'e BTreeMap<String, String> {
        self.environment
    }

    /// Returns the diagnostics and the masked spans.
    pub(super) fn finish(self) -> (Vec<Diagnostic>, HiddenSpans) {
        (self.diagnostics.into_inner(), self.hidden.into_inner())
    }
}
