//! The subset of HTTP/1.1 that the mock and the load generator need. Both cost far less
//! than the gateway between them, and neither depends on a gateway's code.

use std::io::{Error, ErrorKind, Result};

use tokio::io::{AsyncRead, AsyncReadExt};

/// Returns the index of the first `needle` in `hay`.
pub fn find(needle: &[u8], hay: &[u8]) -> Option<usize> {
    hay.windows(needle.len()).position(|part| part == needle)
}

/// Reads messages from a keep-alive connection, one at a time.
pub struct Messages<R> {
    from: R,
    buffer: Vec<u8>,
}

/// A head and its body, with chunks joined.
pub struct Message {
    pub head: String,
    pub body: Vec<u8>,
}

impl Message {
    /// A header's value; names are case-insensitive.
    fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (found, value) = line.split_once(':')?;
            found.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }
}

impl<R: AsyncRead + Unpin> Messages<R> {
    pub fn new(from: R) -> Self {
        Self {
            from,
            buffer: Vec::with_capacity(64 * 1024),
        }
    }

    /// The next message; `None` once the peer has closed.
    pub async fn next(&mut self) -> Result<Option<Message>> {
        let end = loop {
            if let Some(end) = find(b"\r\n\r\n", &self.buffer) {
                break end + 4;
            }
            if self.more().await? == 0 {
                return Ok(None);
            }
        };
        let head = String::from_utf8_lossy(&self.buffer[..end]).into_owned();
        self.buffer.drain(..end);
        let mut message = Message {
            head,
            body: Vec::new(),
        };
        if let Some(length) = message.header("content-length") {
            let length = length.parse().map_err(|_| broken("a bad length"))?;
            message.body = self.take(length).await?;
        } else if message.header("transfer-encoding").is_some() {
            loop {
                let line = self.line().await?;
                let size = usize::from_str_radix(line.trim(), 16);
                let size = size.map_err(|_| broken("a bad chunk"))?;
                let chunk = self.take(size + 2).await?;
                if size == 0 {
                    break;
                }
                message.body.extend_from_slice(&chunk[..size]);
            }
        }
        Ok(Some(message))
    }

    async fn more(&mut self) -> Result<usize> {
        self.from.read_buf(&mut self.buffer).await
    }

    async fn line(&mut self) -> Result<String> {
        loop {
            if let Some(end) = find(b"\r\n", &self.buffer) {
                let line = String::from_utf8_lossy(&self.buffer[..end]).into_owned();
                self.buffer.drain(..end + 2);
                return Ok(line);
            }
            if self.more().await? == 0 {
                return Err(broken("the end came early"));
            }
        }
    }

    async fn take(&mut self, length: usize) -> Result<Vec<u8>> {
        while self.buffer.len() < length {
            if self.more().await? == 0 {
                return Err(broken("the end came early"));
            }
        }
        Ok(self.buffer.drain(..length).collect())
    }
}

fn broken(text: &str) -> Error {
    Error::new(ErrorKind::InvalidData, text)
}
