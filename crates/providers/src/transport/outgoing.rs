//! What is sent: method, address, headers, body, and the key that nobody prints.

use std::fmt;

use bytes::Bytes;
use http::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use http::{Method, Uri};
use majordomo_llm::{Error, ErrorKind, Result};
use secrecy::{ExposeSecret, SecretString};

use super::Timeouts;

/// One request to a provider. A clone shares the body.
///
/// ```
/// use http::Uri;
/// use majordomo_providers::transport::{Credential, Outgoing, Timeouts};
///
/// let key = Credential::bearer(&"canary".to_owned().into())?;
/// let request = Outgoing::post(Uri::from_static("https://api.example/v1/chat"), "{}")
///     .header("content-type", "application/json")?
///     .credential(&key)
///     .timeouts(Timeouts::patient());
/// assert!(!format!("{request:?}").contains("canary"));
/// # Ok::<(), majordomo_llm::Error>(())
/// ```
#[derive(Clone)]
pub struct Outgoing {
    pub(crate) method: Method,
    pub(crate) uri: Uri,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    pub(crate) timeouts: Timeouts,
}

impl Outgoing {
    /// A POST with a body.
    pub fn post(uri: Uri, body: impl Into<Bytes>) -> Self {
        Self::new(Method::POST, uri, body.into())
    }

    /// A GET.
    pub fn get(uri: Uri) -> Self {
        Self::new(Method::GET, uri, Bytes::new())
    }

    /// Any other request.
    pub fn new(method: Method, uri: Uri, body: Bytes) -> Self {
        Self {
            method,
            uri,
            headers: HeaderMap::new(),
            body,
            timeouts: Timeouts::default(),
        }
    }

    /// Sets a header that may be seen.
    pub fn header(mut self, name: &str, value: &str) -> Result<Self> {
        let value = HeaderValue::from_str(value).map_err(|_| bad_header(name));
        let name = HeaderName::try_from(name).map_err(|_| bad_header(name))?;
        self.headers.insert(name, value?);
        Ok(self)
    }

    /// Adds headers that may be seen; those of the same name are replaced.
    #[must_use]
    pub fn headers(mut self, headers: HeaderMap) -> Self {
        self.headers.extend(headers);
        self
    }

    /// Sets the key's header.
    #[must_use]
    pub fn credential(mut self, credential: &Credential) -> Self {
        let Credential { name, value } = credential.clone();
        self.headers.insert(name, value);
        self
    }

    /// Sets how long each part may take.
    #[must_use]
    pub fn timeouts(mut self, timeouts: Timeouts) -> Self {
        self.timeouts = timeouts;
        self
    }
}

/// Method and host: a path may hold an account, a query a key, a header a token.
impl fmt::Debug for Outgoing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outgoing")
            .field("method", &self.method)
            .field("host", &self.uri.host().unwrap_or_default())
            .field("body_bytes", &self.body.len())
            .field("timeouts", &self.timeouts)
            .finish_non_exhaustive()
    }
}

/// A header that carries a key. It cannot be printed, and HTTP/2 does not keep
/// it in its compression tables.
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

    /// The key alone in a header of its own, such as `x-api-key`.
    pub fn header(name: HeaderName, key: &SecretString) -> Result<Self> {
        Self::new(name, key.expose_secret().trim())
    }

    fn new(name: HeaderName, text: &str) -> Result<Self> {
        let mut value = HeaderValue::from_str(text).map_err(|_| {
            Error::new(
                ErrorKind::MissingKey,
                "the configured key holds characters that no header can carry",
            )
        })?;
        value.set_sensitive(true);
        Ok(Self { name, value })
    }
}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Credential({}: [hidden])", self.name)
    }
}

/// The value may be a secret put in the wrong place, so only the name is told.
fn bad_header(name: &str) -> Error {
    let text = format!("the header {name:?} cannot be sent: its name or value is malformed");
    Error::new(ErrorKind::Unsupported, text)
}
