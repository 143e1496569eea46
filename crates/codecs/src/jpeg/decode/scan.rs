//! One scan of a file with several (ITU T.81, F.2 and G.2).

use super::bit_reader::BitReader;
use super::coefficients::ComponentCoefficients;
use super::huffman::HuffmanTable;
use super::markers::{Frame, Scan, Tables};
use super::{DAMAGED, RestartCounter};
use crate::jpeg::zigzag::ZIGZAG;
use crate::{CodecError, Job};

/// The blocks of a component.
#[derive(Clone, Copy)]
pub(super) struct BlockGrid {
    /// Blocks that hold samples; a scan of the component alone has no others (A.2.2).
    pub(super) across: usize,
    pub(super) down: usize,
    /// Blocks per row with the padding to whole MCUs.
    pub(super) stride: usize,
}

/// How the blocks of a scan are coded.
#[derive(Clone, Copy)]
enum Procedure {
    /// All coefficients of a block.
    Sequential,
    DcFirst,
    DcRefine,
    AcFirst,
    AcRefine,
}

/// A component of the scan.
struct Selected<'t> {
    place: usize,
    h: usize,
    v: usize,
    dc: Option<&'t HuffmanTable>,
    ac: Option<&'t HuffmanTable>,
    dc_predictor: i32,
}

/// Decodes a scan and returns the data that follows it.
pub(super) fn decode_scan<'a>(
    data: &'a [u8],
    tables: &Tables,
    frame: &Frame,
    scan: &Scan,
    components: &mut [ComponentCoefficients],
    job: &Job,
) -> Result<&'a [u8], CodecError> {
    let mut selected: Vec<Selected<'_>> = scan
        .components
        .iter()
        .map(|component| Selected {
            place: component.place,
            h: frame.components[component.place].h as usize,
            v: frame.components[component.place].v as usize,
            dc: tables.dc(component),
            ac: tables.ac(component),
            dc_predictor: 0,
        })
        .collect();
    let mut decoder = BlockDecoder {
        bits: BitReader::new(data),
        procedure: match (frame.progressive, scan.band.0, scan.high) {
            (false, ..) => Procedure::Sequential,
            (true, 0, 0) => Procedure::DcFirst,
            (true, 0, _) => Procedure::DcRefine,
            (true, _, 0) => Procedure::AcFirst,
            (true, ..) => Procedure::AcRefine,
        },
        band: scan.band,
        low: scan.low,
        end_of_bands: 0,
    };
    let mut restarts = RestartCounter::new(tables.restart_interval);
    // A scan of one component consists of its blocks, not of MCUs.
    let alone = selected.len() == 1;
    let grid = components[selected[0].place].grid;
    let (rows, columns) = match alone {
        true => (grid.down, grid.across),
        false => (frame.mcu_rows(), frame.mcu_cols()),
    };
    for row in 0..rows {
        job.check()?;
        for column in 0..columns {
            if restarts.is_due(&mut decoder.bits)? {
                selected.iter_mut().for_each(|s| s.dc_predictor = 0);
                decoder.end_of_bands = 0;
            }
            for selected in &mut selected {
                let component = &mut components[selected.place];
                let (h, v) = if alone {
                    (1, 1)
                } else {
                    (selected.h, selected.v)
                };
                for y in row * v..row * v + v {
                    for x in column * h..column * h + h {
                        let at = y * component.grid.stride + x;
                        let blocks = component.blocks.as_chunks_mut::<64>().0;
                        decoder.read(selected, &mut blocks[at])?;
                    }
                }
            }
        }
        if decoder.bits.is_exhausted() {
            return Err(DAMAGED);
        }
    }
    Ok(decoder.bits.rest())
}

struct BlockDecoder<'a> {
    bits: BitReader<'a>,
    procedure: Procedure,
    band: (usize, usize),
    low: u32,
    /// Blocks whose band has already ended (EOBRUN).
    end_of_bands: u32,
}

impl BlockDecoder<'_> {
    #[inline(always)]
    fn read(
        &mut self,
        component: &mut Selected<'_>,
        block: &mut [i16; 64],
    ) -> Result<(), CodecError> {
        match self.procedure {
            Procedure::Sequential => {
                self.read_dc(component, block)?;
                self.read_ac(component.ac.ok_or(DAMAGED)?, block, (1, 63))
            }
            Procedure::DcFirst => self.read_dc(component, block),
            Procedure::DcRefine => {
                self.bits.refill();
                let bit = self.bits.peek(1) as i16;
                self.bits.consume(1);
                block[0] |= bit << self.low;
                Ok(())
            }
            Procedure::AcFirst => {
                if self.end_of_bands > 0 {
                    self.end_of_bands -= 1;
                    return Ok(());
                }
                self.read_ac(component.ac.ok_or(DAMAGED)?, block, self.band)
            }
            Procedure::AcRefine => self.refine_ac(component.ac.ok_or(DAMAGED)?, block),
        }
    }

    #[inline(always)]
    fn read_dc(
        &mut self,
        component: &mut Selected<'_>,
        block: &mut [i16; 64],
    ) -> Result<(), CodecError> {
        self.bits.refill();
        let size = component.dc.ok_or(DAMAGED)?.decode(&mut self.bits);
        let size = size.filter(|size| *size <= 15).ok_or(DAMAGED)?;
        let difference = self.bits.receive_extend(u32::from(size));
        component.dc_predictor = component.dc_predictor.wrapping_add(difference);
        block[0] = (component.dc_predictor << self.low) as i16;
        Ok(())
    }

    /// The coefficients of a band, for the first time (G.1.2.2).
    #[inline(always)]
    fn read_ac(
        &mut self,
        table: &HuffmanTable,
        block: &mut [i16; 64],
        (first, last): (usize, usize),
    ) -> Result<(), CodecError> {
        let mut at = first;
        while at <= last {
            self.bits.refill();
            let coefficient = table.peek_coefficient(&self.bits);
            let value = if coefficient.bits > 0 {
                at += usize::from(coefficient.run);
                self.bits.consume(u32::from(coefficient.bits));
                i32::from(coefficient.value)
            } else {
                let symbol = table.decode(&mut self.bits).ok_or(DAMAGED)?;
                let (run, size) = (u32::from(symbol >> 4), u32::from(symbol & 15));
                if size == 0 {
                    if run < 15 {
                        self.read_end_of_bands(run)?;
                        break;
                    }
                    at += 16;
                    continue;
                }
                at += run as usize;
                self.bits.receive_extend(size)
            };
            let place = *ZIGZAG.get(at).ok_or(DAMAGED)?;
            block[usize::from(place) & 63] = (value << self.low) as i16;
            at += 1;
        }
        Ok(())
    }

    /// EOBn: this band, and so many others, end here.
    fn read_end_of_bands(&mut self, bits: u32) -> Result<(), CodecError> {
        // In a sequential scan, only EOB itself.
        let allowed = if matches!(self.procedure, Procedure::Sequential) {
            0
        } else {
            14
        };
        if bits > allowed {
            return Err(DAMAGED);
        }
        self.end_of_bands = (1 << bits) - 1;
        if bits > 0 {
            self.end_of_bands += self.bits.peek(bits) as u32;
            self.bits.consume(bits);
        }
        Ok(())
    }

    /// One more bit of each coefficient of a band (G.1.2.3).
    fn refine_ac(&mut self, table: &HuffmanTable, block: &mut [i16; 64]) -> Result<(), CodecError> {
        let (mut at, last) = self.band;
        if self.end_of_bands == 0 {
            while at <= last {
                self.bits.refill();
                let symbol = table.decode(&mut self.bits).ok_or(DAMAGED)?;
                let (run, size) = (u32::from(symbol >> 4), symbol & 15);
                let mut new = 0;
                match size {
                    0 if run < 15 => {
                        self.read_end_of_bands(run)?;
                        // This block counts as one of the run.
                        self.end_of_bands += 1;
                        break;
                    }
                    0 => {}
                    1 => {
                        let positive = self.bits.peek(1) == 1;
                        self.bits.consume(1);
                        new = if positive {
                            1 << self.low
                        } else {
                            -1 << self.low
                        };
                    }
                    _ => return Err(DAMAGED),
                }
                at = self.skip_zeros(block, at, run)?;
                if new != 0 {
                    let place = *ZIGZAG.get(at).ok_or(DAMAGED)?;
                    block[usize::from(place)] = new;
                }
                at += 1;
            }
        }
        if self.end_of_bands > 0 {
            while at <= last {
                self.bits.refill();
                self.refine(&mut block[usize::from(ZIGZAG[at & 63])]);
                at += 1;
            }
            self.end_of_bands -= 1;
        }
        Ok(())
    }

    /// Refines nonzero coefficients up to the next zero after `run` others; returns its
    /// place.
    fn skip_zeros(
        &mut self,
        block: &mut [i16; 64],
        mut at: usize,
        mut run: u32,
    ) -> Result<usize, CodecError> {
        while at <= self.band.1 {
            let value = &mut block[usize::from(ZIGZAG[at & 63])];
            if *value == 0 {
                if run == 0 {
                    return Ok(at);
                }
                run -= 1;
            } else {
                self.bits.refill();
                self.refine(value);
            }
            at += 1;
        }
        Ok(at)
    }

    #[inline(always)]
    fn refine(&mut self, value: &mut i16) {
        if *value == 0 {
            return;
        }
        let bit = self.bits.peek(1) as i16;
        self.bits.consume(1);
        let step = bit << self.low;
        // A file may refine a bit twice; it is added once (as libjpeg does).
        if *value & step == 0 {
            *value = value.wrapping_add(if *value > 0 { step } else { -step });
        }
    }
}
