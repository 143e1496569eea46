//! Marker segments of a sequential JPEG (ITU T.81, Annex B).

use super::huffman::HuffmanTable;
use crate::jpeg::marker::{APP14, DHT, DNL, DQT, DRI, EOI, RST0, SOF0, SOF1, SOS, TEM};

/// A sequential image with one interleaved scan.
pub(super) struct SequentialImage<'a> {
    pub(super) width: u32,
    pub(super) height: u32,
    pub(super) components: Vec<Component>,
    /// MCUs between restart markers; zero for none.
    pub(super) restart_interval: u32,
    /// The entropy-coded segment and everything after it.
    pub(super) scan: &'a [u8],
}

/// One component of the frame.
pub(super) struct Component {
    /// Horizontal sampling factor.
    pub(super) h: u32,
    /// Vertical sampling factor.
    pub(super) v: u32,
    /// Quantization table in zigzag order.
    pub(super) quantization: [u16; 64],
    pub(super) dc: HuffmanTable,
    pub(super) ac: HuffmanTable,
}

/// Parses everything before the scan; `None` if this decoder does not handle the file.
pub(super) fn parse(data: &[u8]) -> Option<SequentialImage<'_>> {
    let mut quantization: [Option<[u16; 64]>; 4] = [None; 4];
    let mut tables: [[Option<HuffmanTable>; 4]; 2] = Default::default();
    let mut frame = None;
    let mut restart_interval = 0;
    let mut at = 2;
    loop {
        while data.get(at..at + 2)? == [0xFF, 0xFF] {
            at += 1;
        }
        let [0xFF, marker, high, low] = *data.get(at..)?.first_chunk()? else {
            return None;
        };
        let length = usize::from(u16::from_be_bytes([high, low]));
        let body = data.get(at + 4..at + 2 + length)?;
        at += 2 + length;
        match marker {
            SOF0 | SOF1 if frame.is_none() => frame = Some(body),
            DHT => read_huffman_tables(body, &mut tables)?,
            DQT => read_quantization_tables(body, &mut quantization)?,
            DRI => restart_interval = u32::from(u16::from_be_bytes(*body.first_chunk()?)),
            // An Adobe transform other than YCbCr.
            APP14 if body.starts_with(b"Adobe") && body.get(11) != Some(&1) => return None,
            SOS => {
                let scan = data.get(at..)?;
                return assemble(frame?, body, &quantization, &tables, restart_interval, scan);
            }
            // Other frame types, and markers that do not belong here.
            TEM | 0xC2..=0xCF | RST0..=EOI | DNL => return None,
            _ => {}
        }
    }
}

fn assemble<'a>(
    frame: &[u8],
    scan_header: &[u8],
    quantization: &[Option<[u16; 64]>; 4],
    tables: &[[Option<HuffmanTable>; 4]; 2],
    restart_interval: u32,
    scan: &'a [u8],
) -> Option<SequentialImage<'a>> {
    let [8, h1, h0, w1, w0, count, ..] = *frame else {
        return None;
    };
    let count = usize::from(count);
    let selectors = scan_header.get(1..1 + count * 2)?;
    if usize::from(scan_header[0]) != count || !matches!(count, 1 | 3) {
        return None;
    }
    let mut components = Vec::new();
    for (place, selector) in selectors.chunks_exact(2).enumerate() {
        let [id, factors, table] = *frame.get(6 + place * 3..)?.first_chunk()?;
        let (h, v) = (u32::from(factors >> 4), u32::from(factors & 15));
        // Component ids R, G, B mean RGB. Sampling factors above 2, and chroma finer than
        // luma, are left to the fallback.
        let ordinary = id == selector[0]
            && !(count == 3 && b"RGB".contains(&id))
            && (1..=2).contains(&h)
            && (1..=2).contains(&v)
            && (place == 0 || (h, v) == (1, 1));
        if !ordinary {
            return None;
        }
        let codes = |class: usize, index: u8| tables[class].get(usize::from(index))?.clone();
        components.push(Component {
            h: if count == 1 { 1 } else { h },
            v: if count == 1 { 1 } else { v },
            quantization: (*quantization.get(usize::from(table))?)?,
            dc: codes(0, selector[1] >> 4)?,
            ac: codes(1, selector[1] & 15)?,
        });
    }
    Some(SequentialImage {
        width: u32::from(u16::from_be_bytes([w1, w0])),
        height: u32::from(u16::from_be_bytes([h1, h0])),
        components,
        restart_interval,
        scan,
    })
}

fn read_quantization_tables(
    mut body: &[u8],
    quantization: &mut [Option<[u16; 64]>; 4],
) -> Option<()> {
    while let Some((&kind, rest)) = body.split_first() {
        let table = quantization.get_mut(usize::from(kind & 15))?;
        let mut values = [0; 64];
        if kind >> 4 == 0 {
            let (bytes, rest) = rest.split_first_chunk::<64>()?;
            values = bytes.map(u16::from);
            body = rest;
        } else {
            let (bytes, rest) = rest.split_first_chunk::<128>()?;
            for (value, pair) in values.iter_mut().zip(bytes.as_chunks::<2>().0) {
                *value = u16::from_be_bytes(*pair);
            }
            body = rest;
        }
        *table = Some(values);
    }
    Some(())
}

fn read_huffman_tables(mut body: &[u8], tables: &mut [[Option<HuffmanTable>; 4]; 2]) -> Option<()> {
    while let Some((&kind, rest)) = body.split_first() {
        let (counts, rest) = rest.split_first_chunk::<16>()?;
        let total: usize = counts.iter().map(|count| usize::from(*count)).sum();
        let symbols = rest.get(..total)?;
        let table = tables
            .get_mut(usize::from(kind >> 4))?
            .get_mut(usize::from(kind & 15))?;
        *table = Some(HuffmanTable::new(counts, symbols)?);
        body = &rest[total..];
    }
    Some(())
}
