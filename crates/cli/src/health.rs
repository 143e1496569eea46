//! `majordomo health`: checks whether the gateway on this machine is alive.
//!
//! For containers without curl. It reads only the address from the configuration, so this
//! process need not have the gateway's variables.

use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use majordomo_gateway::config::Variables;
use majordomo_gateway::{Config, environment, find_config};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::args::HealthArgs;
use crate::error::CliError;
use crate::setup::listed;

/// A gateway that is alive responds at once, even when it is saturated.
const TIMEOUT: Duration = Duration::from_secs(5);
/// Longest response that is read.
const MAX_RESPONSE: u64 = 4 * 1024;

pub(crate) async fn run(args: &HealthArgs) -> Result<(), CliError> {
    let environment = environment();
    let config = match find_config(args.config.config.as_deref(), &environment) {
        Some(path) => {
            Config::load_with(&path, &environment, Variables::Optional).map_err(listed)?
        }
        None => Config::empty(),
    };
    let address = local(args.listen.unwrap_or(config.server.listen));
    let path = if args.ready { "/readyz" } else { "/healthz" };
    let asked = timeout(TIMEOUT, async {
        let mut stream = TcpStream::connect(address).await?;
        // Its certificate is for other names than this address.
        if config.server.tls.is_some() {
            return Ok(None);
        }
        let request =
            format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await?;
        let mut response = Vec::new();
        stream.take(MAX_RESPONSE).read_to_end(&mut response).await?;
        std::io::Result::Ok(Some(response))
    });
    let response = match asked.await {
        Ok(Ok(response)) => response,
        Ok(Err(error)) => {
            return Err(CliError::new(format!(
                "no gateway on {address}: {error}; start one with `majordomo serve`"
            )));
        }
        Err(_) => {
            return Err(CliError::new(format!(
                "the gateway on {address} did not respond within 5 seconds"
            )));
        }
    };
    let text = match response.as_deref().map(judge) {
        None => "accepts connections; with TLS, no more is checked".to_owned(),
        Some(Ok(())) => "ok".to_owned(),
        Some(Err(reason)) => return Err(CliError::new(format!("{address}{path}: {reason}"))),
    };
    writeln!(anstream::stdout(), "{text}")?;
    Ok(())
}

/// An address that this machine can connect to.
fn local(mut address: SocketAddr) -> SocketAddr {
    if address.ip().is_unspecified() {
        address.set_ip(match address.ip() {
            IpAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
            IpAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
        });
    }
    address
}

/// Whether a response has the status 200; else its status and text.
fn judge(response: &[u8]) -> Result<(), String> {
    let text = String::from_utf8_lossy(response);
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    match head
        .strip_prefix("HTTP/1.1 ")
        .and_then(|rest| rest.get(..3))
    {
        Some("200") => Ok(()),
        Some(status) => Err(format!("HTTP {status} {}", body.trim())),
        None => Err("the response is not HTTP; is another program listening there?".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_status_of_200_is_healthy() {
        for (response, expected) in [
            ("HTTP/1.1 200 OK\r\n\r\nok\n", Ok(())),
            (
                "HTTP/1.1 503 Service Unavailable\r\n\r\nno target\n",
                Err("HTTP 503 no target"),
            ),
            ("HTTP/1.1 2", Err("the response is not HTTP")),
            ("SSH-2.0-x\r\n", Err("the response is not HTTP")),
            ("", Err("the response is not HTTP")),
        ] {
            let judged = judge(response.as_bytes());
            match expected {
                Ok(()) => assert_eq!(judged, Ok(()), "{response}"),
                Err(text) => assert!(judged.unwrap_err().starts_with(text), "{response}"),
            }
        }
    }

    #[test]
    fn an_unspecified_address_is_reached_on_loopback() {
        for (listens, reached) in [
            ("0.0.0.0:4100", "127.0.0.1:4100"),
            ("[::]:4100", "[::1]:4100"),
            ("192.0.2.1:4100", "192.0.2.1:4100"),
        ] {
            assert_eq!(local(listens.parse().unwrap()), reached.parse().unwrap());
        }
    }
}
