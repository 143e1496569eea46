//! TLS with certificate files.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use majordomo_gateway::{Gateway, ServeOptions, StartError};
use rcgen::{CertificateParams, KeyPair};
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::test_gateway::{Client, TEST_TIMEOUT, TestGateway, case, secure, statuses};

fn pem(name: &str, der: &[u8]) -> String {
    let text = STANDARD.encode(der);
    format!("-----BEGIN {name}-----\n{text}\n-----END {name}-----\n")
}

/// A certificate in its own files, and a client that trusts it.
struct Certificate {
    cert: String,
    key: String,
    trusting: TlsConnector,
}

impl Certificate {
    fn new() -> Self {
        let key = KeyPair::generate().expect("a key");
        let params = CertificateParams::new(vec!["gateway.test".to_owned()]);
        let params = params.expect("a name");
        let certificate = params.self_signed(&key).expect("a certificate");
        let mut roots = RootCertStore::empty();
        let trusted = CertificateDer::from(certificate.der().to_vec());
        roots.add(trusted).expect("it can be trusted");
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let client = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("versions of TLS")
            .with_root_certificates(roots)
            .with_no_client_auth();
        Self {
            cert: pem("CERTIFICATE", certificate.der()),
            key: pem("PRIVATE KEY", &key.serialize_der()),
            trusting: TlsConnector::from(Arc::new(client)),
        }
    }

    fn write(&self, folder: &Path) {
        put(&folder.join("c.pem"), &self.cert);
        put(&folder.join("k.pem"), &self.key);
    }

    async fn connect(&self, gateway: &TestGateway) -> std::io::Result<TlsStream<TcpStream>> {
        let stream = TcpStream::connect(gateway.address).await;
        let stream = stream.expect("it listens");
        let name = ServerName::try_from("gateway.test").expect("a name");
        let connecting = self.trusting.connect(name, stream);
        timeout(TEST_TIMEOUT, connecting).await.expect("an answer")
    }

    /// Waits until the gateway serves this certificate.
    async fn is_served(&self, gateway: &TestGateway) {
        let served = async {
            while self.connect(gateway).await.is_err() {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        let served = timeout(TEST_TIMEOUT, served).await;
        served.expect("the certificate is never served");
    }
}

/// Renames a file into place, as renewals do.
fn put(path: &Path, text: &str) {
    let new = path.with_extension("new");
    std::fs::write(&new, text).expect("a file can be written");
    std::fs::rename(new, path).expect("a file can be moved");
}

fn config_at(folder: &Path) -> String {
    let (cert, key) = (folder.join("c.pem"), folder.join("k.pem"));
    format!("[server]\ntls = {{ cert = {cert:?}, key = {key:?} }}\n")
}

const HEALTH_CHECK: &str = "GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n";

/// One response on a connection that stays open.
async fn answered(stream: &mut TlsStream<TcpStream>) -> String {
    let sent = stream.write_all(HEALTH_CHECK.as_bytes()).await;
    sent.expect("it is open");
    let mut response = vec![0; 4096];
    let read = timeout(TEST_TIMEOUT, stream.read(&mut response)).await;
    let length = read.expect("an answer").expect("it is open");
    response.truncate(length);
    String::from_utf8_lossy(&response).into_owned()
}

#[test]
fn with_a_certificate_only_tls_is_accepted() {
    case(async {
        let folder = tempfile::tempdir().unwrap();
        let certificate = Certificate::new();
        certificate.write(folder.path());
        let gateway = TestGateway::start(&config_at(folder.path())).await;
        let mut stream = certificate.connect(&gateway).await.unwrap();
        assert_eq!(statuses(&answered(&mut stream).await), [200]);

        let plain = gateway.raw(HEALTH_CHECK).await;
        assert!(statuses(&plain).is_empty(), "{plain}");
        gateway.assert_invariants(stream).await;
    });
}

#[test]
fn the_operator_listener_uses_tls_when_the_client_listener_does() {
    case(async {
        let folder = tempfile::tempdir().unwrap();
        Certificate::new().write(folder.path());
        let gateway = TestGateway::start(&config_at(folder.path())).await;
        let metrics = gateway.get_operator("/metrics").await;
        assert!(metrics.contains("majordomo_ready 1"), "{metrics}");

        // Plain HTTP gets no response.
        let mut plain = Client::connect(gateway.operator).await;
        plain
            .send("GET /metrics HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
            .await;
        let response = plain.rest().await;
        assert!(statuses(&response).is_empty(), "{response}");

        // Browsers negotiate HTTP/2; the boundary check is the same.
        let stream = secure(gateway.operator, &[b"h2", b"http/1.1"])
            .await
            .unwrap();
        assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
        let made = http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await;
        let (mut sender, connection) = made.unwrap();
        let connection = tokio::spawn(connection);
        for (authority, status) in [("localhost:4101", 200), ("evil.example:4101", 403)] {
            let received = Request::get(format!("https://{authority}/api/health"));
            let received = received.body(Full::<Bytes>::default()).unwrap();
            let response = sender.send_request(received).await.unwrap();
            assert_eq!(response.status(), status, "{authority}");
        }
        gateway.assert_invariants((sender, connection, plain)).await;
    });
}

#[test]
fn a_renewed_certificate_is_served_and_open_connections_continue() {
    case(async {
        let folder = tempfile::tempdir().unwrap();
        let (old, new) = (Certificate::new(), Certificate::new());
        old.write(folder.path());
        let gateway = TestGateway::start(&config_at(folder.path())).await;
        let mut open = old.connect(&gateway).await.unwrap();
        new.write(folder.path());
        new.is_served(&gateway).await;
        assert!(old.connect(&gateway).await.is_err());
        assert_eq!(statuses(&answered(&mut open).await), [200]);
        let health = gateway.get_operator("/api/health").await;
        assert!(!health.contains("config_stale"), "{health}");
        gateway.assert_invariants(open).await;
    });
}

#[cfg(unix)]
#[test]
fn a_certificate_behind_a_swapped_symlink_is_served() {
    use std::os::unix::fs::symlink;

    case(async {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let (old, new) = (Certificate::new(), Certificate::new());
        for (name, certificate) in [("1", &old), ("2", &new)] {
            std::fs::create_dir(at(name)).unwrap();
            certificate.write(&at(name));
        }
        // As certbot does: live/c.pem → archive/c1.pem, one link after the other.
        std::fs::create_dir(at("live")).unwrap();
        for name in ["c.pem", "k.pem"] {
            symlink(at("1").join(name), at("live").join(name)).unwrap();
        }
        let gateway = TestGateway::start(&config_at(&at("live"))).await;
        old.is_served(&gateway).await;
        for name in ["c.pem", "k.pem"] {
            symlink(at("2").join(name), at("link")).unwrap();
            std::fs::rename(at("link"), at("live").join(name)).unwrap();
        }
        new.is_served(&gateway).await;
        gateway.assert_invariants(()).await;
    });
}

#[test]
fn an_invalid_certificate_keeps_the_old_one_and_is_reported() {
    case(async {
        let folder = tempfile::tempdir().unwrap();
        let (old, other) = (Certificate::new(), Certificate::new());
        old.write(folder.path());
        let gateway = TestGateway::start(&config_at(folder.path())).await;
        let cert = folder.path().join("c.pem");
        for broken in [
            "",
            "-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n",
            // Half of a renewal: the key is still the old one.
            &other.cert,
        ] {
            put(&cert, broken);
            gateway
                .poll_operator_until("/metrics", "majordomo_config_stale 1")
                .await;
            let health = gateway.get_operator("/api/health").await;
            assert!(health.contains("the old certificate stays"), "{health}");
            assert!(health.contains("c.pem"), "{health}");
            old.is_served(&gateway).await;
            put(&cert, &old.cert);
            gateway
                .poll_operator_until("/metrics", "majordomo_config_stale 0")
                .await;
        }
        other.write(folder.path());
        other.is_served(&gateway).await;
        gateway.assert_invariants(()).await;
    });
}

#[test]
fn a_newly_configured_certificate_path_is_served_and_watched() {
    case(async {
        let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let [first, second, third] = [(); 3].map(|()| Certificate::new());
        first.write(one.path());
        second.write(two.path());
        let gateway = TestGateway::start(&config_at(one.path())).await;
        first.is_served(&gateway).await;
        gateway.rewrite(&config_at(two.path()));
        second.is_served(&gateway).await;
        third.write(two.path());
        third.is_served(&gateway).await;

        // Unusable TLS files reject the whole configuration file.
        gateway.rewrite(&config_at(Path::new("/nowhere")));
        gateway
            .poll_operator_until("/metrics", "majordomo_config_stale 1")
            .await;
        let health = gateway.get_operator("/api/health").await;
        assert!(health.contains("/nowhere/c.pem"), "{health}");
        third.is_served(&gateway).await;
        gateway.assert_invariants(()).await;
    });
}

#[test]
fn a_reload_does_not_turn_tls_off() {
    case(async {
        let folder = tempfile::tempdir().unwrap();
        let certificate = Certificate::new();
        certificate.write(folder.path());
        let gateway = TestGateway::start(&config_at(folder.path())).await;
        gateway.rewrite("[aliases]\nthis = \"demo/text\"\n");
        gateway
            .poll_operator_until("/metrics", "majordomo_config_stale 1")
            .await;
        let health = gateway.get_operator("/api/health").await;
        assert!(health.contains("restart majordomo"), "{health}");
        certificate.is_served(&gateway).await;
        assert!(statuses(&gateway.raw(HEALTH_CHECK).await).is_empty());
        // A certificate is renewed although the file is rejected.
        let renewed = Certificate::new();
        renewed.write(folder.path());
        renewed.is_served(&gateway).await;
        let health = gateway.get_operator("/api/health").await;
        assert!(health.contains("restart majordomo"), "{health}");
        gateway.assert_invariants(()).await;
    });
}

#[test]
fn unusable_tls_files_are_named_at_startup() {
    case(async {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("majordomo.toml");
        let empty = folder.path().join("empty.pem");
        std::fs::write(&empty, "").unwrap();
        for cert in [folder.path().join("missing.pem"), empty] {
            let config = format!("[server]\ntls = {{ cert = {cert:?}, key = {cert:?} }}\n");
            std::fs::write(&file, config).unwrap();
            let options = ServeOptions::default()
                .with_config(Some(file.clone()))
                .with_listen(Some(([127, 0, 0, 1], 0).into()))
                .with_operator_listen(None);
            let Err(StartError::Tls(text)) = Gateway::start(&options, BTreeMap::new()).await else {
                panic!("it starts with {cert:?}");
            };
            let name = cert.display().to_string();
            assert!(
                text.starts_with(&format!("{name} cannot be used for TLS: ")),
                "{text}"
            );
        }
    });
}
