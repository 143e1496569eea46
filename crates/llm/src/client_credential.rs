//! A client's own credential with a provider.

use std::fmt;
use std::sync::Arc;

use crate::Dialect;

/// A credential that a client has with a provider itself, such as the login of a
/// subscription: the headers that carry it.
///
/// It is sent only to providers of the client's dialect that are configured to accept it.
/// Never printed.
#[derive(Clone)]
pub struct ClientCredential(Arc<CredentialHeaders>);

struct CredentialHeaders {
    dialect: Dialect,
    headers: Vec<(&'static str, String)>,
}

impl ClientCredential {
    /// The credential of a client that speaks this dialect.
    pub fn new(dialect: Dialect, headers: Vec<(&'static str, String)>) -> Self {
        Self(Arc::new(CredentialHeaders { dialect, headers }))
    }

    /// Returns the dialect whose providers may receive it.
    pub fn dialect(&self) -> &Dialect {
        &self.0.dialect
    }

    /// Returns the headers that carry it. Their values are secret.
    pub fn headers(&self) -> &[(&'static str, String)] {
        &self.0.headers
    }
}

impl fmt::Debug for ClientCredential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ClientCredential([redacted])")
    }
}
