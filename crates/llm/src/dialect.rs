//! Wire dialects, and the fields that only one of them understands.
//!
//! A field with no counterpart in the contract travels as [`Native`] data next to
//! the value that it belongs to. A target of the same dialect receives it verbatim;
//! for any other target it is dropped and reported as a [`Change`](crate::Change).

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Json, Opaque};

/// The name of a wire protocol, such as `anthropic-messages`.
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
    /// Names a dialect. Each codec defines a constant with this.
    pub const fn new(name: &'static str) -> Self {
        Self(Cow::Borrowed(name))
    }

    /// Returns the name.
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

/// Fields that only one dialect understands, in wire order.
///
/// Examples are cache markers, citations and reasoning signatures.
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
    pub(crate) dialect: Dialect,
    pub(crate) fields: Vec<(String, Json)>,
    /// The fields that hold images, by index; see `native_images`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) images: Vec<(usize, Opaque)>,
}

impl Native {
    /// Creates an empty set of fields.
    pub fn new(dialect: Dialect) -> Self {
        Self {
            dialect,
            fields: Vec::new(),
            images: Vec::new(),
        }
    }

    /// Appends a field.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, value: Json) -> Self {
        self.push(name, value);
        self
    }

    /// Appends a field.
    pub fn push(&mut self, name: impl Into<String>, value: Json) {
        self.fields.push((name.into(), value));
    }

    /// Removes a field and returns its value.
    pub fn remove(&mut self, name: &str) -> Option<Json> {
        let at = self.fields.iter().position(|(field, _)| field == name)?;
        self.images.retain(|(index, _)| *index != at);
        for (index, _) in &mut self.images {
            *index -= usize::from(*index > at);
        }
        Some(self.fields.remove(at).1)
    }

    /// Returns the dialect that understands these fields.
    pub fn dialect(&self) -> &Dialect {
        &self.dialect
    }

    /// Returns the value of a field.
    pub fn get(&self, name: &str) -> Option<&Json> {
        self.fields.iter().find(|(n, _)| n == name).map(|(_, v)| v)
    }

    /// Returns only this field; `None` without it.
    pub(crate) fn only(&self, name: &str) -> Option<Box<Self>> {
        let value = self.get(name)?.clone();
        Self::new(self.dialect.clone())
            .with(name, value)
            .into_option()
    }

    /// Iterates over the fields in order.
    pub fn fields(&self) -> impl Iterator<Item = (&str, &Json)> {
        self.fields.iter().map(|(n, v)| (n.as_str(), v))
    }

    /// Returns the number of fields.
    pub fn len(&self) -> usize {
        self.fields.len()
    }

    /// Returns `true` if there are no fields.
    pub fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }

    /// Boxes the fields, or returns `None` if there are none.
    pub fn into_option(self) -> Option<Box<Self>> {
        (!self.is_empty()).then(|| Box::new(self))
    }
}
