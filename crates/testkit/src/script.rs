//! Scripts of an upstream's behaviour on a connection.

use std::time::Duration;

use bytes::Bytes;

use crate::Identity;

/// The steps of a connection, which is closed after the last one.
#[derive(Clone, Debug, Default)]
pub struct Script {
    pub(crate) steps: Vec<ScriptStep>,
}

#[derive(Clone, Debug)]
pub(crate) enum ScriptStep {
    StartTls(Identity),
    ReadHead,
    ReadBody,
    ReadBytes(usize),
    ReadFrame(u8),
    Send(Bytes),
    Drip(Bytes, Duration),
    Flood(Bytes),
    Wait(Duration),
    Stall,
    ExpectClose(Duration),
    ShutWrite,
    Reset,
}

impl Script {
    /// An empty script, which closes the connection as soon as it is accepted.
    pub fn new() -> Self {
        Self::default()
    }

    /// Continues the connection over TLS.
    #[must_use]
    pub fn start_tls(self, identity: &Identity) -> Self {
        self.then(ScriptStep::StartTls(identity.clone()))
    }

    /// Reads a request line and headers.
    #[must_use]
    pub fn read_head(self) -> Self {
        self.then(ScriptStep::ReadHead)
    }

    /// Reads the body that the last header announced.
    #[must_use]
    pub fn read_body(self) -> Self {
        self.then(ScriptStep::ReadBody)
    }

    /// Reads a whole request.
    #[must_use]
    pub fn read_request(self) -> Self {
        self.read_head().read_body()
    }

    /// Reads this many bytes.
    #[must_use]
    pub fn read_bytes(self, count: usize) -> Self {
        self.then(ScriptStep::ReadBytes(count))
    }

    /// Reads HTTP/2 frames up to one of this type.
    #[must_use]
    pub fn read_frame(self, kind: u8) -> Self {
        self.then(ScriptStep::ReadFrame(kind))
    }

    /// Sends raw bytes.
    #[must_use]
    pub fn send(self, bytes: impl Into<Bytes>) -> Self {
        self.then(ScriptStep::Send(bytes.into()))
    }

    /// Sends a well-formed response and keeps the connection open.
    #[must_use]
    pub fn respond(self, status: u16, content_type: &str, body: impl Into<Bytes>) -> Self {
        let body = body.into();
        let head = format!(
            "HTTP/1.1 {status} Scripted\r\ncontent-type: {content_type}\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        self.send(head).send(body)
    }

    /// Sends the header of a chunked event stream.
    #[must_use]
    pub fn stream_head(self) -> Self {
        self.send(
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n",
        )
    }

    /// Sends one chunk of a chunked body. It must not be empty: the last chunk is
    /// [`last_chunk`](Self::last_chunk).
    #[must_use]
    pub fn chunk(self, bytes: impl AsRef<[u8]>) -> Self {
        let bytes = bytes.as_ref();
        assert!(!bytes.is_empty(), "an empty chunk ends the body");
        let mut chunk = format!("{:x}\r\n", bytes.len()).into_bytes();
        chunk.extend_from_slice(bytes);
        chunk.extend_from_slice(b"\r\n");
        self.send(chunk)
    }

    /// Ends a chunked body.
    #[must_use]
    pub fn last_chunk(self) -> Self {
        self.send("0\r\n\r\n")
    }

    /// Sends bytes one by one, with a pause after each.
    #[must_use]
    pub fn drip(self, bytes: impl Into<Bytes>, every: Duration) -> Self {
        self.then(ScriptStep::Drip(bytes.into(), every))
    }

    /// Sends the same bytes repeatedly until the peer closes.
    #[must_use]
    pub fn flood(self, bytes: impl Into<Bytes>) -> Self {
        self.then(ScriptStep::Flood(bytes.into()))
    }

    /// Idles for a while, without reading.
    #[must_use]
    pub fn wait(self, time: Duration) -> Self {
        self.then(ScriptStep::Wait(time))
    }

    /// Sends nothing more and reads until the peer closes.
    #[must_use]
    pub fn stall(self) -> Self {
        self.then(ScriptStep::Stall)
    }

    /// Like [`stall`](Self::stall), but fails the test if the peer takes longer than this.
    #[must_use]
    pub fn expect_close(self, within: Duration) -> Self {
        self.then(ScriptStep::ExpectClose(within))
    }

    /// Shuts down the sending half.
    #[must_use]
    pub fn shut_write(self) -> Self {
        self.then(ScriptStep::ShutWrite)
    }

    /// Ends the connection with a TCP reset.
    #[must_use]
    pub fn reset(self) -> Self {
        self.then(ScriptStep::Reset)
    }

    /// Repeats the steps so far this many times.
    #[must_use]
    pub fn times(mut self, count: usize) -> Self {
        let steps = std::mem::take(&mut self.steps);
        for _ in 0..count {
            self.steps.extend_from_slice(&steps);
        }
        self
    }

    fn then(mut self, step: ScriptStep) -> Self {
        self.steps.push(step);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "an empty chunk ends the body")]
    fn an_empty_chunk_is_refused() {
        let _ = Script::new().chunk("");
    }
}
