//! Google's Gemini.

use ::http::HeaderName;
use majordomo_llm::{Capabilities, ImageLimits, Result};
use majordomo_wire::Protocol;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use secrecy::SecretString;

use crate::openai::types;
use crate::recipe::Recipe;
use crate::transport::Credential;

pub(crate) struct Google;

/// What a model's id may hold without being escaped in a path.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

impl Recipe for Google {
    fn protocol(&self) -> Protocol {
        Protocol::Gemini
    }

    fn base_url(&self) -> Option<String> {
        Some("https://generativelanguage.googleapis.com".into())
    }

    fn path(&self, model: &str, stream: bool) -> String {
        let model = utf8_percent_encode(model.strip_prefix("models/").unwrap_or(model), PLAIN);
        if stream {
            format!("/v1beta/models/{model}:streamGenerateContent?alt=sse")
        } else {
            format!("/v1beta/models/{model}:generateContent")
        }
    }

    fn models_path(&self) -> &'static str {
        "/v1beta/models?pageSize=1000"
    }

    fn key_variables(&self) -> &'static [&'static str] {
        &["GOOGLE_API_KEY", "GEMINI_API_KEY"]
    }

    /// In a header, never in the query, where logs would keep it.
    fn credential(&self, key: &SecretString) -> Result<Credential> {
        Credential::header(HeaderName::from_static("x-goog-api-key"), key)
    }

    fn capabilities(&self, _model: &str) -> Capabilities {
        let images = ImageLimits {
            max_count: Some(3_600),
            max_bytes: Some(15 << 20),
            max_total_bytes: Some(20 << 20),
            types: types(&[
                "image/jpeg",
                "image/png",
                "image/webp",
                "image/heic",
                "image/heif",
            ]),
            animations: Some(false),
            ..ImageLimits::default()
        };
        Capabilities {
            images: Some(images),
            context_window: Some(1_048_576),
            ..Capabilities::default()
        }
    }
}
