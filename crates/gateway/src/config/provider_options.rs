//! Options of `[providers.<name>]` besides kind, address and key: the options of a DSN's
//! query, and headers and a proxy, which a DSN cannot hold.

use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue};
use majordomo::providers::{AnthropicVersion, MAX_KEYS, Settings};
use majordomo::transport::{Proxies, Timeouts, Transport, TransportConfig};
use secrecy::{ExposeSecret, SecretString};

use super::reader::{ConfigField, Section};

/// Options of a provider; unset ones keep the defaults of its kind or its DSN.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ProviderOptions {
    /// Several credentials, instead of one.
    pub api_keys: Vec<SecretString>,
    /// Headers of every request; their values are secret.
    pub headers: HeaderMap,
    /// Timeout of one attempt.
    pub timeout: Option<Duration>,
    /// Whether it takes images.
    pub images: Option<bool>,
    /// Whether it supports tools.
    pub tools: Option<bool>,
    /// The context window of its models in tokens.
    pub context: Option<u64>,
    /// Whether it knows only the old `max_tokens` of Chat Completions.
    pub legacy_max_tokens: Option<bool>,
    /// Whether to ask for usage in streams on behalf of clients that did not.
    pub stream_usage: Option<bool>,
    /// The version of Anthropic's API.
    pub version: Option<AnthropicVersion>,
    /// The context window to request from Ollama.
    pub num_ctx: Option<u64>,
    /// Whether to set prompt-cache breakpoints for clients that set none.
    pub auto_cache: Option<bool>,
    /// Whether clients' own credentials are sent instead of the configured one.
    pub client_credentials: Option<bool>,
    /// Whether it gets a request's trace and id; `None` forwards what the client sent.
    pub trace: Option<bool>,
    /// The proxy; `None` uses the environment's.
    pub proxy: Option<ProviderProxy>,
}

/// The connection to a provider.
#[derive(Clone, Debug)]
pub enum ProviderProxy {
    /// Direct, regardless of the environment.
    Off,
    /// Through this proxy; the URL may hold a password.
    Through(SecretString),
}

impl ProviderOptions {
    /// Applies the options to the settings of a provider.
    pub(super) fn apply(&self, mut settings: Settings) -> Settings {
        let limits = &mut settings.limits;
        limits.images = self.images.or(limits.images);
        limits.tools = self.tools.or(limits.tools);
        limits.context = self.context.or(limits.context);
        let timeouts = self.timeout.map(Timeouts::within);
        settings.timeouts = timeouts.or(settings.timeouts);
        settings.headers = self.headers.clone();
        if !self.api_keys.is_empty() {
            settings.keys.clone_from(&self.api_keys);
        }
        settings.legacy_max_tokens = self.legacy_max_tokens.or(settings.legacy_max_tokens);
        settings.stream_usage = self.stream_usage.or(settings.stream_usage);
        settings.anthropic_version = self.version.unwrap_or(settings.anthropic_version);
        settings.num_ctx = self.num_ctx.or(settings.num_ctx);
        settings.client_credentials = self.client_credentials.unwrap_or(false);
        settings.trace = self.trace;
        settings.auto_cache = self.auto_cache.unwrap_or(settings.auto_cache);
        let proxies = self.proxy.as_ref().map(|proxy| match proxy {
            ProviderProxy::Off => Proxies::Direct,
            ProviderProxy::Through(url) => Proxies::Fixed {
                proxy: url.expose_secret().to_owned(),
                no_proxy: String::new(),
            },
        });
        if let Some(proxies) = proxies {
            settings.transport = Transport::new(TransportConfig::default().proxies(proxies));
        }
        settings
    }
}

pub(super) fn read_options(section: &mut Section<'_>) -> ProviderOptions {
    let api_keys = section.take("api_keys");
    let headers = section.take("headers");
    let timeout = section.take("timeout");
    let version = section.take("version");
    let proxy = section.take("proxy");
    let cache = section.take("cache");
    let client_credentials = section.take("client_credentials");
    ProviderOptions {
        api_keys: api_keys.as_ref().map(read_keys).unwrap_or_default(),
        headers: headers.as_ref().map(read_headers).unwrap_or_default(),
        timeout: timeout.and_then(|field| field.positive_duration()),
        images: section.flag("images"),
        tools: section.flag("tools"),
        context: section.number("context", 1, u64::MAX),
        legacy_max_tokens: section.flag("legacy_max_tokens"),
        stream_usage: section.flag("stream_usage"),
        version: version.as_ref().and_then(read_version),
        trace: section.flag("trace"),
        num_ctx: section.number("num_ctx", 1, u64::MAX),
        client_credentials: client_credentials.and_then(|field| field.choice(&CLIENT_CREDENTIALS)),
        auto_cache: cache.and_then(|field| field.choice(&CACHE)),
        proxy: proxy.as_ref().and_then(read_proxy),
    }
}

/// Values of `client_credentials`.
const CLIENT_CREDENTIALS: [(&str, bool); 2] = [("forward", true), ("ignore", false)];

/// Values of `cache`, of a provider and of a route.
pub(super) const CACHE: [(&str, bool); 2] = [("auto", true), ("off", false)];

/// Several keys, each of which must differ from the others.
fn read_keys(field: &ConfigField<'_>) -> Vec<SecretString> {
    let Some(items) = field.items() else {
        field.reader.hide(field.span.clone());
        return Vec::new();
    };
    let hint = "write `api_keys = [\"${FIRST_KEY}\", \"${SECOND_KEY}\"]`";
    if items.is_empty() {
        field.report("`api_keys` is empty", hint);
    }
    if items.len() > MAX_KEYS {
        let message = format!("`api_keys` has more than {MAX_KEYS} keys");
        field.report(message, "divide them among several providers");
        return Vec::new();
    }
    let mut keys: Vec<SecretString> = Vec::new();
    for item in items {
        let Some(key) = item.secret() else {
            continue;
        };
        if item.is_literal() {
            item.reader.note_secret();
        }
        let same = |known: &SecretString| known.expose_secret() == key.expose_secret();
        if keys.iter().any(same) {
            item.report("`api_keys` has this key twice", "list each key once");
            continue;
        }
        keys.push(key);
    }
    keys
}

/// Headers that belong to the connection or to the encoding of the body.
const RESERVED: [&str; 8] = [
    "accept-encoding",
    "connection",
    "content-encoding",
    "content-length",
    "content-type",
    "host",
    "te",
    "transfer-encoding",
];

fn read_headers(field: &ConfigField<'_>) -> HeaderMap {
    let mut headers = HeaderMap::new();
    let Some(section) = field.section("`headers`") else {
        return headers;
    };
    for field in section.entries() {
        let Some(secret) = field.secret() else {
            continue;
        };
        if field.is_literal() {
            field.reader.note_secret();
        }
        // The name may be a misplaced secret, so messages only point at it.
        let report = |message: &str, hint: &str| {
            field.reader.report(field.key_span.clone(), message, hint);
        };
        let Ok(name) = HeaderName::try_from(field.key.as_str()) else {
            report(
                "this is not the name of a header",
                "use letters, digits and `-`",
            );
            continue;
        };
        if RESERVED.contains(&name.as_str()) {
            report("this header is set by majordomo", "remove it");
            continue;
        }
        let Ok(mut value) = HeaderValue::from_str(secret.expose_secret()) else {
            report(
                "the value of this header contains characters that a header cannot hold",
                "use printable ASCII characters",
            );
            continue;
        };
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    headers
}

fn read_version(field: &ConfigField<'_>) -> Option<AnthropicVersion> {
    let text = field.text()?;
    let version = text.value.parse().ok();
    if version.is_none() {
        let message = format!("{} is not a version of Anthropic's API", text.shown());
        field.report(message, "write `2023-06-01` or `2026-10-21`");
    }
    version
}

fn read_proxy(field: &ConfigField<'_>) -> Option<ProviderProxy> {
    use toml::de::DeValue;
    match field.value {
        DeValue::Boolean(false) => return Some(ProviderProxy::Off),
        DeValue::String(text) if text.as_ref() == "off" => return Some(ProviderProxy::Off),
        _ => {}
    }
    let text = field.non_empty()?;
    let uri = text.value.trim().parse::<http::Uri>().ok();
    let scheme = uri.as_ref().and_then(http::Uri::scheme_str);
    let host = uri.as_ref().and_then(http::Uri::host);
    let known = matches!(scheme, Some("http" | "https" | "socks5" | "socks5h"));
    if !known || host.is_none_or(str::is_empty) {
        field.report(
            "`proxy` is not the URL of a proxy",
            "write `http://host:port`, `socks5://host:port`, or `off` to connect directly",
        );
        return None;
    }
    if field.is_literal() && text.value.contains('@') {
        field.reader.note_secret();
    }
    Some(ProviderProxy::Through(SecretString::from(
        text.value.trim().to_owned(),
    )))
}
