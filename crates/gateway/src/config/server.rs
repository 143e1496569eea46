//! `[server]`: where the gateway listens and how much it takes.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use super::reader::{Reader, Section};
use super::{Origins, Span, origins};
use crate::counts::MaxCounts;

/// Where the gateway listens and how much it takes.
#[derive(Clone, Debug)]
pub struct Server {
    /// Where clients ask.
    pub listen: SocketAddr,
    /// Where the operator looks.
    pub operator_listen: SocketAddr,
    /// Bytes of one request's body.
    pub max_body: u64,
    /// Requests at the same time.
    pub max_requests: usize,
    /// Bytes of all bodies that are held at the same time.
    pub max_bytes_in_flight: u64,
    /// Repeated elements of one request.
    pub max_counts: MaxCounts,
    /// The time for a request's body to arrive; a large one gets more, by
    /// [`Limits::body_rate`](crate::Limits::body_rate).
    pub body_timeout: Duration,
    /// How often a waiting stream gets a sign of life; none is off.
    pub keepalive: Option<Duration>,
    /// How long requests may go on after the gateway was told to stop.
    pub drain: Duration,
    /// How many requests are remembered for the operator; 0 is none.
    pub traces: usize,
    /// Bytes of what is remembered of them.
    pub trace_bytes: u64,
    /// The certificate to serve with; none is plain HTTP.
    pub tls: Option<Tls>,
    /// The sites whose pages may ask.
    pub origins: Origins,
    /// Where the two addresses stand, for what is found out later.
    pub(super) places: Places,
}

/// A certificate and its key, as PEM files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tls {
    /// The certificate chain.
    pub cert: PathBuf,
    /// Its private key.
    pub key: PathBuf,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Places {
    pub(super) listen: Span,
    pub(super) operator_listen: Span,
}

impl Default for Server {
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
            drain: Duration::from_secs(30),
            traces: 200,
            trace_bytes: 4 << 20,
            tls: None,
            origins: Origins::default(),
            places: Places::default(),
        }
    }
}

/// Why an address may not be listened on, if it may not: without a key only this
/// machine is served.
///
/// ```
/// use majordomo_gateway::config::refuse_open;
///
/// assert!(refuse_open("127.0.0.1:4100".parse().unwrap(), false).is_none());
/// assert!(refuse_open("0.0.0.0:4100".parse().unwrap(), true).is_none());
/// assert!(refuse_open("0.0.0.0:4100".parse().unwrap(), false).is_some());
/// ```
pub fn refuse_open(address: SocketAddr, has_keys: bool) -> Option<String> {
    let open = !has_keys && !address.ip().to_canonical().is_loopback();
    open.then(|| format!("{address} can be reached from other machines, and no key is configured"))
}

/// Why the operator may not listen on an address, if so: other machines reach it
/// and no key has a role that opens it.
///
/// ```
/// use majordomo_gateway::config::refuse_open_operator;
///
/// assert!(refuse_open_operator("127.0.0.1:4101".parse().unwrap(), false).is_none());
/// assert!(refuse_open_operator("0.0.0.0:4101".parse().unwrap(), true).is_none());
/// assert!(refuse_open_operator("0.0.0.0:4101".parse().unwrap(), false).is_some());
/// ```
pub fn refuse_open_operator(address: SocketAddr, has_role: bool) -> Option<String> {
    let open = !has_role && !address.ip().to_canonical().is_loopback();
    open.then(|| {
        format!(
            "the operator's listener on {address} can be reached from other machines, and no key \
             has the role `operator` or `viewer`"
        )
    })
}

/// The keys of the section.
pub(super) const KEYS: &[&str] = &[
    "listen",
    "operator_listen",
    "max_body",
    "max_requests",
    "max_bytes_in_flight",
    "max_messages",
    "max_parts",
    "max_images",
    "max_tools",
    "max_stops",
    "max_fields",
    "max_values",
    "body_timeout",
    "keepalive",
    "drain",
    "traces",
    "trace_bytes",
    "tls",
    "origins",
];

/// What to do about an open address.
pub(super) const CLOSE_IT: &str = "make a key with `majordomo key new NAME` and put its [[keys]] entry here, or listen on 127.0.0.1";

/// The same for the operator's.
pub(super) const CLOSE_OPERATOR: &str = "make a key with `majordomo key new NAME` and put its [[keys]] entry here with `role = \"operator\"`, or listen on 127.0.0.1";

/// What to do where keys are there and none is the operator's.
pub(super) const GIVE_A_ROLE: &str = "add `role = \"operator\"` to the [[keys]] entry of whoever runs the gateway, or listen on 127.0.0.1";

pub(super) fn read(mut section: Section<'_>) -> Server {
    let mut server = Server::default();
    if let Some((address, span)) = address(&mut section, "listen") {
        server.listen = address;
        server.places.listen = span;
    }
    if let Some((address, span)) = address(&mut section, "operator_listen") {
        server.operator_listen = address;
        server.places.operator_listen = span;
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
    server.tls = section
        .take("tls")
        .and_then(|field| tls(field.section("`tls`")?));
    server.origins = section
        .take("origins")
        .map(origins::read)
        .unwrap_or_default();
    let reader = section.reader;
    section.finish();
    refuse_shared_port(reader, &server);
    server
}

/// A limit of zero forbids what a request can do without.
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
    let text = field.text()?;
    let Ok(address) = text.value.trim().parse() else {
        let message = format!("{} is no address to listen on", text.shown());
        field.report(message, hint_for(key, &text.value));
        return None;
    };
    Some((address, field.span))
}

/// What was probably meant; an address from the environment is not repeated.
fn hint_for(key: &str, text: &str) -> &'static str {
    let text = text.trim();
    if text.starts_with("localhost") {
        "write the address itself: `127.0.0.1:4100`"
    } else if text.contains("://") {
        "leave the scheme out: an address and a port, such as `127.0.0.1:4100`"
    } else if text.parse::<std::net::IpAddr>().is_ok() {
        "add a port, such as `127.0.0.1:4100`, or `[::1]:4100` for IPv6"
    } else if key == "operator_listen" {
        "write an address and a port, such as `127.0.0.1:4101`"
    } else {
        "write an address and a port, such as `127.0.0.1:4100` or `0.0.0.0:4100`"
    }
}

fn tls(mut section: Section<'_>) -> Option<Tls> {
    let hint = "TLS needs both files: `tls = { cert = \"cert.pem\", key = \"key.pem\" }`";
    let cert = section.need("cert", hint).and_then(|f| f.filled());
    let key = section.need("key", hint).and_then(|f| f.filled());
    section.finish();
    Some(Tls {
        cert: PathBuf::from(cert?.value),
        key: PathBuf::from(key?.value),
    })
}

fn refuse_shared_port(reader: &Reader<'_>, server: &Server) {
    if server.listen == server.operator_listen && server.listen.port() != 0 {
        let span = if server.places.operator_listen.is_empty() {
            server.places.listen.clone()
        } else {
            server.places.operator_listen.clone()
        };
        let hint = "give `operator_listen` a port of its own";
        reader.report(
            span,
            "clients and the operator cannot share an address",
            hint,
        );
    }
}
