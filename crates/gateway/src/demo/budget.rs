//! The budget of one generated instance: values and bytes of JSON. The whole instance
//! shares it, so that no nesting, reference or list of names multiplies it.

use serde_json::Value;
use thiserror::Error;

/// Maximum number of values in an instance, including object keys.
pub(super) const MAX_NODES: usize = 4_096;
/// Maximum size of an instance as JSON.
pub(super) const MAX_BYTES: usize = 128 << 10;
/// Overhead of a value besides its text: quotes, brackets, a comma, the digits of the
/// longest number.
const PER_NODE: usize = 28;

/// Why no instance is generated.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub(super) enum InstanceError {
    #[error("needs an instance of more than {MAX_NODES} values, the demo's limit")]
    Nodes,
    #[error("needs an instance of more than {MAX_BYTES} bytes, the demo's limit")]
    Bytes,
    #[error("nests deeper than {0} levels, the demo's limit")]
    Depth(usize),
    #[error("has more than {0} bytes, the demo's limit")]
    Schema(usize),
}

/// The remaining budget.
#[derive(Debug)]
pub(super) struct InstanceBudget {
    nodes: usize,
    bytes: usize,
}

impl InstanceBudget {
    pub(super) fn new() -> Self {
        Self {
            nodes: MAX_NODES,
            bytes: MAX_BYTES,
        }
    }

    /// Charges one value, or one step of work without a value.
    pub(super) fn node(&mut self) -> Result<(), InstanceError> {
        self.nodes = self.nodes.checked_sub(1).ok_or(InstanceError::Nodes)?;
        self.bytes(PER_NODE)
    }

    /// Charges a number of bytes.
    pub(super) fn bytes(&mut self, bytes: usize) -> Result<(), InstanceError> {
        self.bytes = self.bytes.checked_sub(bytes).ok_or(InstanceError::Bytes)?;
        Ok(())
    }

    /// Charges a string as written in JSON.
    pub(super) fn text(&mut self, text: &str) -> Result<(), InstanceError> {
        self.bytes(text.len())?;
        let escaped = |byte: u8| match byte {
            0x00..=0x1f => 5,
            b'"' | b'\\' => 1,
            _ => 0,
        };
        self.bytes(text.bytes().map(escaped).sum())
    }

    /// Charges a value of the schema before it is copied.
    pub(super) fn copy(&mut self, value: &Value) -> Result<(), InstanceError> {
        self.node()?;
        match value {
            Value::String(text) => self.text(text),
            Value::Array(items) => items.iter().try_for_each(|item| self.copy(item)),
            Value::Object(fields) => fields.iter().try_for_each(|(name, value)| {
                self.node()?;
                self.text(name)?;
                self.copy(value)
            }),
            Value::Null | Value::Bool(_) | Value::Number(_) => Ok(()),
        }
    }
}
