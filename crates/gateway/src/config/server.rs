//! `[server]`: listeners and request limits.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use toml::de::DeValue;

use super::reader::{ConfigReader, Section};
use super::{Origins, Span, listen_address, origins};
use crate::max_counts::MaxCounts;

/// Listeners and request limits.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ServerSettings {
    /// Address for clients.
    pub listen: SocketAddr,
    /// Address for the operator.
    pub operator_listen: SocketAddr,
    /// Maximum body size in bytes.
    pub max_body: u64,
    /// Maximum concurrent requests.
    pub max_requests: usize,
    /// Maximum total size of the bodies held at the same time.
    pub max_bytes_in_flight: u64,
    /// Maximum numbers of repeated elements in a request.
    pub max_counts: MaxCounts,
    /// Timeout for a request's body; a large body gets more time, by
    /// [`Limits::body_rate`](crate::Limits::body_rate).
    pub body_timeout: Duration,
    /// Interval of keep-alives in idle streams; `None` disables them.
    pub keepalive: Option<Duration>,
    /// Time for which connections are accepted after a shutdown signal, while the gateway
    /// is not ready; `None` for none.
    pub grace: Option<Duration>,
    /// Time for requests to finish during shutdown, after `grace`.
    pub drain: Duration,
    /// Number of recent requests kept for the operator; 0 keeps none.
    pub traces: usize,
    /// Maximum size of all kept traces in bytes.
    pub trace_bytes: u64,
    /// Certificate to serve with; `None` serves plain HTTP.
    pub tls: Option<TlsFiles>,
    /// Sites whose pages may call the gateway.
    pub origins: Origins,
    /// Positions of some settings, for later checks.
    pub(super) spans: ServerSpans,
}

/// Certificate chain and private key as PEM files.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TlsFiles {
    /// The certificate chain.
    pub cert: PathBuf,
    /// The private key.
    pub key: PathBuf,
}

#[derive(Clone, Debug, Default)]
pub(super) struct ServerSpans {
    pub(super) listen: Span,
    pub(super) operator_listen: Span,
    pub(super) tls: Span,
}

impl ServerSettings {
    /// Position of `tls`.
    pub(crate) fn tls_span(&self) -> Span {
        self.spans.tls.clone()
    }
}

impl Default for ServerSettings {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 4100)),
            operator_listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 4101)),
            max_body: 32 << 20,
            max_requests: 1_024,
            max_bytes_in_flight: 512 << 20,
            max_counts: MaxCounts::default(),
            body_timeout: Duration::from_secs(60),
            keepalive: None,
            grace: None,
            drain: Duration::from_secs(30),
            traces: 200,
            trace_bytes: 4 << 20,
            tls: None,
            origins: Origins::default(),
            spans: ServerSpans::default(),
        }
    }
}

impl ServerSettings {
    /// Whether other machines can reach a listener.
    pub(super) fn is_exposed(&self) -> bool {
        let addresses = [self.listen, self.operator_listen];
        let mut addresses = addresses.iter().map(|address| address.ip().to_canonical());
        addresses.any(|address| !address.is_loopback())
    }
}

/// Returns why the gateway must not listen on `address`: without keys, only loopback addresses
/// are allowed.
///
/// ```
/// use majordomo_gateway::config::exposed_without_keys;
///
/// assert!(exposed_without_keys("127.0.0.1:4100".parse().unwrap(), false).is_none());
/// assert!(exposed_without_keys("0.0.0.0:4100".parse().unwrap(), true).is_none());
/// assert!(exposed_without_keys("0.0.0.0:4100".parse().unwrap(), false).is_some());
/// ```
pub fn exposed_without_keys(address: SocketAddr, has_keys: bool) -> Option<String> {
    let open = !has_keys && !address.ip().to_canonical().is_loopback();
    open.then(|| format!("{address} is reachable from other machines, but no key is configured"))
}

/// Returns why the operator's listener must not use `address`: it is reachable from other
/// machines and no key has a role for it.
///
/// ```
/// use majordomo_gateway::config::operator_exposed_without_role;
///
/// assert!(operator_exposed_without_role("127.0.0.1:4101".parse().unwrap(), false).is_none());
/// assert!(operator_exposed_without_role("0.0.0.0:4101".parse().unwrap(), true).is_none());
/// assert!(operator_exposed_without_role("0.0.0.0:4101".parse().unwrap(), false).is_some());
/// ```
pub fn operator_exposed_without_role(address: SocketAddr, has_role: bool) -> Option<String> {
    let open = !has_role && !address.ip().to_canonical().is_loopback();
    open.then(|| {
        format!(
            "the operator's listener on {address} is reachable from other machines, but no key has the role `operator` or `viewer`"
        )
    })
}

/// Hint for an exposed address without keys.
pub(super) const EXPOSED_HINT: &str = "generate a key with `majordomo key new NAME` and add its [[keys]] entry, or listen on 127.0.0.1";

/// Hint for an exposed operator address without keys.
pub(super) const EXPOSED_OPERATOR_HINT: &str = "generate a key with `majordomo key new NAME` and add its [[keys]] entry with `role = \"operator\"`, or listen on 127.0.0.1";

/// Hint for an exposed operator address without a key that has a role for it.
pub(super) const MISSING_ROLE_HINT: &str =
    "add `role = \"operator\"` to the operator's [[keys]] entry, or listen on 127.0.0.1";

pub(super) fn read_server(mut section: Section<'_>) -> ServerSettings {
    let mut server = ServerSettings::default();
    if let Some((address, span)) = address(&mut section, "listen") {
        server.listen = address;
        server.spans.listen = span;
    }
    if let Some((address, span)) = address(&mut section, "operator_listen") {
        server.operator_listen = address;
        server.spans.operator_listen = span;
    }
    let body = section.take("max_body");
    if let Some(size) = body.as_ref().and_then(|field| field.size()) {
        server.max_body = size;
    }
    if let Some(most) = section.number("max_requests", 1, u64::from(u32::MAX)) {
        server.max_requests = usize::try_from(most).unwrap_or(usize::MAX);
    }
    let held = section.take("max_bytes_in_flight");
    match held.as_ref().and_then(|field| field.size()) {
        Some(size) => server.max_bytes_in_flight = size,
        None => server.max_bytes_in_flight = server.max_bytes_in_flight.max(server.max_body),
    }
    if let Some(held) = held.filter(|_| server.max_bytes_in_flight < server.max_body) {
        held.report(
            "`max_bytes_in_flight` is less than `max_body`: the largest request could never be served",
            "make it a multiple of `max_body`",
        );
    }
    counts(&mut section, &mut server.max_counts);
    if let Some(timeout) = section.duration("body_timeout") {
        server.body_timeout = timeout;
    }
    if let Some(keepalive) = section.take("keepalive").and_then(|f| f.duration_or_off()) {
        server.keepalive = keepalive;
    }
    if let Some(grace) = section.take("grace").and_then(|f| f.duration_or_off()) {
        server.grace = grace;
    }
    if let Some(drain) = section.duration("drain") {
        server.drain = drain;
    }
    if let Some(most) = section.number("traces", 0, 100_000) {
        server.traces = usize::try_from(most).unwrap_or(usize::MAX);
    }
    let bytes = section.take("trace_bytes");
    if let Some(size) = bytes.as_ref().and_then(|field| field.size()) {
        server.trace_bytes = size;
    }
    if let Some(field) = section.take("tls") {
        server.spans.tls = field.key_span.clone();
        server.tls = field.section_or("`tls`", TLS_HINT).and_then(tls);
    }
    server.origins = section
        .take("origins")
        .map(origins::read_origins)
        .unwrap_or_default();
    let reader = section.reader;
    section.finish();
    check_distinct_addresses(reader, &server);
    server
}

/// Requests always have messages and parts, so their limits start at 1.
fn counts(section: &mut Section<'_>, most: &mut MaxCounts) {
    let MaxCounts {
        messages,
        parts,
        images,
        tools,
        stops,
        fields,
        values,
    } = most;
    for (key, least, limit) in [
        ("max_messages", 1, messages),
        ("max_parts", 1, parts),
        ("max_images", 0, images),
        ("max_tools", 0, tools),
        ("max_stops", 0, stops),
        ("max_fields", 0, fields),
        ("max_values", 1, values),
    ] {
        if let Some(number) = section.number(key, least, u64::from(u32::MAX)) {
            *limit = usize::try_from(number).unwrap_or(usize::MAX);
        }
    }
}

fn address(section: &mut Section<'_>, key: &'static str) -> Option<(SocketAddr, Span)> {
    let field = section.take(key)?;
    if let DeValue::Integer(_) = field.value {
        let port = field.number(0, u64::from(u16::MAX))?;
        let port = u16::try_from(port).ok()?;
        return Some((SocketAddr::from((Ipv4Addr::LOCALHOST, port)), field.span));
    }
    let text = field.text()?;
    match listen_address(&text.value) {
        Ok(address) => Some((address, field.span)),
        Err(error) => {
            let message = format!("{} is not a listen address", text.shown());
            field.report(message, error.hint);
            None
        }
    }
}

/// Hint for incomplete TLS settings.
const TLS_HINT: &str = "TLS needs a certificate and its private key: `[server.tls]` with `cert = \"cert.pem\"` and `key = \"key.pem\"`";

fn tls(mut section: Section<'_>) -> Option<TlsFiles> {
    let cert = section.require("cert", TLS_HINT);
    let cert = cert.and_then(|f| f.non_empty());
    let key = section.require("key", TLS_HINT).and_then(|f| f.non_empty());
    section.finish();
    Some(TlsFiles {
        cert: PathBuf::from(cert?.value),
        key: PathBuf::from(key?.value),
    })
}

fn check_distinct_addresses(reader: &ConfigReader<'_>, server: &ServerSettings) {
    if server.listen == server.operator_listen && server.listen.port() != 0 {
        let span = if server.spans.operator_listen.is_empty() {
            server.spans.listen.clone()
        } else {
            server.spans.operator_listen.clone()
        };
        let hint = "give `operator_listen` another port";
        reader.report(span, "`listen` and `operator_listen` must differ", hint);
    }
}
