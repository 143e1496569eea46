//! What browsers are told about other origins (CORS): preflights, and the headers
//! by which an answer may be read.
//!
//! Only allowed origins are told anything, each by its name and never by `*`. There
//! are no cookies here, so credentials are never allowed.

use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_HEADERS,
    ACCESS_CONTROL_REQUEST_METHOD, VARY,
};
use http::{HeaderMap, HeaderValue, Method};

use super::{Caller, Origins, Refusal};

/// Every method that a client's path takes.
const METHODS: &str = "GET, HEAD, POST";
/// How many seconds a browser may remember a preflight. A site that is no longer
/// allowed is refused at its next request anyway.
const MAX_AGE: &str = "600";
/// What an answer says about itself beyond the headers that any page may read.
const EXPOSED: &str = "x-majordomo-request-id, x-majordomo-target, x-majordomo-attempts, \
                       x-majordomo-changes, request-id, retry-after, x-should-retry";
/// What the answer to a preflight depends on.
const PREFLIGHT_VARIES: &str = "origin, access-control-request-method, \
                                access-control-request-headers, \
                                access-control-request-private-network";
const PRIVATE_ASKED: &str = "access-control-request-private-network";
const PRIVATE_ALLOWED: &str = "access-control-allow-private-network";

/// A browser's question before it sends a page's request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Preflight {
    origin: HeaderValue,
    /// The headers that the page wants to send.
    headers: Option<HeaderValue>,
    /// The page comes from a public address, and we are at a private one.
    private_network: bool,
}

impl Preflight {
    /// The preflight that a head is, if it is one.
    pub(super) fn read(method: &Method, origin: &HeaderValue, headers: &HeaderMap) -> Option<Self> {
        if method != Method::OPTIONS || !headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD) {
            return None;
        }
        let asked = headers.get(ACCESS_CONTROL_REQUEST_HEADERS);
        Some(Self {
            origin: origin.clone(),
            headers: asked.filter(|names| are_names(names)).cloned(),
            private_network: headers
                .get(PRIVATE_ASKED)
                .is_some_and(|asks| asks == "true"),
        })
    }

    /// The headers of its answer. Whatever headers were asked for are allowed: SDKs
    /// send many of their own, and none means anything before it is read.
    pub(crate) fn answer(self) -> HeaderMap {
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
            map.insert(PRIVATE_ALLOWED, HeaderValue::from_static("true"));
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

/// Lets a page of an allowed site read its answer. Where sites are allowed, every
/// answer says that it depends on who asks, so that no cache gives one page's to
/// another.
pub(crate) fn share(caller: &Result<Caller, Refusal>, origins: &Origins, map: &mut HeaderMap) {
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
