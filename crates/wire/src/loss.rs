//! Losses: parts that a dialect cannot express, and how a writer handles them.

use std::collections::HashSet;
use std::fmt;

use majordomo_llm::{Change, Dialect, FinishReason, Json, Native, Part};

use crate::json;

/// How a writer handled a field that the dialect cannot express unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LossVerb {
    /// Something was added that the dialect requires.
    Added,
    /// The nearest value that the dialect has was written instead.
    Adjusted,
    /// Content was put into another order.
    Changed,
    /// An equivalent value of another kind was written.
    Converted,
    /// Nothing was written for it.
    Dropped,
    /// Instructions were put with the other instructions.
    Folded,
    /// Several values were written as one.
    Joined,
    /// It was written in another place.
    Moved,
    /// A flag was written as a prefix of the text.
    Prefixed,
    /// Whitespace was removed.
    Trimmed,
    /// A text was written as a string inside an object.
    Wrapped,
}

impl LossVerb {
    /// The verb, as listed in a request's changes.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Adjusted => "adjusted",
            Self::Changed => "changed",
            Self::Converted => "converted",
            Self::Dropped => "dropped",
            Self::Folded => "folded",
            Self::Joined => "joined",
            Self::Moved => "moved",
            Self::Prefixed => "prefixed",
            Self::Trimmed => "trimmed",
            Self::Wrapped => "wrapped",
        }
    }
}

impl fmt::Display for LossVerb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A part of a request or response that a dialect could not express unchanged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loss {
    /// The field, by its name in the contract or in the client's dialect.
    pub field: String,
    /// How it was handled.
    pub verb: LossVerb,
    /// The reason, in a few words.
    pub why: String,
}

impl From<Loss> for Change {
    fn from(loss: Loss) -> Self {
        Self::new(loss.field, loss.verb.as_str()).detail(loss.why)
    }
}

/// The losses of one write; each field is listed once per verb.
#[derive(Clone, Debug, Default)]
pub(crate) struct Losses {
    list: Vec<Loss>,
    /// The dropped fields of a list that is too long for a linear scan. The
    /// number of other verbs does not depend on the client.
    dropped: HashSet<String>,
}

/// Longest list that is scanned linearly; most requests lose nothing.
const FEW: usize = 16;

/// Transport fields and server timings: dropping them loses nothing.
const TRANSPORT: &[&str] = &[
    "stream_options",
    "role",
    "field",
    "id",
    "status",
    "item.id",
    "item.status",
    "total_duration",
    "load_duration",
    "prompt_eval_duration",
    "eval_duration",
];

/// Prefixes of fields that are not part of the content: fields in which a server repeats the
/// request, and fields that only direct the writer.
const DIRECTIVES: &[&str] = &["echo.", "field."];

/// The kind of an item that declares tools inside the conversation.
pub(crate) const ADDITIONAL_TOOLS: &str = "additional_tools";

impl Losses {
    /// Records a dropped field, once.
    pub(crate) fn add(&mut self, field: &str, why: impl Into<String>) {
        self.record(LossVerb::Dropped, field, why);
    }

    /// Records how a field was handled, once per verb.
    pub(crate) fn record(&mut self, verb: LossVerb, field: &str, why: impl Into<String>) {
        if self.has(verb, field) {
            return;
        }
        self.list.push(Loss {
            field: field.to_owned(),
            verb,
            why: why.into(),
        });
        match self.list.len() {
            ..=FEW => {}
            // The list has just outgrown the linear scan.
            length if length == FEW + 1 => {
                let dropped = self.list.iter().filter(|l| l.verb == LossVerb::Dropped);
                self.dropped = dropped.map(|loss| loss.field.clone()).collect();
            }
            _ if verb == LossVerb::Dropped => {
                self.dropped.insert(field.to_owned());
            }
            _ => {}
        }
    }

    fn has(&self, verb: LossVerb, field: &str) -> bool {
        if verb == LossVerb::Dropped && self.list.len() > FEW {
            return self.dropped.contains(field);
        }
        let mut same_verb = self.list.iter().filter(|loss| loss.verb == verb);
        same_verb.any(|loss| loss.field == field)
    }

    /// Returns the native fields if they belong to `dialect`; otherwise records
    /// each of them as a loss, unless it is empty.
    pub(crate) fn own<'n>(
        &mut self,
        native: Option<&'n Native>,
        dialect: &Dialect,
    ) -> Option<&'n Native> {
        let native = native?;
        if native.dialect() == dialect {
            return Some(native);
        }
        for (name, value) in native.fields() {
            if !TRANSPORT.contains(&name)
                && !is_granted(name, value)
                && !DIRECTIVES.iter().any(|prefix| name.starts_with(prefix))
                && !json::is_empty(value.as_str())
                && !self.has(LossVerb::Dropped, name)
            {
                self.add(name, format!("specific to {}", native.dialect()));
            }
        }
        None
    }

    /// Records a part that cannot be written, by its kind.
    pub(crate) fn part(&mut self, part: &Part, why: &str) {
        let kind = match part {
            // Its tools are written, and listed, with all other tools.
            Part::Opaque(block) if block.kind == ADDITIONAL_TOOLS => return,
            Part::Text(_) => "text",
            Part::Refusal(_) => "refusal",
            Part::Image(_) | Part::RemoteImage(_) => "image",
            Part::Reasoning(_) => "reasoning",
            Part::ToolCall(_) => "tool_call",
            Part::ToolResult(_) => "tool_result",
            Part::File(_) => "file",
            Part::Opaque(block) => named(&block.kind),
        };
        self.add(kind, why);
    }

    /// Records a finish reason that a client will read as a different one.
    pub(crate) fn finish(&mut self, reason: &FinishReason, understood: &FinishReason) {
        if reason != understood {
            let why = format!("reported as {understood:?}");
            self.record(LossVerb::Converted, "finish", why);
        }
    }

    /// Returns the list.
    pub(crate) fn into_vec(self) -> Vec<Loss> {
        self.list
    }
}

/// Whether a client gets what the field asks for on every target.
fn is_granted(name: &str, value: &Json) -> bool {
    match name {
        // Other dialects store nothing.
        "store" => value.as_str() == "false",
        // Reasoning state is sealed for every client that returns it.
        "include" => value.to().is_ok_and(|parts: Vec<String>| {
            parts
                .iter()
                .all(|part| part == "reasoning.encrypted_content")
        }),
        _ => false,
    }
}

/// The kind of a block; of one without a type, what it is.
fn named(kind: &str) -> &str {
    match kind.strip_suffix('.').unwrap_or(kind) {
        "" => "content",
        kind => kind,
    }
}

#[cfg(test)]
mod tests {
    use majordomo_llm::Opaque;

    use super::*;

    #[test]
    fn a_block_without_a_type_is_listed_by_a_name() {
        for (kind, name) in [
            ("", "content"),
            ("content.", "content"),
            ("content.input_audio", "content.input_audio"),
            ("document", "document"),
        ] {
            let raw = Json::parse("{}").unwrap();
            let block = Opaque::new(Dialect::new("x"), kind, raw);
            let mut losses = Losses::default();
            losses.part(&Part::Opaque(block), "unknown");
            assert_eq!(losses.into_vec()[0].field, name);
        }
    }

    #[test]
    fn a_field_that_every_target_grants_is_not_listed() {
        for (name, value, granted) in [
            ("store", "false", true),
            ("store", "true", false),
            ("include", r#"[ "reasoning.encrypted_content" ]"#, true),
            (
                "include",
                r#"["reasoning.encrypted_content","web_search_call.results"]"#,
                false,
            ),
            ("include", r#""reasoning.encrypted_content""#, false),
            ("truncation", "false", false),
        ] {
            let native = Native::new(Dialect::new("x")).with(name, Json::parse(value).unwrap());
            let mut losses = Losses::default();
            losses.own(Some(&native), &Dialect::new("y"));
            assert_eq!(losses.into_vec().is_empty(), granted, "{name}: {value}");
        }
    }

    #[test]
    fn each_field_is_listed_once_in_order_of_its_first_loss() {
        let mut losses = Losses::default();
        let names: Vec<String> = (0..100).map(|n| format!("field{n}")).collect();
        for name in names.iter().chain(names.iter().rev()) {
            losses.add(name, "first");
            losses.add(name, "second");
        }
        let listed = losses.into_vec();
        assert!(listed.iter().map(|loss| &loss.field).eq(&names));
        assert!(listed.iter().all(|loss| loss.why == "first"));
    }

    #[test]
    fn a_field_may_have_several_verbs() {
        let mut losses = Losses::default();
        for _ in 0..2 {
            losses.record(LossVerb::Trimmed, "text", "trailing whitespace");
            losses.add("text", "blank");
            for n in 0..FEW {
                losses.add(&format!("field{n}"), "fills the list");
            }
        }
        let listed = losses.into_vec();
        let verbs = listed.iter().filter(|loss| loss.field == "text");
        let verbs: Vec<String> = verbs.map(|loss| loss.verb.to_string()).collect();
        assert_eq!(verbs, ["trimmed", "dropped"]);
        assert_eq!(listed.len(), FEW + 2);
    }
}
