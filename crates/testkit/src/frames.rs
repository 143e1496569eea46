//! HTTP/2 frames (RFC 9113), valid or not, to send from a [`Script`](crate::Script) or a
//! raw client.

use bytes::{BufMut, Bytes, BytesMut};

/// DATA frame type.
pub const DATA: u8 = 0;
/// HEADERS frame type.
pub const HEADERS: u8 = 1;

/// RST_STREAM frame type.
pub const RST_STREAM: u8 = 3;
/// SETTINGS frame type.
pub const SETTINGS: u8 = 4;
/// PING frame type.
pub const PING: u8 = 6;
/// GOAWAY frame type.
pub const GOAWAY: u8 = 7;
/// WINDOW_UPDATE frame type.
pub const WINDOW_UPDATE: u8 = 8;
/// CONTINUATION frame type.
pub const CONTINUATION: u8 = 9;
/// END_STREAM flag.
pub const END_STREAM: u8 = 1;
/// END_HEADERS flag.
pub const END_HEADERS: u8 = 4;
/// The client connection preface.
pub const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

const ACK: u8 = 1;
/// SETTINGS_INITIAL_WINDOW_SIZE.
const INITIAL_WINDOW_SIZE: u16 = 4;

/// An empty SETTINGS frame, the first that each peer sends.
pub fn settings() -> Bytes {
    frame(SETTINGS, 0, 0, &[])
}

/// Acknowledges the peer's settings.
pub fn settings_ack() -> Bytes {
    frame(SETTINGS, ACK, 0, &[])
}

/// Sets the initial window size of streams.
pub fn window_settings(size: u32) -> Bytes {
    let mut payload = INITIAL_WINDOW_SIZE.to_be_bytes().to_vec();
    payload.extend_from_slice(&size.to_be_bytes());
    frame(SETTINGS, 0, 0, &payload)
}

/// Enlarges the window of a stream, or of the connection if `stream` is 0.
pub fn window_update(stream: u32, more: u32) -> Bytes {
    frame(WINDOW_UPDATE, 0, stream, &more.to_be_bytes())
}

/// The HEADERS frame of a POST with a bearer key; the body follows in DATA frames.
pub fn post(stream: u32, path: &str, key: &str) -> Bytes {
    frame(HEADERS, END_HEADERS, stream, &post_block(path, key))
}

/// The HPACK block of [`post`].
pub fn post_block(path: &str, key: &str) -> Vec<u8> {
    // Static table entries (RFC 7541, appendix A) ":method POST" and ":scheme http".
    let mut block = vec![0x83, 0x86];
    // Literals without indexing, named ":path", ":authority" and "authorization".
    literal(&mut block, &[0x04], path);
    literal(&mut block, &[0x01], "localhost");
    literal(&mut block, &[0x0f, 0x08], &format!("Bearer {key}"));
    block
}

fn literal(block: &mut Vec<u8>, name: &[u8], value: &str) {
    let length = u8::try_from(value.len())
        .ok()
        .filter(|length| *length < 127);
    block.extend_from_slice(name);
    block.push(length.expect("a value is short"));
    block.extend_from_slice(value.as_bytes());
}

/// The HEADERS frame of a response with status 200.
pub fn ok(stream: u32) -> Bytes {
    // 0x88 is the static table entry ":status 200".
    frame(HEADERS, END_HEADERS, stream, &[0x88])
}

/// A DATA frame; the last one ends the stream.
pub fn data(stream: u32, bytes: &[u8], last: bool) -> Bytes {
    let flags = if last { END_STREAM } else { 0 };
    frame(DATA, flags, stream, bytes)
}

/// Resets a stream.
pub fn reset(stream: u32, code: u32) -> Bytes {
    frame(RST_STREAM, 0, stream, &code.to_be_bytes())
}

/// Ends the connection; streams above `last` were not processed.
pub fn go_away(last: u32, code: u32) -> Bytes {
    let mut payload = last.to_be_bytes().to_vec();
    payload.extend_from_slice(&code.to_be_bytes());
    frame(GOAWAY, 0, 0, &payload)
}

/// Builds a frame without validating it.
pub fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Bytes {
    let mut frame = BytesMut::with_capacity(9 + payload.len());
    frame.put_uint(payload.len() as u64, 3);
    frame.put_u8(kind);
    frame.put_u8(flags);
    frame.put_u32(stream);
    frame.put_slice(payload);
    frame.freeze()
}
