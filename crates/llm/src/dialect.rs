//! Which wire dialect a value came from, and what only that dialect understands.
//!
//! Whatever has no place in the contract travels as [`Native`] fields next to
//! the value that it belongs to: back to the same dialect verbatim, a listed
//! loss to any other.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::Json;

/// The name of a wire dialect, for example `anthropic-messages`.
///
/// ```
/// use majordomo_llm::Dialect;
///
/// const CHAT: Dialect = Dialect::new("openai-chat");
/// assert_eq!(CHAT.as_str(), "openai-chat");
/// ```
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Dialect(Cow<'static, str>);

impl Dialect {
    /// Names a dialect; codecs do this once, in a constant.
    pub const fn new(name: &'static str) -> Self {
        Self(Cow::Borrowed(name))
    }

    /// The dialect's name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Fields that only one dialect understands, in the order in which they came.
///
/// ```
/// use majordomo_llm::{Dialect, Json, Native};
///
/// const MESSAGES: Dialect = Dialect::new("anthropic-messages");
/// let native = Native::new(MESSAGES).with("signature", Json::string("abc"));
/// assert_eq!(native.get("signature").unwrap().as_str(), "\"abc\"");
/// ```
#[derive(Clone, Debug, PartialEq, Hash, Serialize, Deserialize)]
pub struct Native {
    dialect: Dialect,
    fields: Vec<(String, Json)>,
}

impl Native {
    /// No fields yet.
    pub fn new(dialect: Dialect) -> Self {
        Self {
            dialect,
            fields: Vec::new(),
        }
    }

    /// Adds a field at the end.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, value: Json) -> Self {
        self.push(name, value);
        self
    }

    /// Adds a field at the end.
    pub fn push(&mut self, name: impl Into<String>, value: Json) {
        self.fields.push((name.into(), value));
    }

    /// The dialect that understands these fields.
    pub fn dialect(&self) -> &Dialect {
        &self.dialect
    }

    /// The value of one field.
    pub fn get(&self, name: &str) -> Option<&Json> {
        self.fields.iter().find(|(n, _)| n == name).map(|(_, v)| v)
    }

    /// All fields in order.
    pub fn fields(&self) -> impl Iterator<Item = (&str, &Json)> {
        self.fields.iter().map(|(n, v)| (n.as_str(), v))
    }

    /// How many fields there are.
    pub fn len(&self) -> usize {
        self.fields.len()
    }

    /// Whether there is no field.
    pub fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }

    /// Boxes these fields for a part, or gives nothing when there are none.
    pub fn into_option(self) -> Option<Box<Self>> {
        (!self.is_empty()).then(|| Box::new(self))
    }
}
