//! The connections of one origin, and how to open more.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use http::uri::Authority;
use http::{HeaderValue, Uri};
use majordomo_llm::{Result, Timer};
use tokio::time::Instant;

use super::PooledConnection;
use super::http1::Http1Connection;
use super::http2::Http2Connection;
use crate::transport::connect::{ConnectError, Connector, ProxyRoute};
use crate::transport::{Timeouts, errors};

pub(crate) struct OriginPool {
    /// Host and port, for messages.
    pub(crate) name: String,
    pub(crate) route: ProxyRoute,
    /// The `Host` header: the port only if it is not the default.
    pub(crate) host: HeaderValue,
    /// Scheme, host and port.
    uri: Uri,
    max_idle: usize,
    idle_timeout: Duration,
    connections: Mutex<OriginConnections>,
    /// Held while connecting to an HTTP/2 origin, so that a burst of requests opens
    /// one connection.
    connecting: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct OriginConnections {
    /// Last in, first out, so that surplus connections reach the idle timeout.
    idle: Vec<Http1Connection>,
    shared: Vec<Http2Connection>,
    /// Whether the last connection used HTTP/2.
    is_http2: bool,
    has_sweeper: bool,
}

/// Maximum interval between sweeps of idle connections.
const SWEEP_INTERVAL: Duration = Duration::from_secs(5);

impl OriginPool {
    /// The pool of the origin `uri`, whose port must be explicit.
    pub(super) fn new(
        uri: Uri,
        route: ProxyRoute,
        max_idle: usize,
        idle_timeout: Duration,
    ) -> Self {
        let authority = uri.authority().map_or("", Authority::as_str);
        let name = authority.to_owned();
        let default_port = match uri.scheme_str() {
            Some("https") => ":443",
            _ => ":80",
        };
        let host = authority.strip_suffix(default_port).unwrap_or(authority);
        let host = HeaderValue::from_str(host).unwrap_or(HeaderValue::from_static(""));
        Self {
            name,
            route,
            host,
            uri,
            max_idle,
            idle_timeout,
            connections: Mutex::default(),
            connecting: tokio::sync::Mutex::default(),
        }
    }

    /// The request target in absolute form, for HTTP/2 and forward proxies.
    pub(crate) fn absolute(&self, uri: &Uri) -> Uri {
        let mut parts = self.uri.clone().into_parts();
        parts.path_and_query = uri.path_and_query().cloned();
        Uri::from_parts(parts).unwrap_or_else(|_| self.uri.clone())
    }

    /// Checks out a pooled connection or opens one.
    pub(crate) async fn check_out(
        self: &Arc<Self>,
        connector: &Connector,
        timeouts: &Timeouts,
    ) -> Result<PooledConnection> {
        if let Some(connection) = self.take() {
            return Ok(connection);
        }
        let connect = self.connect(connector, timeouts.connect);
        let connected = match timeouts.connect {
            None => connect.await,
            Some(limit) => tokio::time::timeout(limit, connect)
                .await
                .map_err(|_| errors::timeout(&self.name, Timer::Connect, timeouts))?,
        };
        connected.map_err(|error| errors::connecting(&self.name, error, timeouts))
    }

    async fn connect(
        self: &Arc<Self>,
        connector: &Connector,
        limit: Option<Duration>,
    ) -> Result<PooledConnection, ConnectError> {
        let is_http2 = self.connections().is_http2;
        let mut guard = None;
        if is_http2 {
            guard = Some(self.connecting.lock().await);
            let shared = self.connections().shared.clone();
            for connection in &shared {
                connection.refresh_stream_limit().await;
            }
            if let Some(connection) = self.take() {
                return Ok(connection);
            }
        }
        let connected = connector.connect(&self.uri, &self.route, limit).await?;
        self.connections().is_http2 = connected.is_http2;
        if !connected.is_http2 {
            return Ok(PooledConnection::Http1(
                Http1Connection::open(connected).await?,
            ));
        }
        let mut connection = Http2Connection::open(connected).await?;
        let permit = connection
            .reserve(false)
            .ok_or("a new connection permits no stream")?;
        self.share(connection);
        drop(guard);
        Ok(PooledConnection::Http2(permit))
    }

    fn take(&self) -> Option<PooledConnection> {
        let mut connections = self.connections();
        connections.shared.retain(Http2Connection::is_open);
        if let Some(permit) = connections
            .shared
            .iter_mut()
            .find_map(|it| it.reserve(true))
        {
            return Some(PooledConnection::Http2(permit));
        }
        drop(connections);
        // The peek is a system call, so the lock is released first.
        loop {
            let connection = self.connections().idle.pop()?;
            if connection.is_quiet() {
                return Some(PooledConnection::Http1(connection));
            }
        }
    }

    /// Returns a connection to the pool if it is reusable.
    pub(crate) fn check_in(self: &Arc<Self>, mut connection: Http1Connection) {
        if !connection.is_ready() {
            return;
        }
        connection.idle_since = Some(Instant::now());
        let mut connections = self.connections();
        if connections.idle.len() < self.max_idle {
            connections.idle.push(connection);
            self.start_sweeper(&mut connections);
        }
    }

    fn share(self: &Arc<Self>, connection: Http2Connection) {
        let mut connections = self.connections();
        connections.shared.push(connection);
        self.start_sweeper(&mut connections);
    }

    /// Discards a dead connection. If it is an HTTP/1.1 connection, the idle ones are
    /// probably dead as well and are closed.
    pub(crate) fn discard(&self, dead: &PooledConnection) {
        let mut connections = self.connections();
        match dead {
            PooledConnection::Http1(_) => connections.idle.clear(),
            PooledConnection::Http2(permit) => connections.shared.retain(|it| !it.owns(permit)),
        }
    }

    /// Starts the task that closes expired connections, unless it is running. It
    /// ends when no connections are left.
    fn start_sweeper(self: &Arc<Self>, connections: &mut OriginConnections) {
        if std::mem::replace(&mut connections.has_sweeper, true) {
            return;
        }
        let origin = Arc::downgrade(self);
        let pause = self.idle_timeout.min(SWEEP_INTERVAL);
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(pause).await;
                let Some(origin) = origin.upgrade() else {
                    return;
                };
                if origin.sweep() {
                    return;
                }
            }
        });
    }

    /// Closes expired and dead connections. Returns whether none are left.
    fn sweep(&self) -> bool {
        let mut connections = self.connections();
        let timeout = self.idle_timeout;
        let fresh = |since: Instant| since.elapsed() < timeout;
        connections
            .idle
            .retain(|it| it.idle_since.is_some_and(fresh) && it.is_quiet());
        connections
            .shared
            .retain(|it| it.is_open() && (!it.is_idle() || fresh(it.last_used)));
        let empty = connections.idle.is_empty() && connections.shared.is_empty();
        connections.has_sweeper = !empty;
        empty
    }

    fn connections(&self) -> MutexGuard<'_, OriginConnections> {
        self.connections
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}
