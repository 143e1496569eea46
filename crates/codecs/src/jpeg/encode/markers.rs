//! Marker segments (ITU T.81, Annex B) and quantization tables (Annex K.1).

use super::huffman::{AC_CHROMA, AC_LUMA, DC_CHROMA, DC_LUMA, HuffmanSpec};
use crate::jpeg::marker::{APP0, DHT, DQT, SOF0, SOI, SOS};
use crate::jpeg::zigzag::ZIGZAG;

/// Typical luma quantization, Table K.1, row by row.
const LUMA: [u8; 64] = [
    16, 11, 10, 16, 24, 40, 51, 61, 12, 12, 14, 19, 26, 58, 60, 55, 14, 13, 16, 24, 40, 57, 69, 56,
    14, 17, 22, 29, 51, 87, 80, 62, 18, 22, 37, 56, 68, 109, 103, 77, 24, 35, 55, 64, 81, 104, 113,
    92, 49, 64, 78, 87, 103, 121, 120, 101, 72, 92, 95, 98, 112, 100, 103, 99,
];

/// Typical chroma quantization, Table K.2.
const CHROMA: [u8; 64] = [
    17, 18, 24, 47, 99, 99, 99, 99, 18, 21, 26, 66, 99, 99, 99, 99, 24, 26, 56, 99, 99, 99, 99, 99,
    47, 66, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99,
    99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99,
];

/// Luma and chroma quantization at a quality as libjpeg defines it, in zigzag order.
pub(super) fn quantization_tables(quality: u8) -> [[u8; 64]; 2] {
    let quality = u32::from(quality.clamp(1, 100));
    let percent = if quality < 50 {
        5000 / quality
    } else {
        200 - quality * 2
    };
    [LUMA, CHROMA].map(|table| {
        ZIGZAG.map(|place| {
            let step = (u32::from(table[usize::from(place)]) * percent + 50) / 100;
            step.clamp(1, 255) as u8
        })
    })
}

/// Everything from SOI to the scan header.
pub(super) fn file_header(
    width: u16,
    height: u16,
    gray: bool,
    quantization: &[[u8; 64]; 2],
) -> Vec<u8> {
    let mut out = vec![0xFF, SOI];
    // JFIF 1.1 with square pixels.
    segment(&mut out, APP0, b"JFIF\0\x01\x01\0\0\x01\0\x01\0\0");
    for (id, quantization) in (0..).zip(&quantization[..if gray { 1 } else { 2 }]) {
        segment(&mut out, DQT, &[&[id], &quantization[..]].concat());
    }
    let [h, w] = [height, width].map(u16::to_be_bytes);
    let mut frame = vec![8, h[0], h[1], w[0], w[1]];
    let mut scan = Vec::new();
    if gray {
        frame.extend([1, 1, 0x11, 0]);
        scan.extend([1, 1, 0x00]);
    } else {
        frame.extend([3, 1, 0x22, 0, 2, 0x11, 1, 3, 0x11, 1]);
        scan.extend([3, 1, 0x00, 2, 0x11, 3, 0x11]);
    }
    scan.extend([0, 63, 0]);
    segment(&mut out, SOF0, &frame);
    let tables = [
        (0x00, DC_LUMA),
        (0x10, AC_LUMA),
        (0x01, DC_CHROMA),
        (0x11, AC_CHROMA),
    ];
    for (id, HuffmanSpec { counts, symbols }) in &tables[..if gray { 2 } else { 4 }] {
        segment(&mut out, DHT, &[&[*id], &counts[..], symbols].concat());
    }
    segment(&mut out, SOS, &scan);
    out
}

fn segment(out: &mut Vec<u8>, marker: u8, body: &[u8]) {
    out.extend([0xFF, marker]);
    out.extend((body.len() as u16 + 2).to_be_bytes());
    out.extend_from_slice(body);
}
