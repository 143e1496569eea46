//! HTTP/2 frames to send from a [`Script`](crate::Script), true or false.

use bytes::{BufMut, Bytes, BytesMut};

/// The type of a DATA frame.
pub const DATA: u8 = 0;
/// The type of a HEADERS frame.
pub const HEADERS: u8 = 1;

const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const GOAWAY: u8 = 7;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;
const ACK: u8 = 1;

/// The server's settings; every connection begins with them.
pub fn settings() -> Bytes {
    frame(SETTINGS, 0, 0, &[])
}

/// The acknowledgement of the client's settings.
pub fn settings_ack() -> Bytes {
    frame(SETTINGS, ACK, 0, &[])
}

/// The head of an answer with status 200.
pub fn ok(stream: u32) -> Bytes {
    // 0x88 is the entry ":status 200" of the static table.
    frame(HEADERS, END_HEADERS, stream, &[0x88])
}

/// A piece of an answer's body.
pub fn data(stream: u32, bytes: &[u8], last: bool) -> Bytes {
    let flags = if last { END_STREAM } else { 0 };
    frame(DATA, flags, stream, bytes)
}

/// Ends a stream with an error code.
pub fn reset(stream: u32, code: u32) -> Bytes {
    frame(RST_STREAM, 0, stream, &code.to_be_bytes())
}

/// Ends the connection; streams above `last` were never looked at.
pub fn go_away(last: u32, code: u32) -> Bytes {
    let mut payload = last.to_be_bytes().to_vec();
    payload.extend_from_slice(&code.to_be_bytes());
    frame(GOAWAY, 0, 0, &payload)
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Bytes {
    let mut frame = BytesMut::with_capacity(9 + payload.len());
    frame.put_uint(payload.len() as u64, 3);
    frame.put_u8(kind);
    frame.put_u8(flags);
    frame.put_u32(stream);
    frame.put_slice(payload);
    frame.freeze()
}
