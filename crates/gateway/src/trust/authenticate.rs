//! Checks the key that a client presents, in any place where a dialect puts it.
//!
//! Wrong keys are throttled per address, over both listeners.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderName, HeaderValue, Uri};
use percent_encoding::percent_decode_str;

use super::AuthThrottle;
use crate::keys::{ClientKey, ClientKeys, GATEWAY_KEY};
use crate::refusal::RequestRefusal;

/// Everything after "Bearer" is masked in messages, so it comes last.
/// Headers that hold a bare key.
static NAMED_KEYS: [HeaderName; 2] = [
    HeaderName::from_static("x-api-key"),
    HeaderName::from_static("x-goog-api-key"),
];

const NO_KEY: &str = "a key is required: send it as `x-api-key`, `x-goog-api-key`, `x-majordomo-key`, `?key=` \
                      or `Authorization: Bearer`";

/// Authenticates a client. Returns `None` if no keys are configured, since every client
/// is then accepted.
pub(crate) fn authenticate_client(
    keys: &ClientKeys,
    auth_throttle: &AuthThrottle,
    from: IpAddr,
    headers: &HeaderMap,
    uri: &Uri,
    now_millis: i64,
) -> Result<Option<Arc<ClientKey>>, RequestRefusal> {
    match_key(keys, headers, uri, now_millis).map_err(|refusal| {
        let wrong = refusal.status() == 401 && !presented(headers, uri).is_empty();
        if wrong && auth_throttle.is_throttled(from) {
            throttled()
        } else {
            refusal
        }
    })
}

fn throttled() -> RequestRefusal {
    let text = "too many wrong keys from this address, and this one is also wrong";
    RequestRefusal::new(429, text).with_retry_after(Duration::from_secs(1))
}

fn match_key(
    keys: &ClientKeys,
    headers: &HeaderMap,
    uri: &Uri,
    now_millis: i64,
) -> Result<Option<Arc<ClientKey>>, RequestRefusal> {
    if keys.is_keyless() {
        return Ok(None);
    }
    let mut presented = presented(headers, uri);
    presented.dedup();
    match presented.as_slice() {
        [] => Err(refused(NO_KEY)),
        [key] => match keys.check(key, now_millis) {
            Ok(key) => Ok(Some(key)),
            Err(refusal) => Err(refusal.refusal()),
        },
        _ => {
            let text = "the request contains two different keys: send one";
            Err(RequestRefusal::new(400, text))
        }
    }
}

/// Whether a request presents any key.
pub(crate) fn presents_key(headers: &HeaderMap, uri: &Uri) -> bool {
    !presented(headers, uri).is_empty()
}

fn presented(headers: &HeaderMap, uri: &Uri) -> Vec<String> {
    let mut own = headers.get_all(&GATEWAY_KEY).iter().peekable();
    if own.peek().is_some() {
        // Any other credential in the request is the client's own with a provider.
        let text =
            |value: &HeaderValue| String::from_utf8_lossy(value.as_bytes()).trim().to_owned();
        return own.map(text).collect();
    }
    let text = |name: &HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
    let bearer = text(&AUTHORIZATION).and_then(|value| {
        let (scheme, key) = value.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then(|| key.trim())
    });
    let named = NAMED_KEYS.each_ref().map(text);
    let query = uri.query().unwrap_or_default();
    let in_query = query.split('&').find_map(|pair| pair.strip_prefix("key="));
    let in_query = in_query.map(|key| percent_decode_str(key).decode_utf8_lossy().into_owned());
    let plain = [bearer].into_iter().chain(named).flatten();
    plain.map(str::to_owned).chain(in_query).collect()
}

fn refused(text: &str) -> RequestRefusal {
    RequestRefusal::of_key(401, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_missing_key_error_lists_all_ways_to_send_one() {
        assert_eq!(refused(NO_KEY).message(), NO_KEY);
    }
}
