//! Ways to cut a stream.

/// Up to this length every single position is tried.
const SHORT: usize = 1_500;
/// Positions that are tried in a longer one, in ways of many cuts each.
const CUTS: usize = 1_000;
const CUTS_PER_WAY: usize = 50;

/// Lists of cut positions, the same in every run.
pub(crate) fn ways(length: usize) -> Vec<Vec<usize>> {
    let each_byte = (1..length).collect();
    let mut ways = vec![each_byte];
    if length <= SHORT {
        ways.extend((1..length).map(|cut| vec![cut]));
        return ways;
    }
    let mut random = Random(length as u64);
    for _ in 0..CUTS / CUTS_PER_WAY {
        let mut cuts: Vec<usize> = (0..CUTS_PER_WAY).map(|_| random.below(length)).collect();
        cuts.sort_unstable();
        ways.push(cuts);
    }
    ways
}

/// The pieces between the cuts.
pub(crate) fn pieces<'b>(bytes: &'b [u8], cuts: &'b [usize]) -> impl Iterator<Item = &'b [u8]> {
    let starts = std::iter::once(0).chain(cuts.iter().copied());
    let ends = cuts.iter().copied().chain(std::iter::once(bytes.len()));
    starts.zip(ends).map(|(start, end)| &bytes[start..end])
}

/// xorshift: repeatable, and good enough to choose places.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit as u64) as usize
    }
}
