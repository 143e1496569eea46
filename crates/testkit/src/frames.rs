//! HTTP/2 frames to send from a [`Script`](crate::Script) or a raw client, true or
//! false.

use bytes::{BufMut, Bytes, BytesMut};

/// The type of a DATA frame.
pub const DATA: u8 = 0;
/// The type of a HEADERS frame.
pub const HEADERS: u8 = 1;

/// The type of a RST_STREAM frame.
pub const RST_STREAM: u8 = 3;
/// The type of a SETTINGS frame.
pub const SETTINGS: u8 = 4;
/// The type of a PING frame.
pub const PING: u8 = 6;
/// The type of a GOAWAY frame.
pub const GOAWAY: u8 = 7;
/// The type of a WINDOW_UPDATE frame.
pub const WINDOW_UPDATE: u8 = 8;
/// The type of a CONTINUATION frame.
pub const CONTINUATION: u8 = 9;
/// The flag of a frame that ends its stream.
pub const END_STREAM: u8 = 1;
/// The flag of a frame that ends its headers.
pub const END_HEADERS: u8 = 4;
/// What every client sends first.
pub const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

const ACK: u8 = 1;
/// The setting that says how much may be sent on a new stream.
const INITIAL_WINDOW_SIZE: u16 = 4;

/// The server's settings; every connection begins with them.
pub fn settings() -> Bytes {
    frame(SETTINGS, 0, 0, &[])
}

/// The acknowledgement of the client's settings.
pub fn settings_ack() -> Bytes {
    frame(SETTINGS, ACK, 0, &[])
}

/// Settings that let a new stream be sent this much.
pub fn window_settings(size: u32) -> Bytes {
    let mut payload = INITIAL_WINDOW_SIZE.to_be_bytes().to_vec();
    payload.extend_from_slice(&size.to_be_bytes());
    frame(SETTINGS, 0, 0, &payload)
}

/// Lets more be sent, on a stream or (0) on all together.
pub fn window_update(stream: u32, more: u32) -> Bytes {
    frame(WINDOW_UPDATE, 0, stream, &more.to_be_bytes())
}

/// The head of a POST to this path, with a key; its body is to come.
pub fn post(stream: u32, path: &str, key: &str) -> Bytes {
    frame(HEADERS, END_HEADERS, stream, &post_block(path, key))
}

/// The header block of [`post`].
pub fn post_block(path: &str, key: &str) -> Vec<u8> {
    // Entries of the static table: ":method POST" and ":scheme http".
    let mut block = vec![0x83, 0x86];
    // Values as they are, under the names ":path", ":authority" and "authorization".
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

/// Any frame, also one that must not be.
pub fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Bytes {
    let mut frame = BytesMut::with_capacity(9 + payload.len());
    frame.put_uint(payload.len() as u64, 3);
    frame.put_u8(kind);
    frame.put_u8(flags);
    frame.put_u32(stream);
    frame.put_slice(payload);
    frame.freeze()
}
