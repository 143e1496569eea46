//! TLS by certificate files.

use std::collections::BTreeMap;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use majordomo_gateway::{Gateway, Options, StartError};
use rcgen::{CertificateParams, KeyPair};
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use crate::stage::{FOREVER, Stage, case, statuses};

fn pem(name: &str, der: &[u8]) -> String {
    let text = STANDARD.encode(der);
    format!("-----BEGIN {name}-----\n{text}\n-----END {name}-----\n")
}

#[test]
fn a_gateway_with_a_certificate_speaks_tls_and_nothing_else() {
    case(async {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec!["gateway.test".to_owned()]).unwrap();
        let certificate = params.self_signed(&key).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let (cert_file, key_file) = (folder.path().join("c.pem"), folder.path().join("k.pem"));
        std::fs::write(&cert_file, pem("CERTIFICATE", certificate.der())).unwrap();
        std::fs::write(&key_file, pem("PRIVATE KEY", &key.serialize_der())).unwrap();
        let config = format!("[server]\ntls = {{ cert = {cert_file:?}, key = {key_file:?} }}\n");
        let stage = Stage::start(&config).await;

        let mut roots = RootCertStore::empty();
        let trusted = CertificateDer::from(certificate.der().to_vec());
        roots.add(trusted).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let client = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        let stream = TcpStream::connect(stage.address).await.unwrap();
        let name = ServerName::try_from("gateway.test").unwrap();
        let mut stream = TlsConnector::from(Arc::new(client))
            .connect(name, stream)
            .await
            .unwrap();
        let head = "GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        let read = timeout(FOREVER, stream.read_to_end(&mut answer)).await;
        read.unwrap().unwrap();
        assert_eq!(statuses(&String::from_utf8_lossy(&answer)), [200]);

        let plain = stage.raw(head).await;
        assert!(statuses(&plain).is_empty(), "{plain}");
        stage.holds(stream).await;
    });
}

#[test]
fn files_that_cannot_be_used_are_named_at_the_start() {
    case(async {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("majordomo.toml");
        let empty = folder.path().join("empty.pem");
        std::fs::write(&empty, "").unwrap();
        for cert in [folder.path().join("missing.pem"), empty] {
            let config = format!("[server]\ntls = {{ cert = {cert:?}, key = {cert:?} }}\n");
            std::fs::write(&file, config).unwrap();
            let options = Options {
                config: Some(file.clone()),
                listen: Some(([127, 0, 0, 1], 0).into()),
            };
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
