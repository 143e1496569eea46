//! The metadata that the provider reported with its response.

use majordomo::llm::redact;
use majordomo::{Event, FinishReason, Response};

use crate::clip::clip;

/// Longest id, model name and finish reason.
const LONGEST: usize = 256;

/// A response's own metadata, truncated and redacted: a provider's text may contain anything,
/// even the key that was sent to it.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct ResponseMetadata {
    /// The provider's id of the response.
    pub id: Option<String>,
    /// The model that the provider names.
    pub model: Option<String>,
    /// The finish reason as one word.
    pub finish: Option<String>,
}

impl ResponseMetadata {
    /// Reads an event of a stream.
    pub(crate) fn observe(&mut self, event: &Event) {
        match event {
            Event::Start { id, model } => {
                self.id = id.as_deref().map(short);
                self.model = model.as_deref().map(short);
            }
            Event::Finish(reason) => self.finish = Some(finish(reason)),
            _ => {}
        }
    }
}

impl From<&Response> for ResponseMetadata {
    fn from(response: &Response) -> Self {
        Self {
            id: response.id.as_deref().map(short),
            model: response.reported_model.as_deref().map(short),
            finish: Some(finish(&response.finish)),
        }
    }
}

fn short(text: &str) -> String {
    redact(clip(text, LONGEST))
}

/// The finish reason. A stop sequence is content and is omitted.
fn finish(reason: &FinishReason) -> String {
    match reason {
        FinishReason::Other(word) => short(word),
        known => known.name().to_owned(),
    }
}
