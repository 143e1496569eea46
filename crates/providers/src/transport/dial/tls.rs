//! TLS with the machine's own roots, loaded when the first secure address asks.

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

use crate::transport::{Config, Protocol};

use super::socket::Io;

/// Makes TLS clients; the roots are read at most once, off the async threads.
pub(super) struct Tls {
    extra_roots: Vec<Vec<u8>>,
    protocol: Protocol,
    made: OnceCell<Connectors>,
}

#[derive(Clone)]
struct Connectors {
    /// To the provider: offers the versions of HTTP that we speak.
    provider: TlsConnector,
    /// To a proxy: HTTP/1.1 only.
    proxy: TlsConnector,
}

/// Whom a handshake is with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Peer {
    Provider,
    Proxy,
}

impl Tls {
    pub(super) fn new(config: &Config) -> Self {
        Self {
            extra_roots: config.extra_roots.clone(),
            protocol: config.protocol,
            made: OnceCell::new(),
        }
    }

    pub(super) async fn wrap(
        &self,
        host: &str,
        peer: Peer,
        io: Box<dyn Io>,
    ) -> io::Result<TlsStream<Box<dyn Io>>> {
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        let name = ServerName::try_from(bare.to_owned())
            .map_err(|_| io::Error::new(io::ErrorKind::InvalidInput, "not a name for TLS"))?;
        let connectors = self.made.get_or_try_init(|| self.make()).await?;
        let connector = match peer {
            Peer::Provider => &connectors.provider,
            Peer::Proxy => &connectors.proxy,
        };
        connector.connect(name, io).await
    }

    async fn make(&self) -> io::Result<Connectors> {
        let roots = self.extra_roots.clone();
        let offers: &[&str] = match self.protocol {
            Protocol::Negotiate => &["h2", "http/1.1"],
            Protocol::Http1 => &["http/1.1"],
            Protocol::Http2 => &["h2"],
        };
        let made = tokio::task::spawn_blocking(move || connectors(roots, offers));
        made.await
            .map_err(io::Error::other)?
            .map_err(io::Error::other)
    }
}

fn connectors(roots: Vec<Vec<u8>>, offers: &[&str]) -> Result<Connectors, rustls::Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let roots = roots.into_iter().map(CertificateDer::from);
    let verifier = Verifier::new_with_extra_roots(roots, Arc::clone(&provider))?;
    let verifier: Arc<dyn ServerCertVerifier> = Arc::new(verifier);
    Ok(Connectors {
        provider: connector(&provider, &verifier, offers)?,
        proxy: connector(&provider, &verifier, &["http/1.1"])?,
    })
}

fn connector(
    provider: &Arc<CryptoProvider>,
    verifier: &Arc<dyn ServerCertVerifier>,
    offers: &[&str],
) -> Result<TlsConnector, rustls::Error> {
    let mut config = ClientConfig::builder_with_provider(Arc::clone(provider))
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(Arc::clone(verifier))
        .with_no_client_auth();
    config.alpn_protocols = offers.iter().map(|name| name.as_bytes().to_vec()).collect();
    Ok(TlsConnector::from(Arc::new(config)))
}
