//! TLS with the platform's root certificates, loaded on first use.

use std::io;
use std::sync::Arc;

use rustls::ClientConfig;
use rustls::client::danger::ServerCertVerifier;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls_platform_verifier::Verifier;
use tokio::sync::OnceCell;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::transport::{HttpVersions, TransportConfig};

use super::socket::AsyncIo;

/// TLS connectors, built at most once and off the async threads.
pub(super) struct TlsConnectors {
    extra_roots: Vec<Vec<u8>>,
    http_versions: HttpVersions,
    connectors: OnceCell<TlsConnectorPair>,
}

#[derive(Clone)]
struct TlsConnectorPair {
    /// To an origin: offers the configured HTTP versions by ALPN.
    provider: TlsConnector,
    /// To a proxy: offers HTTP/1.1 only.
    proxy: TlsConnector,
}

/// The other side of a handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TlsPeer {
    Provider,
    Proxy,
}

impl TlsConnectors {
    pub(super) fn new(config: &TransportConfig) -> Self {
        Self {
            extra_roots: config.extra_roots.clone(),
            http_versions: config.http_versions,
            connectors: OnceCell::new(),
        }
    }

    pub(super) async fn handshake(
        &self,
        host: &str,
        peer: TlsPeer,
        io: Box<dyn AsyncIo>,
    ) -> io::Result<TlsStream<Box<dyn AsyncIo>>> {
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        let name = ServerName::try_from(bare.to_owned())
            .map_err(|_| io::Error::new(io::ErrorKind::InvalidInput, "not a valid server name"))?;
        let pair = self.connectors.get_or_try_init(|| self.build()).await?;
        let connector = match peer {
            TlsPeer::Provider => &pair.provider,
            TlsPeer::Proxy => &pair.proxy,
        };
        connector.connect(name, io).await
    }

    async fn build(&self) -> io::Result<TlsConnectorPair> {
        let roots = self.extra_roots.clone();
        let alpn: &[&str] = match self.http_versions {
            HttpVersions::Negotiate => &["h2", "http/1.1"],
            HttpVersions::Http1 => &["http/1.1"],
            HttpVersions::Http2 => &["h2"],
        };
        let built = tokio::task::spawn_blocking(move || build_connectors(roots, alpn));
        built
            .await
            .map_err(io::Error::other)?
            .map_err(io::Error::other)
    }
}

fn build_connectors(roots: Vec<Vec<u8>>, alpn: &[&str]) -> Result<TlsConnectorPair, rustls::Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let roots = roots.into_iter().map(CertificateDer::from);
    let verifier = Verifier::new_with_extra_roots(roots, Arc::clone(&provider))?;
    let verifier: Arc<dyn ServerCertVerifier> = Arc::new(verifier);
    Ok(TlsConnectorPair {
        provider: connector(&provider, &verifier, alpn)?,
        proxy: connector(&provider, &verifier, &["http/1.1"])?,
    })
}

fn connector(
    provider: &Arc<CryptoProvider>,
    verifier: &Arc<dyn ServerCertVerifier>,
    alpn: &[&str],
) -> Result<TlsConnector, rustls::Error> {
    let mut config = ClientConfig::builder_with_provider(Arc::clone(provider))
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(Arc::clone(verifier))
        .with_no_client_auth();
    config.alpn_protocols = alpn.iter().map(|name| name.as_bytes().to_vec()).collect();
    Ok(TlsConnector::from(Arc::new(config)))
}
