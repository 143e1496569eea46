//! Responses of the page, with its security headers.

use bytes::Bytes;
use http::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE,
    REFERRER_POLICY, VARY, X_CONTENT_TYPE_OPTIONS,
};
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode};
use majordomo_page::Asset;

use super::super::body::OperatorBody;

/// Scripts, resources and forms are restricted to this origin.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
                      img-src 'self' blob:; connect-src 'self'; base-uri 'none'; \
                      form-action 'self'; frame-ancestors 'none'";

/// A document.
pub(in crate::operator) fn html(status: StatusCode, html: String) -> Response<OperatorBody> {
    let mut response = Response::new(OperatorBody::from(html));
    *response.status_mut() = status;
    set(&mut response, CONTENT_TYPE, "text/html; charset=utf-8");
    set(&mut response, CACHE_CONTROL, "no-store");
    secure(&mut response);
    response
}

/// An asset, compressed if the browser accepts that. Its name changes with its content.
pub(in crate::operator) fn asset(
    asset: &'static Asset,
    headers: &HeaderMap,
) -> Response<OperatorBody> {
    let accepted = headers.get(ACCEPT_ENCODING);
    let accepted = accepted.and_then(|accepted| accepted.to_str().ok());
    let compressed = accepted.is_some_and(|accepted| accepted.contains("gzip"));
    let body = match compressed {
        true => asset.gzip,
        false => asset.body,
    };
    let mut response = Response::new(OperatorBody::from(Bytes::from_static(body)));
    set(&mut response, CONTENT_TYPE, asset.media_type);
    let kept = "public, max-age=31536000, immutable";
    set(&mut response, CACHE_CONTROL, kept);
    set(&mut response, VARY, "accept-encoding");
    if compressed {
        set(&mut response, CONTENT_ENCODING, "gzip");
    }
    secure(&mut response);
    response
}

fn secure(response: &mut Response<OperatorBody>) {
    set(response, CONTENT_SECURITY_POLICY, POLICY);
    set(response, X_CONTENT_TYPE_OPTIONS, "nosniff");
    set(response, REFERRER_POLICY, "no-referrer");
}

fn set(response: &mut Response<OperatorBody>, name: HeaderName, value: &'static str) {
    let value = HeaderValue::from_static(value);
    response.headers_mut().insert(name, value);
}
