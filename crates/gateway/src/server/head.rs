//! Scans a raw request head for ambiguous framing (RFC 9112, section 6.3).
//!
//! Hyper tolerates some ambiguities (a length together with chunks, a repeated length, bare
//! line feeds) and hides them. A proxy in front of the gateway may parse it differently, which
//! allows request smuggling, so such heads are rejected.

use memchr::memchr_iter;

/// Longest head, without the request line.
const LARGEST_HEADERS: usize = 16 * 1024;

/// How the body is delimited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Framing {
    /// By its length.
    Length(u64),
    /// By its last chunk.
    Chunked,
}

/// Why a head is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RejectedHead {
    pub(super) status: u16,
    pub(super) text: &'static str,
}

/// Rejection of an overlong path.
pub(super) const TOO_LONG: RejectedHead = RejectedHead {
    status: 414,
    text: "the path is longer than 8 KiB",
};

/// A complete head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ScannedHead {
    /// Offset of its end.
    pub(super) end: usize,
    pub(super) framing: Result<Framing, RejectedHead>,
}

/// Scans a head; none if it is incomplete.
pub(super) fn scan_head(bytes: &[u8]) -> Option<ScannedHead> {
    let mut lines = HeadScanner::default();
    let mut start = 0;
    for feed in memchr_iter(b'\n', bytes) {
        let line = &bytes[start..feed];
        start = feed + 1;
        let line = line.strip_suffix(b"\r").unwrap_or_else(|| {
            lines.bare_feed = true;
            line
        });
        if !line.is_empty() {
            lines.take(line);
        } else if lines.request.is_some() {
            return Some(ScannedHead {
                end: start,
                framing: lines.framing(),
            });
        }
    }
    None
}

#[derive(Default)]
struct HeadScanner {
    /// Length of the request line, once seen.
    request: Option<usize>,
    headers: usize,
    lengths: usize,
    length: Option<u64>,
    encodings: usize,
    chunked: bool,
    bare_feed: bool,
}

impl HeadScanner {
    fn take(&mut self, line: &[u8]) {
        if self.request.is_none() {
            self.request = Some(line.len());
            return;
        }
        self.headers += line.len() + 2;
        // Only two names matter; the first letter rules out most lines.
        match line[0] | 0x20 {
            b'c' => {
                if let Some(value) = value(line, b"content-length") {
                    self.lengths += 1;
                    self.length = digits(value);
                }
            }
            b't' => {
                if let Some(value) = value(line, b"transfer-encoding") {
                    self.encodings += 1;
                    self.chunked = value.eq_ignore_ascii_case(b"chunked");
                }
            }
            _ => {}
        }
    }

    fn framing(&self) -> Result<Framing, RejectedHead> {
        let refuse = |status, text| Err(RejectedHead { status, text });
        if self.bare_feed {
            return refuse(400, "a line of the head ends without a carriage return");
        }
        if self.headers > LARGEST_HEADERS {
            return refuse(431, "the headers are longer than 16 KiB");
        }
        match (self.encodings, self.lengths) {
            (0, 0) => Ok(Framing::Length(0)),
            (0, 1) => match self.length {
                Some(length) => Ok(Framing::Length(length)),
                None => refuse(400, "the content-length is not a number"),
            },
            (1, 0) if self.chunked => Ok(Framing::Chunked),
            (0, _) => refuse(400, "the content-length is given more than once"),
            (_, 0) => refuse(400, "the only supported transfer-encoding is `chunked`"),
            _ => refuse(
                400,
                "content-length and transfer-encoding are mutually exclusive",
            ),
        }
    }
}

/// The value of a header line with this name.
fn value<'a>(line: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let (found, rest) = line.split_at_checked(name.len())?;
    if !found.eq_ignore_ascii_case(name) {
        return None;
    }
    Some(rest.trim_ascii_start().strip_prefix(b":")?.trim_ascii())
}

fn digits(text: &[u8]) -> Option<u64> {
    let plain = !text.is_empty() && text.iter().all(u8::is_ascii_digit);
    let text = std::str::from_utf8(text).ok().filter(|_| plain)?;
    text.parse().ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn framing(headers: &str) -> Result<Framing, u16> {
        let text = format!("POST / HTTP/1.1\r\nhost: x\r\n{headers}\r\nbody");
        let head = scan_head(text.as_bytes()).unwrap();
        assert_eq!(head.end, text.len() - 4, "{headers:?}");
        head.framing.map_err(|rejected| rejected.status)
    }

    #[test]
    fn ambiguous_framing_is_rejected() {
        let long = format!("x: {}\r\n", "y".repeat(17 * 1024));
        let rows: [(&str, Result<Framing, u16>); 19] = [
            ("", Ok(Framing::Length(0))),
            ("content-length: 3\r\n", Ok(Framing::Length(3))),
            ("Content-Length:3 \r\n", Ok(Framing::Length(3))),
            ("transfer-encoding: chunked\r\n", Ok(Framing::Chunked)),
            ("Transfer-Encoding: Chunked\r\n", Ok(Framing::Chunked)),
            (
                "content-length: 3\r\ntransfer-encoding: chunked\r\n",
                Err(400),
            ),
            (
                "transfer-encoding: chunked\r\ncontent-length: 3\r\n",
                Err(400),
            ),
            ("content-length: 3\r\ncontent-length: 3\r\n", Err(400)),
            ("content-length: 3\r\ncontent-length: 4\r\n", Err(400)),
            ("content-length: +3\r\n", Err(400)),
            ("content-length: 0x3\r\n", Err(400)),
            ("content-length: 3,3\r\n", Err(400)),
            ("content-length: 99999999999999999999999\r\n", Err(400)),
            ("transfer-encoding: xchunked\r\n", Err(400)),
            ("transfer-encoding: gzip, chunked\r\n", Err(400)),
            ("transfer-encoding: chunked, chunked\r\n", Err(400)),
            ("transfer-encoding: chunked;q=1\r\n", Err(400)),
            ("x: y\nz: a\r\n", Err(400)),
            (&long, Err(431)),
        ];
        for (headers, expected) in rows {
            assert_eq!(framing(headers), expected, "{headers:?}");
        }
    }

    #[test]
    fn empty_lines_before_the_request_line_are_skipped() {
        assert_eq!(scan_head(b"\r\n\r\n"), None);
        assert_eq!(scan_head(b"\r\nGET / HTTP/1.1\r\n\r\n").unwrap().end, 20);
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_never_panic_and_more_bytes_do_not_move_the_end(
            bytes in proptest::collection::vec(any::<u8>(), 0..300),
            more in proptest::collection::vec(any::<u8>(), 0..100),
        ) {
            if let Some(head) = scan_head(&bytes) {
                let longer = [bytes.as_slice(), &more].concat();
                prop_assert_eq!(scan_head(&longer), Some(head));
            }
        }
    }
}
