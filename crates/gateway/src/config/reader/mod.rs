//! Takes known keys out of a parsed file and reports everything else.
//!
//! A [`Section`] is a table of the file: what is asked for is known, and what is
//! left when it is finished is a mistake with a suggestion. A [`Field`] is one
//! value: it is read as what it should be, or the problem is written down. So
//! reading goes on after a mistake and all of them are reported at once.

mod field;
mod section;
mod text;

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

pub(super) use field::Field;
pub(super) use section::Section;
pub(super) use text::Text;

use toml::Spanned;
use toml::de::DeValue;

use super::secrets::positions::Hidden;
use super::{Problem, Span};

/// What reading needs, and what it finds.
pub(super) struct Reader<'e> {
    environment: &'e BTreeMap<String, String>,
    problems: RefCell<Vec<Problem>>,
    hidden: RefCell<Hidden>,
    holds_secrets: Cell<bool>,
}

impl<'e> Reader<'e> {
    /// A reader of a file in which these places are not shown.
    pub(super) fn new(environment: &'e BTreeMap<String, String>, hidden: Hidden) -> Self {
        Self {
            environment,
            problems: RefCell::default(),
            hidden: RefCell::new(hidden),
            holds_secrets: Cell::default(),
        }
    }

    /// Writes a problem down.
    pub(super) fn report(&self, span: Span, message: impl Into<String>, hint: impl Into<String>) {
        let problem = Problem::at(span, message, hint);
        self.problems.borrow_mut().push(problem);
    }

    /// Notes that a place must not be shown.
    pub(super) fn hide(&self, span: Span) {
        self.hidden.borrow_mut().spans.push(span);
    }

    /// Notes that nothing of a value may be shown.
    pub(super) fn hide_all(&self, value: &Spanned<DeValue<'_>>) {
        self.hidden.borrow_mut().all(value);
    }

    /// Notes what came from a variable; no message may repeat it.
    fn keep_out(&self, word: &str) {
        self.hidden.borrow_mut().words.push(word.to_owned());
    }

    /// Whether a place is hidden whole.
    pub(super) fn hides(&self, place: &Span) -> bool {
        let hidden = self.hidden.borrow();
        let mut spans = hidden.spans.iter();
        spans.any(|span| span.start <= place.start && place.end <= span.end)
    }

    /// Notes that the file itself holds a secret, not only a variable's name.
    pub(super) fn note_secret(&self) {
        self.holds_secrets.set(true);
    }

    pub(super) fn holds_secrets(&self) -> bool {
        self.holds_secrets.get()
    }

    pub(super) fn variable(&self, name: &str) -> Option<&'e str> {
        self.environment.get(name).map(String::as_str)
    }

    pub(super) fn environment(&self) -> &'e BTreeMap<String, String> {
        self.environment
    }

    /// The problems, and what must not be shown.
    pub(super) fn finish(self) -> (Vec<Problem>, Hidden) {
        (self.problems.into_inner(), self.hidden.into_inner())
    }
}
