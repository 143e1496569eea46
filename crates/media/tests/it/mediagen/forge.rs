//! Files that no encoder would write.

use bytes::Bytes;
use miniz_oxide::deflate::compress_to_vec_zlib;

/// A PNG of these chunks, with valid CRCs.
pub fn png(chunks: &[(&[u8; 4], Vec<u8>)]) -> Bytes {
    let mut out = b"\x89PNG\r\n\x1A\n".to_vec();
    for (name, body) in chunks {
        out.extend_from_slice(&(body.len() as u32).to_be_bytes());
        let start = out.len();
        out.extend_from_slice(*name);
        out.extend_from_slice(body);
        let sum = crc(&out[start..]);
        out.extend_from_slice(&sum.to_be_bytes());
    }
    out.into()
}

pub fn ihdr(width: u32, height: u32, depth: u8, color: u8) -> Vec<u8> {
    let mut body = width.to_be_bytes().to_vec();
    body.extend_from_slice(&height.to_be_bytes());
    body.extend_from_slice(&[depth, color, 0, 0, 0]);
    body
}

/// A PNG of zeros: tiny on disk at any size.
pub fn blank_png(width: u32, height: u32, depth: u8, color: u8) -> Bytes {
    let channels = [1, 0, 3, 1, 2, 0, 4][usize::from(color)];
    let row = 1 + (width as usize * channels * usize::from(depth)).div_ceil(8);
    let pixels = zeros(row * height as usize);
    let mut chunks = vec![(b"IHDR", ihdr(width, height, depth, color))];
    if color == 3 {
        chunks.push((b"PLTE", vec![200, 100, 50]));
    }
    chunks.push((b"IDAT", pixels));
    chunks.push((b"IEND", vec![]));
    png(&chunks)
}

/// A zlib stream of this many zeros (RFC 1950, RFC 1951): one block of fixed codes, in
/// which 13 bits repeat the last byte 258 times.
pub fn zeros(count: usize) -> Vec<u8> {
    let mut out = vec![0x78, 0x01];
    let (mut buffer, mut bits) = (0_u32, 0);
    let mut put = |code: u32, length: u32| {
        buffer |= code << bits;
        bits += length;
        while bits >= 8 {
            out.push(buffer as u8);
            buffer >>= 8;
            bits -= 8;
        }
    };
    // The last block, with fixed codes.
    put(0b011, 3);
    // Codes are stored from their highest bit on: the literal 0 is 00110000.
    let literal = 0b0000_1100;
    let first = count % 258
        + if count >= 258 && count.is_multiple_of(258) {
            258
        } else {
            0
        };
    (0..first).for_each(|_| put(literal, 8));
    // Length 258 is 11000101, distance 1 is 00000.
    (0..(count - first) / 258).for_each(|_| put(0b1010_0011, 13));
    // The end of the block is 0000000.
    put(0, 7);
    put(0, 7);
    // Adler-32: the sum of bytes plus one, and the sum of these sums.
    let sums = (count % 65_521) as u32;
    out.extend_from_slice(&(sums << 16 | 1).to_be_bytes());
    out
}

/// A one-pixel PNG with extra chunks before its pixel.
pub fn png_with(extra: &[(&[u8; 4], Vec<u8>)]) -> Bytes {
    let mut chunks = vec![(b"IHDR", ihdr(1, 1, 8, 2))];
    chunks.extend(extra.iter().cloned());
    chunks.push((b"IDAT", compress_to_vec_zlib(&[0, 10, 200, 30], 6)));
    chunks.push((b"IEND", vec![]));
    png(&chunks)
}

/// Inserts chunks before the first IDAT.
pub fn insert_chunks(original: &[u8], extra: &[(&[u8; 4], Vec<u8>)]) -> Bytes {
    let at = original.windows(4).position(|w| w == b"IDAT").unwrap() - 4;
    let forged = png(extra);
    [&original[..at], &forged[8..], &original[at..]]
        .concat()
        .into()
}

/// A GIF with a logical screen and no frames.
pub fn gif_header(width: u16, height: u16) -> Vec<u8> {
    let mut out = b"GIF89a".to_vec();
    out.extend_from_slice(&width.to_le_bytes());
    out.extend_from_slice(&height.to_le_bytes());
    // A palette of two colours.
    out.extend_from_slice(&[0x80, 0, 0, 255, 255, 255, 0, 0, 0]);
    out
}

/// A GIF of many full frames of a few bytes each: the codes cover only the first pixels.
pub fn gif_bomb(width: u16, height: u16, frames: usize, first: &[u8]) -> Bytes {
    let mut out = gif_header(width, height);
    for number in 0..frames {
        out.push(0x2C);
        out.extend_from_slice(&[0; 4]);
        out.extend_from_slice(&width.to_le_bytes());
        out.extend_from_slice(&height.to_le_bytes());
        out.push(0);
        if number == 0 && !first.is_empty() {
            out.extend_from_slice(first);
        } else {
            out.extend_from_slice(&[2, 2, 0x4C, 0x01, 0]);
        }
    }
    out.push(0x3B);
    out.into()
}

/// A JPEG header with these properties, and an empty scan.
pub fn jpeg_header(width: u16, height: u16, marker: u8, depth: u8) -> Bytes {
    let mut out = vec![0xFF, 0xD8, 0xFF, marker, 0, 17, depth];
    out.extend_from_slice(&height.to_be_bytes());
    out.extend_from_slice(&width.to_be_bytes());
    out.extend_from_slice(&[3, 1, 0x22, 0, 2, 0x11, 0, 3, 0x11, 0]);
    out.extend_from_slice(&[0xFF, 0xDA, 0, 12, 3, 1, 0, 2, 0, 3, 0, 0, 63, 0, 0xFF, 0xD9]);
    out.into()
}

fn crc(data: &[u8]) -> u32 {
    let mut sum = u32::MAX;
    for byte in data {
        sum ^= u32::from(*byte);
        for _ in 0..8 {
            let low = sum & 1;
            sum >>= 1;
            if low == 1 {
                sum ^= 0xEDB8_8320;
            }
        }
    }
    !sum
}
