//! The listener: connections in, requests on, answers out.
//!
//! The accept loop is our own, because the usual one has no timers: a silent
//! connection and a slow header end here. A request's work is a future of its
//! connection, so a client that leaves cancels everything that was begun for it.

mod body;
mod connection;
mod intake;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use http::{HeaderValue, Request, Response, StatusCode};
use hyper::body::Incoming;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;

pub(crate) use body::Body;

use crate::arrival::Arrival;
use crate::authenticate::authenticate;
use crate::exchange::Exchange;
use crate::fronts::{self, Endpoint, Front};
use crate::refusal::refuse;
use crate::state::{Shared, State};

/// A gateway that listens.
pub struct Server {
    listener: TcpListener,
    state: Shared,
}

impl Server {
    /// Takes the address of the configuration.
    pub async fn bind(state: Arc<State>) -> std::io::Result<Self> {
        let listener = TcpListener::bind(state.server.listen).await?;
        Ok(Self {
            listener,
            state: Arc::new(ArcSwap::new(state)),
        })
    }

    /// Where it listens.
    pub fn address(&self) -> std::io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// The handle by which another configuration is put to work.
    pub fn handle(&self) -> Handle {
        Handle(Arc::clone(&self.state))
    }

    /// Serves until `stop`, then lets what runs end for a while.
    pub async fn run(self, stop: impl Future<Output = ()>) {
        let (stopping, stopped) = watch::channel(false);
        let mut connections = JoinSet::new();
        tokio::pin!(stop);
        loop {
            tokio::select! {
                accepted = self.listener.accept() => match accepted {
                    Ok((stream, peer)) => {
                        let state = Arc::clone(&self.state);
                        connections.spawn(connection::serve(stream, peer, state, stopped.clone()));
                    }
                    Err(error) => {
                        // Out of file descriptors, most likely: others must end first.
                        tracing::warn!(reason = %error, "a connection could not be accepted");
                        tokio::time::sleep(Duration::from_millis(50)).await;
                    }
                },
                Some(_) = connections.join_next() => {}
                () = &mut stop => break,
            }
        }
        let drain = self.state.load().server.drain;
        drop(self.listener);
        stopping.send_replace(true);
        let all = async { while connections.join_next().await.is_some() {} };
        if tokio::time::timeout(drain, all).await.is_err() {
            tracing::warn!("answers that took too long were cut");
        }
    }
}

/// Changes the configuration of a running server.
#[derive(Clone)]
pub struct Handle(Shared);

impl Handle {
    /// The configuration at work.
    pub fn state(&self) -> Arc<State> {
        self.0.load_full()
    }

    /// Puts another configuration to work; requests that run keep theirs.
    pub fn swap(&self, state: Arc<State>) {
        self.0.store(state);
    }
}

/// Answers one request.
async fn answer(state: Arc<State>, request: Request<Incoming>) -> Response<Body> {
    let (head, body) = request.into_parts();
    let endpoint = fronts::endpoint(&head.method, &head.uri, &head.headers);
    let front = front_of(&endpoint);
    let Some(front) = front else {
        return simple(&endpoint);
    };
    let mut exchange = Exchange::new(crate::relay::new_id().into(), front);
    let key = match authenticate(&state.keys, &head.headers, &head.uri) {
        Ok(key) => key,
        Err(error) => return refuse(front, exchange, error),
    };
    exchange.by(key.as_ref().map(|key| Arc::from(key.name())));
    let body = match intake::read(&head.headers, body, state.server.max_body).await {
        Ok(body) => body,
        Err(error) => return refuse(front, exchange, error),
    };
    let arrival = Arrival {
        headers: head.headers,
        body,
        key,
        exchange,
    };
    match endpoint {
        Endpoint::Ask {
            front,
            model,
            stream,
        } => fronts::ask(&state, front, model, stream, arrival).await,
        Endpoint::Count { front, model } => fronts::count(&state, front, model, arrival).await,
        Endpoint::Models(Front::OllamaChat) => fronts::tags(&state, arrival).await,
        Endpoint::Models(front) => fronts::list(&state, front, arrival).await,
        Endpoint::Model(front, id) => fronts::one(&state, front, id, arrival).await,
        Endpoint::Show => fronts::show(&state, arrival).await,
        Endpoint::Version => fronts::version(arrival),
        Endpoint::Embeddings(front) => fronts::embed(&state, front, arrival).await,
        Endpoint::Nowhere(front) => {
            let error = majordomo::Error::new(majordomo::ErrorKind::Provider, "no such path");
            refuse(front, arrival.exchange, error.with_status(404))
        }
        Endpoint::Root | Endpoint::Healthz | Endpoint::Readyz | Endpoint::WrongMethod(_) => {
            simple(&endpoint)
        }
    }
}

/// Whose words an answer is in; none where no dialect is spoken.
fn front_of(endpoint: &Endpoint) -> Option<Front> {
    match endpoint {
        Endpoint::Ask { front, .. }
        | Endpoint::Count { front, .. }
        | Endpoint::Models(front)
        | Endpoint::Model(front, _)
        | Endpoint::Embeddings(front)
        | Endpoint::Nowhere(front) => Some(*front),
        Endpoint::Show | Endpoint::Version => Some(Front::OllamaChat),
        Endpoint::Root | Endpoint::Healthz | Endpoint::Readyz | Endpoint::WrongMethod(_) => None,
    }
}

fn simple(endpoint: &Endpoint) -> Response<Body> {
    let (status, text, allow) = match endpoint {
        Endpoint::WrongMethod(allowed) => (
            StatusCode::METHOD_NOT_ALLOWED,
            "the method is not allowed here\n",
            Some(*allowed),
        ),
        Endpoint::Root => (StatusCode::OK, "majordomo is here\n", None),
        _ => (StatusCode::OK, "ok\n", None),
    };
    let mut answer = Response::new(Body::from(bytes::Bytes::from_static(text.as_bytes())));
    *answer.status_mut() = status;
    let map = answer.headers_mut();
    let plain = HeaderValue::from_static("text/plain; charset=utf-8");
    map.insert("content-type", plain);
    if let Some(allow) = allow {
        map.insert("allow", HeaderValue::from_static(allow));
    }
    answer
}
