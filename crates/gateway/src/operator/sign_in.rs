//! `/sign-in` and `/sign-out`: exchanges a key for a session, and ends it.

use std::time::Duration;

use http::header::{LOCATION, REFERRER_POLICY, SET_COOKIE};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use majordomo_page::{Frame, Screen, sign_in};
use secrecy::{ExposeSecret, SecretString};
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::body::OperatorBody;
use super::page::html;
use super::{OperatorPeer, SHORT_BODY, text, usage};
use crate::keys::{KeyRefusal, KeyRole};
use crate::ledger_sink::now_millis;
use crate::server::ServerContext;
use crate::state::GatewayState;
use crate::trust::{Boundary, Sessions, is_own_page};

/// Maximum forms that are read concurrently.
static SIGN_INS: Semaphore = Semaphore::const_new(16);
/// Timeout for sending a form.
const FORM_TIMEOUT: Duration = Duration::from_secs(5);

/// Whether a path belongs to this module.
pub(super) fn is_path(path: &str) -> bool {
    matches!(path, "/sign-in" | "/sign-out")
}

/// Sends an unknown visitor to the form.
pub(super) fn redirect(request: &Request<Incoming>) -> Response<OperatorBody> {
    let uri = request.uri();
    // A query may contain a key by mistake, which must not be echoed.
    let query = uri.query().unwrap_or_default();
    let path = match query.split('&').any(|pair| pair.starts_with("key=")) {
        true => uri.path(),
        false => uri.path_and_query().map_or("/", |path| path.as_str()),
    };
    let back = percent_encoding::utf8_percent_encode(path, percent_encoding::NON_ALPHANUMERIC);
    see_other(&format!("/sign-in?back={back}"))
}

/// Shows the form, opens a session or ends one.
pub(super) async fn respond(
    context: &ServerContext,
    state: &GatewayState,
    peer: &OperatorPeer,
    request: Request<Incoming>,
) -> Response<OperatorBody> {
    let boundary = Boundary::Operator {
        on_loopback: peer.on_loopback,
    };
    let (method, uri) = (request.method().clone(), request.uri().clone());
    let headers = request.headers().clone();
    if let Err(refusal) = boundary.check(&method, &uri, &headers) {
        return text(StatusCode::FORBIDDEN, format!("{refusal}\n"));
    }
    if method == Method::GET {
        let session = context
            .sessions
            .find(&context.keys(), &headers, now_millis());
        return match session.filter(|_| uri.path() == "/sign-out") {
            Some(session) => {
                let html = majordomo_page::sign_out(&frame(), &session.token);
                document(StatusCode::OK, html)
            }
            None => {
                let back = usage::parameter(uri.query().unwrap_or_default(), "back");
                form(None, &own_path(back), StatusCode::OK)
            }
        };
    }
    // A page of another site must not sign a browser in or out.
    if method != Method::POST || !is_own_page(&uri, &headers) {
        return text(StatusCode::FORBIDDEN, "use the form of this page\n");
    }
    // A visitor who signs in has not presented a key yet, so forms that never end must not
    // fill the listener's connections.
    let Ok(_turn) = SIGN_INS.try_acquire() else {
        return text(StatusCode::SERVICE_UNAVAILABLE, "try again in a moment\n");
    };
    let body = Limited::new(request.into_body(), SHORT_BODY).collect();
    let Ok(Ok(body)) = timeout(FORM_TIMEOUT, body).await else {
        return text(
            StatusCode::BAD_REQUEST,
            "the form is too long or too slow\n",
        );
    };
    let body = body.to_bytes();
    let fields = String::from_utf8_lossy(&body);
    match uri.path() {
        "/sign-out" => sign_out(context, &headers, &fields),
        _ => open(context, state, peer, &fields),
    }
}

fn open(
    context: &ServerContext,
    state: &GatewayState,
    peer: &OperatorPeer,
    fields: &str,
) -> Response<OperatorBody> {
    let secret = SecretString::from(usage::parameter(fields, "key").unwrap_or_default());
    let back = own_path(usage::parameter(fields, "back"));
    let now = now_millis();
    let key = match context.keys().check(secret.expose_secret(), now) {
        Ok(key) => key,
        Err(refusal) => {
            if context.auth_throttle.is_throttled(peer.from) {
                let problem = "Too many wrong keys from this address; wait a minute.";
                return form(Some(problem), &back, StatusCode::TOO_MANY_REQUESTS);
            }
            let problem = match refusal {
                KeyRefusal::Unknown => "This key is unknown.".to_owned(),
                other => format!("{other}."),
            };
            return form(Some(&problem), &back, StatusCode::UNAUTHORIZED);
        }
    };
    if key.role() < KeyRole::Viewer {
        let problem = "This key has the role client, which may call models and nothing else.";
        return form(Some(problem), &back, StatusCode::FORBIDDEN);
    }
    let secure = state.server.tls.is_some();
    let cookie = context.sessions.open(&secret, now, secure);
    let cookie = cookie.ok().and_then(|cookie| {
        let mut value = HeaderValue::from_str(cookie.expose_secret()).ok()?;
        value.set_sensitive(true);
        Some(value)
    });
    let Some(cookie) = cookie else {
        return text(StatusCode::INTERNAL_SERVER_ERROR, "no random bytes\n");
    };
    let mut response = see_other(&back);
    response.headers_mut().insert(SET_COOKIE, cookie);
    response
}

fn sign_out(context: &ServerContext, headers: &HeaderMap, fields: &str) -> Response<OperatorBody> {
    let session = context
        .sessions
        .find(&context.keys(), headers, now_millis());
    let token = usage::parameter(fields, "token").unwrap_or_default();
    if session.is_some_and(|session| session.has_token(token.as_bytes())) {
        context.sessions.close(headers);
    }
    let mut response = see_other("/sign-in");
    if let Ok(cookie) = HeaderValue::from_str(&Sessions::forget()) {
        response.headers_mut().insert(SET_COOKIE, cookie);
    }
    response
}

fn form(problem: Option<&str>, back: &str, status: StatusCode) -> Response<OperatorBody> {
    document(status, sign_in(&frame(), problem, back))
}

fn frame() -> Frame {
    Frame::new(Screen::Other, env!("CARGO_PKG_VERSION"))
}

/// A page with a form. Browsers send `Origin: null` with a form of a page that allows no
/// referrer at all.
fn document(status: StatusCode, text: String) -> Response<OperatorBody> {
    let mut response = html(status, text);
    let own = HeaderValue::from_static("same-origin");
    response.headers_mut().insert(REFERRER_POLICY, own);
    response
}

/// A path of this page; anything else would lead to another site.
fn own_path(path: Option<String>) -> String {
    let own = |path: &String| {
        path.starts_with('/')
            && !path.starts_with("//")
            && !path.contains('\\')
            && !path.contains(char::is_control)
    };
    path.filter(own).unwrap_or_else(|| "/".to_owned())
}

fn see_other(path: &str) -> Response<OperatorBody> {
    let mut response = text(StatusCode::SEE_OTHER, "");
    let path = HeaderValue::from_str(path).unwrap_or(HeaderValue::from_static("/"));
    response.headers_mut().insert(LOCATION, path);
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signing_in_leads_only_to_our_own_pages() {
        for (path, expected) in [
            ("/targets", "/targets"),
            ("/?q=a&state=failed", "/?q=a&state=failed"),
            ("//evil.example", "/"),
            ("/\\evil.example", "/"),
            ("https://evil.example", "/"),
            ("/a\r\nset-cookie: x=1", "/"),
            ("/\t/evil.example", "/"),
            ("", "/"),
        ] {
            assert_eq!(own_path(Some(path.to_owned())), expected);
        }
        assert_eq!(own_path(None), "/");
    }
}
