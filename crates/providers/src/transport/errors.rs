//! Maps every failure of an exchange to an actionable [`Error`].
//!
//! Messages name the host but never the path or query, which may contain keys. The
//! text of a lower-level error is included only where it cannot contain a URL.

use std::error::Error as StdError;
use std::io;
use std::time::Duration;

use majordomo_llm::{Error, ErrorKind, Timer};
use rustls::CertificateError;

use super::Timeouts;
use super::connect::{ConnectError, ProxyError, ResolveError};

/// A timeout of this transport expired.
pub(crate) fn timeout(host: &str, timer: Timer, limits: &Timeouts) -> Error {
    let (limit, what) = match timer {
        Timer::Connect => (limits.connect, "did not accept a connection"),
        Timer::FirstByte => (limits.first_byte, "sent no byte of its response"),
        Timer::FirstEvent => (limits.first_event, "sent no content"),
        Timer::Idle => (limits.idle, "sent no more of its response"),
        Timer::EventIdle => (limits.event_idle, "sent heartbeats but no more content"),
        Timer::Write => (limits.write, "stopped reading the request"),
        Timer::Total => (limits.total, "did not complete its response"),
    };
    let limit = limit.unwrap_or(Duration::ZERO);
    let text = format!("{host} {what} within {limit:?} ({timer} timeout)");
    Error::new(ErrorKind::Timeout(timer), text)
}

/// No connection was established.
pub(crate) fn connecting(host: &str, error: ConnectError, limits: &Timeouts) -> Error {
    let error: &(dyn StdError + 'static) = &*error;
    if let Some(ResolveError(cause)) = find_source(error) {
        let text = format!("could not resolve {host}: {cause}");
        return Error::new(ErrorKind::Dns, text);
    }
    if let Some(cause) = find_source::<rustls::Error>(error) {
        return tls(host, cause);
    }
    if let Some(ProxyError(reason)) = find_source(error) {
        let text = format!("the proxy did not connect to {host}: {reason}");
        return Error::new(ErrorKind::Connect, text);
    }
    let Some(cause) = find_source::<io::Error>(error) else {
        let text = format!("could not connect to {host}: {error}");
        return Error::new(ErrorKind::Connect, text);
    };
    match cause.kind() {
        io::ErrorKind::TimedOut => timeout(host, Timer::Connect, limits),
        io::ErrorKind::UnexpectedEof => {
            let text = format!("{host} closed the connection during the TLS handshake");
            Error::new(ErrorKind::Connect, text)
        }
        _ => Error::new(
            ErrorKind::Connect,
            format!("could not connect to {host}: {cause}"),
        ),
    }
}

fn tls(host: &str, cause: &rustls::Error) -> Error {
    use CertificateError as Certificate;
    let reason = match cause {
        rustls::Error::InvalidCertificate(certificate) => match certificate {
            Certificate::Expired | Certificate::ExpiredContext { .. } => "it has expired",
            Certificate::NotValidYet | Certificate::NotValidYetContext { .. } => {
                "it is not valid yet"
            }
            Certificate::NotValidForName | Certificate::NotValidForNameContext { .. } => {
                "it was issued for another host"
            }
            // The latter two: a trusted root has the same name but a different key.
            Certificate::UnknownIssuer
            | Certificate::BadSignature
            | Certificate::UnsupportedSignatureAlgorithmForPublicKeyContext { .. } => {
                "its issuer is unknown"
            }
            Certificate::Revoked => "it was revoked",
            _ => "it is malformed or not permitted",
        },
        rustls::Error::InvalidMessage(_) => {
            let text = format!("{host} did not respond with TLS; does its URL need http://?");
            return Error::new(ErrorKind::Tls, text);
        }
        rustls::Error::General(_) => {
            let text = format!(
                "the certificate of {host} cannot be verified without root certificates; \
                 install the ca-certificates package or set SSL_CERT_FILE"
            );
            return Error::new(ErrorKind::Tls, text);
        }
        other => {
            let text = format!("the TLS handshake with {host} failed: {other}");
            return Error::new(ErrorKind::Tls, text);
        }
    };
    let text = format!("the certificate of {host} is not trusted: {reason}");
    Error::new(ErrorKind::Tls, text)
}

/// The exchange failed before the response head.
pub(crate) fn sending(host: &str, error: &hyper::Error) -> Error {
    if let Some(cause) = find_source::<h2::Error>(error) {
        if was_refused(cause) {
            let text = format!("{host} was_refused the request before processing it");
            return Error::new(ErrorKind::NeverSent, text);
        }
        return http2(host, cause);
    }
    if error.is_parse() {
        let text = format!("{host} sent a response that is not HTTP or has too large a head");
        return Error::new(ErrorKind::BadResponse, text);
    }
    let text = format!("{host} closed the connection without a response");
    Error::new(ErrorKind::ConnectionLost, text)
}

/// Whether the server did not process the request: REFUSED_STREAM, or a GOAWAY
/// whose last stream id is below the stream's (RFC 9113, section 8.7).
fn was_refused(error: &h2::Error) -> bool {
    let refused_stream = error.reason() == Some(h2::Reason::REFUSED_STREAM);
    error.is_remote() && (refused_stream || error.is_go_away())
}

/// The response body was interrupted.
pub(crate) fn receiving(host: &str, error: &hyper::Error) -> Error {
    if let Some(cause) = find_source::<h2::Error>(error) {
        return http2(host, cause);
    }
    let cause = find_source::<io::Error>(error).map(io::Error::kind);
    match cause {
        Some(io::ErrorKind::UnexpectedEof) => truncated(host),
        Some(io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput | io::ErrorKind::Other) => {
            let text = format!("{host} sent a response with invalid framing");
            Error::new(ErrorKind::BadResponse, text)
        }
        _ if error.is_incomplete_message() => truncated(host),
        _ => {
            let text = format!("{host} closed the connection in the middle of its response");
            Error::new(ErrorKind::ConnectionLost, text)
        }
    }
}

fn truncated(host: &str) -> Error {
    let text = format!("{host} ended its response before it was complete");
    Error::new(ErrorKind::Truncated, text)
}

fn http2(host: &str, cause: &h2::Error) -> Error {
    match cause.reason() {
        Some(reason) if cause.is_remote() => {
            let text = format!("{host} reset the HTTP/2 stream: {}", reason.description());
            Error::new(ErrorKind::ConnectionLost, text)
        }
        Some(reason) => {
            let text = format!(
                "{host} violated the HTTP/2 protocol: {}",
                reason.description()
            );
            Error::new(ErrorKind::BadResponse, text)
        }
        None => {
            let text = format!("{host} closed the HTTP/2 connection");
            Error::new(ErrorKind::ConnectionLost, text)
        }
    }
}

/// A response that cannot be used.
pub(crate) fn bad_response(host: &str, what: impl std::fmt::Display) -> Error {
    Error::new(ErrorKind::BadResponse, format!("{host} {what}"))
}

/// The first error of type `E` in the source chain. `source` of an `io::Error`
/// skips the wrapped error itself, so that one is inspected as well.
fn find_source<'a, E: StdError + 'static>(error: &'a (dyn StdError + 'static)) -> Option<&'a E> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref::<E>() {
            return Some(found);
        }
        let inside = error
            .downcast_ref::<io::Error>()
            .and_then(io::Error::get_ref);
        if let Some(inside) = inside
            && let Some(found) = find_source::<E>(inside)
        {
            return Some(found);
        }
        next = error.source();
    }
    None
}
