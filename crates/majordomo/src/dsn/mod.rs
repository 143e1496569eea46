//! Data source names: `scheme[+http]://[token@]host[/path][?options]`.
//!
//! The variable `LLM_MY_BOX` defines the provider `my_box`, or `my-box`. The scheme is the
//! name of a [`ProviderKind`](crate::providers::ProviderKind), such as `openai` for any server
//! of Chat Completions, or one registered with [`Registry::scheme`](crate::Registry::scheme).
//! The path is the API's: `LLM_BOX=openai+http://127.0.0.1:8080/v1`. Omit the token for a
//! server that needs no key.
//!
//! The token ends at the first `@` and is percent-decoded (`%40` is an `@`). HTTPS is the
//! default: `+http` selects plain HTTP, as does `llama-swap`, but not `llama-swaps`.
//! Trailing slashes of the path are dropped. May use `nearest`.
//!
//! | option | meaning |
//! |---|---|
//! | `timeout=30s` | timeout of one attempt |
//! | `images=false` | the server takes no images |
//! | `tools=false` | the server supports no tools |
//! | `context=32768` | context window in tokens |
//! | `legacy=true` | the server knows `max_tokens` but not `max_completion_tokens`; Chat Completions only |
//! | `version=2026-10-21` | API version; `anthropic` only |

mod env;
mod options;
mod settings;

use std::str::FromStr;

use percent_encoding::percent_decode_str;
/// A DSN's token, for scheme factories.
pub use secrecy::{ExposeSecret, SecretString};

pub(crate) use env::{Environment, provider_name, variable_name};
pub use options::DsnOptions;

/// A provider's address, as in `LLM_<NAME>`.
///
/// ```
/// use majordomo::dsn::Dsn;
///
/// let dsn: Dsn = "foreman://secret@m1.example.com/".parse().unwrap();
/// assert_eq!(dsn.base_url(), "https://m1.example.com");
/// assert!(!format!("{dsn:?}").contains("secret"));
///
/// let local: Dsn = "ollama+http://localhost:11434".parse().unwrap();
/// assert_eq!(local.base_url(), "http://localhost:11434");
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Dsn {
    /// The kind of provider, without `+http`.
    pub scheme: String,
    /// The key, if any.
    pub token: Option<SecretString>,
    /// `hostname[:port][/path]`, without trailing slashes.
    pub host: String,
    /// The options of the query.
    pub options: DsnOptions,
    plain_http: bool,
}

/// Schemes that imply plain HTTP.
const PLAIN_SCHEMES: &[&str] = &["llama-swap"];
const PLAIN_SUFFIX: &str = "+http";

impl Dsn {
    /// The URL that paths are appended to.
    pub fn base_url(&self) -> String {
        let scheme = if self.plain_http { "http" } else { "https" };
        format!("{scheme}://{}", self.host)
    }
}

impl FromStr for Dsn {
    type Err = DsnError;

    fn from_str(text: &str) -> Result<Self, DsnError> {
        let (scheme, rest) = text.trim().split_once("://").ok_or(DsnError::NoScheme)?;
        let (scheme, plus_http) = match scheme.strip_suffix(PLAIN_SUFFIX) {
            Some(scheme) => (scheme, true),
            None => (scheme, false),
        };
        if scheme.is_empty() {
            return Err(DsnError::NoScheme);
        }
        let (token, place) = match rest.split_once('@') {
            Some((token, place)) => (read_token(token)?, place),
            None => (None, rest),
        };
        let (host, query) = place.split_once('?').unwrap_or((place, ""));
        let host = host.trim_end_matches('/');
        if host.is_empty() || host.starts_with('/') {
            return Err(DsnError::NoHost);
        }
        // A second `@` belongs to the token: in the host it would expose part of the key.
        let forbidden = |c: &char| c.is_whitespace() || c.is_control() || *c == '@';
        if let Some(bad) = host.chars().find(forbidden) {
            return Err(DsnError::BadHost { character: bad });
        }
        Ok(Self {
            scheme: scheme.to_owned(),
            token,
            host: host.to_owned(),
            options: query.parse()?,
            plain_http: plus_http || PLAIN_SCHEMES.contains(&scheme),
        })
    }
}

fn read_token(text: &str) -> Result<Option<SecretString>, DsnError> {
    let token = percent_decode_str(text)
        .decode_utf8()
        .map_err(|_| DsnError::BadToken)?;
    Ok((!token.is_empty()).then(|| SecretString::from(token.into_owned())))
}

/// An error in a DSN. Its text never repeats the DSN, which may contain a key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DsnError {
    /// No `scheme://`.
    #[error("the DSN has no scheme: write it as `scheme://[token@]host[/path]`")]
    NoScheme,
    /// Nothing after the scheme or the token.
    #[error("the DSN has no host: write it as `scheme://[token@]host[/path]`")]
    NoHost,
    /// A character that is invalid in a host name.
    #[error(
        "the DSN's host contains the character {character:?}{}",
        if *character == '@' { "; write `%40` for an `@` in the token" } else { "" }
    )]
    BadHost {
        /// The character.
        character: char,
    },
    /// A token that is not valid UTF-8 after decoding.
    #[error("the DSN's token is not valid percent-encoded UTF-8; write `%25` for `%`")]
    BadToken,
    /// An option that does not exist.
    #[error(
        "the DSN has an unknown option `{name}`; expected `timeout`, `images`, `tools`, `context`, `legacy` or `version`"
    )]
    UnknownOption {
        /// The option's name.
        name: String,
    },
    /// An option with an invalid value.
    #[error("the DSN's option `{name}` must be {expected}")]
    BadOption {
        /// The option's name.
        name: String,
        /// What was expected.
        expected: &'static str,
    },
    /// A scheme that is not registered.
    #[error("unknown DSN scheme `{scheme}`{}", crate::nearest::did_you_mean(nearest.as_deref()))]
    UnknownScheme {
        /// The scheme.
        scheme: String,
        /// The closest known scheme.
        nearest: Option<String>,
    },
    /// The scheme's factory failed.
    #[error("{reason}")]
    Refused {
        /// The factory's error.
        reason: String,
    },
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;
    use secrecy::ExposeSecret;

    use super::*;

    fn read(text: &str) -> Dsn {
        text.parse()
            .unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    #[test]
    fn every_form_gives_its_address() {
        for (text, scheme, url) in [
            (
                "foreman://t@m1.example.com",
                "foreman",
                "https://m1.example.com",
            ),
            ("openai://t@host/v1/", "openai", "https://host/v1"),
            (
                "openai+http://localhost:8080/v1",
                "openai",
                "http://localhost:8080/v1",
            ),
            ("llama-swap://box:9292", "llama-swap", "http://box:9292"),
            ("llama-swaps://box", "llama-swaps", "https://box"),
            ("ollama://[::1]:11434///", "ollama", "https://[::1]:11434"),
        ] {
            let dsn = read(text);
            assert_eq!((&dsn.scheme[..], dsn.base_url()), (scheme, url.to_owned()));
        }
    }

    #[test]
    fn tokens_are_percent_decoded_and_never_printed() {
        let token = |text: &str| read(text).token.map(|t| t.expose_secret().to_owned());
        assert_eq!(token("a://CANARY%40x@h").as_deref(), Some("CANARY@x"));
        assert_eq!(token("a://h"), None);
        assert_eq!(token("a://@h"), None);
        assert!(!format!("{:?}", read("a://CANARY@h")).contains("CANARY"));
        assert_eq!("a://%ff@h".parse::<Dsn>().unwrap_err(), DsnError::BadToken);
    }

    #[test]
    fn options_are_read_from_the_query() {
        let options = read("a://h/v1?timeout=30s&images=false&tools=true&context=32768").options;
        assert_eq!(options.timeout, Some(Duration::from_secs(30)));
        assert_eq!(options.images, Some(false));
        assert_eq!(options.tools, Some(true));
        assert_eq!(options.context, Some(32_768));
        assert_eq!(read("a://h?").options, DsnOptions::default());
        let legacy = read("openai+http://h?legacy=true").options;
        assert_eq!(legacy.legacy_max_tokens, Some(true));
        let newest = read("anthropic://h?version=2026-10-21").options;
        let fixed = read("ollama+http://h?num_ctx=65536").options;
        assert_eq!(fixed.num_ctx, Some(65_536));
        let version = newest.anthropic_version.map(|it| it.as_str());
        assert_eq!(version, Some("2026-10-21"));
    }

    #[test]
    fn mistakes_say_what_to_write() {
        for (text, part) in [
            ("host", "has no scheme"),
            ("://host", "has no scheme"),
            ("+http://host", "has no scheme"),
            ("foreman://", "has no host"),
            ("foreman://token@", "has no host"),
            ("foreman:///", "has no host"),
            ("foreman://a b", "the character ' '"),
            ("foreman://h?speed=1", "unknown option `speed`"),
            ("foreman://h?timeout=soon", "a duration such as `30s`"),
            ("foreman://h?images=maybe", "`true` or `false`"),
            ("anthropic://h?version=3", "`2023-06-01` or `2026-10-21`"),
        ] {
            let error = text.parse::<Dsn>().unwrap_err().to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in ".*", scheme in "[a-z+]*", rest in ".*") {
            let _ = text.parse::<Dsn>();
            let _ = format!("{scheme}://{rest}").parse::<Dsn>();
        }
    }
}
