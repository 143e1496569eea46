//! One origin: the way to it and the connections that are kept for it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use http::uri::Authority;
use http::{HeaderValue, Uri};
use majordomo_llm::{Result, Timer};
use tokio::time::Instant;

use super::Link;
use super::http1::Http1;
use super::http2::Http2;
use crate::transport::dial::{DialError, Dialer, Route};
use crate::transport::{Timeouts, fault};

pub(crate) struct Place {
    /// Host and port, for people.
    pub(crate) name: String,
    pub(crate) route: Route,
    /// The same as the server wants to hear it.
    pub(crate) host: HeaderValue,
    /// Scheme, host and port, nothing more.
    uri: Uri,
    most_unused: usize,
    unused_age: Duration,
    kept: Mutex<Kept>,
    /// Held while connecting to a server that is known to share connections,
    /// so that a burst of requests makes one connection.
    dialing: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct Kept {
    /// The last one used is used first, so that the others can grow old.
    unused: Vec<Http1>,
    shared: Vec<Http2>,
    speaks_http2: bool,
    swept: bool,
}

/// How often unused connections are looked after.
const SWEEP_EVERY: Duration = Duration::from_secs(5);

impl Place {
    /// The place at `uri`, whose port is written out.
    pub(super) fn new(uri: Uri, route: Route, most_unused: usize, unused_age: Duration) -> Self {
        let authority = uri.authority().map_or("", Authority::as_str);
        let name = authority.to_owned();
        let standard = match uri.scheme_str() {
            Some("https") => ":443",
            _ => ":80",
        };
        let host = authority.strip_suffix(standard).unwrap_or(authority);
        let host = HeaderValue::from_str(host).unwrap_or(HeaderValue::from_static(""));
        Self {
            name,
            route,
            host,
            uri,
            most_unused,
            unused_age,
            kept: Mutex::default(),
            dialing: tokio::sync::Mutex::default(),
        }
    }

    /// A request's address with scheme and host, for HTTP/2 and for proxies.
    pub(crate) fn absolute(&self, uri: &Uri) -> Uri {
        let mut parts = self.uri.clone().into_parts();
        parts.path_and_query = uri.path_and_query().cloned();
        Uri::from_parts(parts).unwrap_or_else(|_| self.uri.clone())
    }

    /// A kept connection, or a new one.
    pub(crate) async fn link(
        self: &Arc<Self>,
        dialer: &Dialer,
        timeouts: &Timeouts,
    ) -> Result<Link> {
        if let Some(link) = self.take() {
            return Ok(link);
        }
        let connecting = self.connect(dialer, timeouts.connect);
        let connected = match timeouts.connect {
            None => connecting.await,
            Some(limit) => tokio::time::timeout(limit, connecting)
                .await
                .map_err(|_| fault::timeout(&self.name, Timer::Connect, timeouts))?,
        };
        connected.map_err(|error| fault::dialing(&self.name, error, timeouts))
    }

    async fn connect(
        self: &Arc<Self>,
        dialer: &Dialer,
        limit: Option<Duration>,
    ) -> Result<Link, DialError> {
        let speaks_http2 = self.kept().speaks_http2;
        let mut turn = None;
        if speaks_http2 {
            turn = Some(self.dialing.lock().await);
            let shared = self.kept().shared.clone();
            for connection in &shared {
                connection.ask_for_room().await;
            }
            if let Some(link) = self.take() {
                return Ok(link);
            }
        }
        let dialed = dialer.dial(&self.uri, &self.route, limit).await?;
        self.kept().speaks_http2 = dialed.speaks_http2;
        if !dialed.speaks_http2 {
            return Ok(Link::Http1(Http1::open(dialed).await?));
        }
        let mut connection = Http2::open(dialed).await?;
        let lease = connection.lease(false).ok_or("a new connection is full")?;
        self.share(connection);
        drop(turn);
        Ok(Link::Http2(lease))
    }

    fn take(&self) -> Option<Link> {
        let mut kept = self.kept();
        kept.shared.retain(Http2::is_open);
        if let Some(lease) = kept.shared.iter_mut().find_map(|it| it.lease(true)) {
            return Some(Link::Http2(lease));
        }
        drop(kept);
        // Looking into a socket is a system call, so the lock is not held.
        loop {
            let connection = self.kept().unused.pop()?;
            if connection.is_clean() {
                return Some(Link::Http1(connection));
            }
        }
    }

    /// Keeps a connection whose exchange is over, if it is fit for another.
    pub(crate) fn keep(self: &Arc<Self>, mut connection: Http1) {
        if !connection.is_ready() {
            return;
        }
        connection.unused_since = Some(Instant::now());
        let mut kept = self.kept();
        if kept.unused.len() < self.most_unused {
            kept.unused.push(connection);
            self.look_after(&mut kept);
        }
    }

    fn share(self: &Arc<Self>, connection: Http2) {
        let mut kept = self.kept();
        kept.shared.push(connection);
        self.look_after(&mut kept);
    }

    /// A connection turned out to be dead, so its neighbours may be, too.
    pub(crate) fn distrust(&self, link: &Link) {
        let mut kept = self.kept();
        match link {
            Link::Http1(_) => kept.unused.clear(),
            Link::Http2(lease) => kept.shared.retain(|it| !it.is_behind(lease)),
        }
    }

    /// Starts the task that closes old connections; it ends with the last one.
    fn look_after(self: &Arc<Self>, kept: &mut Kept) {
        if std::mem::replace(&mut kept.swept, true) {
            return;
        }
        let place = Arc::downgrade(self);
        let pause = self.unused_age.min(SWEEP_EVERY);
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(pause).await;
                let Some(place) = place.upgrade() else { return };
                if place.sweep() {
                    return;
                }
            }
        });
    }

    /// Closes what is old or dead; says whether nothing is left.
    fn sweep(&self) -> bool {
        let mut kept = self.kept();
        let age = self.unused_age;
        let fresh = |since: Instant| since.elapsed() < age;
        kept.unused
            .retain(|it| it.unused_since.is_some_and(fresh) && it.is_clean());
        kept.shared
            .retain(|it| it.is_open() && (!it.is_unused() || fresh(it.last_leased)));
        let empty = kept.unused.is_empty() && kept.shared.is_empty();
        kept.swept = !empty;
        empty
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
