//! Valid and invalid certificates, generated at run time.

use std::fmt;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair, date_time_ymd};
use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;

/// A certificate authority.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    root: Vec<u8>,
}

/// A server's certificate and key.
#[derive(Clone)]
pub struct Identity(Arc<ServerConfig>);

impl Authority {
    /// Generates a root certificate and its key.
    pub fn new() -> Self {
        let key = KeyPair::generate().expect("a key can be made");
        let mut params = params("Scripted Root");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let root = params.self_signed(&key).expect("a root can be signed");
        Self {
            root: root.der().to_vec(),
            issuer: Issuer::new(params, key),
        }
    }

    /// The root certificate (DER).
    pub fn root(&self) -> Vec<u8> {
        self.root.clone()
    }

    /// Issues a valid certificate for `host`; its server negotiates HTTP/1.1 by ALPN.
    pub fn issue(&self, host: &str) -> Identity {
        self.sign(params(host), &["http/1.1"])
    }

    /// Issues a valid certificate for `host`; its server negotiates HTTP/2 by ALPN.
    pub fn issue_http2(&self, host: &str) -> Identity {
        self.sign(params(host), &["h2"])
    }

    /// Issues an expired certificate for `host`.
    pub fn issue_expired(&self, host: &str) -> Identity {
        let mut params = params(host);
        params.not_before = date_time_ymd(2001, 1, 1);
        params.not_after = date_time_ymd(2002, 1, 1);
        self.sign(params, &["http/1.1"])
    }

    fn sign(&self, params: CertificateParams, offers: &[&str]) -> Identity {
        let key = KeyPair::generate().expect("a key can be made");
        let certificate = params.signed_by(&key, &self.issuer);
        let certificate = certificate.expect("a certificate can be signed");
        Identity::new(certificate.der().to_vec(), &key, offers)
    }
}

impl Default for Authority {
    fn default() -> Self {
        Self::new()
    }
}

impl Identity {
    /// Generates a self-signed certificate for `host`.
    pub fn self_signed(host: &str) -> Self {
        let key = KeyPair::generate().expect("a key can be made");
        let certificate = params(host).self_signed(&key);
        let certificate = certificate.expect("a certificate can be signed");
        Self::new(certificate.der().to_vec(), &key, &["http/1.1"])
    }

    fn new(certificate: Vec<u8>, key: &KeyPair, offers: &[&str]) -> Self {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let key = PrivateKeyDer::try_from(key.serialize_der()).expect("a made key is readable");
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("the defaults are supported")
            .with_no_client_auth()
            .with_single_cert(vec![CertificateDer::from(certificate)], key)
            .expect("a made certificate fits its key");
        config.alpn_protocols = offers.iter().map(|name| name.as_bytes().to_vec()).collect();
        Self(Arc::new(config))
    }

    pub(crate) fn acceptor(&self) -> TlsAcceptor {
        TlsAcceptor::from(Arc::clone(&self.0))
    }
}

/// A self-signed certificate and its key, in PEM.
#[derive(Clone)]
pub struct PemIdentity {
    /// The certificate.
    pub cert: String,
    /// The private key.
    pub key: String,
}

impl PemIdentity {
    /// Generates a certificate for a host name or address.
    pub fn new(host: &str) -> Self {
        let key = KeyPair::generate().expect("a key can be made");
        let certificate = params(host).self_signed(&key);
        let certificate = certificate.expect("a certificate can be signed");
        Self {
            cert: pem("CERTIFICATE", certificate.der()),
            key: pem("PRIVATE KEY", &key.serialize_der()),
        }
    }
}

fn pem(name: &str, der: &[u8]) -> String {
    let text = STANDARD.encode(der);
    // OpenSSL reads short lines only.
    let lines: Vec<_> = text
        .as_bytes()
        .chunks(64)
        .map(String::from_utf8_lossy)
        .collect();
    let text = lines.join("\n");
    format!("-----BEGIN {name}-----\n{text}\n-----END {name}-----\n")
}

fn params(host: &str) -> CertificateParams {
    let mut params =
        CertificateParams::new(vec![host.to_owned()]).expect("a host name is a certificate name");
    params.distinguished_name = rcgen::DistinguishedName::new();
    let name = format!("{host} (scripted)");
    let common_name = rcgen::DnType::CommonName;
    params.distinguished_name.push(common_name, name);
    params
}

impl fmt::Debug for PemIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PemIdentity").finish_non_exhaustive()
    }
}

impl fmt::Debug for Authority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Authority").finish_non_exhaustive()
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Identity").finish_non_exhaustive()
    }
}
