//! TLS with certificates that can be replaced at run time.
//!
//! [`Identity`] is a certificate chain with its matching key, loaded from files.
//! [`TlsAcceptorHandle`] accepts handshakes with the current identity; open connections
//! keep theirs. Depends only on rustls and the configured paths.

use std::path::Path;
use std::sync::Arc;

use arc_swap::ArcSwap;
use rustls::pki_types::pem::{Error as PemError, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{InconsistentKeys, ServerConfig};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::{Accept, TlsAcceptor};

use crate::config::{Config, Diagnostic, Diagnostics, TlsFiles, read_bytes};

/// A longer "path" is likely the file's content.
const LONGEST_PATH: usize = 1024;
/// The parser skips a key that is encrypted.
const NO_KEY: &str = "it holds no private key, or one with a passphrase: remove the passphrase with \
     `openssl pkey -in KEY -out NEW`";

/// A certificate chain with its private key, ready to be served.
pub(crate) struct Identity(Arc<ServerConfig>);

impl Identity {
    /// Loads both files. ALPN offers HTTP/2 and HTTP/1.1.
    pub(crate) fn load(files: &TlsFiles) -> Result<Self, String> {
        let unusable = |path: &Path, reason: &dyn std::fmt::Display| {
            format!("{} cannot be used for TLS: {reason}", display_path(path))
        };
        let read = |path: &Path| read_bytes(path).map_err(|reason| unusable(path, &reason));
        let chain = read(&files.cert)?;
        let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&chain).collect();
        let certificates = certificates.map_err(|error| unusable(&files.cert, &error))?;
        if certificates.is_empty() {
            return Err(unusable(&files.cert, &"it holds no certificate"));
        }
        // The parser's error never contains the key.
        let key =
            PrivateKeyDer::from_pem_slice(&read(&files.key)?).map_err(|error| match error {
                PemError::NoItemsFound => unusable(&files.key, &NO_KEY),
                error => unusable(&files.key, &error),
            })?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| unusable(&files.cert, &error))?
            .with_no_client_auth()
            .with_single_cert(certificates, key)
            .map_err(|error| match error {
                rustls::Error::InconsistentKeys(InconsistentKeys::KeyMismatch) => mismatch(files),
                error => unusable(&files.cert, &error),
            })?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Self(Arc::new(config)))
    }
}

/// The message for a private key of another certificate.
fn mismatch(files: &TlsFiles) -> String {
    format!(
        "the private key in {} does not belong to the certificate in {}: check that both were \
         issued together and that the server's certificate comes first in its file",
        display_path(&files.key),
        display_path(&files.cert)
    )
}

/// Checks that the files of `tls` exist and belong together.
pub fn check_tls(config: &Config) -> Result<(), Diagnostics> {
    let loaded = config.server.tls.as_ref().map(Identity::load).transpose();
    loaded.map(drop).map_err(|reason| {
        let span = config.server.tls_span();
        let hint = "`cert` names the PEM file of the certificate chain, `key` the one of its private key; \
                    relative paths start in the working directory";
        config.diagnostics(vec![Diagnostic::at(span, reason, hint)])
    })
}

/// Accepts TLS with the current identity. Clones share it, so all listeners switch
/// together.
#[derive(Clone)]
pub(crate) struct TlsAcceptorHandle(Arc<ArcSwap<ServerConfig>>);

impl TlsAcceptorHandle {
    pub(crate) fn new(identity: Identity) -> Self {
        Self(Arc::new(ArcSwap::new(identity.0)))
    }

    /// Serves new connections with this identity. Sessions of the old one are not
    /// resumed: each identity has its own session cache.
    pub(crate) fn replace(&self, identity: Identity) {
        self.0.store(identity.0);
    }

    /// Starts a handshake with the current identity.
    pub(crate) fn accept<S>(&self, stream: S) -> Accept<S>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        TlsAcceptor::from(self.0.load_full()).accept(stream)
    }
}

/// The path for messages. Content put there by mistake, such as a private key, is not
/// repeated.
fn display_path(path: &Path) -> String {
    let text = path.display().to_string();
    let is_path = text.len() <= LONGEST_PATH
        && !text.contains("-----BEGIN")
        && !text.chars().any(char::is_control);
    if is_path {
        text
    } else {
        "the text given instead of a file's path".to_owned()
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use base64::Engine as _;

    use super::*;

    fn pem(label: &str, der: &[u8]) -> String {
        let text = base64::engine::general_purpose::STANDARD.encode(der);
        format!("-----BEGIN {label}-----\n{text}\n-----END {label}-----\n")
    }

    #[test]
    fn a_private_key_given_instead_of_its_path_is_not_repeated() {
        for text in [
            "-----BEGIN PRIVATE KEY----- CANARY".to_owned(),
            "CANARY\nCANARY".to_owned(),
            "CANARY".repeat(200),
        ] {
            let files = TlsFiles {
                cert: PathBuf::from(&text),
                key: PathBuf::from(&text),
            };
            let error = Identity::load(&files).err().expect("no such file");
            assert!(!error.contains("CANARY"), "{error}");
        }
    }

    #[test]
    fn a_key_of_another_certificate_is_reported_with_both_files() {
        let folder = tempfile::tempdir().unwrap();
        let files = TlsFiles {
            cert: folder.path().join("cert.pem"),
            key: folder.path().join("key.pem"),
        };
        let [own, other] = [(); 2].map(|()| rcgen::KeyPair::generate().unwrap());
        let names = rcgen::CertificateParams::new(vec!["gateway.test".to_owned()]).unwrap();
        let certificate = names.self_signed(&own).unwrap();
        std::fs::write(&files.cert, pem("CERTIFICATE", certificate.der())).unwrap();
        std::fs::write(&files.key, pem("PRIVATE KEY", &other.serialize_der())).unwrap();
        let error = Identity::load(&files).err().expect("a mismatch");
        assert!(
            error.contains("key.pem does not belong to the certificate"),
            "{error}"
        );
        assert!(error.contains("cert.pem"), "{error}");
    }
}
