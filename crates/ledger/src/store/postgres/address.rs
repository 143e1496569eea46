//! The address of a PostgreSQL server, as `store` in `[ledger]` names it.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};

/// A `postgres://` URL. Printing it never shows the password.
///
/// A connection to another machine uses TLS and verifies the certificate, unless the URL says
/// `sslmode=disable`. `sslrootcert` names the root to trust instead of the machine's own.
///
/// ```
/// use majordomo_ledger::PostgresUrl;
///
/// let url: PostgresUrl = "postgres://ada:lovelace@db.example.com/usage".parse().unwrap();
/// assert_eq!(url.to_string(), "postgres://ada@db.example.com:5432/usage");
/// ```
#[derive(Clone)]
pub struct PostgresUrl {
    text: Arc<str>,
    /// Shared: it is large.
    config: Arc<Config>,
    root: Option<PathBuf>,
}

/// A URL that is not the address of a PostgreSQL server.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct PostgresUrlError(&'static str);

impl PostgresUrl {
    /// The driver's settings.
    pub(super) fn config(&self) -> &Config {
        &self.config
    }

    /// The file of the root certificate to trust.
    pub(super) fn root(&self) -> Option<&PathBuf> {
        self.root.as_ref()
    }
}

impl FromStr for PostgresUrl {
    type Err = PostgresUrlError;

    fn from_str(text: &str) -> Result<Self, PostgresUrlError> {
        let (address, query) = text.split_once('?').unwrap_or((text, ""));
        if !address.starts_with("postgres://") && !address.starts_with("postgresql://") {
            return Err(PostgresUrlError("the URL must start with `postgres://`"));
        }
        let (mut mode, mut root) = (None, None);
        let mut rest = Vec::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            match pair.split_once('=') {
                Some(("sslmode", value)) => mode = Some(value),
                Some(("sslrootcert", path)) => root = Some(decoded(path)?.into()),
                _ => rest.push(pair),
            }
        }
        let plain = format!("{address}?{}", rest.join("&"));
        let plain = plain.strip_suffix('?').unwrap_or(&plain);
        // The driver's own message may quote the URL.
        let invalid =
            PostgresUrlError("the URL is not postgres://user:password@host:port/database");
        let mut config: Config = plain.parse().map_err(|_| invalid)?;
        if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
            return Err(PostgresUrlError("the URL names no host"));
        }
        config.ssl_mode(match mode {
            Some("disable") => SslMode::Disable,
            Some("require" | "verify-ca" | "verify-full") => SslMode::Require,
            None if config.get_hosts().iter().all(is_local) => SslMode::Disable,
            None => SslMode::Require,
            Some(_) => {
                let text = "`sslmode` must be `disable` or `verify-full`: a certificate that is \
                            not verified protects nothing";
                return Err(PostgresUrlError(text));
            }
        });
        config.application_name("majordomo");
        Ok(Self {
            text: text.into(),
            config: Arc::new(config),
            root,
        })
    }
}

fn decoded(text: &str) -> Result<String, PostgresUrlError> {
    let text = percent_encoding::percent_decode_str(text).decode_utf8();
    let error = PostgresUrlError("`sslrootcert` is not a path");
    text.map(String::from).map_err(|_| error)
}

/// Whether data sent to this host stays on this machine.
fn is_local(host: &Host) -> bool {
    match host {
        Host::Tcp(name) => {
            let address = name.trim_matches(['[', ']']).parse::<std::net::IpAddr>();
            name == "localhost" || address.is_ok_and(|address| address.is_loopback())
        }
        #[cfg(unix)]
        Host::Unix(_) => true,
    }
}

impl fmt::Display for PostgresUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("postgres://")?;
        if let Some(user) = self.config.get_user() {
            write!(f, "{user}@")?;
        }
        for (index, host) in self.config.get_hosts().iter().enumerate() {
            let ports = self.config.get_ports();
            let port = ports.get(index).or(ports.first()).unwrap_or(&5432);
            let comma = if index == 0 { "" } else { "," };
            match host {
                Host::Tcp(name) => write!(f, "{comma}{name}:{port}")?,
                #[cfg(unix)]
                Host::Unix(path) => write!(f, "{comma}{}", path.display())?,
            }
        }
        match self.config.get_dbname() {
            Some(database) => write!(f, "/{database}"),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for PostgresUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl PartialEq for PostgresUrl {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for PostgresUrl {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tls_is_required_unless_the_server_is_local_or_the_url_says_otherwise() {
        let cases = [
            ("postgres://db.example.com/x", SslMode::Require),
            (
                "postgres://db.example.com/x?sslmode=disable",
                SslMode::Disable,
            ),
            ("postgres://localhost/x", SslMode::Disable),
            ("postgres://127.0.0.1/x", SslMode::Disable),
            ("postgres://[::1]/x", SslMode::Disable),
            (
                "postgres://localhost/x?sslmode=verify-full",
                SslMode::Require,
            ),
            ("postgresql://u@%2Frun%2Fpostgresql/x", SslMode::Disable),
        ];
        for (text, mode) in cases {
            let url: PostgresUrl = text.parse().unwrap();
            assert_eq!(url.config.get_ssl_mode(), mode, "{text}");
        }
    }

    #[test]
    fn neither_a_url_nor_its_error_shows_the_password() {
        let url: PostgresUrl = "postgres://ada:hunter2@db:6432/x?sslrootcert=%2Fca.pem"
            .parse()
            .unwrap();
        assert_eq!(format!("{url} {url:?}").matches("hunter2").count(), 0);
        assert_eq!(url.to_string(), "postgres://ada@db:6432/x");
        assert_eq!(url.root, Some("/ca.pem".into()));
        for text in [
            "postgres://ada:hunter2@db:port/x",
            "mysql://ada:hunter2@db/x",
            "postgres://ada:hunter2@db/x?sslmode=prefer",
            "postgres://ada:hunter2@db/x?colour=blue",
            "postgres:///hunter2",
        ] {
            let error = text.parse::<PostgresUrl>().unwrap_err().to_string();
            assert!(!error.contains("hunter2"), "{error}");
        }
    }
}
