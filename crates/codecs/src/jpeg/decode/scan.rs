//! One scan of a file with several (ITU T.81, F.2 and G.2).

use fearless_simd::dispatch;

use super::bit_reader::BitReader;
use super::coefficients::ComponentCoefficients;
use super::huffman::HuffmanTable;
use super::markers::{Frame, Scan, Tables};
use super::{DAMAGED, RestartCounter};
use crate::jpeg::zigzag::ZIGZAG;
use crate::simd_level::level;
use crate::{CodecError, Job};

/// The blocks of a component.
#[derive(Clone, Copy)]
pub(super) struct BlockGrid {
    /// Blocks that hold samples; a scan of only this component has no other blocks (A.2.2).
    pub(super) across: usize,
    pub(super) down: usize,
    /// Blocks per row with the padding to whole MCUs.
    pub(super) stride: usize,
}

/// The coding of a scan's blocks.
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
    if alone {
        selected.iter_mut().for_each(|s| (s.h, s.v) = (1, 1));
    }
    let level = level();
    for row in 0..rows {
        job.check()?;
        dispatch!(level, _ => {
            decoder.read_row(row, columns, &mut selected, components, &mut restarts)
        })?;
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

/// The coefficients of a block, and which of them are not zero.
struct Block<'a> {
    values: &'a mut [i16; 64],
    nonzero: &'a mut u64,
}

impl Block<'_> {
    /// Sets a coefficient by its zigzag index.
    #[inline(always)]
    fn set(&mut self, at: usize, value: i16) -> Result<(), CodecError> {
        let place = *ZIGZAG.get(at).ok_or(DAMAGED)?;
        self.values[usize::from(place) & 63] = value;
        *self.nonzero |= u64::from(value != 0) << (at & 63);
        Ok(())
    }
}

impl BlockDecoder<'_> {
    /// Decodes a row of MCUs; or of blocks, if the scan has one component.
    #[inline(always)]
    fn read_row(
        &mut self,
        row: usize,
        columns: usize,
        selected: &mut [Selected<'_>],
        components: &mut [ComponentCoefficients],
        restarts: &mut RestartCounter,
    ) -> Result<(), CodecError> {
        for column in 0..columns {
            if restarts.is_due(&mut self.bits)? {
                selected.iter_mut().for_each(|s| s.dc_predictor = 0);
                self.end_of_bands = 0;
            }
            for selected in &mut *selected {
                let component = &mut components[selected.place];
                let (h, v) = (selected.h, selected.v);
                for y in row * v..row * v + v {
                    for x in column * h..column * h + h {
                        let at = y * component.grid.stride + x;
                        let block = Block {
                            values: &mut component.blocks.as_chunks_mut::<64>().0[at],
                            nonzero: &mut component.nonzero[at],
                        };
                        self.read(selected, block)?;
                    }
                }
            }
        }
        Ok(())
    }

    #[inline(always)]
    fn read(
        &mut self,
        component: &mut Selected<'_>,
        mut block: Block<'_>,
    ) -> Result<(), CodecError> {
        let block = &mut block;
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
                block.values[0] |= bit << self.low;
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
        block: &mut Block<'_>,
    ) -> Result<(), CodecError> {
        self.bits.refill();
        let size = component.dc.ok_or(DAMAGED)?.decode(&mut self.bits);
        let size = size.filter(|size| *size <= 15).ok_or(DAMAGED)?;
        let difference = self.bits.receive_extend(u32::from(size));
        component.dc_predictor = component.dc_predictor.wrapping_add(difference);
        block.values[0] = (component.dc_predictor << self.low) as i16;
        Ok(())
    }

    /// The coefficients of a band, for the first time (G.1.2.2).
    #[inline(always)]
    fn read_ac(
        &mut self,
        table: &HuffmanTable,
        block: &mut Block<'_>,
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
            block.set(at, (value << self.low) as i16)?;
            at += 1;
        }
        Ok(())
    }

    /// EOBn: this band and a number of further ones end here.
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
    #[inline(always)]
    fn refine_ac(&mut self, table: &HuffmanTable, block: &mut Block<'_>) -> Result<(), CodecError> {
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
                let rest = indices(at, last);
                let zeros = (0..run).fold(rest & !*block.nonzero, |zeros, _| {
                    zeros & zeros.wrapping_sub(1)
                });
                // The next zero after the run, or the end of the band.
                at = (zeros.trailing_zeros() as usize).min(last + 1);
                self.refine_all(block, rest & !indices(at, 63));
                if new != 0 {
                    block.set(at, new)?;
                }
                at += 1;
            }
        }
        if self.end_of_bands > 0 {
            self.refine_all(block, indices(at, last));
            self.end_of_bands -= 1;
        }
        Ok(())
    }

    /// Refines the nonzero coefficients among these.
    #[inline(always)]
    fn refine_all(&mut self, block: &mut Block<'_>, which: u64) {
        let mut left = which & *block.nonzero;
        while left != 0 {
            self.bits.refill();
            let at = left.trailing_zeros() as usize;
            left &= left - 1;
            let value = &mut block.values[usize::from(ZIGZAG[at & 63]) & 63];
            let bit = self.bits.peek(1) as i16;
            self.bits.consume(1);
            let step = bit << self.low;
            // A file may refine a bit twice; it is added once (as libjpeg does).
            if *value & step == 0 {
                *value = value.wrapping_add(if *value > 0 { step } else { -step });
            }
        }
    }
}

/// A bit for each zigzag index of a range.
#[inline(always)]
fn indices(first: usize, last: usize) -> u64 {
    if first > last {
        return 0;
    }
    (u64::MAX >> (63 - last)) & (u64::MAX << first)
}
