//! TLS to the store, with the machine's roots or with a single root.

use std::io;
use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::Verifier;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// Proves the server's certificate and encrypts the connection.
pub(crate) async fn encrypt(
    stream: TcpStream,
    host: &str,
    root: Option<&Path>,
) -> io::Result<TlsStream<TcpStream>> {
    let root = root.map(Path::to_path_buf);
    // Reads files.
    let config = tokio::task::spawn_blocking(move || client_config(root.as_deref()));
    let config = config.await.map_err(io::Error::other)??;
    let name = ServerName::try_from(host.to_owned()).map_err(io::Error::other)?;
    TlsConnector::from(Arc::new(config))
        .connect(name, stream)
        .await
}

fn client_config(root: Option<&Path>) -> io::Result<ClientConfig> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?;
    let config = match root {
        Some(path) => {
            let mut roots = RootCertStore::empty();
            for certificate in CertificateDer::pem_file_iter(path).map_err(io::Error::other)? {
                let certificate = certificate.map_err(io::Error::other)?;
                roots.add(certificate).map_err(io::Error::other)?;
            }
            builder.with_root_certificates(roots)
        }
        None => {
            let verifier = Verifier::new(provider).map_err(io::Error::other)?;
            let verifier = Arc::new(verifier);
            let builder = builder.dangerous();
            builder.with_custom_certificate_verifier(verifier)
        }
    };
    Ok(config.with_no_client_auth())
}
