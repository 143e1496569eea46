//! DCT and WHT coefficients of a macroblock (RFC 6386, section 13).

use super::bool_decoder::{BoolDecoder, Prob};
use super::frame_header::DequantFactors;
use super::inverse_transform::inverse_wht;
use super::tables::CoeffProbs;
use super::token_reader::{DctToken, TokenReader};
use super::token_tables::{LargeTokenTable, SmallTokenTable};

/// Zigzag scan order (section 13).
const ZIGZAG: [u8; 16] = [0, 1, 4, 8, 5, 2, 3, 6, 9, 12, 13, 10, 7, 11, 14, 15];
/// The coefficient band of each position (section 13.3); the entry after the last is
/// unused.
const BANDS: [usize; 17] = [0, 1, 2, 3, 6, 4, 5, 6, 6, 6, 6, 6, 6, 6, 6, 7, 0];
/// Extra-bit probabilities of `dct_cat3` to `dct_cat6` (section 13.2).
const CATEGORY_PROBS: [&[u8]; 4] = [
    &[173, 148, 140],
    &[176, 155, 140, 135],
    &[180, 157, 141, 134, 130],
    &[254, 254, 243, 230, 196, 177, 153, 140, 133, 130, 129],
];

/// The token probabilities of one block type, by band and by context, with the lookup
/// tables built from them.
pub(super) struct BlockTypeProbs {
    probs: [[[Prob; 11]; 3]; 8],
    small: [[SmallTokenTable; 3]; 8],
    large: [[LargeTokenTable; 3]; 8],
    /// For the first coefficient in context 0, where the block may end.
    first: SmallTokenTable,
}

/// The token probabilities of a frame by block type. Tables are built only for partitions
/// large enough to amortize them.
pub(super) fn block_types(probs: &CoeffProbs, with_tables: bool) -> Vec<BlockTypeProbs> {
    let block_types = probs.iter().enumerate().map(|(block_type, probs)| {
        let mut made = BlockTypeProbs {
            probs: probs.map(|row| row.map(|branches| branches.map(Prob::from))),
            small: [const { [SmallTokenTable::EMPTY; 3] }; 8],
            large: [const { [LargeTokenTable::EMPTY; 3] }; 8],
            first: SmallTokenTable::EMPTY,
        };
        if with_tables {
            let rows = made.small.iter_mut().zip(&mut made.large);
            for ((small, large), probs) in rows.zip(probs) {
                for (context, probs) in probs.iter().enumerate() {
                    small[context] = SmallTokenTable::new(probs, context > 0);
                    large[context] = LargeTokenTable::new(probs);
                }
            }
            // Block type 0 (Y after Y2) starts at its second coefficient.
            made.first = SmallTokenTable::new(&probs[usize::from(block_type == 0)][0], true);
        }
        made
    });
    block_types.collect()
}

/// Which neighbouring blocks have nonzero coefficients: four Y, two U, two V, one Y2
/// (section 13.3).
#[derive(Clone, Copy, Default)]
pub(super) struct NonzeroContext {
    blocks: [u8; 8],
    y2: u8,
}

impl NonzeroContext {
    /// Clears the flags for a skipped macroblock. The Y2 flag changes only if the
    /// macroblock has a Y2 block.
    pub(super) fn clear(&mut self, has_y2: bool) {
        self.blocks = [0; 8];
        if has_y2 {
            self.y2 = 0;
        }
    }
}

/// The coefficients of a macroblock's 16 Y, 4 U and 4 V blocks, before dequantization.
pub(super) struct Coefficients {
    pub(super) blocks: [[i16; 16]; 24],
    /// Per block, one past the last coefficient that may be nonzero.
    pub(super) counts: [u8; 24],
    /// DC and AC dequantization factors of luma and of chroma blocks.
    pub(super) dequant: [[i16; 2]; 2],
}

impl Coefficients {
    pub(super) fn new() -> Self {
        Self {
            blocks: [[0; 16]; 24],
            counts: [0; 24],
            dequant: [[0; 2]; 2],
        }
    }

    /// Clears the previous macroblock.
    #[inline(always)]
    pub(super) fn clear(&mut self) {
        for (block, count) in self.blocks.iter_mut().zip(&mut self.counts) {
            if *count > 0 {
                (*block, *count) = ([0; 16], 0);
            }
        }
    }

    /// Reads the coefficients of a macroblock; returns whether any is nonzero.
    #[inline(always)]
    pub(super) fn read(
        &mut self,
        bools: &mut BoolDecoder<'_>,
        block_types: &[BlockTypeProbs],
        factors: &DequantFactors,
        has_y2: bool,
        (above, left): (&mut NonzeroContext, &mut NonzeroContext),
    ) -> bool {
        let mut tokens = TokenReader::new(*bools);
        self.dequant = [factors.y, factors.uv];
        let (first, block_type) = if has_y2 {
            let mut block = [0; 16];
            let context = above.y2 + left.y2;
            let count = read_block(&mut tokens, &block_types[1], context, 0, &mut block);
            (above.y2, left.y2) = (u8::from(count > 0), u8::from(count > 0));
            if count > 0 {
                dequantize(&mut block, factors.y2);
                // The inverse WHT yields dequantized DC values.
                self.dequant[0][0] = 1;
                for ((block, count), dc) in self
                    .blocks
                    .iter_mut()
                    .zip(&mut self.counts)
                    .zip(inverse_wht(&block))
                {
                    block[0] = dc;
                    *count = u8::from(dc != 0);
                }
            }
            (1, &block_types[0])
        } else {
            (0, &block_types[3])
        };
        // First block, blocks per side, offset in the context, block type, first
        // coefficient.
        for (at, side, from, block_type, first) in [
            (0, 4, 0, block_type, first),
            (16, 2, 4, &block_types[2], 0),
            (20, 2, 6, &block_types[2], 0),
        ] {
            for y in 0..side {
                for x in 0..side {
                    let (above, left) = (&mut above.blocks[from + x], &mut left.blocks[from + y]);
                    let place = at + y * side + x;
                    let block = &mut self.blocks[place];
                    let count = read_block(&mut tokens, block_type, *above + *left, first, block);
                    let coded = u8::from(usize::from(count) > first);
                    (*above, *left) = (coded, coded);
                    if coded > 0 {
                        self.counts[place] = count;
                    }
                }
            }
        }
        *bools = tokens.into_bools();
        self.counts.iter().any(|count| *count > 0)
    }
}

/// Dequantizes a block (section 14.1).
#[inline(always)]
pub(super) fn dequantize(block: &mut [i16; 16], [first, others]: [i16; 2]) {
    let mut factors = [others; 16];
    factors[0] = first;
    for (value, factor) in block.iter_mut().zip(factors) {
        *value = value.wrapping_mul(factor);
    }
}

/// Reads the tokens of one block; returns one past the position of its last coefficient.
#[inline(always)]
fn read_block(
    tokens: &mut TokenReader<'_>,
    block_type: &BlockTypeProbs,
    context: u8,
    first: usize,
    block: &mut [i16; 16],
) -> u8 {
    let mut context = usize::from(context.min(2));
    let mut small = match context {
        0 => &block_type.first,
        _ => &block_type.small[BANDS[first]][context],
    };
    tokens.start_block();
    for at in first..16 {
        let probs = &block_type.probs[BANDS[at]][context];
        let value;
        (value, context) = match tokens.next(small) {
            DctToken::EndOfBlock => return at as u8,
            DctToken::Small(value, is_one) => (value, usize::from(is_one)),
            DctToken::Large => match tokens.next_large(&block_type.large[BANDS[at]][context]) {
                Some(value) => (value, 2),
                None => (tokens.one_by_one(|bools| read_large_value(bools, probs)), 2),
            },
            DctToken::NotInTable => {
                let can_end = at == first || context > 0;
                match tokens.one_by_one(|bools| read_coefficient(bools, probs, can_end)) {
                    Some(value) => (value, value.unsigned_abs().min(2) as usize),
                    None => return at as u8,
                }
            }
        };
        block[usize::from(ZIGZAG[at])] = value as i16;
        small = &block_type.small[BANDS[at + 1]][context];
    }
    16
}

/// Reads one coefficient boolean by boolean; `None` at the end of the block.
fn read_coefficient(bools: &mut BoolDecoder<'_>, p: &[Prob; 11], can_end: bool) -> Option<i32> {
    if can_end && !bools.read_bool(p[0]) {
        return None;
    }
    if !bools.read_bool(p[1]) {
        return Some(0);
    }
    Some(if bools.read_bool(p[2]) {
        read_large_value(bools, p)
    } else {
        bools.read_signed(1)
    })
}

/// Reads a value of at least two, and its sign.
#[inline(always)]
fn read_large_value(bools: &mut BoolDecoder<'_>, p: &[Prob; 11]) -> i32 {
    let value = if !bools.read_bool(p[3]) {
        if !bools.read_bool(p[4]) {
            2
        } else {
            3 + bools.read_bit(p[5])
        }
    } else if !bools.read_bool(p[6]) {
        if !bools.read_bool(p[7]) {
            5 + bools.read_bit(159_u8)
        } else {
            7 + 2 * bools.read_bit(165_u8) + bools.read_bit(145_u8)
        }
    } else {
        let high = bools.read_bit(p[8]) as usize;
        let size = 2 * high + bools.read_bit(p[9 + high]) as usize;
        let rest = CATEGORY_PROBS[size].iter();
        let rest = rest.fold(0, |rest, prob| rest << 1 | bools.read_bit(*prob));
        rest + 3 + (8 << size)
    };
    bools.read_signed(value)
}
