//! A request to explain, with its context.

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::bad;
use crate::keys::{ClientKey, ClientKeys};
use crate::refusal::Result;

/// A request to explain.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ExplainRequest {
    /// The body in any dialect, as sent by a client.
    pub body: Bytes,
    /// The path, which determines the dialect.
    pub path: Option<String>,
    /// The dialect if no path is given; see [`ExplainRequest::DIALECTS`].
    pub dialect: Option<String>,
    /// The route to use instead of the one the model selects.
    pub route: Option<String>,
    /// The name of the client's key.
    pub key: Option<String>,
    /// The client's headers.
    pub headers: HeaderMap,
    /// The key with that name, if already known; otherwise the file's key is used.
    pub(crate) known_key: Option<Arc<ClientKey>>,
}

impl ExplainRequest {
    /// Takes the key from this set, which includes stored keys.
    pub(crate) fn by_key_among(mut self, keys: &ClientKeys) -> Self {
        self.known_key = self.key.as_deref().and_then(|name| keys.named(name));
        self
    }
}

/// A body with its context, as in captures of real requests.
#[derive(Deserialize)]
struct ExplainEnvelope<'a> {
    #[serde(borrow, alias = "request")]
    body: &'a RawValue,
    path: Option<String>,
    dialect: Option<String>,
    route: Option<String>,
    key: Option<String>,
    #[serde(default)]
    headers: EnvelopeHeaders,
}

/// One value per name, or pairs.
#[derive(Deserialize)]
#[serde(untagged)]
enum EnvelopeHeaders {
    Named(std::collections::BTreeMap<String, String>),
    Pairs(Vec<(String, String)>),
}

impl Default for EnvelopeHeaders {
    fn default() -> Self {
        Self::Pairs(Vec::new())
    }
}

impl ExplainRequest {
    /// The accepted names of dialects.
    pub const DIALECTS: [&'static str; 6] = [
        "chat",
        "responses",
        "messages",
        "gemini",
        "ollama",
        "generate",
    ];

    /// Parses a body as sent by a client, or an envelope: an object with `body` and any
    /// of `path`, `dialect`, `route`, `key` and `headers`.
    ///
    /// ```
    /// use majordomo_gateway::ExplainRequest;
    ///
    /// let plain = ExplainRequest::read(r#"{"model":"coder","messages":[]}"#.into())?;
    /// assert_eq!(plain.path, None);
    /// let text = r#"{"path":"/v1/messages","body":{"model":"coder","messages":[]}}"#;
    /// let enclosed = ExplainRequest::read(text.into())?;
    /// assert_eq!(enclosed.path.as_deref(), Some("/v1/messages"));
    /// assert_eq!(enclosed.body, plain.body);
    /// # Ok::<(), majordomo_gateway::RequestError>(())
    /// ```
    pub fn read(bytes: Bytes) -> Result<Self> {
        let Ok(envelope) = serde_json::from_slice::<ExplainEnvelope<'_>>(&bytes) else {
            return Ok(Self {
                body: bytes,
                ..Self::default()
            });
        };
        let mut input = Self {
            body: bytes.slice_ref(envelope.body.get().as_bytes()),
            path: envelope.path,
            dialect: envelope.dialect,
            route: envelope.route,
            key: envelope.key,
            headers: HeaderMap::new(),
            known_key: None,
        };
        let pairs = match envelope.headers {
            EnvelopeHeaders::Named(named) => named.into_iter().collect(),
            EnvelopeHeaders::Pairs(pairs) => pairs,
        };
        for (name, value) in pairs {
            input.header(&name, &value)?;
        }
        Ok(input)
    }

    /// Adds one of the client's headers.
    pub fn header(&mut self, name: &str, value: &str) -> Result<()> {
        let name = HeaderName::try_from(name)
            .map_err(|_| bad(format!("`{name}` cannot be the name of a header")))?;
        let value = HeaderValue::try_from(value)
            .map_err(|_| bad(format!("the header `{name}` cannot have this value")))?;
        self.headers.append(name, value);
        Ok(())
    }
}
