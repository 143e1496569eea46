//! A request to send, and the credential that never appears in debug output.

use std::fmt;

use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use http::{Method, Uri};
use majordomo_llm::{Error, ErrorKind, Result};
use secrecy::{ExposeSecret, SecretString};

use super::Timeouts;

/// As many headers as a request usually has.
const USUAL_HEADERS: usize = 12;

/// A request to a provider. Clones share the body.
///
/// ```
/// use http::Uri;
/// use majordomo_providers::transport::{Credential, TransportRequest, Timeouts};
///
/// let key = Credential::bearer(&"canary".to_owned().into())?;
/// let request = TransportRequest::post(Uri::from_static("https://api.example/v1/chat"), "{}")
///     .header("content-type", "application/json")?
///     .credential(&key)
///     .timeouts(Timeouts::for_model_loading());
/// assert!(!format!("{request:?}").contains("canary"));
/// # Ok::<(), majordomo_llm::Error>(())
/// ```
#[derive(Clone)]
pub struct TransportRequest {
    pub(crate) method: Method,
    pub(crate) uri: Uri,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    pub(crate) timeouts: Timeouts,
}

impl TransportRequest {
    /// A POST request.
    pub fn post(uri: Uri, body: impl Into<Bytes>) -> Self {
        Self::new(Method::POST, uri, body.into())
    }

    /// A GET request.
    pub fn get(uri: Uri) -> Self {
        Self::new(Method::GET, uri, Bytes::new())
    }

    /// A request with any method.
    pub fn new(method: Method, uri: Uri, body: Bytes) -> Self {
        Self {
            method,
            uri,
            headers: HeaderMap::new(),
            body,
            timeouts: Timeouts::default(),
        }
    }

    /// Sets a header that is not secret.
    pub fn header(mut self, name: &str, value: &str) -> Result<Self> {
        let value = HeaderValue::from_str(value).map_err(|_| bad_header(name));
        let name = HeaderName::try_from(name).map_err(|_| bad_header(name))?;
        self.headers.insert(name, value?);
        Ok(self)
    }

    /// Announces a JSON body.
    #[must_use]
    pub(crate) fn json(mut self) -> Self {
        const JSON: HeaderValue = HeaderValue::from_static("application/json");
        // Room for what the exchange and the settings add: maps grow by copying.
        self.headers.reserve(USUAL_HEADERS);
        self.headers.insert(CONTENT_TYPE, JSON);
        self
    }

    /// Adds headers that are not secret; existing ones of the same name are
    /// replaced.
    #[must_use]
    pub fn headers(mut self, headers: HeaderMap) -> Self {
        self.headers.extend(headers);
        self
    }

    /// Sets the credential header.
    #[must_use]
    pub fn credential(mut self, credential: &Credential) -> Self {
        let Credential { name, value } = credential.clone();
        self.headers.insert(name, value);
        self
    }

    /// Sets the timeouts.
    #[must_use]
    pub fn timeouts(mut self, timeouts: Timeouts) -> Self {
        self.timeouts = timeouts;
        self
    }
}

/// Prints method and host only: path, query and headers may contain secrets.
impl fmt::Debug for TransportRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TransportRequest")
            .field("method", &self.method)
            .field("host", &self.uri.host().unwrap_or_default())
            .field("body_bytes", &self.body.len())
            .field("timeouts", &self.timeouts)
            .finish_non_exhaustive()
    }
}

/// A header that carries a key. Its value is never printed, nor added to HPACK's
/// dynamic table.
#[derive(Clone)]
pub struct Credential {
    name: HeaderName,
    value: HeaderValue,
}

impl Credential {
    /// `authorization: Bearer <key>`.
    pub fn bearer(key: &SecretString) -> Result<Self> {
        let text = format!("Bearer {}", key.expose_secret().trim());
        Self::new(AUTHORIZATION, &text)
    }

    /// The bare key in a custom header, such as `x-api-key`.
    pub fn header(name: HeaderName, key: &SecretString) -> Result<Self> {
        Self::new(name, key.expose_secret().trim())
    }

    fn new(name: HeaderName, text: &str) -> Result<Self> {
        let mut value = HeaderValue::from_str(text).map_err(|_| {
            Error::new(
                ErrorKind::MissingKey,
                "the configured key contains characters that are invalid in a header",
            )
        })?;
        value.set_sensitive(true);
        Ok(Self { name, value })
    }
}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Credential({}: [redacted])", self.name)
    }
}

/// Names the header only: the value may be a misplaced secret.
fn bad_header(name: &str) -> Error {
    let text = format!("the header {name:?} has an invalid name or value");
    Error::new(ErrorKind::Unsupported, text)
}
