//! DNS resolution, by the system or by an injected resolver.

use std::error::Error as StdError;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{Context, Poll};

use hyper_util::client::legacy::connect::dns::Name;
use majordomo_llm::BoxFuture;
use tower_service::Service;

/// Resolves a host name to addresses. Their ports are ignored. The transport caches
/// neither hits nor misses.
pub trait Resolve: Send + Sync + 'static {
    /// The addresses of a host, in order of preference.
    fn resolve(&self, host: &str) -> BoxFuture<'static, io::Result<Vec<SocketAddr>>>;
}

/// The system's resolver.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemResolver;

impl Resolve for SystemResolver {
    fn resolve(&self, host: &str) -> BoxFuture<'static, io::Result<Vec<SocketAddr>>> {
        let host = host.to_owned();
        Box::pin(async move { Ok(tokio::net::lookup_host((host, 0)).await?.collect()) })
    }
}

/// Adapts [`Resolve`] to hyper-util's connector.
#[derive(Clone)]
pub(super) struct ResolverService(pub(super) Arc<dyn Resolve>);

/// Marks an error as a failure of name resolution.
#[derive(Debug)]
pub(crate) struct ResolveError(pub(crate) io::Error);

impl Service<Name> for ResolverService {
    type Response = std::vec::IntoIter<SocketAddr>;
    type Error = ResolveError;
    type Future = BoxFuture<'static, Result<Self::Response, ResolveError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), ResolveError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, name: Name) -> Self::Future {
        let resolving = self.0.resolve(name.as_str());
        Box::pin(async move {
            let addresses = resolving.await.map_err(ResolveError)?;
            if addresses.is_empty() {
                let none = io::Error::new(io::ErrorKind::NotFound, "the name has no addresses");
                return Err(ResolveError(none));
            }
            Ok(addresses.into_iter())
        })
    }
}

impl fmt::Display for ResolveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl StdError for ResolveError {}
