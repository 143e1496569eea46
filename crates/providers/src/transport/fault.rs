//! Every failure of an exchange, as an error that a person can act on.
//!
//! Texts name the host and never the path: keys have been seen in both path
//! and query. What HTTP crates print is used as a cause only where it is known
//! to hold no address.

use std::error::Error as StdError;
use std::io;
use std::time::Duration;

use majordomo_llm::{Error, ErrorKind, Timer};
use rustls::CertificateError;

use super::Timeouts;
use super::dial::{DialError, ProxyRefusal, ResolveError};

/// One of our own timers ran out.
pub(crate) fn timeout(host: &str, timer: Timer, limits: &Timeouts) -> Error {
    let (limit, what) = match timer {
        Timer::Connect => (limits.connect, "did not let us connect"),
        Timer::FirstByte => (limits.first_byte, "sent no byte of its answer"),
        Timer::FirstEvent => (limits.first_event, "sent nothing that carries content"),
        Timer::Idle => (limits.idle, "fell silent in the middle of its answer"),
        Timer::EventIdle => (limits.event_idle, "sent signs of life but no more content"),
        Timer::Write => (limits.write, "stopped taking the request"),
        Timer::Total => (limits.total, "did not finish its answer"),
    };
    let limit = limit.unwrap_or(Duration::ZERO);
    let text = format!("{host} {what} within {limit:?} (the {timer} timer)");
    Error::new(ErrorKind::Timeout(timer), text)
}

/// No connection came about.
pub(crate) fn dialing(host: &str, error: DialError, limits: &Timeouts) -> Error {
    let error: &(dyn StdError + 'static) = &*error;
    if let Some(ResolveError(cause)) = find(error) {
        let text = format!("the name of {host} could not be resolved: {cause}");
        return Error::new(ErrorKind::Dns, text);
    }
    if let Some(cause) = find::<rustls::Error>(error) {
        return tls(host, cause);
    }
    if let Some(ProxyRefusal(reason)) = find(error) {
        let text = format!("the proxy did not connect us to {host}: {reason}");
        return Error::new(ErrorKind::Connect, text);
    }
    let Some(cause) = find::<io::Error>(error) else {
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
                "it belongs to another host"
            }
            // The last two: somebody of the signer's name is trusted, but it is not them.
            Certificate::UnknownIssuer
            | Certificate::BadSignature
            | Certificate::UnsupportedSignatureAlgorithmForPublicKeyContext { .. } => {
                "nobody that this machine trusts has signed it"
            }
            Certificate::Revoked => "it was revoked",
            _ => "it is malformed or not allowed here",
        },
        rustls::Error::InvalidMessage(_) => {
            let text = format!("{host} does not speak TLS; is it an http:// address?");
            return Error::new(ErrorKind::Tls, text);
        }
        rustls::Error::General(_) => {
            let text = format!(
                "{host} cannot be trusted because this machine has no root certificates; \
                 install its ca-certificates package or set SSL_CERT_FILE"
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

/// The head of an answer never came.
pub(crate) fn sending(host: &str, error: &hyper::Error) -> Error {
    if let Some(cause) = find::<h2::Error>(error) {
        if refused(cause) {
            let text = format!("{host} turned the request away before looking at it");
            return Error::new(ErrorKind::NeverSent, text);
        }
        return http2(host, cause);
    }
    if error.is_parse() {
        let text = format!("{host} did not answer in HTTP, or with a head beyond all bounds");
        return Error::new(ErrorKind::BadResponse, text);
    }
    let text = format!("{host} closed the connection without an answer");
    Error::new(ErrorKind::ConnectionLost, text)
}

/// The server never processed it: a refused stream, or a GOAWAY that counts
/// our stream among those after the last one.
fn refused(error: &h2::Error) -> bool {
    let refused_stream = error.reason() == Some(h2::Reason::REFUSED_STREAM);
    error.is_remote() && (refused_stream || error.is_go_away())
}

/// The body of an answer broke off.
pub(crate) fn receiving(host: &str, error: &hyper::Error) -> Error {
    if let Some(cause) = find::<h2::Error>(error) {
        return http2(host, cause);
    }
    let cause = find::<io::Error>(error).map(io::Error::kind);
    match cause {
        Some(io::ErrorKind::UnexpectedEof) => truncated(host),
        Some(io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput | io::ErrorKind::Other) => {
            let text = format!("{host} broke the framing of its answer");
            Error::new(ErrorKind::BadResponse, text)
        }
        _ if error.is_incomplete_message() => truncated(host),
        _ => {
            let text = format!("{host} broke the connection in the middle of its answer");
            Error::new(ErrorKind::ConnectionLost, text)
        }
    }
}

fn truncated(host: &str) -> Error {
    let text = format!("{host} ended its answer before it was complete");
    Error::new(ErrorKind::Truncated, text)
}

fn http2(host: &str, cause: &h2::Error) -> Error {
    match cause.reason() {
        Some(reason) if cause.is_remote() => {
            let text = format!("{host} reset the HTTP/2 stream: {}", reason.description());
            Error::new(ErrorKind::ConnectionLost, text)
        }
        Some(reason) => {
            let text = format!("{host} broke the HTTP/2 protocol: {}", reason.description());
            Error::new(ErrorKind::BadResponse, text)
        }
        None => {
            let text = format!("{host} broke the HTTP/2 connection");
            Error::new(ErrorKind::ConnectionLost, text)
        }
    }
}

/// An answer that nobody can use.
pub(crate) fn bad_response(host: &str, what: impl std::fmt::Display) -> Error {
    Error::new(ErrorKind::BadResponse, format!("{host} {what}"))
}

/// The first error of this type in a chain of causes. An `io::Error` hides the
/// one inside it from `source`, so that is looked at, too.
fn find<'a, E: StdError + 'static>(error: &'a (dyn StdError + 'static)) -> Option<&'a E> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref::<E>() {
            return Some(found);
        }
        let inside = error
            .downcast_ref::<io::Error>()
            .and_then(io::Error::get_ref);
        if let Some(inside) = inside
            && let Some(found) = find::<E>(inside)
        {
            return Some(found);
        }
        next = error.source();
    }
    None
}
