//! The frame header of a key frame (RFC 6386, sections 9 and 19.2).

use super::bool_decoder::BoolDecoder;
use super::tables::{AC_QUANT, COEFF_UPDATE_PROBS, CoeffProbs, DC_QUANT, DEFAULT_COEFF_PROBS};

/// The parsed frame header, and the partitions that follow it.
pub(super) struct FrameHeader<'a> {
    pub(super) width: usize,
    pub(super) height: usize,
    /// By segment.
    pub(super) dequant: [DequantFactors; 4],
    /// By segment, and by whether the macroblock uses B_PRED.
    pub(super) filters: [[LoopFilterParams; 2]; 4],
    /// Whether the simple loop filter is used, which filters luma only (section 15.2).
    pub(super) simple_filter: bool,
    /// Tree probabilities of `segment_id`, if macroblocks carry one.
    pub(super) segment_probs: Option<[u8; 3]>,
    /// The probability that a macroblock is not skipped, if macroblocks carry
    /// `mb_skip_coeff`.
    pub(super) prob_skip_false: Option<u8>,
    /// Token probabilities after the updates of section 13.4.
    pub(super) coeff_probs: CoeffProbs,
    /// The rest of the first partition: macroblock headers.
    pub(super) first_partition: BoolDecoder<'a>,
    /// The token partitions; row `n` of macroblocks uses partition `n` modulo their count.
    pub(super) token_partitions: Vec<BoolDecoder<'a>>,
}

/// DC and AC dequantization factors (section 14.1).
#[derive(Clone, Copy, Default)]
pub(super) struct DequantFactors {
    pub(super) y: [i16; 2],
    /// Of the Y2 block.
    pub(super) y2: [i16; 2],
    pub(super) uv: [i16; 2],
}

/// Loop filter parameters of a macroblock (section 15.4).
#[derive(Clone, Copy, Default)]
pub(super) struct LoopFilterParams {
    /// Zero disables the filter.
    pub(super) level: u8,
    pub(super) interior_limit: u8,
    pub(super) hev_threshold: u8,
}

/// Parses a key frame; `None` if it is an interframe or damaged.
pub(super) fn parse(data: &[u8]) -> Option<FrameHeader<'_>> {
    let (&[a, b, c, 0x9D, 0x01, 0x2A, w0, w1, h0, h1], rest) = data.split_first_chunk()? else {
        return None;
    };
    let tag = u32::from_le_bytes([a, b, c, 0]);
    if tag & 1 != 0 {
        return None;
    }
    let size = |low, high| usize::from(u16::from_le_bytes([low, high]) & 0x3FFF);
    let (first, rest) = rest.split_at_checked(tag as usize >> 5)?;
    let mut bools = BoolDecoder::new(first);
    let color_space = bools.read_flag();
    let _clamping = bools.read_flag();
    if color_space {
        return None;
    }
    let mut segments = Segmentation::default();
    if bools.read_flag() {
        segments.read(&mut bools);
    }
    let simple_filter = bools.read_flag();
    let level = bools.read_literal(6) as i8;
    let sharpness = bools.read_literal(3);
    let (b_pred_delta, intra_delta) = read_filter_deltas(&mut bools);
    let token_partitions = split_partitions(rest, 1 << bools.read_literal(2))?;
    let dequant = read_quant_indices(&mut bools, &segments);
    let _refresh = bools.read_flag();
    let mut coeff_probs = DEFAULT_COEFF_PROBS;
    let changes = COEFF_UPDATE_PROBS
        .as_flattened()
        .as_flattened()
        .as_flattened();
    let all_chances = coeff_probs.as_flattened_mut().as_flattened_mut();
    for (prob, change) in all_chances.as_flattened_mut().iter_mut().zip(changes) {
        if bools.read_bool(*change) {
            *prob = bools.read_literal(8);
        }
    }
    let prob_skip_false = bools.read_flag().then(|| bools.read_literal(8));
    let filters = std::array::from_fn(|segment| {
        // Clamped once, at the end, as libwebp does.
        let own = segments.apply(segments.levels[segment], level);
        [0, b_pred_delta].map(|more| match level {
            0 => LoopFilterParams::default(),
            _ => filter_params((own + intra_delta + more).clamp(0, 63) as u8, sharpness),
        })
    });
    Some(FrameHeader {
        width: size(w0, w1),
        height: size(h0, h1),
        dequant,
        filters,
        simple_filter,
        segment_probs: segments.probs,
        prob_skip_false,
        coeff_probs,
        first_partition: bools,
        token_partitions,
    })
}

/// Segment-based adjustments (section 9.3).
#[derive(Default)]
struct Segmentation {
    absolute: bool,
    quantizers: [i8; 4],
    levels: [i8; 4],
    probs: Option<[u8; 3]>,
}

impl Segmentation {
    fn read(&mut self, bools: &mut BoolDecoder<'_>) {
        let (map, values) = (bools.read_flag(), bools.read_flag());
        if values {
            self.absolute = bools.read_flag();
            self.quantizers = [0; 4].map(|_: i8| bools.read_optional_signed(7).unwrap_or(0));
            self.levels = [0; 4].map(|_: i8| bools.read_optional_signed(6).unwrap_or(0));
        }
        if map {
            let mut prob = || {
                if bools.read_flag() {
                    bools.read_literal(8)
                } else {
                    255
                }
            };
            self.probs = Some([prob(), prob(), prob()]);
        }
    }

    fn apply(&self, own: i8, frame: i8) -> i32 {
        let frame = if self.absolute { 0 } else { frame };
        i32::from(own) + i32::from(frame)
    }
}

/// Loop filter deltas for B_PRED macroblocks and for all intra macroblocks (sections 9.4 and 19.2).
fn read_filter_deltas(bools: &mut BoolDecoder<'_>) -> (i32, i32) {
    let mut deltas = [0; 8];
    if bools.read_flag() && bools.read_flag() {
        for delta in &mut deltas {
            *delta = i32::from(bools.read_optional_signed(6).unwrap_or(0));
        }
        return (deltas[4], deltas[0]);
    }
    (0, 0)
}

fn filter_params(level: u8, sharpness: u8) -> LoopFilterParams {
    let mut interior = level;
    if sharpness > 0 {
        interior >>= if sharpness > 4 { 2 } else { 1 };
        interior = interior.min(9 - sharpness);
    }
    LoopFilterParams {
        level,
        interior_limit: interior.max(1),
        hev_threshold: match level {
            40.. => 2,
            15.. => 1,
            _ => 0,
        },
    }
}

fn read_quant_indices(bools: &mut BoolDecoder<'_>, segments: &Segmentation) -> [DequantFactors; 4] {
    let base = bools.read_literal(7) as i8;
    let mut delta = || i32::from(bools.read_optional_signed(4).unwrap_or(0));
    let [y_dc, y2_dc, y2_ac, uv_dc, uv_ac] = [delta(), delta(), delta(), delta(), delta()];
    std::array::from_fn(|segment| {
        let index = segments
            .apply(segments.quantizers[segment], base)
            .clamp(0, 127);
        let step = |table: &[i16; 128], delta: i32| table[(index + delta).clamp(0, 127) as usize];
        let y2_ac = i32::from(step(&AC_QUANT, y2_ac)) * 155 / 100;
        DequantFactors {
            y: [step(&DC_QUANT, y_dc), step(&AC_QUANT, 0)],
            y2: [step(&DC_QUANT, y2_dc) * 2, y2_ac.max(8) as i16],
            uv: [step(&DC_QUANT, uv_dc).min(132), step(&AC_QUANT, uv_ac)],
        }
    })
}

/// Splits the token partitions (section 9.5); all but the last have a size field.
fn split_partitions(data: &[u8], count: usize) -> Option<Vec<BoolDecoder<'_>>> {
    let (lengths, mut data) = data.split_at_checked((count - 1) * 3)?;
    let mut parts = Vec::new();
    for length in lengths.as_chunks::<3>().0 {
        let length = u32::from_le_bytes([length[0], length[1], length[2], 0]);
        let (part, rest) = data.split_at_checked(length as usize)?;
        parts.push(BoolDecoder::new(part));
        data = rest;
    }
    parts.push(BoolDecoder::new(data));
    Some(parts)
}
