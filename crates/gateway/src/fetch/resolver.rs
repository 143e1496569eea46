//! A resolver that rejects names with forbidden addresses.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use majordomo::transport::Resolve;
use majordomo::{BoxFuture, Error};

use super::AddressPolicy;

/// Identifies the rejection within an error of the transport.
const REJECTION: &str = "the name resolves to an address that is not public";

/// Wraps another resolver, and rejects a name if any of its addresses is not allowed.
pub(super) struct GuardedResolver {
    inner: Arc<dyn Resolve>,
    allows: AddressPolicy,
}

impl GuardedResolver {
    pub(super) fn new(inner: impl Resolve, allows: AddressPolicy) -> Self {
        Self {
            inner: Arc::new(inner),
            allows,
        }
    }
}

impl Resolve for GuardedResolver {
    fn resolve(&self, host: &str) -> BoxFuture<'static, io::Result<Vec<SocketAddr>>> {
        let (resolving, allows) = (self.inner.resolve(host), self.allows);
        Box::pin(async move {
            let addresses = resolving.await?;
            // A name with both internal and external addresses is an attack.
            if !addresses.iter().all(|address| allows(address.ip())) {
                return Err(io::Error::new(io::ErrorKind::PermissionDenied, REJECTION));
            }
            Ok(addresses)
        })
    }
}

/// Whether a request failed because of this resolver.
pub(super) fn is_rejection(error: &Error) -> bool {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(error) = cause {
        if error.to_string().contains(REJECTION) {
            return true;
        }
        cause = error.source();
    }
    false
}
