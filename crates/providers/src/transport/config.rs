//! What a transport is made with.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::dial::{Resolve, SystemResolver};

/// The settings of a [`Transport`](super::Transport). The defaults are right
/// for programs; tests change the rest.
#[derive(Clone)]
pub struct Config {
    pub(crate) protocol: Protocol,
    pub(crate) proxies: Proxies,
    pub(crate) extra_roots: Vec<Vec<u8>>,
    pub(crate) resolver: Arc<dyn Resolve>,
    pub(crate) idle_connections: usize,
    pub(crate) idle_connection_age: Duration,
    pub(crate) largest_answer: usize,
    pub(crate) wall_clock: fn() -> SystemTime,
}

/// Which versions of HTTP are spoken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Protocol {
    /// HTTP/2 where the server offers it in TLS, HTTP/1.1 elsewhere.
    #[default]
    Negotiate,
    /// HTTP/1.1 only.
    Http1,
    /// HTTP/2 only, without asking where there is no TLS.
    Http2,
}

/// Who stands between us and the provider. A loopback address is always
/// reached directly, so that a local server works behind a company's proxy.
#[derive(Clone, Default)]
pub enum Proxies {
    /// What `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and `NO_PROXY` say.
    #[default]
    Environment,
    /// Nobody.
    Direct,
    /// This one, for every host that is not excepted.
    Fixed {
        /// The proxy's address: `http`, `https`, `socks5` or `socks5h`.
        proxy: String,
        /// Hosts that are reached directly, as in `NO_PROXY`.
        except: String,
    },
}

impl Config {
    /// Chooses the versions of HTTP.
    #[must_use]
    pub fn protocol(mut self, protocol: Protocol) -> Self {
        self.protocol = protocol;
        self
    }

    /// Chooses the proxies.
    #[must_use]
    pub fn proxies(mut self, proxies: Proxies) -> Self {
        self.proxies = proxies;
        self
    }

    /// Trusts one more root certificate (DER), besides the machine's own.
    #[must_use]
    pub fn trust(mut self, root: impl Into<Vec<u8>>) -> Self {
        self.extra_roots.push(root.into());
        self
    }

    /// Resolves names in another way.
    #[must_use]
    pub fn resolver(mut self, resolver: impl Resolve) -> Self {
        self.resolver = Arc::new(resolver);
        self
    }

    /// How many unused connections are kept per server (256), and how long (60 s).
    #[must_use]
    pub fn idle_connections(mut self, most: usize, age: Duration) -> Self {
        self.idle_connections = most;
        self.idle_connection_age = age;
        self
    }

    /// The size above which a whole answer is refused (32 MiB).
    #[must_use]
    pub fn largest_answer(mut self, bytes: usize) -> Self {
        self.largest_answer = bytes;
        self
    }

    /// The clock that a Retry-After date is compared with.
    #[must_use]
    pub fn wall_clock(mut self, clock: fn() -> SystemTime) -> Self {
        self.wall_clock = clock;
        self
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            protocol: Protocol::default(),
            proxies: Proxies::default(),
            extra_roots: Vec::new(),
            resolver: Arc::new(SystemResolver),
            idle_connections: 256,
            idle_connection_age: Duration::from_secs(60),
            largest_answer: 32 * 1024 * 1024,
            wall_clock: system_time,
        }
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the one place where the transport meets the wall clock"
)]
fn system_time() -> SystemTime {
    SystemTime::now()
}

impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Config")
            .field("protocol", &self.protocol)
            .field("proxies", &self.proxies)
            .field("extra_roots", &self.extra_roots.len())
            .field("idle_connections", &self.idle_connections)
            .field("idle_connection_age", &self.idle_connection_age)
            .field("largest_answer", &self.largest_answer)
            .finish_non_exhaustive()
    }
}

/// A proxy's address may hold a password.
impl fmt::Debug for Proxies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Environment => "Environment",
            Self::Direct => "Direct",
            Self::Fixed { .. } => "Fixed",
        })
    }
}
