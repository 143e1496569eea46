//! TLS by certificate files.

use std::path::Path;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;

use crate::config::Tls;

pub(super) type Acceptor = TlsAcceptor;

/// Reads the files, once; both versions of HTTP are offered.
pub(super) fn acceptor(files: &Tls) -> Result<Acceptor, String> {
    let unreadable = |path: &Path, reason: &dyn std::fmt::Display| {
        format!("{} cannot be used for TLS: {reason}", path.display())
    };
    let certificates: Result<Vec<_>, _> = CertificateDer::pem_file_iter(&files.cert)
        .map_err(|error| unreadable(&files.cert, &error))?
        .collect();
    let certificates = certificates.map_err(|error| unreadable(&files.cert, &error))?;
    if certificates.is_empty() {
        return Err(unreadable(&files.cert, &"it holds no certificate"));
    }
    // The reason is the reader's, which never repeats the key.
    let key =
        PrivateKeyDer::from_pem_file(&files.key).map_err(|error| unreadable(&files.key, &error))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| unreadable(&files.cert, &error))?
        .with_no_client_auth()
        .with_single_cert(certificates, key)
        .map_err(|error| unreadable(&files.cert, &error))?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}
