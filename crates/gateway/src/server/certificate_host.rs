//! Finds a name for which a TLS listener's certificate is valid, for clients on this machine.
//! Uses only rustls.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;

use rustls::client::verify_server_name;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, Error};

use crate::config::read_bytes;

/// The address of a listener for a client on the same machine, which cannot connect to
/// `0.0.0.0`.
pub(crate) fn local(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}

/// A host name for the address that the certificate is valid for, preferring the address
/// itself, then `localhost`; `None` if the certificate cannot be read.
pub(crate) fn certificate_host(cert: &Path, address: SocketAddr) -> Option<String> {
    let pem = read_bytes(cert).ok()?;
    let der = CertificateDer::from_pem_slice(&pem).ok()?;
    let parsed = ParsedCertificate::try_from(&der).ok()?;
    let mut presented = Vec::new();
    let ip = address.ip();
    let host = match ip {
        IpAddr::V4(ip) => ip.to_string(),
        IpAddr::V6(ip) => format!("[{ip}]"),
    };
    let local = ip.is_loopback().then_some("localhost");
    let names = [Some(ServerName::from(ip)), local.map(dns_name)];
    for (name, shown) in names.into_iter().flatten().zip([&*host, "localhost"]) {
        match verify_server_name(&parsed, &name) {
            Ok(()) => return Some(shown.to_owned()),
            Err(Error::InvalidCertificate(CertificateError::NotValidForNameContext {
                presented: names,
                ..
            })) => presented = names,
            Err(_) => {}
        }
    }
    presented.iter().find_map(|name| presented_dns_name(name))
}

fn dns_name(name: &'static str) -> ServerName<'static> {
    ServerName::try_from(name).unwrap_or(ServerName::from(IpAddr::from(Ipv4Addr::LOCALHOST)))
}

/// The host of `DnsName("example.com")`, as webpki prints the names of a certificate.
fn presented_dns_name(shown: &str) -> Option<String> {
    let name = shown.strip_prefix("DnsName(")?.strip_suffix(')')?;
    let name = name.trim_matches('"').replace("*.", "www.");
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_');
    (!name.is_empty() && name.chars().all(plain)).then_some(name)
}

#[cfg(test)]
mod tests {
    use majordomo_testkit::PemIdentity;

    use super::*;

    #[test]
    fn a_name_of_the_certificate_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("c.pem");
        let address: SocketAddr = "127.0.0.1:4100".parse().unwrap();
        for (name, host) in [
            ("127.0.0.1", "127.0.0.1"),
            ("localhost", "localhost"),
            ("chat.example", "chat.example"),
            ("*.example", "www.example"),
        ] {
            std::fs::write(&file, PemIdentity::new(name).cert).unwrap();
            assert_eq!(certificate_host(&file, address).as_deref(), Some(host));
        }
        std::fs::write(&file, "nothing").unwrap();
        assert_eq!(certificate_host(&file, address), None);
    }

    #[test]
    fn a_wildcard_address_is_reached_by_loopback() {
        for (bound, reached) in [
            ("0.0.0.0:1", "127.0.0.1:1"),
            ("[::]:1", "[::1]:1"),
            ("10.0.0.1:1", "10.0.0.1:1"),
        ] {
            assert_eq!(local(bound.parse().unwrap()), reached.parse().unwrap());
        }
    }
}
