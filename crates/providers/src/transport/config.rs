//! Configuration of a transport.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::connect::{Resolve, SystemResolver};

/// Configuration of a [`Transport`](super::Transport). The defaults suit programs;
/// most setters exist for tests.
#[derive(Clone)]
pub struct TransportConfig {
    pub(crate) http_versions: HttpVersions,
    pub(crate) proxies: Proxies,
    pub(crate) extra_roots: Vec<Vec<u8>>,
    pub(crate) resolver: Arc<dyn Resolve>,
    pub(crate) max_idle_connections: usize,
    pub(crate) idle_timeout: Duration,
    pub(crate) max_response_bytes: usize,
    pub(crate) wall_clock: fn() -> SystemTime,
}

/// The HTTP versions to use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HttpVersions {
    /// HTTP/2 if the server selects it by ALPN, else HTTP/1.1.
    #[default]
    Negotiate,
    /// HTTP/1.1 only.
    Http1,
    /// HTTP/2 only; with prior knowledge on plain-text connections (RFC 9113,
    /// section 3.3).
    Http2,
}

/// Proxy selection. Loopback addresses always bypass the proxy, so that a local
/// server works on a machine with a corporate proxy.
#[derive(Clone, Default)]
pub enum Proxies {
    /// As configured by `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and `NO_PROXY`.
    #[default]
    Environment,
    /// No proxy.
    Direct,
    /// One proxy for all hosts outside `no_proxy`.
    Fixed {
        /// The proxy's URL: `http`, `https`, `socks5` or `socks5h`.
        proxy: String,
        /// Hosts to connect to directly, in the syntax of `NO_PROXY`.
        no_proxy: String,
    },
}

impl TransportConfig {
    /// Sets the HTTP versions.
    #[must_use]
    pub fn http_versions(mut self, versions: HttpVersions) -> Self {
        self.http_versions = versions;
        self
    }

    /// Sets the proxies.
    #[must_use]
    pub fn proxies(mut self, proxies: Proxies) -> Self {
        self.proxies = proxies;
        self
    }

    /// Trusts another root certificate (DER) in addition to the platform's.
    #[must_use]
    pub fn trust(mut self, root: impl Into<Vec<u8>>) -> Self {
        self.extra_roots.push(root.into());
        self
    }

    /// Replaces the DNS resolver.
    #[must_use]
    pub fn resolver(mut self, resolver: impl Resolve) -> Self {
        self.resolver = Arc::new(resolver);
        self
    }

    /// Sets the maximum number of idle connections per origin (256) and their idle
    /// timeout (60 s).
    #[must_use]
    pub fn idle_connections(mut self, max: usize, timeout: Duration) -> Self {
        self.max_idle_connections = max;
        self.idle_timeout = timeout;
        self
    }

    /// Sets the maximum size of a buffered response (32 MiB).
    #[must_use]
    pub fn max_response_bytes(mut self, bytes: usize) -> Self {
        self.max_response_bytes = bytes;
        self
    }

    /// Sets the clock that `Retry-After` dates are compared with.
    #[must_use]
    pub fn wall_clock(mut self, clock: fn() -> SystemTime) -> Self {
        self.wall_clock = clock;
        self
    }
}

impl Default for TransportConfig {
    fn default() -> Self {
        Self {
            http_versions: HttpVersions::default(),
            proxies: Proxies::default(),
            extra_roots: Vec::new(),
            resolver: Arc::new(SystemResolver),
            max_idle_connections: 256,
            idle_timeout: Duration::from_secs(60),
            max_response_bytes: 32 * 1024 * 1024,
            wall_clock: system_time,
        }
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the transport's only use of the wall clock"
)]
fn system_time() -> SystemTime {
    SystemTime::now()
}

impl fmt::Debug for TransportConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TransportConfig")
            .field("http_versions", &self.http_versions)
            .field("proxies", &self.proxies)
            .field("extra_roots", &self.extra_roots.len())
            .field("max_idle_connections", &self.max_idle_connections)
            .field("idle_timeout", &self.idle_timeout)
            .field("max_response_bytes", &self.max_response_bytes)
            .finish_non_exhaustive()
    }
}

/// Prints no addresses: a proxy's URL may contain a password.
impl fmt::Debug for Proxies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Environment => "Environment",
            Self::Direct => "Direct",
            Self::Fixed { .. } => "Fixed",
        })
    }
}
