//! From an address to a connection: resolve, connect, tunnel, TLS.

mod resolve;
mod route;
mod socket;
mod tls;

use std::error::Error as StdError;
use std::fmt;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};
use std::time::Duration;

use http::Uri;
use http::uri::Scheme;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::proxy::{SocksV5, Tunnel};
use hyper_util::rt::TokioIo;
use majordomo_llm::BoxFuture;
use secrecy::ExposeSecret;
use tower_service::Service;

pub(crate) use resolve::ResolveError;
pub use resolve::{Resolve, SystemResolver};
pub(crate) use route::{Route, Routes};
pub(crate) use socket::{Io, Peephole};

use super::{Config, Protocol};
use resolve::Resolver;
use socket::Socket;
use tls::{Peer, Tls};

/// Whatever went wrong on the way; [`super::fault`] makes sense of it.
pub(crate) type DialError = Box<dyn StdError + Send + Sync>;

/// The proxy was reached and said no.
#[derive(Debug)]
pub(crate) struct ProxyRefusal(pub(crate) String);

impl fmt::Display for ProxyRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl StdError for ProxyRefusal {}

/// A tunnel's error that has no cause is the proxy's own word.
fn refusal(error: impl StdError + Send + Sync + 'static) -> DialError {
    match error.source() {
        Some(_) => Box::new(error),
        None => {
            let text = error.to_string();
            let reason = text.trim_start_matches("tunnel error: ");
            Box::new(ProxyRefusal(reason.to_owned()))
        }
    }
}

/// A connection nobody has used yet.
pub(crate) struct Dialed {
    pub(crate) io: Box<dyn Io>,
    pub(crate) peephole: Peephole,
    pub(crate) speaks_http2: bool,
}

pub(crate) struct Dialer {
    tcp: HttpConnector<Resolver>,
    tls: Arc<Tls>,
    protocol: Protocol,
}

/// A server that dies without a word is noticed within about a minute, even
/// where no timer runs.
const PROBE_AFTER: Duration = Duration::from_secs(30);
const PROBE_EVERY: Duration = Duration::from_secs(10);

impl Dialer {
    pub(crate) fn new(config: &Config) -> Self {
        let mut tcp = HttpConnector::new_with_resolver(Resolver(Arc::clone(&config.resolver)));
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_keepalive(Some(PROBE_AFTER));
        tcp.set_keepalive_interval(Some(PROBE_EVERY));
        tcp.set_keepalive_retries(Some(3));
        Self {
            tcp,
            tls: Arc::new(Tls::new(config)),
            protocol: config.protocol,
        }
    }

    /// Connects to the origin of `uri`, whose port is written out. The limit is
    /// shared by a name's addresses, so that a dead one does not use it up.
    pub(crate) async fn dial(
        &self,
        uri: &Uri,
        route: &Route,
        limit: Option<Duration>,
    ) -> Result<Dialed, DialError> {
        let mut leg = Leg {
            tcp: self.tcp.clone(),
            tls: Arc::clone(&self.tls),
            peephole: Arc::default(),
        };
        leg.tcp.set_connect_timeout(limit);
        let io = match route {
            Route::Direct => leg.plain(uri.clone()).await?,
            Route::Forward { proxy, .. } => leg.call(proxy.clone()).await?.into_inner(),
            Route::Tunnel {
                proxy,
                authorization,
            } => {
                let mut tunnel = Tunnel::new(proxy.clone(), leg.clone());
                if let Some(authorization) = authorization {
                    tunnel = tunnel.with_auth(authorization.clone());
                }
                let through = tunnel.call(uri.clone()).await;
                through.map_err(refusal)?.into_inner()
            }
            Route::Socks {
                proxy,
                local_dns,
                login,
            } => {
                let mut socks = SocksV5::new(proxy.clone(), leg.clone()).local_dns(*local_dns);
                if let Some((user, password)) = login.clone() {
                    socks = socks.with_auth(user, password.expose_secret().to_owned());
                }
                let through = socks.call(uri.clone()).await;
                through
                    .map_err(|error| ProxyRefusal(error.to_string()))?
                    .into_inner()
            }
        };
        let peephole = leg.peephole.get().cloned();
        let peephole = peephole.ok_or("a connection was made without a socket")?;
        self.secure(uri, io, peephole).await
    }

    async fn secure(
        &self,
        uri: &Uri,
        io: Box<dyn Io>,
        peephole: Peephole,
    ) -> Result<Dialed, DialError> {
        if uri.scheme() != Some(&Scheme::HTTPS) {
            return Ok(Dialed {
                io,
                peephole,
                speaks_http2: self.protocol == Protocol::Http2,
            });
        }
        let host = uri.host().unwrap_or_default();
        let stream = self.tls.wrap(host, Peer::Provider, io).await?;
        let agreed = stream.get_ref().1.alpn_protocol();
        let speaks_http2 = agreed == Some(b"h2") || self.protocol == Protocol::Http2;
        Ok(Dialed {
            io: Box::new(stream),
            peephole,
            speaks_http2,
        })
    }
}

/// The first leg of a way: a socket, with TLS where a proxy wants it. A
/// service, because that is what hyper-util's tunnels are built on.
#[derive(Clone)]
struct Leg {
    tcp: HttpConnector<Resolver>,
    tls: Arc<Tls>,
    peephole: Arc<OnceLock<Peephole>>,
}

impl Leg {
    async fn plain(&mut self, uri: Uri) -> Result<Box<dyn Io>, DialError> {
        let stream = self.tcp.call(uri).await?.into_inner();
        let (socket, peephole) = Socket::new(stream);
        // A leg is walked once, so nothing is there yet.
        let _ = self.peephole.set(peephole);
        Ok(Box::new(socket))
    }
}

impl Service<Uri> for Leg {
    type Response = TokioIo<Box<dyn Io>>;
    type Error = DialError;
    type Future = BoxFuture<'static, Result<Self::Response, DialError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), DialError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let mut leg = self.clone();
        Box::pin(async move {
            let io = leg.plain(uri.clone()).await?;
            if uri.scheme() != Some(&Scheme::HTTPS) {
                return Ok(TokioIo::new(io));
            }
            let host = uri.host().unwrap_or_default();
            let stream = leg.tls.wrap(host, Peer::Proxy, io).await?;
            let secured: Box<dyn Io> = Box::new(stream);
            Ok(TokioIo::new(secured))
        })
    }
}
