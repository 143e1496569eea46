//! The [`Check`] trait that every operation implements, and its common forms.

use std::fmt::Debug;

use serde_json::Value;

use crate::error::InvalidValue;
use crate::excerpt;
use crate::notes::Note;
use crate::number_match::{Compare, NumberMatch};
use crate::text_match::{MakeTextMatch, TextMatch};
use crate::{RuleIndex, Subject};

/// A compiled operation.
pub(crate) trait Check: Debug + Send + Sync {
    /// Whether it holds; service metrics are those of `rule`.
    fn holds(&self, subject: &Subject<'_>, rule: RuleIndex) -> bool;

    /// The value found, for the trace: truncated and redacted.
    fn actual(&self, subject: &Subject<'_>, rule: RuleIndex) -> String;

    /// The value found, for the notes taken on every request: cheap, and free of
    /// client content.
    fn note(&self, subject: &Subject<'_>, rule: RuleIndex) -> Note {
        Note::Text(self.actual(subject, rule).into())
    }
}

/// The result of compiling an operation.
pub(super) type Compiled = Result<Box<dyn Check>, InvalidValue>;

/// Matches a text; never holds if the text is absent.
pub(super) fn check_text(value: Option<&Value>, read: ReadText, make: MakeTextMatch) -> Compiled {
    let matcher = TextMatch::compile(value, make)?;
    Ok(Box::new(TextCheck {
        read,
        matcher,
        quotes: false,
    }))
}

/// Matches a text of the conversation, which notes never quote.
pub(super) fn check_conversation(
    value: Option<&Value>,
    read: ReadText,
    make: MakeTextMatch,
) -> Compiled {
    let matcher = TextMatch::compile(value, make)?;
    Ok(Box::new(TextCheck {
        read,
        matcher,
        quotes: true,
    }))
}

/// Compares a number.
pub(super) fn check_number(value: Option<&Value>, read: ReadNumber, compare: Compare) -> Compiled {
    let matcher = NumberMatch::compile(value, compare)?;
    Ok(Box::new(NumberCheck { read, matcher }))
}

/// Holds if any of several names matches.
pub(super) fn check_names(value: Option<&Value>, read: ReadNames, make: MakeTextMatch) -> Compiled {
    let matcher = TextMatch::compile(value, make)?;
    Ok(Box::new(NamesCheck { read, matcher }))
}

pub(super) type ReadText = for<'s> fn(&'s Subject<'_>) -> Option<&'s str>;
pub(super) type ReadNumber = fn(&Subject<'_>) -> u64;
/// Calls back with each name until the callback returns `true`.
pub(super) type ReadNames = fn(&Subject<'_>, &mut dyn FnMut(&str) -> bool) -> bool;

#[derive(Debug)]
struct TextCheck {
    read: ReadText,
    matcher: TextMatch,
    quotes: bool,
}

impl Check for TextCheck {
    fn holds(&self, subject: &Subject<'_>, _: RuleIndex) -> bool {
        (self.read)(subject).is_some_and(|text| self.matcher.holds(text))
    }

    fn actual(&self, subject: &Subject<'_>, _: RuleIndex) -> String {
        match (self.read)(subject) {
            None => "none".to_owned(),
            Some(text) => match self.matcher.find(text) {
                Some(hit) if !hit.is_empty() => excerpt::around(text, hit),
                _ => excerpt::head(text),
            },
        }
    }

    fn note(&self, subject: &Subject<'_>, _: RuleIndex) -> Note {
        match (self.read)(subject) {
            None => Note::Text("none".into()),
            Some(_) if self.quotes => Note::NotKept,
            Some(text) => Note::Text(excerpt::cut(text).into()),
        }
    }
}

#[derive(Debug)]
struct NumberCheck {
    read: ReadNumber,
    matcher: NumberMatch,
}

impl Check for NumberCheck {
    fn holds(&self, subject: &Subject<'_>, _: RuleIndex) -> bool {
        self.matcher.holds((self.read)(subject))
    }

    fn actual(&self, subject: &Subject<'_>, _: RuleIndex) -> String {
        (self.read)(subject).to_string()
    }

    fn note(&self, subject: &Subject<'_>, _: RuleIndex) -> Note {
        Note::Number((self.read)(subject))
    }
}

#[derive(Debug)]
struct NamesCheck {
    read: ReadNames,
    matcher: TextMatch,
}

impl Check for NamesCheck {
    fn holds(&self, subject: &Subject<'_>, _: RuleIndex) -> bool {
        (self.read)(subject, &mut |name| self.matcher.holds(name))
    }

    fn actual(&self, subject: &Subject<'_>, _: RuleIndex) -> String {
        excerpt::head(&self.listed(subject))
    }

    fn note(&self, subject: &Subject<'_>, _: RuleIndex) -> Note {
        match (self.read)(subject, &mut |_| true) {
            true => Note::NotKept,
            false => Note::Text("none".into()),
        }
    }
}

impl NamesCheck {
    /// The names, up to what a trace shows.
    fn listed(&self, subject: &Subject<'_>) -> String {
        let mut listed = String::new();
        (self.read)(subject, &mut |name| {
            if !listed.is_empty() {
                listed.push_str(", ");
            }
            listed.push_str(excerpt::cut(name));
            listed.len() > excerpt::HEAD
        });
        match listed.is_empty() {
            true => "none".to_owned(),
            false => listed,
        }
    }
}
