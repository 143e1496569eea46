//! Recognizes `Host` values that can only mean this machine.

use std::net::{Ipv4Addr, Ipv6Addr};

/// Whether `host[:port]` is a loopback name or address.
///
/// Accepts only forms that a URL parser leaves unchanged: no user, no trailing dot, no
/// decimal, octal or hexadecimal address. Browsers normalize those before sending, so
/// such a value is an attempt at ambiguity.
pub(super) fn is_loopback(host: &str) -> bool {
    if let Some(rest) = host.strip_prefix('[') {
        let Some((address, port)) = rest.split_once(']') else {
            return false;
        };
        let port_fits = port.is_empty() || port.strip_prefix(':').is_some_and(is_port);
        let address = address.parse::<Ipv6Addr>();
        return port_fits && address.is_ok_and(|v6| v6.to_canonical().is_loopback());
    }
    let name = match host.split_once(':') {
        Some((name, port)) if is_port(port) => name,
        Some(_) => return false,
        None => host,
    };
    is_localhost(name) || name.parse::<Ipv4Addr>().is_ok_and(|v4| v4.is_loopback())
}

fn is_port(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit()) && text.parse::<u16>().is_ok()
}

/// `localhost` and its subdomains, which browsers never resolve by DNS (RFC 6761, section
/// 6.3).
fn is_localhost(name: &str) -> bool {
    let Some(at) = name.len().checked_sub("localhost".len()) else {
        return false;
    };
    let Some((below, top)) = name.split_at_checked(at) else {
        return false;
    };
    if !top.eq_ignore_ascii_case("localhost") {
        return false;
    }
    match below.strip_suffix('.') {
        Some(labels) => labels.split('.').all(is_label),
        None => below.is_empty(),
    }
}

/// Whether the text is one label of a host name.
pub(super) fn is_label(label: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    !label.is_empty() && label.bytes().all(plain)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn only_names_and_addresses_of_this_machine_are_loopback() {
        for host in [
            "localhost",
            "localhost:4100",
            "LOCALHOST:1",
            "LocalHost",
            "chat.localhost:4100",
            "a.b_c.x-y.localhost",
            "127.0.0.1",
            "127.0.0.1:65535",
            "127.255.255.254:80",
            "[::1]",
            "[::1]:4100",
            "[0:0:0:0:0:0:0:1]:4100",
            "[::ffff:127.0.0.1]:4100",
        ] {
            assert!(is_loopback(host), "{host}");
        }
        for host in [
            "",
            ":4100",
            "evil.example",
            "evil.example:4100",
            "localhost.",
            "localhost.:4100",
            "127.0.0.1.",
            ".localhost",
            "a..localhost",
            "evil.example/.localhost",
            "evil.example@x.localhost",
            "notlocalhost",
            "xlocalhost:4100",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "127.0.0.1.nip.io",
            "localhost@evil.example",
            "evil.example@localhost",
            "localhost:4100@evil.example",
            "127.0.0.1:4100@evil.example:80",
            "localhost:",
            "localhost:x",
            "localhost:+80",
            "localhost:65536",
            "localhost:80:80",
            "localhost localhost",
            "localhost,evil.example",
            "localhost#evil.example",
            "localhost\\evil.example",
            "localhost%00.evil.example",
            "127.1",
            "127.0.1",
            "2130706433",
            "0x7f000001",
            "0x7f.0.0.1",
            "0177.0.0.1",
            "017700000001",
            "127.0.0.01",
            "128.0.0.1",
            "126.255.255.255",
            "0.0.0.0:4100",
            "10.0.0.1",
            "192.168.1.5:4100",
            "::1",
            "::1:4100",
            "[::1",
            "[::1]4100",
            "[::1]:",
            "[::1]evil.example",
            "[::1].evil.example",
            "[::1%lo]",
            "[::]",
            "[::2]",
            "[fe80::1]",
            "[127.0.0.1]",
            "[::ffff:192.0.2.1]",
            "ｌocalhost",
        ] {
            assert!(!is_loopback(host), "{host}");
        }
    }

    proptest! {
        #[test]
        fn no_prefix_or_suffix_keeps_a_name_loopback(
            name in prop_oneof![Just("localhost"), Just("127.0.0.1"), Just("[::1]")],
            more in "[a-z0-9@:/?#%\\\\. -]{0,12}[a-z@/?#%\\\\. -]",
        ) {
            let suffixed = format!("{}{}", name, more);
            prop_assert!(!is_loopback(&suffixed), "{}", suffixed);
            let prefixed = format!("{}{}", more, name);
            let below = more.strip_suffix('.').filter(|_| name == "localhost");
            let is_below = below.is_some_and(|labels| labels.split('.').all(is_label));
            prop_assert_eq!(is_loopback(&prefixed), is_below, "{}", prefixed);
        }

        #[test]
        fn no_host_panics(host in "\\PC{0,40}") {
            let _ = is_loopback(&host);
        }
    }
}
