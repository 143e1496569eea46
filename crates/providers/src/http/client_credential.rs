//! Sends a client's own credential instead of the provider's key.

use ::http::{HeaderMap, HeaderName, HeaderValue};
use majordomo_llm::{ClientCredential, Error, ErrorKind, KeyOwner, Result};

use crate::transport::TransportRequest;

/// Shorter words of a credential are not redacted: they may be ordinary text.
const SHORTEST_SECRET: usize = 8;

/// Adds the headers that carry the credential.
pub(super) fn apply(
    request: TransportRequest,
    credential: &ClientCredential,
) -> Result<TransportRequest> {
    let mut headers = HeaderMap::new();
    for (name, value) in credential.headers() {
        let mut value = HeaderValue::from_str(value).map_err(|_| {
            let text = "the client's credential contains characters that are invalid in a header";
            Error::new(ErrorKind::Provider, text).with_status(401)
        })?;
        value.set_sensitive(true);
        headers.insert(HeaderName::from_static(name), value);
    }
    Ok(request.headers(headers))
}

/// Marks an error as the client's own and redacts the credential.
pub(super) fn attribute(error: Error, credential: Option<&ClientCredential>) -> Error {
    let Some(credential) = credential else {
        return error;
    };
    let values = credential.headers().iter();
    let words = values.flat_map(|(_, value)| value.split_whitespace());
    words
        .filter(|word| word.len() >= SHORTEST_SECRET)
        .fold(error, |error, word| error.redacting(word))
        .with_key_owner(KeyOwner::Client)
}
