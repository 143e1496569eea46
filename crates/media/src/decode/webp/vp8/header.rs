//! What a frame says before its blocks.

use super::bools::Bools;
use super::tables::{AC_STEPS, CHANCES, CHANGES, Chances, DC_STEPS};

/// Everything that holds for the whole frame.
pub(super) struct Frame<'a> {
    pub(super) width: usize,
    pub(super) height: usize,
    /// By segment.
    pub(super) steps: [Steps; 4],
    /// By segment, and by whether the block is predicted in small parts.
    pub(super) smoothing: [[Smoothing; 2]; 4],
    /// Only brightness is smoothed, and in a simpler way.
    pub(super) simple: bool,
    /// Chances of the segment of a block, where blocks say theirs.
    pub(super) segments: Option<[u8; 3]>,
    /// The chance that a block has coefficients, where blocks say it.
    pub(super) skips: Option<u8>,
    /// Of coefficients.
    pub(super) chances: Chances,
    /// The rest of the first part: how blocks are predicted.
    pub(super) modes: Bools<'a>,
    /// The other parts: coefficients, rows of blocks in turn.
    pub(super) parts: Vec<Bools<'a>>,
}

/// What coefficients are multiplied with, the first one and the others.
#[derive(Clone, Copy, Default)]
pub(super) struct Steps {
    pub(super) luma: [i16; 2],
    /// Of the block of first coefficients.
    pub(super) means: [i16; 2],
    pub(super) color: [i16; 2],
}

/// How much the edges of a block are smoothed.
#[derive(Clone, Copy, Default)]
pub(super) struct Smoothing {
    /// Zero is not at all.
    pub(super) level: u8,
    pub(super) interior: u8,
    pub(super) sharp: u8,
}

/// None if this is no key frame, or damaged.
pub(super) fn read(data: &[u8]) -> Option<Frame<'_>> {
    let (&[a, b, c, 0x9D, 0x01, 0x2A, w0, w1, h0, h1], rest) = data.split_first_chunk()? else {
        return None;
    };
    let tag = u32::from_le_bytes([a, b, c, 0]);
    if tag & 1 != 0 {
        return None;
    }
    let size = |low, high| usize::from(u16::from_le_bytes([low, high]) & 0x3FFF);
    let (first, rest) = rest.split_at_checked(tag as usize >> 5)?;
    let mut bools = Bools::new(first);
    let color_space = bools.flag();
    let _clamping = bools.flag();
    if color_space {
        return None;
    }
    let mut segments = Segments::default();
    if bools.flag() {
        segments.read(&mut bools);
    }
    let simple = bools.flag();
    let level = bools.number(6) as i8;
    let sharpness = bools.number(3);
    let (small, all) = read_deltas(&mut bools);
    let parts = split(rest, 1 << bools.number(2))?;
    let steps = read_steps(&mut bools, &segments);
    let _refresh = bools.flag();
    let mut chances = CHANCES;
    let changes = CHANGES.as_flattened().as_flattened().as_flattened();
    let all_chances = chances.as_flattened_mut().as_flattened_mut();
    for (chance, change) in all_chances.as_flattened_mut().iter_mut().zip(changes) {
        if bools.bool(*change) {
            *chance = bools.number(8);
        }
    }
    let skips = bools.flag().then(|| bools.number(8));
    let smoothing = std::array::from_fn(|segment| {
        // What is too much is cut off at the end only, as libwebp does it.
        let own = segments.apply(segments.levels[segment], level);
        [0, small].map(|more| match level {
            0 => Smoothing::default(),
            _ => smoothing((own + all + more).clamp(0, 63) as u8, sharpness),
        })
    });
    Some(Frame {
        width: size(w0, w1),
        height: size(h0, h1),
        steps,
        smoothing,
        simple,
        segments: segments.chances,
        skips,
        chances,
        modes: bools,
        parts,
    })
}

/// What differs between the segments of a frame.
#[derive(Default)]
struct Segments {
    absolute: bool,
    steps: [i8; 4],
    levels: [i8; 4],
    chances: Option<[u8; 3]>,
}

impl Segments {
    fn read(&mut self, bools: &mut Bools<'_>) {
        let (map, values) = (bools.flag(), bools.flag());
        if values {
            self.absolute = bools.flag();
            self.steps = [0; 4].map(|_: i8| bools.optional(7).unwrap_or(0));
            self.levels = [0; 4].map(|_: i8| bools.optional(6).unwrap_or(0));
        }
        if map {
            let mut chance = || if bools.flag() { bools.number(8) } else { 255 };
            self.chances = Some([chance(), chance(), chance()]);
        }
    }

    fn apply(&self, own: i8, frame: i8) -> i32 {
        let frame = if self.absolute { 0 } else { frame };
        i32::from(own) + i32::from(frame)
    }
}

/// How much more blocks are smoothed: those in small parts, and all.
fn read_deltas(bools: &mut Bools<'_>) -> (i32, i32) {
    let mut deltas = [0; 8];
    if bools.flag() && bools.flag() {
        for delta in &mut deltas {
            *delta = i32::from(bools.optional(6).unwrap_or(0));
        }
        return (deltas[4], deltas[0]);
    }
    (0, 0)
}

fn smoothing(level: u8, sharpness: u8) -> Smoothing {
    let mut interior = level;
    if sharpness > 0 {
        interior >>= if sharpness > 4 { 2 } else { 1 };
        interior = interior.min(9 - sharpness);
    }
    Smoothing {
        level,
        interior: interior.max(1),
        sharp: match level {
            40.. => 2,
            15.. => 1,
            _ => 0,
        },
    }
}

fn read_steps(bools: &mut Bools<'_>, segments: &Segments) -> [Steps; 4] {
    let base = bools.number(7) as i8;
    let mut delta = || i32::from(bools.optional(4).unwrap_or(0));
    let [luma_dc, means_dc, means_ac, color_dc, color_ac] =
        [delta(), delta(), delta(), delta(), delta()];
    std::array::from_fn(|segment| {
        let quality = segments.apply(segments.steps[segment], base).clamp(0, 127);
        let step = |table: &[i16; 128], delta: i32| table[(quality + delta).clamp(0, 127) as usize];
        let means_ac = i32::from(step(&AC_STEPS, means_ac)) * 155 / 100;
        Steps {
            luma: [step(&DC_STEPS, luma_dc), step(&AC_STEPS, 0)],
            means: [step(&DC_STEPS, means_dc) * 2, means_ac.max(8) as i16],
            color: [
                step(&DC_STEPS, color_dc).min(132),
                step(&AC_STEPS, color_ac),
            ],
        }
    })
}

/// The parts with coefficients, of which all but the last tell their length.
fn split(data: &[u8], count: usize) -> Option<Vec<Bools<'_>>> {
    let (lengths, mut data) = data.split_at_checked((count - 1) * 3)?;
    let mut parts = Vec::new();
    for length in lengths.as_chunks::<3>().0 {
        let length = u32::from_le_bytes([length[0], length[1], length[2], 0]);
        let (part, rest) = data.split_at_checked(length as usize)?;
        parts.push(Bools::new(part));
        data = rest;
    }
    parts.push(Bools::new(data));
    Some(parts)
}
