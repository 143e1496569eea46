//! Span attributes.

use opentelemetry::{Array, KeyValue, StringValue, Value};
use serde::Serialize;

/// Names with values; unknown ones are omitted.
#[derive(Default)]
pub(super) struct Attributes(Vec<KeyValue>);

impl Attributes {
    pub(super) fn set(&mut self, name: &'static str, value: impl Into<Value>) {
        self.0.push(KeyValue::new(name, value));
    }

    pub(super) fn set_known(&mut self, name: &'static str, value: Option<impl Into<Value>>) {
        self.0.extend(value.map(|value| KeyValue::new(name, value)));
    }

    /// Sets a list, unless it is empty.
    pub(super) fn list(&mut self, name: &'static str, texts: impl IntoIterator<Item = String>) {
        let texts: Vec<StringValue> = texts.into_iter().map(StringValue::from).collect();
        if !texts.is_empty() {
            self.set(name, Value::Array(Array::String(texts)));
        }
    }

    pub(super) fn into_inner(self) -> Vec<KeyValue> {
        self.0
    }
}

/// A count; OTLP integers are signed.
pub(super) fn number(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// The serialized name of a class or an effort.
pub(super) fn word(value: impl Serialize) -> String {
    let written = serde_json::to_value(value).ok();
    let text = written.as_ref().and_then(|written| written.as_str());
    text.unwrap_or("_OTHER").to_owned()
}
