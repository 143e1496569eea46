//! Who may use the operator's listener: a program with a key, a browser with a session, or
//! on loopback everyone on this machine.

use std::sync::Arc;

use http::{Method, Request};
use hyper::body::Incoming;
use majordomo::{Error, ErrorKind};
use majordomo_page::Viewer;

use super::OperatorPeer;
use crate::keys::{ClientKey, KeyRole};
use crate::ledger_sink::now_millis;
use crate::server::ServerContext;
use crate::state::GatewayState;
use crate::trust::{Boundary, Session, authenticate_client, authorize, presents_key};

/// Who asks.
pub(super) enum OperatorCaller {
    /// Someone on this machine, while the listener is on loopback.
    Local,
    /// The holder of a key.
    Key(Arc<ClientKey>),
    /// A browser that signed in.
    Browser(Session),
}

impl OperatorCaller {
    /// The same for the page.
    pub(super) fn viewer(&self) -> Viewer {
        match self {
            Self::Local => Viewer::local(),
            Self::Key(key) => Viewer::signed_in(key.name(), key.role() >= KeyRole::Operator, ""),
            Self::Browser(session) => {
                let key = &session.key;
                let may_change = key.role() >= KeyRole::Operator;
                Viewer::signed_in(key.name(), may_change, &*session.token)
            }
        }
    }

    /// The team whose requests may be seen; `None` for all.
    pub(super) fn only_team(&self) -> Option<Option<&str>> {
        let key = match self {
            Self::Local => return None,
            Self::Key(key) => key,
            Self::Browser(session) => &session.key,
        };
        let sees_all = key.role() >= KeyRole::Operator || key.sees_all();
        (!sees_all).then(|| key.team())
    }
}

/// Enforces the trust boundary, before a body is read.
pub(super) fn admit(
    context: &ServerContext,
    state: &GatewayState,
    peer: &OperatorPeer,
    request: &Request<Incoming>,
) -> Result<OperatorCaller, Error> {
    let (method, uri, headers) = (request.method(), request.uri(), request.headers());
    let boundary = Boundary::Operator {
        on_loopback: peer.on_loopback,
    };
    let judged = boundary.check(method, uri, headers);
    judged.map_err(|refusal| refusal.error())?;
    if peer.on_loopback {
        return Ok(OperatorCaller::Local);
    }
    let now = now_millis();
    if !presents_key(headers, uri)
        && let Some(session) = context.sessions.find(&state.keys, headers, now)
    {
        authorize(&session.key, method, uri.path())?;
        if !session.permits(method, uri, headers) {
            let text = "a change in a session must come from the page itself: reload it";
            return Err(Error::new(ErrorKind::Local, text).with_status(403));
        }
        return Ok(OperatorCaller::Browser(session));
    }
    let throttle = &context.auth_throttle;
    let key = authenticate_client(&state.keys, throttle, peer.from, headers, uri, now)?;
    // A non-loopback address always requires a key, even if a later configuration has
    // none.
    let Some(key) = key else {
        let error = Error::new(ErrorKind::Local, "a key is required");
        return Err(error.with_status(401));
    };
    authorize(&key, method, uri.path())?;
    Ok(OperatorCaller::Key(key))
}

/// Whether a request asks for a page, which an unknown visitor may be asked to sign in for.
pub(super) fn asks_for_a_page(request: &Request<Incoming>) -> bool {
    let reads = matches!(*request.method(), Method::GET | Method::HEAD);
    reads
        && super::page::accepts_html(request.headers())
        && !request.uri().path().starts_with("/api/")
}
