//! Names to addresses, by the system or by whoever is injected.

use std::error::Error as StdError;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{Context, Poll};

use hyper_util::client::legacy::connect::dns::Name;
use majordomo_llm::BoxFuture;
use tower_service::Service;

/// Turns a host's name into addresses. Their ports are ignored. Nothing is
/// cached here, neither a hit nor a miss.
pub trait Resolve: Send + Sync + 'static {
    /// The addresses of a host, in the order in which they are to be tried.
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

/// The form in which hyper-util's connector wants it.
#[derive(Clone)]
pub(super) struct Resolver(pub(super) Arc<dyn Resolve>);

/// Marks a failure as one of resolving.
#[derive(Debug)]
pub(crate) struct ResolveError(pub(crate) io::Error);

impl Service<Name> for Resolver {
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
                let none = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
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
