//! Listen addresses as people write them: `4200`, `:4200`, `localhost:4200`,
//! `127.0.0.1:4200`, `[::1]:4200`.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// Why a text is not a listen address, with a remedy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{hint}")]
#[non_exhaustive]
pub struct ListenError {
    /// The remedy.
    pub hint: &'static str,
}

/// Parses a listen address. Without a host it is a loopback address, since any other one
/// requires a key.
///
/// ```
/// use majordomo_gateway::config::listen_address;
///
/// for text in ["4200", ":4200", "localhost:4200", "127.0.0.1:4200"] {
///     assert_eq!(listen_address(text).unwrap().to_string(), "127.0.0.1:4200");
/// }
/// assert!(listen_address("http://localhost:4200").is_err());
/// ```
pub fn listen_address(text: &str) -> Result<SocketAddr, ListenError> {
    let text = text.trim();
    let port = text.strip_prefix("localhost").unwrap_or(text);
    let port = port
        .strip_prefix(':')
        .or_else(|| (port == text).then_some(text));
    let digits = port.filter(|port| port.bytes().all(|digit| digit.is_ascii_digit()));
    if let Some(port) = digits.and_then(|port| port.parse().ok()) {
        return Ok(SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
    }
    text.parse().map_err(|_| ListenError {
        hint: hint_for(text),
    })
}

/// The likely fix; a value from the environment is not quoted.
fn hint_for(text: &str) -> &'static str {
    if text.contains("://") {
        "omit the scheme: an address and a port, such as `127.0.0.1:4100`"
    } else if text.parse::<IpAddr>().is_ok() || text == "localhost" {
        "add a port, such as `127.0.0.1:4100`, or `[::1]:4100` for IPv6"
    } else {
        "write a port such as `4100`, or an address and a port, such as `127.0.0.1:4100` or `0.0.0.0:4100`"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_an_address_is_understood() {
        for (text, address) in [
            ("4200", "127.0.0.1:4200"),
            (":4200", "127.0.0.1:4200"),
            ("0", "127.0.0.1:0"),
            ("localhost:4200", "127.0.0.1:4200"),
            (" 127.0.0.1:4200 ", "127.0.0.1:4200"),
            ("0.0.0.0:80", "0.0.0.0:80"),
            ("[::1]:4200", "[::1]:4200"),
        ] {
            assert_eq!(
                listen_address(text).map(|it| it.to_string()),
                Ok(address.to_owned())
            );
        }
    }

    #[test]
    fn anything_else_says_what_to_write() {
        for (text, part) in [
            ("", "write a port"),
            (":", "write a port"),
            ("70000", "write a port"),
            ("localhost", "add a port"),
            ("localhost4200", "write a port"),
            ("::1", "add a port"),
            ("127.0.0.1", "add a port"),
            ("http://127.0.0.1:4100", "omit the scheme"),
            ("box.local:4100", "write a port"),
        ] {
            let error = listen_address(text).expect_err(text);
            assert!(error.hint.contains(part), "{text}: {error}");
        }
    }
}
