//! Macroblock headers: segment, skip flag and intra prediction modes (RFC 6386, sections 11
//! and 19.3).

use super::bool_decoder::BoolDecoder;
use super::frame_header::FrameHeader;
use super::tables::SUBBLOCK_MODE_PROBS;

/// Intra prediction of a 16×16 luma or 8×8 chroma block (section 12.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(clippy::enum_variant_names, reason = "the names of RFC 6386")]
pub(super) enum MacroblockMode {
    /// DC_PRED: the mean of the row above and the column to the left.
    #[default]
    DcPred,
    /// TM_PRED: TrueMotion, above plus left minus above-left.
    TmPred,
    /// V_PRED: the row above, repeated.
    VPred,
    /// H_PRED: the column to the left, repeated.
    HPred,
}

/// Intra prediction of a 4×4 luma subblock, B_DC_PRED to B_HU_PRED in the order of section
/// 11.2.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(clippy::enum_variant_names, reason = "the names of RFC 6386")]
pub(super) enum SubblockMode {
    #[default]
    DcPred,
    TmPred,
    VePred,
    HePred,
    LdPred,
    RdPred,
    VrPred,
    VlPred,
    HdPred,
    HuPred,
}

/// The luma mode: one for the macroblock, or B_PRED with one per subblock.
#[derive(Clone, Copy)]
pub(super) enum LumaMode {
    Macroblock(MacroblockMode),
    BPred([SubblockMode; 16]),
}

/// The header of a macroblock.
pub(super) struct MacroblockHeader {
    pub(super) segment_id: usize,
    pub(super) skip: bool,
    pub(super) luma: LumaMode,
    pub(super) chroma: MacroblockMode,
}

/// The modes of the subblocks above and to the left: contexts for the next subblock modes
/// (section 11.3).
pub(super) struct ModeContext {
    above: Vec<[SubblockMode; 4]>,
    left: [SubblockMode; 4],
}

impl ModeContext {
    pub(super) fn new(across: usize) -> Self {
        Self {
            above: vec![Default::default(); across],
            left: Default::default(),
        }
    }

    pub(super) fn start_row(&mut self) {
        self.left = Default::default();
    }

    /// Reads the header of the macroblock in this column.
    #[inline(always)]
    pub(super) fn read_macroblock_header(
        &mut self,
        frame: &mut FrameHeader<'_>,
        column: usize,
    ) -> MacroblockHeader {
        let mut local = frame.first_partition;
        let bools = &mut local;
        let segment_id = frame.segment_probs.map_or(0, |probs| {
            if bools.read_bool(probs[0]) {
                2 + usize::from(bools.read_bool(probs[2]))
            } else {
                usize::from(bools.read_bool(probs[1]))
            }
        });
        let skip = frame
            .prob_skip_false
            .is_some_and(|prob| bools.read_bool(prob));
        let luma = if bools.read_bool(145_u8) {
            let mode = if !bools.read_bool(156_u8) {
                if bools.read_bool(163_u8) {
                    MacroblockMode::VPred
                } else {
                    MacroblockMode::DcPred
                }
            } else if bools.read_bool(128_u8) {
                MacroblockMode::TmPred
            } else {
                MacroblockMode::HPred
            };
            let small = match mode {
                MacroblockMode::DcPred => SubblockMode::DcPred,
                MacroblockMode::TmPred => SubblockMode::TmPred,
                MacroblockMode::VPred => SubblockMode::VePred,
                MacroblockMode::HPred => SubblockMode::HePred,
            };
            (self.above[column], self.left) = ([small; 4], [small; 4]);
            LumaMode::Macroblock(mode)
        } else {
            LumaMode::BPred(self.read_subblock_modes(bools, column))
        };
        let chroma = if !bools.read_bool(142_u8) {
            MacroblockMode::DcPred
        } else if !bools.read_bool(114_u8) {
            MacroblockMode::VPred
        } else if bools.read_bool(183_u8) {
            MacroblockMode::TmPred
        } else {
            MacroblockMode::HPred
        };
        frame.first_partition = local;
        MacroblockHeader {
            segment_id,
            skip,
            luma,
            chroma,
        }
    }

    #[inline(always)]
    fn read_subblock_modes(
        &mut self,
        bools: &mut BoolDecoder<'_>,
        column: usize,
    ) -> [SubblockMode; 16] {
        let mut modes = [SubblockMode::DcPred; 16];
        for (row, left) in modes.as_chunks_mut::<4>().0.iter_mut().zip(&mut self.left) {
            for (mode, above) in row.iter_mut().zip(&mut self.above[column]) {
                let probs = &SUBBLOCK_MODE_PROBS[*above as usize][*left as usize];
                *mode = read_subblock_mode(bools, probs);
                (*above, *left) = (*mode, *mode);
            }
        }
        modes
    }
}

#[inline(always)]
fn read_subblock_mode(bools: &mut BoolDecoder<'_>, probs: &[u8; 9]) -> SubblockMode {
    use SubblockMode::*;
    if !bools.read_bool(probs[0]) {
        DcPred
    } else if !bools.read_bool(probs[1]) {
        TmPred
    } else if !bools.read_bool(probs[2]) {
        VePred
    } else if !bools.read_bool(probs[3]) {
        if !bools.read_bool(probs[4]) {
            HePred
        } else if !bools.read_bool(probs[5]) {
            RdPred
        } else {
            VrPred
        }
    } else if !bools.read_bool(probs[6]) {
        LdPred
    } else if !bools.read_bool(probs[7]) {
        VlPred
    } else if !bools.read_bool(probs[8]) {
        HdPred
    } else {
        HuPred
    }
}
