//! WebP files. There is no lossy encoder in Rust, so three small files are kept as text.

use bytes::Bytes;
use image_webp::{ColorType, WebPEncoder};

use super::{Draw, rgb};

/// 48×32, lossy: red grows to the right, green downwards, blue to the left.
pub const LOSSY: &str = "\
    524946467e000000574542505650382072000000d003009d012a3000200002c04c25b002ecce13e67ecdf601cd\
    52e0013761caa927e8d40035ff3800fef6a882b98bcd26fcfffadefbdf9379f0703f6f220c84cd0b4dc3c26bc6\
    de15b94940a9c1b8f05e3bbc98f418ffa203e1af2a63780e182d9bf191f327f33df7042c77dab06fd8000000\
";

/// 48×32, lossy: as [`LOSSY`], its left half transparent.
pub const LOSSY_ALPHA: &str = "\
    524946469a00000057454250565038580a000000100000002f00001f0000414c504813000000010f30ff111142\
    2c98cc5f3a83ee88fe07aa730056503820600000005004009d012a300020003eb5429b4bae23a2a1babcc801c0\
    16896400800c204174367acbca0e701261980000fef9d19aaa66f2d45031ffec84c502fffe4dcd496893bfa4e1\
    7d7064010b7fe850fb6b99b3ffcd37d12f8942bf3b957367000000\
";

/// 48×32, lossy, three frames: red, green, blue.
pub const ANIMATED: &str = "\
    524946464a01000057454250565038580a000000020000002f00001f0000414e494d0600000000000000000041\
    4e4d46600000000000000000002f00001f00006400000256503820480000007003009d012a300020003ed166ad\
    512825a422a56801001a096700caa680002cbf20b00000feeb36ffe84d8f6a2bfff424ffe26cff89b3e115fe02\
    41760fe8120b63c6a773000000414e4d46560000000000000000002f00001f000064000000565038203e000000\
    f402009d012a300020003ed166ad510256800001a096700caa680002cbf2dd3800feeb8e5fd7ccb385fcff8de6\
    f35ad6ffa04c64c9fd02632cc5559dc000414e4d46580000000000000000002f00001f00006400000056503820\
    40000000b402009d012a300020003ed166ad510256800001a096700ca780f4f4536000fef09b43ffd093fff89b\
    3ffe9367c22b8c2692747facf264ff59e56778db000000\
";

/// Decodes one of the hexadecimal texts above.
pub fn file(hex: &str) -> Bytes {
    let digit = |byte: u8| (byte as char).to_digit(16).unwrap() as u8;
    let pairs = hex.as_bytes().chunks(2);
    pairs
        .map(|pair| digit(pair[0]) << 4 | digit(pair[1]))
        .collect()
}

pub fn lossless(width: u32, height: u32, draw: Draw) -> Bytes {
    let mut out = Vec::new();
    WebPEncoder::new(&mut out)
        .encode(&rgb(width, height, draw), width, height, ColorType::Rgb8)
        .unwrap();
    out.into()
}

/// A RIFF container of these chunks.
pub fn riff(chunks: &[(&[u8; 4], Vec<u8>)]) -> Bytes {
    let mut out = b"RIFF\0\0\0\0WEBP".to_vec();
    for (name, body) in chunks {
        out.extend_from_slice(*name);
        out.extend_from_slice(&(body.len() as u32).to_le_bytes());
        out.extend_from_slice(body);
        out.resize(out.len() + body.len() % 2, 0);
    }
    let size = out.len() as u32 - 8;
    out[4..8].copy_from_slice(&size.to_le_bytes());
    out.into()
}

/// A VP8X chunk: flags and canvas.
pub fn vp8x(flags: u8, width: u32, height: u32) -> Vec<u8> {
    let mut body = vec![flags, 0, 0, 0];
    body.extend_from_slice(&(width - 1).to_le_bytes()[..3]);
    body.extend_from_slice(&(height - 1).to_le_bytes()[..3]);
    body
}

/// The chunks of a file.
pub fn chunks(data: &[u8]) -> Vec<([u8; 4], Vec<u8>)> {
    let mut rest = &data[12..];
    let mut found = Vec::new();
    while rest.len() >= 8 {
        let length = u32::from_le_bytes(rest[4..8].try_into().unwrap()) as usize;
        found.push((rest[..4].try_into().unwrap(), rest[8..8 + length].to_vec()));
        rest = &rest[(8 + length + length % 2).min(rest.len())..];
    }
    found
}

/// A lossless file of one colour: a few bytes, whatever its size.
pub fn blank_lossless(width: u32, height: u32) -> Bytes {
    riff(&[(b"VP8L", blank_vp8l(width, height))])
}

/// Two frames of one colour, the first a little smaller than the canvas.
pub fn blank_animation(width: u32, height: u32) -> Bytes {
    let smaller = |length: u32| if length > 1 { length - 1 } else { length };
    let (w, h) = (smaller(width), smaller(height));
    let mut frame = vec![0; 6];
    frame.extend_from_slice(&(w - 1).to_le_bytes()[..3]);
    frame.extend_from_slice(&(h - 1).to_le_bytes()[..3]);
    frame.extend_from_slice(&[100, 0, 0, 0]);
    frame.extend_from_slice(&riff(&[(b"VP8L", blank_vp8l(w, h))])[12..]);
    riff(&[
        (b"VP8X", vp8x(0x12, width, height)),
        (b"ANIM", vec![0; 6]),
        (b"ANMF", frame.clone()),
        (b"ANMF", frame),
    ])
}

/// A lossy file of one colour whose alpha channel is lossless.
pub fn blank_lossy_alpha(width: u32, height: u32) -> Bytes {
    let alpha = [&[1], &blank_vp8l(width, height)[5..]].concat();
    riff(&[
        (b"VP8X", vp8x(0x10, width, height)),
        (b"ALPH", alpha),
        (b"VP8 ", blank_vp8(width, height)),
    ])
}

/// The header, no transform, no cache, no regions, five codes of one symbol each.
fn blank_vp8l(width: u32, height: u32) -> Vec<u8> {
    let mut out = vec![0x2F];
    out.extend_from_slice(&((width - 1) | (height - 1) << 14 | 1 << 28).to_le_bytes());
    // Bits, the lowest first: three zeros, then for each code 1, 0, 0 and the symbol 0.
    let mut bits = 0_u64;
    for code in 0..5 {
        bits |= 1 << (3 + code * 4);
    }
    out.extend_from_slice(&bits.to_le_bytes());
    out
}

/// A key frame whose macroblocks are all skipped: zeros decode to the most probable modes.
fn blank_vp8(width: u32, height: u32) -> Vec<u8> {
    // Modes take at most a few bits for each macroblock.
    let modes = (width.div_ceil(16) * height.div_ceil(16)) as usize / 2 + 200;
    let tag = 1 << 4 | (modes as u32) << 5;
    let mut out = tag.to_le_bytes()[..3].to_vec();
    out.extend_from_slice(b"\x9D\x01\x2A");
    out.extend_from_slice(&(width as u16).to_le_bytes());
    out.extend_from_slice(&(height as u16).to_le_bytes());
    // An end-of-block token takes a third of a bit, and a macroblock has 24 of them.
    let tokens = 2 * modes + 64;
    out.resize(out.len() + modes + tokens, 0);
    out
}
