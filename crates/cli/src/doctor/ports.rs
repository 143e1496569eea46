//! Checks whether the listeners' ports are free, or already used by a gateway.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::time::Duration;

use majordomo::transport::{Transport, TransportRequest, TransportResponse};
use majordomo_gateway::Config;
use tokio::net::TcpListener;

use super::finding::Findings;

/// Time for the program behind a port to respond.
const TIMEOUT: Duration = Duration::from_secs(2);

pub(super) async fn check(config: &Config, transport: &Transport, findings: &mut Findings) {
    let server = &config.server;
    for (key, address) in [
        ("listen", server.listen),
        ("operator_listen", server.operator_listen),
    ] {
        if address.port() == 0 {
            continue;
        }
        let subject = format!("port {}", address.port());
        match TcpListener::bind(address).await {
            Ok(_) => findings.ok(&subject, format!("{address} is free")),
            Err(error) if error.kind() == ErrorKind::AddrInUse => {
                match running(address, server.tls.is_some(), transport).await {
                    Some(what) => findings.ok(&subject, format!("{address}: {what}")),
                    None => findings.broken(
                        &subject,
                        format!("{address} is in use by another program"),
                        format!("end that program, or set another `{key}` in [server]"),
                    ),
                }
            }
            Err(error) => {
                let remedy = match error.kind() {
                    ErrorKind::PermissionDenied => "use a port above 1023",
                    _ => "use an address of this machine, such as 127.0.0.1",
                };
                findings.broken(
                    &subject,
                    format!("{address} cannot be used: {error}"),
                    remedy,
                );
            }
        }
    }
}

/// The self-description of a majordomo gateway.
async fn running(address: SocketAddr, has_tls: bool, transport: &Transport) -> Option<String> {
    let scheme = if has_tls { "https" } else { "http" };
    let host = match address.ip().is_unspecified() {
        true => format!("localhost:{}", address.port()),
        false => address.to_string(),
    };
    let request = TransportRequest::get(format!("{scheme}://{host}/").parse().ok()?);
    let response = tokio::time::timeout(TIMEOUT, transport.send(request)).await;
    match response.ok()? {
        Ok(TransportResponse::Success(_, body)) => {
            let line = body.split(|byte| *byte == b'\n').next().unwrap_or_default();
            let line = String::from_utf8_lossy(line).into_owned();
            let is_ours = line.starts_with("majordomo ") && line.len() < 64;
            is_ours.then(|| format!("a gateway serves here ({line})"))
        }
        // The operator's listener of a gateway with keys.
        Ok(TransportResponse::ErrorStatus(head, _)) if head.status() == 401 => {
            Some("a program that requires a key serves here, probably a gateway".to_owned())
        }
        // Its certificate may be for another name.
        Err(_) if has_tls => Some("a program serves HTTPS here, probably a gateway".to_owned()),
        _ => None,
    }
}
