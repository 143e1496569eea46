//! What every operation does, and the three kinds that most of them are.

use std::fmt::Debug;

use serde_json::Value;

use crate::error::BadValue;
use crate::excerpt;
use crate::notes::Note;
use crate::number_match::{Compare, NumberMatch};
use crate::text_match::{MakeTextMatch, TextMatch};
use crate::{RuleIndex, Subject};

/// One operation with its value, ready to judge requests.
pub(crate) trait Check: Debug + Send + Sync {
    /// Whether it holds. `rule` is the rule that asks, for figures of its services.
    fn holds(&self, subject: &Subject<'_>, rule: RuleIndex) -> bool;

    /// What was found, for the trace: bounded, and without keys.
    fn actual(&self, subject: &Subject<'_>, rule: RuleIndex) -> String;

    /// What was found, in short, for whoever asks later: made for every request,
    /// and nothing that the client said or sent.
    fn note(&self, subject: &Subject<'_>, rule: RuleIndex) -> Note {
        Note::Text(self.actual(subject, rule).into())
    }
}

/// What compiling an operation gives.
pub(super) type Compiled = Result<Box<dyn Check>, BadValue>;

/// Judges a text; nothing holds of one that is not there.
pub(super) fn on_text(value: Option<&Value>, read: ReadText, make: MakeTextMatch) -> Compiled {
    let judge = TextMatch::compile(value, make)?;
    Ok(Box::new(OnText {
        read,
        judge,
        quotes: false,
    }))
}

/// Judges a text of the conversation, which no kept trace quotes.
pub(super) fn on_words(value: Option<&Value>, read: ReadText, make: MakeTextMatch) -> Compiled {
    let judge = TextMatch::compile(value, make)?;
    Ok(Box::new(OnText {
        read,
        judge,
        quotes: true,
    }))
}

/// Judges a number.
pub(super) fn on_number(value: Option<&Value>, read: ReadNumber, compare: Compare) -> Compiled {
    let judge = NumberMatch::compile(value, compare)?;
    Ok(Box::new(OnNumber { read, judge }))
}

/// Holds when the judge likes one of several names.
pub(super) fn on_names(value: Option<&Value>, read: ReadNames, make: MakeTextMatch) -> Compiled {
    let judge = TextMatch::compile(value, make)?;
    Ok(Box::new(OnNames { read, judge }))
}

pub(super) type ReadText = for<'s> fn(&'s Subject<'_>) -> Option<&'s str>;
pub(super) type ReadNumber = fn(&Subject<'_>) -> u64;
/// Calls back with each name until it is told that it was enough.
pub(super) type ReadNames = fn(&Subject<'_>, &mut dyn FnMut(&str) -> bool) -> bool;

#[derive(Debug)]
struct OnText {
    read: ReadText,
    judge: TextMatch,
    quotes: bool,
}

impl Check for OnText {
    fn holds(&self, subject: &Subject<'_>, _: RuleIndex) -> bool {
        (self.read)(subject).is_some_and(|text| self.judge.holds(text))
    }

    fn actual(&self, subject: &Subject<'_>, _: RuleIndex) -> String {
        match (self.read)(subject) {
            None => "none".to_owned(),
            Some(text) => match self.judge.find(text) {
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
struct OnNumber {
    read: ReadNumber,
    judge: NumberMatch,
}

impl Check for OnNumber {
    fn holds(&self, subject: &Subject<'_>, _: RuleIndex) -> bool {
        self.judge.holds((self.read)(subject))
    }

    fn actual(&self, subject: &Subject<'_>, _: RuleIndex) -> String {
        (self.read)(subject).to_string()
    }

    fn note(&self, subject: &Subject<'_>, _: RuleIndex) -> Note {
        Note::Number((self.read)(subject))
    }
}

#[derive(Debug)]
struct OnNames {
    read: ReadNames,
    judge: TextMatch,
}

impl Check for OnNames {
    fn holds(&self, subject: &Subject<'_>, _: RuleIndex) -> bool {
        (self.read)(subject, &mut |name| self.judge.holds(name))
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

impl OnNames {
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
