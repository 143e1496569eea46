//! The W3C Trace Context headers of a request.

use std::fmt;

use http::{HeaderMap, HeaderName};

static TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");
static TRACESTATE: HeaderName = HeaderName::from_static("tracestate");

/// Longest `traceparent`: version 00 has 55 bytes, later ones may append fields.
const LONGEST_PARENT: usize = 256;
/// Longest forwarded `tracestate`, the minimum that vendors must propagate.
const LONGEST_STATE: usize = 512;

/// The headers `traceparent` and `tracestate`, as received.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TraceParent {
    /// The header `traceparent`; not validated.
    pub traceparent: String,
    /// The header `tracestate`; not validated.
    pub tracestate: Option<String>,
}

impl TraceParent {
    /// Reads the headers; `None` without exactly one `traceparent`.
    pub(crate) fn of(headers: &HeaderMap) -> Option<Self> {
        Some(Self {
            traceparent: only(headers, &TRACEPARENT, LONGEST_PARENT)?,
            tracestate: only(headers, &TRACESTATE, LONGEST_STATE),
        })
    }

    /// The ids of a well-formed `traceparent`.
    pub(crate) fn ids(&self) -> Option<SpanIds> {
        read_traceparent(&self.traceparent)
    }
}

/// A span, as `traceparent` names it. Displays as that header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SpanIds {
    /// The trace.
    pub trace: [u8; 16],
    /// The span within it.
    pub span: [u8; 8],
    /// Whether the trace is recorded.
    pub sampled: bool,
}

impl SpanIds {
    /// A span of the gateway: in the client's trace, or in a new one.
    pub(crate) fn below(parent: Option<Self>) -> Self {
        let random = || fastrand::u64(1..);
        let new_trace = || (u128::from(random()) << 64 | u128::from(random())).to_be_bytes();
        Self {
            trace: parent.map_or_else(new_trace, |parent| parent.trace),
            span: random().to_be_bytes(),
            sampled: parent.is_none_or(|parent| parent.sampled),
        }
    }
}

impl fmt::Display for SpanIds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (trace, span) = (
            u128::from_be_bytes(self.trace),
            u64::from_be_bytes(self.span),
        );
        write!(
            f,
            "00-{trace:032x}-{span:016x}-{:02x}",
            u8::from(self.sampled)
        )
    }
}

/// `version-trace-span-flags`; later versions may append fields.
fn read_traceparent(text: &str) -> Option<SpanIds> {
    let mut fields = text.split('-');
    let version = hex::<1>(fields.next()?)?;
    let trace: [u8; 16] = hex(fields.next()?)?;
    let span: [u8; 8] = hex(fields.next()?)?;
    let flags = hex::<1>(fields.next()?)?;
    let ends = fields.next().is_none();
    let known = match version {
        [0] => ends,
        [0xff] => false,
        _ => true,
    };
    let named = trace != [0; 16] && span != [0; 8];
    (known && named).then_some(SpanIds {
        trace,
        span,
        sampled: flags[0] & 1 == 1,
    })
}

/// `N` bytes in lowercase hexadecimal.
fn hex<const N: usize>(text: &str) -> Option<[u8; N]> {
    let digits = text.as_bytes();
    if digits.len() != 2 * N {
        return None;
    }
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    let mut bytes = [0; N];
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = digit(pair[0])? << 4 | digit(pair[1])?;
    }
    Some(bytes)
}

/// A header that occurs exactly once, as text.
fn only(headers: &HeaderMap, name: &HeaderName, longest: usize) -> Option<String> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?.to_str().ok()?.trim();
    let valid = values.next().is_none() && value.len() <= longest;
    valid.then(|| value.to_owned())
}
