//! What a target's dialect cannot say.

use majordomo_llm::{Change, Dialect, FinishReason, Native, Part};

/// Something of a request or an answer that was left out, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loss {
    /// The field, by its name in the contract or in the client's own dialect.
    pub field: String,
    /// Why it was left out, in a few words.
    pub why: String,
}

impl From<Loss> for Change {
    fn from(loss: Loss) -> Self {
        Self::new(loss.field, "dropped").detail(loss.why)
    }
}

/// The losses of one writing; each field is listed once.
#[derive(Clone, Debug, Default)]
pub(crate) struct Losses(Vec<Loss>);

/// Fields that say how to talk rather than what to say, and one server's
/// measurements: nothing is lost when they stay behind.
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

/// What a server repeats of the request is no part of its answer.
const ECHO: &str = "echo.";

impl Losses {
    /// Notes a loss, unless the field is noted already.
    pub(crate) fn add(&mut self, field: &str, why: impl Into<String>) {
        if self.0.iter().all(|loss| loss.field != field) {
            self.0.push(Loss {
                field: field.to_owned(),
                why: why.into(),
            });
        }
    }

    /// Gives the native fields if `dialect` understands them, and notes each as
    /// a loss if it does not.
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
            if !TRANSPORT.contains(&name) && !name.starts_with(ECHO) {
                self.add(name, format!("only {} has it", native.dialect()));
            }
        }
        None
    }

    /// Notes a part that cannot be written, by the name of its kind.
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

    /// Notes a reason to finish that a client will understand as another one.
    pub(crate) fn finish(&mut self, reason: &FinishReason, understood: &FinishReason) {
        if reason != understood {
            self.add("finish", format!("told as {understood:?}"));
        }
    }

    /// The list.
    pub(crate) fn into_vec(self) -> Vec<Loss> {
        self.0
    }
}
