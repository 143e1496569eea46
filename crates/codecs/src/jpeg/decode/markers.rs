//! Marker segments (ITU T.81, Annex B).

use majordomo_image_header::jpeg::next_marker;

use super::huffman::HuffmanTable;
use crate::jpeg::marker::{APP14, DHT, DNL, DQT, DRI, EOI, RST0, RST7, SOF0, SOF2, SOS, TEM};

/// A frame that this decoder handles: gray, or YCbCr with sampling factors 1 and 2.
pub(super) struct Frame {
    pub(super) width: u32,
    pub(super) height: u32,
    pub(super) progressive: bool,
    pub(super) components: Vec<FrameComponent>,
}

/// One component of a frame.
#[derive(Clone, Copy)]
pub(super) struct FrameComponent {
    id: u8,
    /// Horizontal sampling factor.
    pub(super) h: u32,
    /// Vertical sampling factor.
    pub(super) v: u32,
    /// The number of its quantization table.
    table: u8,
}

impl Frame {
    /// `None` for a frame that is left to the fallback.
    fn parse(marker: u8, body: &[u8]) -> Option<Self> {
        let [8, h1, h0, w1, w0, count, ..] = *body else {
            return None;
        };
        let count = usize::from(count);
        if !matches!(count, 1 | 3) {
            return None;
        }
        let mut components = Vec::new();
        for place in 0..count {
            let [id, factors, table] = *body.get(6 + place * 3..)?.first_chunk()?;
            let (h, v) = (u32::from(factors >> 4), u32::from(factors & 15));
            // Component ids R, G, B mean RGB. Sampling factors above 2, and chroma finer
            // than luma, are left to the fallback.
            let ordinary = !(count == 3 && b"RGB".contains(&id))
                && (1..=2).contains(&h)
                && (1..=2).contains(&v)
                && (place == 0 || (h, v) == (1, 1));
            if !ordinary {
                return None;
            }
            // The factors of a single component have no effect (A.2.2).
            let [h, v] = if count == 1 { [1, 1] } else { [h, v] };
            components.push(FrameComponent { id, h, v, table });
        }
        Some(Self {
            width: u32::from(u16::from_be_bytes([w1, w0])),
            height: u32::from(u16::from_be_bytes([h1, h0])),
            progressive: marker == SOF2,
            components,
        })
    }

    pub(super) fn mcu_cols(&self) -> usize {
        self.width.div_ceil(8 * self.components[0].h) as usize
    }

    pub(super) fn mcu_rows(&self) -> usize {
        self.height.div_ceil(8 * self.components[0].v) as usize
    }

    /// Columns of a component, without padding.
    pub(super) fn samples_across(&self, component: &FrameComponent) -> u32 {
        (self.width * component.h).div_ceil(self.components[0].h)
    }

    /// Rows of a component, without padding.
    pub(super) fn samples_down(&self, component: &FrameComponent) -> u32 {
        (self.height * component.v).div_ceil(self.components[0].v)
    }
}

/// The parameters of a scan.
pub(super) struct Scan {
    pub(super) components: Vec<ScanComponent>,
    /// First and last coefficient, in zigzag order.
    pub(super) band: (usize, usize),
    /// Successive approximation: bits of the previous scan, and the lowest of this one.
    pub(super) high: u32,
    pub(super) low: u32,
}

/// A component of a scan.
#[derive(Clone, Copy)]
pub(super) struct ScanComponent {
    /// Its index in the frame.
    pub(super) place: usize,
    /// The numbers of its Huffman tables.
    pub(super) dc: usize,
    pub(super) ac: usize,
}

impl Scan {
    fn parse(frame: &Frame, body: &[u8]) -> Option<Self> {
        let count = usize::from(*body.first()?);
        let selectors = body.get(1..1 + count * 2)?;
        let [first, last, approximation] = *body.get(1 + count * 2..)?.first_chunk()?;
        let mut components: Vec<ScanComponent> = Vec::new();
        for &[id, tables] in selectors.as_chunks().0 {
            let place = frame.components.iter().position(|c| c.id == id)?;
            // In the order of the frame, each at most once (B.2.3).
            if components.last().is_some_and(|last| last.place >= place) {
                return None;
            }
            components.push(ScanComponent {
                place,
                dc: usize::from(tables >> 4),
                ac: usize::from(tables & 15),
            });
        }
        let (band, high, low) = match frame.progressive {
            true => (
                (usize::from(first), usize::from(last)),
                u32::from(approximation >> 4),
                u32::from(approximation & 15),
            ),
            false => ((0, 63), 0, 0),
        };
        let fine = match frame.progressive {
            false => true,
            true if band.0 == 0 => band.1 == 0,
            true => band.0 <= band.1 && band.1 <= 63 && components.len() == 1,
        };
        (fine && low <= 13 && !components.is_empty()).then_some(Self {
            components,
            band,
            high,
            low,
        })
    }
}

/// The tables that the segments so far have defined.
pub(super) struct Tables {
    quantization: [Option<[u16; 64]>; 4],
    huffman: [[Option<HuffmanTable>; 4]; 2],
    /// MCUs between restart markers; zero for none.
    pub(super) restart_interval: u32,
}

impl Tables {
    pub(super) fn quantization(&self, component: &FrameComponent) -> Option<&[u16; 64]> {
        let table = self.quantization.get(usize::from(component.table))?;
        table.as_ref()
    }

    pub(super) fn dc(&self, component: &ScanComponent) -> Option<&HuffmanTable> {
        self.huffman[0].get(component.dc)?.as_ref()
    }

    pub(super) fn ac(&self, component: &ScanComponent) -> Option<&HuffmanTable> {
        self.huffman[1].get(component.ac)?.as_ref()
    }
}

/// Reads segment after segment.
pub(super) struct Segments<'a> {
    data: &'a [u8],
    at: usize,
    pub(super) tables: Tables,
}

/// The end of a sequence of segments.
pub(super) enum Next {
    /// A scan, whose entropy-coded segment follows.
    Scan(Scan),
    /// The end of the image.
    End,
}

impl<'a> Segments<'a> {
    /// Parses everything before the first scan; `None` if this decoder does not handle the
    /// file.
    pub(super) fn open(data: &'a [u8]) -> Option<(Self, Frame, Scan)> {
        let mut segments = Self {
            data,
            at: 2,
            tables: Tables {
                quantization: [None; 4],
                huffman: Default::default(),
                restart_interval: 0,
            },
        };
        let mut frame = None;
        loop {
            let (marker, body) = segments.next_segment()?;
            match marker {
                SOF0..=SOF2 if frame.is_none() => frame = Some(Frame::parse(marker, body)?),
                // An Adobe transform other than YCbCr. A shorter segment is none.
                APP14
                    if body.starts_with(b"Adobe")
                        && body.get(11).is_some_and(|transform| *transform != 1) =>
                {
                    return None;
                }
                SOS => {
                    let frame = frame?;
                    let scan = Scan::parse(&frame, body)?;
                    return Some((segments, frame, scan));
                }
                // Other frame types, and unexpected markers.
                TEM | SOF0..=SOF2 | 0xC3 | 0xC5..=0xCF | RST0..=EOI | DNL => return None,
                _ => segments.tables.read(marker, body)?,
            }
        }
    }

    /// Continues after the entropy-coded segment of a scan.
    pub(super) fn next_scan(&mut self, frame: &Frame, rest: &[u8]) -> Option<Next> {
        self.at = self.data.len() - rest.len();
        loop {
            self.at = next_marker(self.data, self.at)?;
            match self.data.get(self.at + 1) {
                Some(&EOI) => return Some(Next::End),
                Some(RST0..=RST7) => {
                    self.at += 2;
                    continue;
                }
                _ => {}
            }
            let (marker, body) = self.next_segment()?;
            match marker {
                SOS => return Some(Next::Scan(Scan::parse(frame, body)?)),
                0xC0..=0xC3 | 0xC5..=0xCF | DNL => return None,
                _ => self.tables.read(marker, body)?,
            }
        }
    }

    /// The data from the current position on.
    pub(super) fn rest(&self) -> &'a [u8] {
        &self.data[self.at..]
    }

    fn next_segment(&mut self) -> Option<(u8, &'a [u8])> {
        self.at = next_marker(self.data, self.at)?;
        let [_, marker, high, low] = *self.data.get(self.at..)?.first_chunk()?;
        let length = usize::from(u16::from_be_bytes([high, low]));
        let body = self.data.get(self.at + 4..self.at + 2 + length)?;
        self.at += 2 + length;
        Some((marker, body))
    }
}

impl Tables {
    fn read(&mut self, marker: u8, body: &[u8]) -> Option<()> {
        match marker {
            DHT => self.read_huffman(body),
            DQT => self.read_quantization(body),
            DRI => {
                self.restart_interval = u32::from(u16::from_be_bytes(*body.first_chunk()?));
                Some(())
            }
            _ => Some(()),
        }
    }

    fn read_quantization(&mut self, mut body: &[u8]) -> Option<()> {
        while let Some((&kind, rest)) = body.split_first() {
            let table = self.quantization.get_mut(usize::from(kind & 15))?;
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

    fn read_huffman(&mut self, mut body: &[u8]) -> Option<()> {
        while let Some((&kind, rest)) = body.split_first() {
            let (counts, rest) = rest.split_first_chunk::<16>()?;
            let total: usize = counts.iter().map(|count| usize::from(*count)).sum();
            let symbols = rest.get(..total)?;
            let table = self
                .huffman
                .get_mut(usize::from(kind >> 4))?
                .get_mut(usize::from(kind & 15))?;
            *table = Some(HuffmanTable::new(counts, symbols)?);
            body = &rest[total..];
        }
        Some(())
    }
}
