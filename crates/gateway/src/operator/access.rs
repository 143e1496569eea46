//! Access to the operator's listener: for a program with a key, a browser with a session, and
//! on loopback everyone on this machine.

use std::sync::Arc;

use http::{HeaderMap, Method, Request, Uri};
use hyper::body::Incoming;
use majordomo_page::Viewer;

use super::OperatorPeer;
use crate::keys::{ClientKey, KeyRole};
use crate::ledger_sink::now_millis;
use crate::refusal::RequestRefusal;
use crate::server::ServerContext;
use crate::trust::{Boundary, Session, Visible, authenticate_client, authorize, presents_key};

/// The caller of the operator's listener.
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

    /// The team whose requests and usage may be seen.
    pub(super) fn sees(&self) -> Visible {
        self.key().map_or(Visible::All, Visible::of)
    }

    /// The caller in the audit log: a key's name, or `local`.
    pub(super) fn who(&self) -> String {
        self.key().map_or("local", ClientKey::name).to_owned()
    }

    /// The caller's key; `None` for someone on this machine.
    pub(super) fn key(&self) -> Option<&ClientKey> {
        match self {
            Self::Local => None,
            Self::Key(key) => Some(key),
            Self::Browser(session) => Some(&session.key),
        }
    }
}

/// Enforces the trust boundary, before a body is read.
pub(super) fn admit(
    context: &ServerContext,
    peer: &OperatorPeer,
    method: &Method,
    uri: &Uri,
    headers: &HeaderMap,
) -> Result<OperatorCaller, RequestRefusal> {
    let boundary = Boundary::Operator {
        on_loopback: peer.on_loopback,
    };
    let judged = boundary.check(method, uri, headers);
    judged.map_err(|refusal| refusal.refusal())?;
    if peer.on_loopback {
        return Ok(OperatorCaller::Local);
    }
    let (keys, now) = (context.keys(), now_millis());
    // Here, `key` in a query is a filter of the list, so a secret must come in a header.
    let no_query = Uri::from_static("/");
    if !presents_key(headers, &no_query)
        && let Some(session) = context.sessions.find(&keys, headers, now)
    {
        authorize(&session.key, method, uri.path())?;
        if !session.permits(method, uri, headers) {
            let text = "a change in a session must come from the page itself: reload it";
            return Err(RequestRefusal::new(403, text));
        }
        return Ok(OperatorCaller::Browser(session));
    }
    let throttle = &context.auth_throttle;
    let key = authenticate_client(&keys, throttle, peer.from, headers, &no_query, now)?;
    // A non-loopback address always requires a key, even if a later configuration has
    // none.
    let Some(key) = key else {
        return Err(RequestRefusal::of_key(401, "a key is required"));
    };
    authorize(&key, method, uri.path())?;
    Ok(OperatorCaller::Key(key))
}

/// Whether a request asks for a page, for which an unknown visitor is asked to sign in.
pub(super) fn asks_for_a_page(request: &Request<Incoming>) -> bool {
    let reads = matches!(*request.method(), Method::GET | Method::HEAD);
    reads
        && super::page::accepts_html(request.headers())
        && !request.uri().path().starts_with("/api/")
}
