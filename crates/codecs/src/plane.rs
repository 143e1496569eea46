//! Planes of samples, and chroma at the resolution of luma: linear interpolation between
//! the centres of samples, the "fancy upsampling" of libjpeg and libwebp.

/// Luma columns interpolated at once: even, and few enough for the L1 cache.
pub(crate) const PIECE: usize = 512;

/// The chroma that a result needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Chroma {
    /// Half the resolution of luma, for files with 4:2:0 subsampling.
    Half,
    /// All chroma of the source, up to the resolution of luma.
    Full,
}

/// One plane of a planar picture.
#[derive(Clone, Copy)]
pub(crate) struct Plane<'a> {
    pub(crate) width: u32,
    pub(crate) height: u32,
    pub(crate) data: &'a [u8],
}

impl<'a> Plane<'a> {
    pub(crate) fn row(&self, row: u32) -> &'a [u8] {
        let width = self.width as usize;
        let start = row.min(self.height - 1) as usize * width;
        &self.data[start..start + width]
    }

    /// The row of this plane at the position of a row of a larger plane.
    pub(crate) fn row_aligned_with(&self, row: u32, larger: &Plane<'_>) -> &'a [u8] {
        let row = match subsampling(larger.height, self.height) {
            Some(factor) => row / factor as u32,
            None => (u64::from(row) * u64::from(self.height) / u64::from(larger.height)) as u32,
        };
        self.row(row)
    }
}

/// How many luma samples share a chroma sample; `None` for an unusual ratio.
pub(crate) fn subsampling(luma: u32, chroma: u32) -> Option<usize> {
    [1, 2, 4]
        .into_iter()
        .find(|factor| luma.div_ceil(*factor as u32) == chroma)
}

/// The positions of chroma samples along one axis.
#[derive(Clone, Copy)]
struct ChromaAxis {
    /// Chroma samples per luma sample, as a fraction.
    ratio: (usize, usize),
    last: usize,
}

impl ChromaAxis {
    fn new(luma: u32, chroma: u32) -> Self {
        let ratio = match subsampling(luma, chroma) {
            Some(factor) => (1, factor),
            None => (chroma as usize, luma as usize),
        };
        Self {
            ratio,
            last: chroma as usize - 1,
        }
    }

    /// The chroma samples on both sides of a luma sample, and the weight of the second, of
    /// 256.
    fn neighbours(self, at: usize) -> (usize, usize, u16) {
        let (chroma, luma) = self.ratio;
        let place = ((2 * at + 1) * chroma * 128 / luma).saturating_sub(128);
        let first = (place >> 8).min(self.last);
        (first, (first + 1).min(self.last), place as u16 & 255)
    }
}

impl Plane<'_> {
    /// Fills a row of a picture of this size with interpolated samples.
    pub(crate) fn interpolate_row(&self, row: usize, size: (u32, u32), out: &mut [u8]) {
        for (piece, out) in out.chunks_mut(PIECE).enumerate() {
            self.interpolate_piece(row, piece * PIECE, size, out);
        }
    }

    /// Fills at most [`PIECE`] columns of a row, from an even one on.
    pub(crate) fn interpolate_piece(
        &self,
        row: usize,
        start: usize,
        size: (u32, u32),
        out: &mut [u8],
    ) {
        let (above, below, weight) = ChromaAxis::new(size.1, self.height).neighbours(row);
        let (above, below) = (self.row(above as u32), self.row(below as u32));
        let blend = |at: usize| {
            let (above, below) = (u16::from(above[at]), u16::from(below[at]));
            above * (256 - weight) + below * weight
        };
        match subsampling(size.0, self.width) {
            Some(1) => {
                for (at, out) in (start..).zip(out) {
                    *out = ((u32::from(blend(at)) + 128) >> 8) as u8;
                }
            }
            Some(2) => interpolate_pairs(above.len(), start / 2, blend, out),
            _ => {
                let axis = ChromaAxis::new(size.0, self.width);
                for (x, out) in (start..).zip(out) {
                    let (left, right, weight) = axis.neighbours(x);
                    let (weight, left, right) = (u32::from(weight), blend(left), blend(right));
                    let sum = u32::from(left) * (256 - weight) + u32::from(right) * weight;
                    *out = ((sum + (1 << 15)) >> 16) as u8;
                }
            }
        }
    }
}

/// Two luma samples for each chroma sample: three quarters of the nearer one, a quarter of
/// the next.
fn interpolate_pairs(columns: usize, start: usize, blend: impl Fn(usize) -> u16, out: &mut [u8]) {
    let count = out.len().div_ceil(2);
    // With a neighbour on each side; at the edges, the sample itself.
    let mut blended = [0; PIECE / 2 + 2];
    blended[0] = blend(start.saturating_sub(1));
    for (at, value) in (start..).zip(&mut blended[1..=count]) {
        *value = blend(at);
    }
    blended[count + 1] = blend((start + count).min(columns - 1));
    let triples = blended[..count + 2].windows(3);
    for (pair, triple) in out.chunks_mut(2).zip(triples) {
        let [left, middle, right] = [triple[0], triple[1], triple[2]].map(u32::from);
        for (out, side) in pair.iter_mut().zip([left, right]) {
            *out = ((3 * middle + side + 512) >> 10) as u8;
        }
    }
}
