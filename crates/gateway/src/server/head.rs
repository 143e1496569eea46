//! Looks at the raw head of a request for what two readers could read in two ways.
//!
//! The HTTP library forgives some of it (a length beside chunks, a length given
//! twice, bare line feeds) and hides it from us. Somebody in front of us may have
//! read it the other way, so such a head is refused.

use memchr::memchr_iter;

/// The longest head, request line apart.
const LARGEST_HEADERS: usize = 16 * 1024;

/// How the body ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Framing {
    /// After so many bytes.
    Length(u64),
    /// With its last chunk.
    Chunked,
}

/// A head that is not served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Refused {
    pub(super) status: u16,
    pub(super) text: &'static str,
}

/// What is said of a path beyond all bounds.
pub(super) const TOO_LONG: Refused = Refused {
    status: 414,
    text: "the path is longer than 8 KiB",
};

/// A head that was looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Head {
    /// Where it ends.
    pub(super) end: usize,
    pub(super) framing: Result<Framing, Refused>,
}

/// Looks at a head; none until all of it is there.
pub(super) fn look(bytes: &[u8]) -> Option<Head> {
    let mut lines = Lines::default();
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
            return Some(Head {
                end: start,
                framing: lines.judge(),
            });
        }
    }
    None
}

#[derive(Default)]
struct Lines {
    /// The length of the request line, once it was seen.
    request: Option<usize>,
    headers: usize,
    lengths: usize,
    length: Option<u64>,
    encodings: usize,
    chunked: bool,
    bare_feed: bool,
}

impl Lines {
    fn take(&mut self, line: &[u8]) {
        if self.request.is_none() {
            self.request = Some(line.len());
            return;
        }
        self.headers += line.len() + 2;
        // Only two names matter here; most lines are passed by their first letter.
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

    fn judge(&self) -> Result<Framing, Refused> {
        let refuse = |status, text| Err(Refused { status, text });
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
                None => refuse(400, "the content-length is no number"),
            },
            (1, 0) if self.chunked => Ok(Framing::Chunked),
            (0, _) => refuse(400, "the content-length is given more than once"),
            (_, 0) => refuse(400, "the only transfer-encoding here is `chunked`"),
            _ => refuse(
                400,
                "content-length and transfer-encoding exclude each other",
            ),
        }
    }
}

/// The value of a line, if it has this name.
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
        let head = look(text.as_bytes()).unwrap();
        assert_eq!(head.end, text.len() - 4, "{headers:?}");
        head.framing.map_err(|refused| refused.status)
    }

    #[test]
    fn a_head_says_in_one_way_how_its_body_ends() {
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
    fn empty_lines_before_the_request_are_no_head() {
        assert_eq!(look(b"\r\n\r\n"), None);
        assert_eq!(look(b"\r\nGET / HTTP/1.1\r\n\r\n").unwrap().end, 20);
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic_and_more_bytes_do_not_move_the_end(
            bytes in proptest::collection::vec(any::<u8>(), 0..300),
            more in proptest::collection::vec(any::<u8>(), 0..100),
        ) {
            if let Some(head) = look(&bytes) {
                let longer = [bytes.as_slice(), &more].concat();
                prop_assert_eq!(look(&longer), Some(head));
            }
        }
    }
}
