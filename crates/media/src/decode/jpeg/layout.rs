//! The tables and the one scan of an ordinary sequential file.

use super::huffman::Huffman;

/// A file that can be read in one pass.
pub(super) struct File<'a> {
    pub(super) width: u32,
    pub(super) height: u32,
    pub(super) channels: Vec<Channel>,
    /// Units between restarts; zero is never.
    pub(super) restart: u32,
    /// The scan's bits and all that follows.
    pub(super) scan: &'a [u8],
}

/// One channel of the picture.
pub(super) struct Channel {
    /// Blocks of this channel beside each other in a unit.
    pub(super) across: u32,
    /// Blocks below each other.
    pub(super) down: u32,
    /// Divisors in the order of the file.
    pub(super) steps: [u16; 64],
    pub(super) dc: Huffman,
    pub(super) ac: Huffman,
}

/// Reads everything before the scan; none if this is another kind of file.
pub(super) fn read(data: &[u8]) -> Option<File<'_>> {
    let mut steps: [Option<[u16; 64]>; 4] = [None; 4];
    let mut tables: [[Option<Huffman>; 4]; 2] = Default::default();
    let mut frame = None;
    let mut restart = 0;
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
            0xC0 | 0xC1 if frame.is_none() => frame = Some(body),
            0xC4 => read_codes(body, &mut tables)?,
            0xDB => read_steps(body, &mut steps)?,
            0xDD => restart = u32::from(u16::from_be_bytes(*body.first_chunk()?)),
            // The channels are red, green and blue, or not what they seem.
            0xEE if body.starts_with(b"Adobe") && body.get(11) != Some(&1) => return None,
            0xDA => {
                let scan = data.get(at..)?;
                return assemble(frame?, body, &steps, &tables, restart, scan);
            }
            0x01 | 0xC2..=0xCF | 0xD0..=0xD9 | 0xDC => return None,
            _ => {}
        }
    }
}

fn assemble<'a>(
    frame: &[u8],
    scan_header: &[u8],
    steps: &[Option<[u16; 64]>; 4],
    tables: &[[Option<Huffman>; 4]; 2],
    restart: u32,
    scan: &'a [u8],
) -> Option<File<'a>> {
    let [8, h1, h0, w1, w0, count, ..] = *frame else {
        return None;
    };
    let count = usize::from(count);
    let named = scan_header.get(1..1 + count * 2)?;
    if usize::from(scan_header[0]) != count || !matches!(count, 1 | 3) {
        return None;
    }
    let mut channels = Vec::new();
    for (place, named) in named.chunks_exact(2).enumerate() {
        let [id, factors, table] = *frame.get(6 + place * 3..)?.first_chunk()?;
        let (across, down) = (u32::from(factors >> 4), u32::from(factors & 15));
        // Letters as names mean plain colours; factors other than 1 and 2 and
        // colour that is finer than brightness are rarities.
        let ordinary = id == named[0]
            && !(count == 3 && b"RGB".contains(&id))
            && (1..=2).contains(&across)
            && (1..=2).contains(&down)
            && (place == 0 || (across, down) == (1, 1));
        if !ordinary {
            return None;
        }
        let codes = |class: usize, index: u8| tables[class].get(usize::from(index))?.clone();
        channels.push(Channel {
            across: if count == 1 { 1 } else { across },
            down: if count == 1 { 1 } else { down },
            steps: (*steps.get(usize::from(table))?)?,
            dc: codes(0, named[1] >> 4)?,
            ac: codes(1, named[1] & 15)?,
        });
    }
    Some(File {
        width: u32::from(u16::from_be_bytes([w1, w0])),
        height: u32::from(u16::from_be_bytes([h1, h0])),
        channels,
        restart,
        scan,
    })
}

fn read_steps(mut body: &[u8], steps: &mut [Option<[u16; 64]>; 4]) -> Option<()> {
    while let Some((&kind, rest)) = body.split_first() {
        let table = steps.get_mut(usize::from(kind & 15))?;
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

fn read_codes(mut body: &[u8], tables: &mut [[Option<Huffman>; 4]; 2]) -> Option<()> {
    while let Some((&kind, rest)) = body.split_first() {
        let (counts, rest) = rest.split_first_chunk::<16>()?;
        let total: usize = counts.iter().map(|count| usize::from(*count)).sum();
        let symbols = rest.get(..total)?;
        let table = tables
            .get_mut(usize::from(kind >> 4))?
            .get_mut(usize::from(kind & 15))?;
        *table = Some(Huffman::new(counts, symbols)?);
        body = &rest[total..];
    }
    Some(())
}
