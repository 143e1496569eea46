//! The connection pool: one [`OriginPool`] per origin.

mod http1;
mod http2;
mod origin;

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};
use std::task::Context;
use std::time::Duration;

use foldhash::fast::RandomState;
use http::Uri;
use http::uri::{Authority, PathAndQuery, Scheme};
use majordomo_llm::{Error, ErrorKind, Result};

pub(crate) use origin::OriginPool;

use super::TransportConfig;
use super::connect::ProxyRoutes;
use http1::Http1Connection;
use http2::StreamPermit;

/// A connection checked out by one exchange.
pub(crate) enum PooledConnection {
    /// Exclusive.
    Http1(Http1Connection),
    /// One stream of a shared connection.
    Http2(StreamPermit),
}

impl PooledConnection {
    /// Polls an HTTP/1.1 connection; an HTTP/2 connection has its own task.
    pub(crate) fn drive(&mut self, cx: &mut Context<'_>) {
        if let Self::Http1(connection) = self {
            connection.drive(cx);
        }
    }

    pub(crate) fn is_reused(&self) -> bool {
        match self {
            Self::Http1(connection) => connection.is_reused(),
            Self::Http2(permit) => permit.is_reused(),
        }
    }
}

/// All pools by origin. Origins come from the configuration, so there are few, and
/// none is evicted.
pub(crate) struct ConnectionPool {
    routes: ProxyRoutes,
    origins: RwLock<HashMap<(Scheme, Authority), Arc<OriginPool>, RandomState>>,
    max_idle_connections: usize,
    idle_timeout: Duration,
}

impl ConnectionPool {
    pub(crate) fn new(config: &TransportConfig) -> Self {
        Self {
            routes: ProxyRoutes::new(&config.proxies),
            origins: RwLock::default(),
            max_idle_connections: config.max_idle_connections,
            idle_timeout: config.idle_timeout,
        }
    }

    /// The pool of a URI's origin.
    pub(crate) fn origin(&self, uri: &Uri) -> Result<Arc<OriginPool>> {
        let parts = uri.scheme().zip(uri.authority());
        let Some((scheme, authority)) = parts else {
            return Err(bad_address());
        };
        let key = (scheme.clone(), authority.clone());
        let origins = self.origins.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(origin) = origins.get(&key) {
            return Ok(Arc::clone(origin));
        }
        drop(origins);
        let origin = Arc::new(self.new_origin(scheme, authority)?);
        let mut origins = self.origins.write().unwrap_or_else(PoisonError::into_inner);
        Ok(Arc::clone(origins.entry(key).or_insert(origin)))
    }

    /// A temporary pool for an address from a request. Its connections close after
    /// the exchange.
    pub(crate) fn temporary_origin(&self, uri: &Uri) -> Result<Arc<OriginPool>> {
        let parts = uri.scheme().zip(uri.authority());
        let (scheme, authority) = parts.ok_or_else(bad_address)?;
        Ok(Arc::new(self.new_origin(scheme, authority)?))
    }

    fn new_origin(&self, scheme: &Scheme, authority: &Authority) -> Result<OriginPool> {
        let default_port = match scheme.as_str() {
            "http" => 80,
            "https" => 443,
            _ => return Err(bad_address()),
        };
        let port = authority.port_u16().unwrap_or(default_port);
        let host = format!("{}:{port}", authority.host());
        let uri = Uri::builder()
            .scheme(scheme.clone())
            .authority(host)
            .path_and_query(PathAndQuery::from_static("/"))
            .build()
            .map_err(|_| bad_address())?;
        let route = self.routes.to(&uri);
        let (max_idle, timeout) = (self.max_idle_connections, self.idle_timeout);
        Ok(OriginPool::new(uri, route, max_idle, timeout))
    }
}

/// Omits the address, which may contain a misplaced key.
fn bad_address() -> Error {
    Error::new(
        ErrorKind::Spec,
        "the base URL must start with http:// or https:// and name a host",
    )
}
