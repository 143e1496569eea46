//! JSON text that is preserved byte for byte and cheap to clone.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

/// A valid JSON value, stored as its original text. Clones share the text.
///
/// Schemas and unknown fields are forwarded unchanged, including key order and number
/// format, so they are never parsed into a tree and serialized again.
///
/// ```
/// use majordomo_llm::Json;
///
/// let schema = Json::parse(r#"{"type": "object", "b": 1.0}"#).unwrap();
/// assert_eq!(schema.as_str(), r#"{"type": "object", "b": 1.0}"#);
/// assert!(Json::parse("{").is_err());
/// ```
#[derive(Clone)]
pub struct Json(Arc<Box<str>>);

impl Json {
    /// Validates a JSON text.
    pub fn parse(text: impl Into<String>) -> Result<Self, serde_json::Error> {
        RawValue::from_string(text.into()).map(Self::from)
    }

    /// Stores a text that the caller has already validated, without checking it again. It must
    /// be one JSON value without surrounding whitespace; debug builds check this.
    ///
    /// For parsers: a request consists mostly of such texts.
    pub fn from_validated(text: &str) -> Self {
        debug_assert!(
            serde_json::from_str::<&RawValue>(text).is_ok_and(|raw| raw.get() == text),
            "not one JSON value"
        );
        Self(Arc::new(text.into()))
    }

    /// Serializes a value.
    pub fn from_value<T: Serialize + ?Sized>(value: &T) -> Result<Self, serde_json::Error> {
        serde_json::value::to_raw_value(value).map(Self::from)
    }

    /// Creates a JSON string.
    pub fn string(text: &str) -> Self {
        Self::from_value(text).expect("a string is always valid JSON")
    }

    /// Returns the JSON text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Deserializes the text.
    pub fn to<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_str(self.as_str())
    }
}

impl From<Box<RawValue>> for Json {
    fn from(raw: Box<RawValue>) -> Self {
        // `Arc<str>` would copy the text, which may be as large as a request.
        Self(Arc::new(raw.into()))
    }
}

impl PartialEq for Json {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.as_str() == other.as_str()
    }
}

impl Hash for Json {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_str().hash(state);
    }
}

impl fmt::Debug for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let raw: &RawValue = serde_json::from_str(self.as_str()).map_err(S::Error::custom)?;
        raw.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Box::<RawValue>::deserialize(deserializer).map(Self::from)
    }
}
