//! Establishes connections: DNS, TCP with happy eyeballs (RFC 8305), proxy tunnel,
//! TLS.

mod proxy_route;
mod resolve;
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

pub(crate) use proxy_route::{ProxyRoute, ProxyRoutes};
pub(crate) use resolve::ResolveError;
pub use resolve::{Resolve, SystemResolver};
pub(crate) use socket::{AsyncIo, SocketPeek};

use super::{HttpVersions, TransportConfig};
use resolve::ResolverService;
use socket::PooledSocket;
use tls::{TlsConnectors, TlsPeer};

/// Any failure to connect; [`super::errors`] classifies it.
pub(crate) type ConnectError = Box<dyn StdError + Send + Sync>;

/// A proxy that was reached refused to connect.
#[derive(Debug)]
pub(crate) struct ProxyError(pub(crate) String);

impl fmt::Display for ProxyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl StdError for ProxyError {}

/// A tunnel error without a source is a refusal by the proxy itself.
fn proxy_error(error: impl StdError + Send + Sync + 'static) -> ConnectError {
    match error.source() {
        Some(_) => Box::new(error),
        None => {
            let text = error.to_string();
            let reason = text.trim_start_matches("tunnel error: ");
            Box::new(ProxyError(reason.to_owned()))
        }
    }
}

/// An established connection before its first request.
pub(crate) struct NewConnection {
    pub(crate) io: Box<dyn AsyncIo>,
    pub(crate) peek: SocketPeek,
    pub(crate) is_http2: bool,
}

pub(crate) struct Connector {
    tcp: HttpConnector<ResolverService>,
    tls: Arc<TlsConnectors>,
    http_versions: HttpVersions,
}

/// TCP keep-alive detects a dead peer within about a minute, even if no timeout applies.
const KEEPALIVE_IDLE: Duration = Duration::from_secs(30);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(10);

impl Connector {
    pub(crate) fn new(config: &TransportConfig) -> Self {
        let mut tcp =
            HttpConnector::new_with_resolver(ResolverService(Arc::clone(&config.resolver)));
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_keepalive(Some(KEEPALIVE_IDLE));
        tcp.set_keepalive_interval(Some(KEEPALIVE_INTERVAL));
        tcp.set_keepalive_retries(Some(3));
        Self {
            tcp,
            tls: Arc::new(TlsConnectors::new(config)),
            http_versions: config.http_versions,
        }
    }

    /// Connects to the origin of `uri`, whose port must be explicit. The limit is
    /// divided among the resolved addresses, so that an unresponsive one cannot
    /// exhaust it.
    pub(crate) async fn connect(
        &self,
        uri: &Uri,
        route: &ProxyRoute,
        limit: Option<Duration>,
    ) -> Result<NewConnection, ConnectError> {
        let mut hop = FirstHop {
            tcp: self.tcp.clone(),
            tls: Arc::clone(&self.tls),
            peek: Arc::default(),
        };
        hop.tcp.set_connect_timeout(limit);
        let io = match route {
            ProxyRoute::Direct => hop.connect_tcp(uri.clone()).await?,
            ProxyRoute::Forward { proxy, .. } => hop.call(proxy.clone()).await?.into_inner(),
            ProxyRoute::Tunnel {
                proxy,
                authorization,
            } => {
                let mut tunnel = Tunnel::new(proxy.clone(), hop.clone());
                if let Some(authorization) = authorization {
                    tunnel = tunnel.with_auth(authorization.clone());
                }
                let tunneled = tunnel.call(uri.clone()).await;
                tunneled.map_err(proxy_error)?.into_inner()
            }
            ProxyRoute::Socks {
                proxy,
                local_dns,
                login,
            } => {
                let mut socks = SocksV5::new(proxy.clone(), hop.clone()).local_dns(*local_dns);
                if let Some((user, password)) = login.clone() {
                    socks = socks.with_auth(user, password.expose_secret().to_owned());
                }
                let tunneled = socks.call(uri.clone()).await;
                tunneled
                    .map_err(|error| ProxyError(error.to_string()))?
                    .into_inner()
            }
        };
        let peek = hop.peek.get().cloned();
        let peek = peek.ok_or("connected without a socket")?;
        self.handshake(uri, io, peek).await
    }

    async fn handshake(
        &self,
        uri: &Uri,
        io: Box<dyn AsyncIo>,
        peek: SocketPeek,
    ) -> Result<NewConnection, ConnectError> {
        if uri.scheme() != Some(&Scheme::HTTPS) {
            return Ok(NewConnection {
                io,
                peek,
                is_http2: self.http_versions == HttpVersions::Http2,
            });
        }
        let host = uri.host().unwrap_or_default();
        let stream = self.tls.handshake(host, TlsPeer::Provider, io).await?;
        let negotiated = stream.get_ref().1.alpn_protocol();
        let is_http2 = negotiated == Some(b"h2") || self.http_versions == HttpVersions::Http2;
        Ok(NewConnection {
            io: Box::new(stream),
            peek,
            is_http2,
        })
    }
}

/// Connects to the origin or the proxy, with TLS for `https` proxies. Implements
/// `Service` because hyper-util's tunnels require it.
#[derive(Clone)]
struct FirstHop {
    tcp: HttpConnector<ResolverService>,
    tls: Arc<TlsConnectors>,
    peek: Arc<OnceLock<SocketPeek>>,
}

impl FirstHop {
    async fn connect_tcp(&mut self, uri: Uri) -> Result<Box<dyn AsyncIo>, ConnectError> {
        let stream = self.tcp.call(uri).await?.into_inner();
        let (socket, peek) = PooledSocket::new(stream);
        // Each `FirstHop` connects once, so the cell is empty.
        let _ = self.peek.set(peek);
        Ok(Box::new(socket))
    }
}

impl Service<Uri> for FirstHop {
    type Response = TokioIo<Box<dyn AsyncIo>>;
    type Error = ConnectError;
    type Future = BoxFuture<'static, Result<Self::Response, ConnectError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), ConnectError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let mut hop = self.clone();
        Box::pin(async move {
            let io = hop.connect_tcp(uri.clone()).await?;
            if uri.scheme() != Some(&Scheme::HTTPS) {
                return Ok(TokioIo::new(io));
            }
            let host = uri.host().unwrap_or_default();
            let stream = hop.tls.handshake(host, TlsPeer::Proxy, io).await?;
            let secured: Box<dyn AsyncIo> = Box::new(stream);
            Ok(TokioIo::new(secured))
        })
    }
}
