//! The trust boundary: decides which requests either listener accepts.
//!
//! `Host` and `Origin` are checked from the head alone, before the body is read, for every
//! path except the health checks. A browser sends requests on behalf of any open page and
//! reveals this in `Origin`, in `Sec-Fetch-Site`, and in `Host`, the name that the page used.
//! `authenticate` checks a client's key, `role` its role on the operator's listener, whose
//! `paths` are listed, `session` the cookies of signed-in browsers, and `auth_throttle` limits
//! wrong keys.
//!
//! May use `keys` and `refusal`. Knows no dialect, route or target.

mod auth_throttle;
mod authenticate;
mod cors;
mod host;
mod origin;
mod paths;
mod role;
mod session;

#[cfg(test)]
mod tests;

use http::header::{HOST, ORIGIN};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Uri};

use crate::refusal::RequestRefusal;

pub(crate) use auth_throttle::AuthThrottle;
pub(crate) use authenticate::{authenticate_client, presents_key};
pub(crate) use cors::{Preflight, add_cors_headers};
pub use origin::{OriginError, Origins};
#[cfg(test)]
pub(crate) use paths::PATHS;
pub(crate) use paths::is_listed;
pub(crate) use role::{Visible, authorize};
pub(crate) use session::{Session, Sessions, is_own_page};

/// Where a browser says whose page sends a request.
static FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// The boundary of one listener.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Boundary<'a> {
    /// The clients' listener.
    Clients {
        /// No key is configured, so only the head decides.
        keyless: bool,
        /// Sites whose pages may call the gateway.
        origins: &'a Origins,
    },
    /// The operator's listener. It serves only its own pages.
    Operator {
        /// On loopback no key is needed.
        on_loopback: bool,
    },
}

/// The sender of an accepted request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Caller {
    /// A program, or a page of this listener. If keys are configured, also a page of any site:
    /// browsers never add a key on their own, and without CORS headers they withhold the
    /// response from the page.
    Direct,
    /// A page of an allowed site, with its origin.
    Page(HeaderValue),
    /// A preflight for such a page.
    Preflight(Preflight),
}

/// Why a request is rejected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BoundaryRefusal {
    /// A site may have pointed its own name at this machine (DNS rebinding).
    #[error(
        "without keys, only names of this machine are served: use `localhost`, \
         `127.0.0.1` or `[::1]`, or configure [[keys]] to serve under another name"
    )]
    Host,
    /// The same on the operator's listener, which ignores keys on loopback.
    #[error(
        "on loopback, the operator's listener serves only names of this machine: use \
         `localhost`, `127.0.0.1` or `[::1]`"
    )]
    OperatorHost,
    /// The page's site is not allowed.
    #[error(
        "{} may not use this gateway: allow its site with `[server] origins`, \
         such as `origins = [\"https://chat.example\"]`", page(.0.as_deref())
    )]
    Origin(Option<String>),
    /// The operator's listener allows no sites.
    #[error(
        "{} may not use the operator's listener: `[server] origins` allows sites on the \
         clients' listener only", page(.0.as_deref())
    )]
    OperatorOrigin(Option<String>),
}

fn page(origin: Option<&str>) -> String {
    match origin {
        Some(origin) => format!("a page of `{origin}`"),
        None => "a page of another site".to_owned(),
    }
}

impl BoundaryRefusal {
    /// The error for the client.
    pub(crate) fn refusal(&self) -> RequestRefusal {
        RequestRefusal::new(403, self.to_string())
    }
}

impl Boundary<'_> {
    /// Checks the head of a request.
    pub(crate) fn check(
        self,
        method: &Method,
        uri: &Uri,
        headers: &HeaderMap,
    ) -> Result<Caller, BoundaryRefusal> {
        if self.needs_loopback_host() && !names_this_machine(uri, headers) {
            return Err(match self {
                Self::Clients { .. } => BoundaryRefusal::Host,
                Self::Operator { .. } => BoundaryRefusal::OperatorHost,
            });
        }
        let mut all = headers.get_all(ORIGIN).iter();
        let Some(origin) = all.next() else {
            return match self.refuses_foreign() && is_cross_origin(headers) {
                true => Err(self.refusal(None)),
                false => Ok(Caller::Direct),
            };
        };
        // No browser sends two.
        if all.next().is_some() {
            return Err(self.refusal(None));
        }
        if let Self::Clients { origins, .. } = self
            && origins.allow(origin)
        {
            return Ok(match Preflight::read(method, origin, headers) {
                Some(preflight) => Caller::Preflight(preflight),
                None => Caller::Page(origin.clone()),
            });
        }
        let own = origin::is_own(origin, uri, headers) && !is_cross_origin(headers);
        let near = own || (origin::is_app(origin) && matches!(self, Self::Clients { .. }));
        // The gateway's own pages need no preflight; all other pages are rejected.
        let asks_first = Preflight::read(method, origin, headers).is_some();
        if asks_first || (self.refuses_foreign() && !near) {
            return Err(self.refusal(origin::quotable(origin)));
        }
        Ok(Caller::Direct)
    }

    fn needs_loopback_host(self) -> bool {
        match self {
            Self::Clients { keyless, .. } => keyless,
            Self::Operator { on_loopback } => on_loopback,
        }
    }

    fn refuses_foreign(self) -> bool {
        match self {
            Self::Clients { keyless, .. } => keyless,
            Self::Operator { .. } => true,
        }
    }

    fn refusal(self, origin: Option<String>) -> BoundaryRefusal {
        match self {
            Self::Clients { .. } => BoundaryRefusal::Origin(origin),
            Self::Operator { .. } => BoundaryRefusal::OperatorOrigin(origin),
        }
    }
}

/// Whether every name that the request is addressed to belongs to this machine.
fn names_this_machine(uri: &Uri, headers: &HeaderMap) -> bool {
    let named = uri.authority().map(|authority| authority.as_str());
    let hosts = headers.get_all(HOST).iter();
    // A value that is not text cannot be a loopback name.
    let hosts = hosts.map(|host| host.to_str().unwrap_or_default());
    let mut names = named.into_iter().chain(hosts).peekable();
    names.peek().is_some() && names.all(host::is_loopback)
}

/// Whether the browser reports a page of another origin. `same-site` also means another
/// origin: any server on this machine, or on a shared domain.
fn is_cross_origin(headers: &HeaderMap) -> bool {
    let sites = headers.get_all(&FETCH_SITE).iter();
    sites
        .into_iter()
        .any(|site| site != "same-origin" && site != "none")
}
