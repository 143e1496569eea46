//! The address of a cluster's store: `redis://[user:password@]host[:port][/database]`.
//!
//! `rediss://` selects TLS; `?sslrootcert=FILE` names the root that must have issued the
//! server's certificate. Printed without the password.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use percent_encoding::percent_decode_str;
use secrecy::{ExposeSecret, SecretString};

/// The location of a cluster's shared state.
#[derive(Clone, Debug)]
pub struct StateUrl {
    pub(crate) tls: bool,
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) user: Option<String>,
    pub(crate) password: Option<SecretString>,
    pub(crate) database: i64,
    pub(crate) root: Option<PathBuf>,
}

/// Why an address is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct StateUrlError(&'static str);

impl PartialEq for StateUrl {
    fn eq(&self, other: &Self) -> bool {
        let secret = |url: &Self| {
            url.password
                .as_ref()
                .map(|it| it.expose_secret().to_owned())
        };
        self.to_string() == other.to_string() && secret(self) == secret(other)
    }
}

impl Eq for StateUrl {}

impl FromStr for StateUrl {
    type Err = StateUrlError;

    fn from_str(text: &str) -> Result<Self, StateUrlError> {
        let (scheme, rest) = text
            .split_once("://")
            .ok_or(StateUrlError("the address has no scheme"))?;
        let tls = match scheme {
            "redis" | "valkey" => false,
            "rediss" | "valkeys" => true,
            _ => return Err(StateUrlError("the scheme is not redis or rediss")),
        };
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, database) = rest.split_once('/').unwrap_or((rest, ""));
        let (login, place) = match authority.rsplit_once('@') {
            Some((login, place)) => (Some(login), place),
            None => (None, authority),
        };
        let (user, password) = match login.map(|login| login.split_once(':').unwrap_or((login, "")))
        {
            None => (None, None),
            Some((user, password)) => (decoded(user)?, decoded(password)?),
        };
        let (host, port) = split_port(place)?;
        let database = match database {
            "" => 0,
            number => number
                .parse()
                .ok()
                .filter(|number| (0..=1_000_000).contains(number))
                .ok_or(StateUrlError("the database is not a number"))?,
        };
        let mut root = None;
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            match pair.split_once('=') {
                Some(("sslrootcert", path)) if tls => root = decoded(path)?.map(PathBuf::from),
                Some(("sslrootcert", _)) => {
                    return Err(StateUrlError("`sslrootcert` needs rediss://"));
                }
                _ => return Err(StateUrlError("the address has an unknown option")),
            }
        }
        Ok(Self {
            tls,
            host,
            port,
            user,
            password: password.map(SecretString::from),
            database,
            root,
        })
    }
}

fn decoded(text: &str) -> Result<Option<String>, StateUrlError> {
    let text = percent_decode_str(text).decode_utf8();
    let text = text.map_err(|_| StateUrlError("the address is not UTF-8"))?;
    Ok((!text.is_empty()).then(|| text.into_owned()))
}

fn split_port(place: &str) -> Result<(String, u16), StateUrlError> {
    let (host, port) = match place.strip_prefix('[') {
        Some(rest) => {
            let end = rest.split_once(']');
            let (host, after) = end.ok_or(StateUrlError("the address lacks a `]`"))?;
            (host, after.strip_prefix(':'))
        }
        None => match place.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (place, None),
        },
    };
    if host.is_empty() {
        return Err(StateUrlError("the address has no host"));
    }
    let port = match port {
        None => 6379,
        Some(port) => port
            .parse()
            .map_err(|_| StateUrlError("the port is not a number"))?,
    };
    Ok((host.to_owned(), port))
}

/// Without the password.
impl fmt::Display for StateUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.tls { "rediss" } else { "redis" };
        let (host, port, database) = (&self.host, self.port, self.database);
        match host.contains(':') {
            true => write!(f, "{scheme}://[{host}]:{port}/{database}"),
            false => write!(f, "{scheme}://{host}:{port}/{database}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_and_printed_without_the_password() {
        for (text, printed) in [
            ("redis://127.0.0.1", "redis://127.0.0.1:6379/0"),
            (
                "redis://:pw@cache.local:7000/3",
                "redis://cache.local:7000/3",
            ),
            ("valkey://user:p%40w@[::1]:7000", "redis://[::1]:7000/0"),
            ("rediss://h/?sslrootcert=/etc/ca.pem", "rediss://h:6379/0"),
        ] {
            let url: StateUrl = text.parse().unwrap();
            assert_eq!(url.to_string(), printed);
            assert!(!format!("{url:?}").contains("pw"));
        }
        let url: StateUrl = "redis://u:p%40w@h".parse().unwrap();
        assert_eq!(url.user.as_deref(), Some("u"));
        assert_eq!(url.password.unwrap().expose_secret(), "p@w");
    }

    #[test]
    fn what_is_no_address_is_refused_with_the_reason() {
        for (text, reason) in [
            ("localhost", "the address has no scheme"),
            ("http://h", "the scheme is not redis or rediss"),
            ("redis://", "the address has no host"),
            ("redis://h:x", "the port is not a number"),
            ("redis://h/x", "the database is not a number"),
            ("redis://h/-1", "the database is not a number"),
            ("redis://[::1", "the address lacks a `]`"),
            ("redis://h?sslrootcert=/x", "`sslrootcert` needs rediss://"),
            ("redis://h?timeout=1", "the address has an unknown option"),
        ] {
            let refused = text.parse::<StateUrl>().unwrap_err();
            assert_eq!(refused.to_string(), reason, "{text}");
        }
    }
}
