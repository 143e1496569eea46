//! Plays a script on a connection.

use std::io;
use std::time::Duration;

use bytes::{Buf, Bytes, BytesMut};
use socket2::{SockRef, Socket};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::Instant;

use crate::connection_log::ConnectionLog;
use crate::script::ScriptStep;
use crate::{Identity, Request, Script};

trait Io: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Io for T {}

/// Length of the HTTP/2 connection preface.
const PREFACE: usize = 24;

/// Bytes read at a time.
const READ: usize = 256 * 1024;

struct Player {
    io: Option<Box<dyn Io>>,
    /// The same socket, to set SO_LINGER, which turns a close into a reset.
    socket: Socket,
    buffer: BytesMut,
    index: usize,
    log: ConnectionLog,
    past_preface: bool,
}

pub(crate) async fn play(script: Script, stream: TcpStream, index: usize, log: ConnectionLog) {
    stream
        .set_nodelay(true)
        .expect("a new socket takes options");
    let socket = SockRef::from(&stream).try_clone();
    let mut player = Player {
        io: Some(Box::new(stream)),
        socket: socket.expect("a new socket can be shared"),
        buffer: BytesMut::new(),
        index,
        log,
        past_preface: false,
    };
    for step in script.steps {
        if player.take(step).await.is_err() {
            player.note_close();
            return;
        }
    }
}

impl Player {
    async fn take(&mut self, step: ScriptStep) -> io::Result<()> {
        match step {
            ScriptStep::StartTls(identity) => self.start_tls(identity).await,
            ScriptStep::ReadHead => self.read_head().await,
            ScriptStep::ReadBody => self.read_body().await,
            ScriptStep::ReadBytes(count) => self.read_exactly(count).await.map(drop),
            ScriptStep::ReadFrame(kind) => self.read_frame(kind).await,
            ScriptStep::Send(bytes) => self.send(&bytes).await,
            ScriptStep::Drip(bytes, every) => self.drip(bytes, every).await,
            ScriptStep::Flood(bytes) => loop {
                self.send(&bytes).await?;
            },
            ScriptStep::Wait(time) => {
                tokio::time::sleep(time).await;
                Ok(())
            }
            ScriptStep::Stall => {
                self.read_to_end().await;
                Ok(())
            }
            ScriptStep::ExpectClose(within) => {
                self.expect_close(within).await;
                Ok(())
            }
            ScriptStep::ShutWrite => self.io().shutdown().await,
            ScriptStep::Reset => self.socket.set_linger(Some(Duration::ZERO)),
        }
    }

    fn io(&mut self) -> &mut Box<dyn Io> {
        self.io
            .as_mut()
            .expect("a failed handshake ends the script")
    }

    fn note_close(&self) {
        let now = Instant::now();
        self.log.update(self.index, |seen| {
            seen.peer_closed.get_or_insert(now);
        });
    }

    async fn start_tls(&mut self, identity: Identity) -> io::Result<()> {
        let io = self.io.take().expect("a failed handshake ends the script");
        let stream = identity.acceptor().accept(io).await?;
        self.io = Some(Box::new(stream));
        Ok(())
    }

    async fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.io().write_all(bytes).await?;
        self.io().flush().await?;
        self.log
            .update(self.index, |seen| seen.bytes_sent += bytes.len());
        Ok(())
    }

    async fn drip(&mut self, bytes: Bytes, every: Duration) -> io::Result<()> {
        for byte in bytes {
            self.send(&[byte]).await?;
            tokio::time::sleep(every).await;
        }
        Ok(())
    }

    /// Reads once; end of file is an error.
    async fn more(&mut self) -> io::Result<()> {
        let Self { io, buffer, .. } = self;
        let io = io.as_mut().expect("a failed handshake ends the script");
        buffer.reserve(READ);
        match io.read_buf(buffer).await? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            _ => Ok(()),
        }
    }

    async fn read_to_end(&mut self) {
        while self.more().await.is_ok() {
            self.buffer.clear();
        }
        self.note_close();
    }

    async fn expect_close(&mut self, within: Duration) {
        if tokio::time::timeout(within, self.read_to_end())
            .await
            .is_err()
        {
            let index = self.index;
            let text = format!("connection {index} still open after {within:?}");
            self.log.problem(text);
        }
    }

    async fn read_head(&mut self) -> io::Result<()> {
        let end = loop {
            let found = self.buffer.windows(4).position(|it| it == b"\r\n\r\n");
            match found {
                Some(at) => break at + 4,
                None => self.more().await?,
            }
        };
        let head = self.buffer.split_to(end);
        let request = Request {
            head: String::from_utf8_lossy(&head).into_owned(),
            body: Bytes::new(),
            arrived: Instant::now(),
        };
        self.log
            .update(self.index, |seen| seen.requests.push(request));
        Ok(())
    }

    async fn read_body(&mut self) -> io::Result<()> {
        let request = self.log.last_request(self.index);
        let request = request.expect("a head is read before a body");
        let chunked = request.header("transfer-encoding").is_some();
        let length = request.header("content-length");
        let length = length.map_or(0, |it| it.parse().expect("a length is a number"));
        let body = match chunked {
            true => self.read_chunks().await?,
            false => self.read_exactly(length).await?,
        };
        self.log.update(self.index, |seen| {
            if let Some(request) = seen.requests.last_mut() {
                request.body = body;
            }
        });
        Ok(())
    }

    async fn read_exactly(&mut self, length: usize) -> io::Result<Bytes> {
        while self.buffer.len() < length {
            self.more().await?;
        }
        Ok(self.buffer.split_to(length).freeze())
    }

    async fn read_chunks(&mut self) -> io::Result<Bytes> {
        let mut body = BytesMut::new();
        loop {
            let end = loop {
                match self.buffer.windows(2).position(|it| it == b"\r\n") {
                    Some(at) => break at,
                    None => self.more().await?,
                }
            };
            let line = self.buffer.split_to(end + 2);
            let line = std::str::from_utf8(&line[..end]).expect("a chunk size is text");
            let size = usize::from_str_radix(line, 16).expect("a chunk size is a number");
            let chunk = self.read_exactly(size + 2).await?;
            if size == 0 {
                return Ok(body.freeze());
            }
            body.extend_from_slice(&chunk[..size]);
        }
    }

    async fn read_frame(&mut self, kind: u8) -> io::Result<()> {
        if !self.past_preface {
            self.read_exactly(PREFACE).await?;
            self.past_preface = true;
        }
        loop {
            let mut head = self.read_exactly(9).await?;
            let length = head.get_uint(3) as usize;
            let found = head.get_u8();
            self.read_exactly(length).await?;
            if found == kind {
                return Ok(());
            }
        }
    }
}
