//! CORS: responses to preflights, and the headers that let a page read a response.
//!
//! Only allowed origins receive CORS headers, each by name and never `*`. The gateway
//! uses no cookies, so credentials are never allowed.

use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_HEADERS,
    ACCESS_CONTROL_REQUEST_METHOD, VARY,
};
use http::{HeaderMap, HeaderValue, Method};

use super::{BoundaryRefusal, Caller, Origins};

/// All methods of the client endpoints.
const METHODS: &str = "GET, HEAD, POST";
/// Lifetime of a preflight in the browser's cache, in seconds. A site that is no longer
/// allowed is rejected at its next request regardless.
const MAX_AGE: &str = "600";
/// Response headers that pages may read in addition to the safelisted ones.
const EXPOSED: &str = "x-majordomo-request-id, x-majordomo-target, x-majordomo-attempts, \
                       x-majordomo-changes, request-id, retry-after, x-should-retry";
/// Request headers that a preflight response depends on.
const PREFLIGHT_VARIES: &str = "origin, access-control-request-method, \
                                access-control-request-headers, \
                                access-control-request-private-network";
const REQUEST_PRIVATE_NETWORK: &str = "access-control-request-private-network";
const ALLOW_PRIVATE_NETWORK: &str = "access-control-allow-private-network";

/// A CORS preflight request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Preflight {
    origin: HeaderValue,
    /// The headers that the page will send.
    headers: Option<HeaderValue>,
    /// The page has a public address and the gateway a private one.
    private_network: bool,
}

impl Preflight {
    /// Recognizes a preflight from its head.
    pub(super) fn read(method: &Method, origin: &HeaderValue, headers: &HeaderMap) -> Option<Self> {
        if method != Method::OPTIONS || !headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD) {
            return None;
        }
        let requested = headers.get(ACCESS_CONTROL_REQUEST_HEADERS);
        Some(Self {
            origin: origin.clone(),
            headers: requested.filter(|names| are_names(names)).cloned(),
            private_network: headers
                .get(REQUEST_PRIVATE_NETWORK)
                .is_some_and(|value| value == "true"),
        })
    }

    /// The response headers. All requested headers are allowed: SDKs send many of their
    /// own, and none has an effect before it is read.
    pub(crate) fn response_headers(self) -> HeaderMap {
        let mut map = HeaderMap::new();
        map.insert(ACCESS_CONTROL_ALLOW_ORIGIN, self.origin);
        map.insert(
            ACCESS_CONTROL_ALLOW_METHODS,
            HeaderValue::from_static(METHODS),
        );
        if let Some(headers) = self.headers {
            map.insert(ACCESS_CONTROL_ALLOW_HEADERS, headers);
        }
        map.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static(MAX_AGE));
        if self.private_network {
            map.insert(ALLOW_PRIVATE_NETWORK, HeaderValue::from_static("true"));
        }
        map.insert(VARY, HeaderValue::from_static(PREFLIGHT_VARIES));
        map
    }
}

/// Whether a value is a list of header names.
fn are_names(value: &HeaderValue) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_, ".contains(&byte);
    value.as_bytes().iter().copied().all(plain)
}

/// Adds the headers that let a page of an allowed site read the response. If any site is
/// allowed, every response varies by origin, so that no cache serves one page's response
/// to another.
pub(crate) fn add_cors_headers(
    caller: &Result<Caller, BoundaryRefusal>,
    origins: &Origins,
    map: &mut HeaderMap,
) {
    if origins.is_empty() {
        return;
    }
    if let Ok(Caller::Page(origin)) = caller {
        map.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
        map.insert(
            ACCESS_CONTROL_EXPOSE_HEADERS,
            HeaderValue::from_static(EXPOSED),
        );
    }
    map.append(VARY, HeaderValue::from_static("origin"));
}
