//! TLS by certificate files that may change while they are served.
//!
//! [`Identity`] is a certificate with its key, read from files and known to fit
//! together. [`TlsAcceptorHandle`] is what listeners accept with: every handshake
//! takes the newest identity, and connections that are open keep theirs. It knows
//! nobody but rustls and the names of the files.

use std::path::Path;
use std::sync::Arc;

use arc_swap::ArcSwap;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::{Accept, TlsAcceptor};

use crate::config::{TlsFiles, read_bytes};

/// A path longer than this is no path; somebody put the file's text there.
const LONGEST_PATH: usize = 1024;

/// A certificate chain with its private key, ready to be served.
pub(crate) struct Identity(Arc<ServerConfig>);

impl Identity {
    /// Reads both files. The two versions of HTTP are offered.
    pub(crate) fn load(files: &TlsFiles) -> Result<Self, String> {
        let unusable = |path: &Path, reason: &dyn std::fmt::Display| {
            format!("{} cannot be used for TLS: {reason}", shown(path))
        };
        let read = |path: &Path| read_bytes(path).map_err(|reason| unusable(path, &reason));
        let chain = read(&files.cert)?;
        let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&chain).collect();
        let certificates = certificates.map_err(|error| unusable(&files.cert, &error))?;
        if certificates.is_empty() {
            return Err(unusable(&files.cert, &"it holds no certificate"));
        }
        // The reason is the reader's, which never repeats the key.
        let key = PrivateKeyDer::from_pem_slice(&read(&files.key)?)
            .map_err(|error| unusable(&files.key, &error))?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| unusable(&files.cert, &error))?
            .with_no_client_auth()
            .with_single_cert(certificates, key)
            .map_err(|error| unusable(&files.cert, &error))?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Self(Arc::new(config)))
    }
}

/// Accepts TLS with the identity of the moment. Clones share it, so that all
/// listeners change together.
#[derive(Clone)]
pub(crate) struct TlsAcceptorHandle(Arc<ArcSwap<ServerConfig>>);

impl TlsAcceptorHandle {
    pub(crate) fn new(identity: Identity) -> Self {
        Self(Arc::new(ArcSwap::new(identity.0)))
    }

    /// Serves new connections with this identity. Sessions of the old one are not
    /// resumed, since each identity remembers its own.
    pub(crate) fn replace(&self, identity: Identity) {
        self.0.store(identity.0);
    }

    /// A handshake with the newest identity.
    pub(crate) fn accept<S>(&self, stream: S) -> Accept<S>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        TlsAcceptor::from(self.0.load_full()).accept(stream)
    }
}

/// The path as messages tell it. What stands in its place by mistake, a private
/// key's own text say, is not repeated.
fn shown(path: &Path) -> String {
    let text = path.display().to_string();
    let is_path = text.len() <= LONGEST_PATH
        && !text.contains("-----BEGIN")
        && !text.chars().any(char::is_control);
    if is_path {
        text
    } else {
        "what stands in the place of a file's path".to_owned()
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    #[test]
    fn a_private_key_in_the_place_of_its_path_is_not_repeated() {
        for text in [
            "-----BEGIN PRIVATE KEY----- CANARY".to_owned(),
            "CANARY\nCANARY".to_owned(),
            "CANARY".repeat(200),
        ] {
            let files = TlsFiles {
                cert: PathBuf::from(&text),
                key: PathBuf::from(&text),
            };
            let refused = Identity::load(&files).err().expect("no such file");
            assert!(!refused.contains("CANARY"), "{refused}");
        }
    }
}
