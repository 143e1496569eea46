//! The connections to every origin, kept and shared.

mod http1;
mod http2;
mod place;

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};
use std::task::Context;
use std::time::Duration;

use http::Uri;
use http::uri::{Authority, PathAndQuery, Scheme};
use majordomo_llm::{Error, ErrorKind, Result};

pub(crate) use place::Place;

use super::Config;
use super::dial::Routes;
use http1::Http1;
use http2::Lease;

/// A connection in the hands of one exchange.
pub(crate) enum Link {
    /// All of it.
    Http1(Http1),
    /// One stream of it.
    Http2(Lease),
}

impl Link {
    /// HTTP/1 reads and writes here; HTTP/2 has a task that does.
    pub(crate) fn drive(&mut self, cx: &mut Context<'_>) {
        if let Self::Http1(connection) = self {
            connection.drive(cx);
        }
    }

    pub(crate) fn is_reused(&self) -> bool {
        match self {
            Self::Http1(connection) => connection.is_reused(),
            Self::Http2(lease) => lease.is_reused(),
        }
    }
}

/// The places we have been to. They come from the configuration, not from
/// requests, so they are few and are never forgotten.
pub(crate) struct Pool {
    routes: Routes,
    places: RwLock<HashMap<(Scheme, Authority), Arc<Place>>>,
    idle_connections: usize,
    idle_connection_age: Duration,
}

impl Pool {
    pub(crate) fn new(config: &Config) -> Self {
        Self {
            routes: Routes::new(&config.proxies),
            places: RwLock::default(),
            idle_connections: config.idle_connections,
            idle_connection_age: config.idle_connection_age,
        }
    }

    /// The place that a URI leads to.
    pub(crate) fn place(&self, uri: &Uri) -> Result<Arc<Place>> {
        let parts = uri.scheme().zip(uri.authority());
        let Some((scheme, authority)) = parts else {
            return Err(bad_address());
        };
        let key = (scheme.clone(), authority.clone());
        let places = self.places.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(place) = places.get(&key) {
            return Ok(Arc::clone(place));
        }
        drop(places);
        let place = Arc::new(self.discover(scheme, authority)?);
        let mut places = self.places.write().unwrap_or_else(PoisonError::into_inner);
        Ok(Arc::clone(places.entry(key).or_insert(place)))
    }

    /// The same for an address that came with a request: it is not remembered, and
    /// its connections end with the exchange.
    pub(crate) fn passing(&self, uri: &Uri) -> Result<Arc<Place>> {
        let parts = uri.scheme().zip(uri.authority());
        let (scheme, authority) = parts.ok_or_else(bad_address)?;
        Ok(Arc::new(self.discover(scheme, authority)?))
    }

    fn discover(&self, scheme: &Scheme, authority: &Authority) -> Result<Place> {
        let standard_port = match scheme.as_str() {
            "http" => 80,
            "https" => 443,
            _ => return Err(bad_address()),
        };
        let port = authority.port_u16().unwrap_or(standard_port);
        let host = format!("{}:{port}", authority.host());
        let uri = Uri::builder()
            .scheme(scheme.clone())
            .authority(host)
            .path_and_query(PathAndQuery::from_static("/"))
            .build()
            .map_err(|_| bad_address())?;
        let route = self.routes.to(&uri);
        let (most, age) = (self.idle_connections, self.idle_connection_age);
        Ok(Place::new(uri, route, most, age))
    }
}

/// The address is not told: it may hold a key in the wrong place.
fn bad_address() -> Error {
    Error::new(
        ErrorKind::Spec,
        "the provider's base URL must begin with http:// or https:// and name a host",
    )
}
