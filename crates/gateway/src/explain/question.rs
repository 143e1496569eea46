//! A request to be explained, and what is known around it.

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue};
use majordomo::Result;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::bad;

/// A request to be explained.
#[derive(Clone, Debug, Default)]
pub struct Question {
    /// The body, as a client would send it, in any dialect.
    pub body: Bytes,
    /// The path that it would be sent to, which names its dialect.
    pub path: Option<String>,
    /// Its dialect, where no path is given; see [`Question::DIALECTS`].
    pub dialect: Option<String>,
    /// The route to take, in place of the one that the model leads to.
    pub route: Option<String>,
    /// The name of the client's key.
    pub key: Option<String>,
    /// The client's headers.
    pub headers: HeaderMap,
}

/// A request with what belongs to it. Captures of real requests look like this.
#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow, alias = "request")]
    body: &'a RawValue,
    path: Option<String>,
    dialect: Option<String>,
    route: Option<String>,
    key: Option<String>,
    #[serde(default)]
    headers: Headers,
}

/// One value for each name, or pairs.
#[derive(Deserialize)]
#[serde(untagged)]
enum Headers {
    Named(std::collections::BTreeMap<String, String>),
    Pairs(Vec<(String, String)>),
}

impl Default for Headers {
    fn default() -> Self {
        Self::Pairs(Vec::new())
    }
}

impl Question {
    /// The names by which dialects can be asked for.
    pub const DIALECTS: [&'static str; 6] = [
        "chat",
        "responses",
        "messages",
        "gemini",
        "ollama",
        "generate",
    ];

    /// A body as a client would send it, or one in an envelope: an object with
    /// `body` and any of `path`, `dialect`, `route`, `key` and `headers`.
    ///
    /// ```
    /// use majordomo_gateway::explain::Question;
    ///
    /// let plain = Question::read(r#"{"model":"coder","messages":[]}"#.into())?;
    /// assert_eq!(plain.path, None);
    /// let text = r#"{"path":"/v1/messages","body":{"model":"coder","messages":[]}}"#;
    /// let enclosed = Question::read(text.into())?;
    /// assert_eq!(enclosed.path.as_deref(), Some("/v1/messages"));
    /// assert_eq!(enclosed.body, plain.body);
    /// # Ok::<(), majordomo::Error>(())
    /// ```
    pub fn read(bytes: Bytes) -> Result<Self> {
        let Ok(envelope) = serde_json::from_slice::<Envelope<'_>>(&bytes) else {
            return Ok(Self {
                body: bytes,
                ..Self::default()
            });
        };
        let mut question = Self {
            body: bytes.slice_ref(envelope.body.get().as_bytes()),
            path: envelope.path,
            dialect: envelope.dialect,
            route: envelope.route,
            key: envelope.key,
            headers: HeaderMap::new(),
        };
        let pairs = match envelope.headers {
            Headers::Named(named) => named.into_iter().collect(),
            Headers::Pairs(pairs) => pairs,
        };
        for (name, value) in pairs {
            question.header(&name, &value)?;
        }
        Ok(question)
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
