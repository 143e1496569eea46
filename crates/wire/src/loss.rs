//! What a dialect cannot express.

use std::collections::HashSet;

use majordomo_llm::{Change, Dialect, FinishReason, Native, Part};

/// A part of a request or response that was dropped, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loss {
    /// The field, by its name in the contract or in the client's dialect.
    pub field: String,
    /// The reason, in a few words.
    pub why: String,
}

impl From<Loss> for Change {
    fn from(loss: Loss) -> Self {
        Self::new(loss.field, "dropped").detail(loss.why)
    }
}

/// The losses of one write; each field is listed once.
#[derive(Clone, Debug, Default)]
pub(crate) struct Losses {
    list: Vec<Loss>,
    /// The fields of a list that is too long for a linear scan.
    fields: HashSet<String>,
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

/// Prefix of fields in which a server repeats the request; not part of the
/// response.
const ECHO: &str = "echo.";

impl Losses {
    /// Records a loss, once per field.
    pub(crate) fn add(&mut self, field: &str, why: impl Into<String>) {
        if self.has(field) {
            return;
        }
        self.list.push(Loss {
            field: field.to_owned(),
            why: why.into(),
        });
        match self.list.len() {
            ..=FEW => {}
            // The list has just outgrown the linear scan.
            length if length == FEW + 1 => {
                let fields = self.list.iter().map(|loss| loss.field.clone());
                self.fields = fields.collect();
            }
            _ => {
                self.fields.insert(field.to_owned());
            }
        }
    }

    fn has(&self, field: &str) -> bool {
        match self.list.len() {
            ..=FEW => self.list.iter().any(|loss| loss.field == field),
            _ => self.fields.contains(field),
        }
    }

    /// Returns the native fields if they belong to `dialect`; otherwise records
    /// each of them as a loss.
    pub(crate) fn own<'n>(
        &mut self,
        native: Option<&'n Native>,
        dialect: &Dialect,
    ) -> Option<&'n Native> {
        let native = native?;
        if native.dialect() == dialect {
            return Some(native);
        }
        for (name, _) in native.fields() {
            if !TRANSPORT.contains(&name) && !name.starts_with(ECHO) && !self.has(name) {
                self.add(name, format!("specific to {}", native.dialect()));
            }
        }
        None
    }

    /// Records a part that cannot be written, by its kind.
    pub(crate) fn part(&mut self, part: &Part, why: &str) {
        let kind = match part {
            Part::Text(_) => "text",
            Part::Refusal(_) => "refusal",
            Part::Image(_) | Part::RemoteImage(_) => "image",
            Part::Reasoning(_) => "reasoning",
            Part::ToolCall(_) => "tool_call",
            Part::ToolResult(_) => "tool_result",
            Part::File(_) => "file",
            Part::Opaque(block) => &block.kind,
        };
        self.add(kind, why);
    }

    /// Records a finish reason that a client will read as another one.
    pub(crate) fn finish(&mut self, reason: &FinishReason, understood: &FinishReason) {
        if reason != understood {
            self.add("finish", format!("reported as {understood:?}"));
        }
    }

    /// Returns the list.
    pub(crate) fn into_vec(self) -> Vec<Loss> {
        self.list
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
