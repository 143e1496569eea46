//! Origins: parsing, the allow list, and the gateway's own origin.

use std::net::Ipv6Addr;

use http::header::HOST;
use http::{HeaderMap, HeaderValue, Uri};

use super::host::is_label;

/// Schemes of desktop apps. No site can have such an origin, and an app on this machine
/// could connect without a browser. They are treated like programs, without CORS headers;
/// listing one in `origins` adds those.
const APPS: [&str; 5] = ["app", "file", "tauri", "vscode-file", "vscode-webview"];

/// Maximum length of an origin quoted in an error.
const LONGEST_SHOWN: usize = 120;

/// Allowed origins: `origins` of `[server]`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origins(Vec<AllowedOrigin>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum AllowedOrigin {
    /// `https://chat.example`, as serialized by browsers.
    Exactly(String),
    /// `vscode-webview://`, including the `://`: all pages of an app with random host
    /// names.
    Scheme(String),
}

/// Why a text is not an origin that can be allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OriginError {
    /// It contains a `*`.
    #[error("is a wildcard, which could match any site")]
    Wildcard,
    /// The value sent by pages without an origin.
    #[error("is sent by sandboxed pages and local files, so it identifies no site")]
    Null,
    /// It has no scheme.
    #[error("has no scheme")]
    NoScheme,
    /// It continues after host and port.
    #[error("continues after host and port")]
    Path,
    /// Host or port is invalid.
    #[error("is not an origin")]
    Malformed,
}

impl OriginError {
    /// How to fix it.
    pub fn hint(self) -> &'static str {
        match self {
            Self::Wildcard => "name each site, such as `https://chat.example`",
            Self::Null => "serve the page over HTTP and list its address",
            Self::NoScheme => "include the scheme, such as `https://chat.example`",
            Self::Path => {
                "remove everything after the host and port, even a slash: `https://chat.example`"
            }
            Self::Malformed => {
                "write it as sent by browsers: `https://chat.example`, `http://localhost:3000`, \
                 `https://xn--bcher-kva.example` for other letters, or `vscode-webview://` for \
                 every page of an app"
            }
        }
    }
}

impl Origins {
    /// Adds an origin.
    ///
    /// ```
    /// use majordomo_gateway::config::Origins;
    ///
    /// let mut origins = Origins::default();
    /// origins.add("https://chat.example").unwrap();
    /// assert!(origins.add("*").is_err());
    /// ```
    pub fn add(&mut self, text: &str) -> Result<(), OriginError> {
        let allowed = parse(text.trim())?;
        if !self.0.contains(&allowed) {
            self.0.push(allowed);
        }
        Ok(())
    }

    /// Whether no origin is allowed.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The first origin that is not in `others`.
    pub fn beyond(&self, others: &Self) -> Option<&str> {
        let new = self.0.iter().find(|allowed| !others.0.contains(allowed))?;
        match new {
            AllowedOrigin::Exactly(text) | AllowedOrigin::Scheme(text) => Some(text),
        }
    }

    /// Whether pages of this origin may call the gateway.
    pub(super) fn allow(&self, origin: &HeaderValue) -> bool {
        let Ok(origin) = origin.to_str() else {
            return false;
        };
        self.0.iter().any(|allowed| match allowed {
            AllowedOrigin::Exactly(known) => known.eq_ignore_ascii_case(origin),
            AllowedOrigin::Scheme(scheme) => {
                let after_scheme = after_scheme(origin, scheme);
                after_scheme.is_some_and(|name| name.is_empty() || is_host_port(name))
            }
        })
    }
}

fn parse(text: &str) -> Result<AllowedOrigin, OriginError> {
    if text.contains('*') {
        return Err(OriginError::Wildcard);
    }
    if text.eq_ignore_ascii_case("null") {
        return Err(OriginError::Null);
    }
    let (scheme, place) = text.split_once("://").ok_or(OriginError::NoScheme)?;
    let scheme = scheme.to_ascii_lowercase();
    if !is_scheme(&scheme) {
        return Err(OriginError::Malformed);
    }
    let standard_port = match &*scheme {
        "http" => Some(":80"),
        "https" => Some(":443"),
        _ if place.is_empty() => return Ok(AllowedOrigin::Scheme(format!("{scheme}://"))),
        _ => None,
    };
    if place.contains(['/', '?', '#']) {
        return Err(OriginError::Path);
    }
    if !is_host_port(place) {
        return Err(OriginError::Malformed);
    }
    let place = standard_port
        .and_then(|port| place.strip_suffix(port))
        .unwrap_or(place);
    Ok(AllowedOrigin::Exactly(format!(
        "{scheme}://{}",
        place.to_ascii_lowercase()
    )))
}

fn is_scheme(text: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
    text.starts_with(|first: char| first.is_ascii_alphabetic()) && text.bytes().all(inner)
}

/// `host[:port]` in an unambiguous form.
fn is_host_port(text: &str) -> bool {
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
        _ => (text, None),
    };
    let port_fits = port.is_none_or(|port| {
        port.bytes().all(|byte| byte.is_ascii_digit()) && port.parse::<u16>().is_ok()
    });
    let bracketed = host
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'));
    let host_fits = match bracketed {
        Some(address) => address.parse::<Ipv6Addr>().is_ok(),
        None => host.split('.').all(is_label),
    };
    port_fits && host_fits
}

/// The part after `scheme://`, if the origin has this scheme.
fn after_scheme<'o>(origin: &'o str, scheme: &str) -> Option<&'o str> {
    let (found, rest) = origin.split_at_checked(scheme.len())?;
    found.eq_ignore_ascii_case(scheme).then_some(rest)
}

/// Whether this listener served the page: its origin matches the name in the request. A
/// proxy may terminate TLS, so both `http` and `https` match.
pub(super) fn is_own(origin: &HeaderValue, uri: &Uri, headers: &HeaderMap) -> bool {
    let Ok(origin) = origin.to_str() else {
        return false;
    };
    let place = after_scheme(origin, "http://").or_else(|| after_scheme(origin, "https://"));
    let named = uri
        .authority()
        .map(|authority| authority.as_str().as_bytes());
    let host = named.or_else(|| headers.get(HOST).map(HeaderValue::as_bytes));
    match (place, host) {
        (Some(place), Some(host)) => place.as_bytes().eq_ignore_ascii_case(host),
        _ => false,
    }
}

/// Whether the origin is a desktop app's.
pub(super) fn is_app(origin: &HeaderValue) -> bool {
    let Ok(origin) = origin.to_str() else {
        return false;
    };
    let Some((scheme, place)) = origin.split_once("://") else {
        return false;
    };
    let known = APPS.iter().any(|app| app.eq_ignore_ascii_case(scheme));
    known && (place.is_empty() || is_host_port(place))
}

/// The origin for an error message, if it is safe to quote.
pub(super) fn quotable(origin: &HeaderValue) -> Option<String> {
    let text = origin.to_str().ok()?;
    let (scheme, place) = text.split_once("://")?;
    let sane = text.len() <= LONGEST_SHOWN && is_scheme(scheme);
    (sane && (place.is_empty() || is_host_port(place))).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origins(texts: &[&str]) -> Origins {
        let mut origins = Origins::default();
        for text in texts {
            origins.add(text).unwrap();
        }
        origins
    }

    #[test]
    fn an_entry_allows_exactly_its_origin() {
        let rows: [(&str, &[&str], &[&str]); 6] = [
            (
                "https://chat.example",
                &["https://chat.example", "HTTPS://Chat.Example"],
                &[
                    "http://chat.example",
                    "https://chat.example:8443",
                    "https://chat.example.evil.example",
                    "https://evil.example",
                    "https://www.chat.example",
                    "https://chat.example/",
                    "https://chat.example@evil.example",
                    "null",
                    "",
                ],
            ),
            (
                "https://Chat.Example:443",
                &["https://chat.example"],
                &["https://chat.example:443"],
            ),
            (
                "http://localhost:3000",
                &["http://localhost:3000"],
                &["http://localhost"],
            ),
            (
                "http://[::1]:3000",
                &["http://[::1]:3000"],
                &["http://[::1]"],
            ),
            (
                "vscode-webview://",
                &["vscode-webview://1f2e3d", "vscode-webview://"],
                &[
                    "vscode-webview://a/b",
                    "vscode-webviews://a",
                    "https://vscode-webview://a",
                ],
            ),
            (
                "app://obsidian.md",
                &["app://obsidian.md"],
                &["app://other", "app://"],
            ),
        ];
        for (entry, allowed, others) in rows {
            let origins = origins(&[entry]);
            let allow = |origin: &&str| origins.allow(&HeaderValue::from_str(origin).unwrap());
            assert!(allowed.iter().all(allow), "{entry}: {allowed:?}");
            for other in others {
                assert!(!allow(other), "{entry}: {other}");
            }
        }
    }

    #[test]
    fn each_invalid_origin_has_its_own_error() {
        use OriginError as E;
        for (text, expected) in [
            ("*", E::Wildcard),
            ("https://*.example", E::Wildcard),
            ("vscode-webview://*", E::Wildcard),
            ("null", E::Null),
            ("chat.example", E::NoScheme),
            ("localhost:3000", E::NoScheme),
            ("https://chat.example/", E::Path),
            ("https://chat.example/app", E::Path),
            ("https://chat.example?x", E::Path),
            ("https://", E::Malformed),
            ("http://:80", E::Malformed),
            ("https://a@chat.example", E::Malformed),
            ("https://chat.example:https", E::Malformed),
            ("https://chat.example:99999", E::Malformed),
            ("https://chat example", E::Malformed),
            ("https://größe.example", E::Malformed),
            ("https://chat.example, https://b.example", E::Path),
            ("://chat.example", E::Malformed),
        ] {
            assert_eq!(Origins::default().add(text), Err(expected), "{text}");
        }
    }

    #[test]
    fn added_origins_are_found() {
        let (one, two) = (
            origins(&["https://a"]),
            origins(&["https://b", "https://a"]),
        );
        assert!(one.beyond(&two).is_none() && one.beyond(&one).is_none());
        assert!(two.beyond(&one).is_some());
        assert!(Origins::default().beyond(&one).is_none());
    }
}
