//! A resolver that tells nothing of names that lead where nobody may go.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use majordomo::transport::Resolve;
use majordomo::{BoxFuture, Error};

use super::Allows;

/// How the refusal is known again behind the transport's own words.
const REFUSAL: &str = "the name leads to an address that is not public";

/// Asks another resolver, and refuses a name if any of its addresses may not be
/// reached.
pub(super) struct GuardedResolver {
    inner: Arc<dyn Resolve>,
    allows: Allows,
}

impl GuardedResolver {
    pub(super) fn new(inner: impl Resolve, allows: Allows) -> Self {
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
            // A name that leads inside as well as outside is somebody's trick.
            if !addresses.iter().all(|address| allows(address.ip())) {
                return Err(io::Error::new(io::ErrorKind::PermissionDenied, REFUSAL));
            }
            Ok(addresses)
        })
    }
}

/// Whether a request failed because of this resolver.
pub(super) fn is_refusal(error: &Error) -> bool {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(error) = cause {
        if error.to_string().contains(REFUSAL) {
            return true;
        }
        cause = error.source();
    }
    false
}
