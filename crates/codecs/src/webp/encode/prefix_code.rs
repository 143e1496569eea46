//! Prefix codes (section 3.7.2) for counted symbols.

use super::bits::BitWriter;

/// The longest code of a symbol.
const MAX_LENGTH: u32 = 15;
/// The longest code of a code length.
const MAX_LENGTH_LENGTH: u32 = 7;
/// The order in which the lengths of the code length code are stored.
const LENGTH_ORDER: [usize; 19] = [
    17, 18, 0, 1, 2, 3, 4, 5, 16, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15,
];

/// The codes of an alphabet, as bits in the order of the stream, and their length.
pub(super) struct PrefixCode {
    codes: Vec<(u32, u32)>,
    /// The only symbol, which takes no bits.
    only: Option<usize>,
}

impl PrefixCode {
    pub(super) fn new(counts: &[u32]) -> Self {
        let mut used = (0..counts.len()).filter(|symbol| counts[*symbol] > 0);
        let first = used.next().unwrap_or(0);
        if used.next().is_none() {
            return Self {
                codes: vec![(0, 0); counts.len()],
                only: Some(first),
            };
        }
        Self {
            codes: canonical(&lengths(counts, MAX_LENGTH)),
            only: None,
        }
    }

    /// Bits and length of a symbol's code.
    #[inline(always)]
    pub(super) fn of(&self, symbol: usize) -> (u32, u32) {
        self.codes[symbol]
    }

    /// The bits that so many of each symbol take.
    pub(super) fn cost(&self, counts: &[u32]) -> u64 {
        let each = self.codes.iter().zip(counts);
        each.map(|((_, length), count)| u64::from(*length) * u64::from(*count))
            .sum()
    }

    /// Writes the description of the code.
    pub(super) fn describe(&self, out: &mut BitWriter) {
        if let Some(only) = self.only {
            return describe_single(only as u8, out);
        }
        let lengths: Vec<u8> = self.codes.iter().map(|(_, length)| *length as u8).collect();
        let runs = runs(&lengths);
        // At least two symbols: not every reader accepts a single one here.
        let mut counts = [0; 19];
        (counts[0], counts[1]) = (1, 1);
        for run in &runs {
            counts[run.symbol] += 1;
        }
        let code = Self {
            codes: canonical(&self::lengths(&counts, MAX_LENGTH_LENGTH)),
            only: None,
        };
        out.put(0, 1);
        out.put(LENGTH_ORDER.len() as u32 - 4, 4);
        for symbol in LENGTH_ORDER {
            out.put(code.of(symbol).1, 3);
        }
        // The lengths of all symbols follow.
        out.put(0, 1);
        for run in runs {
            let (bits, length) = code.of(run.symbol);
            out.put(bits, length);
            out.put(run.extra, run.extra_bits);
        }
    }
}

/// Describes a code of one symbol.
pub(super) fn describe_single(symbol: u8, out: &mut BitWriter) {
    // Simple, one symbol, of eight bits.
    out.put(0b101, 3);
    out.put(u32::from(symbol), 8);
}

/// A code length, or a run of zeros.
struct Run {
    symbol: usize,
    extra: u32,
    extra_bits: u32,
}

fn runs(lengths: &[u8]) -> Vec<Run> {
    let mut runs = Vec::new();
    let mut rest = lengths;
    while let Some((first, more)) = rest.split_first() {
        let zeros = rest.iter().take(138).take_while(|length| **length == 0);
        let zeros = zeros.count();
        let (symbol, extra, extra_bits) = match zeros {
            0..3 => (usize::from(*first), 0, 0),
            3..11 => (17, zeros as u32 - 3, 3),
            _ => (18, zeros as u32 - 11, 7),
        };
        runs.push(Run {
            symbol,
            extra,
            extra_bits,
        });
        rest = if zeros < 3 { more } else { &rest[zeros..] };
    }
    runs
}

/// Huffman's code lengths, none longer than `longest`; at least two symbols must be used.
fn lengths(counts: &[u32], longest: u32) -> Vec<u8> {
    let mut counts: Vec<u64> = counts.iter().map(|count| u64::from(*count)).collect();
    loop {
        let lengths = unlimited_lengths(&counts);
        if lengths.iter().all(|length| u32::from(*length) <= longest) {
            return lengths;
        }
        // Rare symbols become less rare, until all codes are short enough.
        for count in counts.iter_mut().filter(|count| **count > 0) {
            *count = *count / 2 + 1;
        }
    }
}

fn unlimited_lengths(counts: &[u64]) -> Vec<u8> {
    // Leaves by their count, then inner nodes, whose counts ascend by themselves.
    let mut leaves: Vec<usize> = (0..counts.len()).filter(|at| counts[*at] > 0).collect();
    leaves.sort_by_key(|at| counts[*at]);
    let mut nodes: Vec<u64> = leaves.iter().map(|at| counts[*at]).collect();
    let leaf_count = nodes.len();
    let (mut leaf, mut inner) = (0, leaf_count);
    let mut parents = vec![0; 2 * leaf_count - 1];
    for parent in leaf_count..2 * leaf_count - 1 {
        let mut sum = 0;
        for _ in 0..2 {
            let takes_leaf =
                leaf < leaf_count && nodes.get(inner).is_none_or(|count| nodes[leaf] <= *count);
            let child = if takes_leaf { &mut leaf } else { &mut inner };
            sum += nodes[*child];
            parents[*child] = parent;
            *child += 1;
        }
        nodes.push(sum);
    }
    let mut depths = vec![0_u8; nodes.len()];
    for node in (0..nodes.len() - 1).rev() {
        depths[node] = depths[parents[node]].saturating_add(1);
    }
    let mut lengths = vec![0; counts.len()];
    for (symbol, depth) in leaves.into_iter().zip(depths) {
        lengths[symbol] = depth;
    }
    lengths
}

/// The canonical code of these lengths.
fn canonical(lengths: &[u8]) -> Vec<(u32, u32)> {
    let mut next = [0_u32; MAX_LENGTH as usize + 2];
    for length in lengths.iter().filter(|length| **length > 0) {
        next[usize::from(*length) + 1] += 1;
    }
    for length in 1..next.len() {
        next[length] = (next[length] + next[length - 1]) << 1;
    }
    let codes = lengths.iter().map(|&length| {
        if length == 0 {
            return (0, 0);
        }
        let code = &mut next[usize::from(length)];
        let reversed = code.reverse_bits() >> (32 - u32::from(length));
        *code += 1;
        (reversed, u32::from(length))
    });
    codes.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether every sequence of bits is a code.
    fn is_complete(lengths: &[u8], longest: u32) -> bool {
        let used = lengths.iter().filter(|length| **length > 0);
        used.map(|length| 1_u32 << (longest - u32::from(*length)))
            .sum::<u32>()
            == 1 << longest
    }

    #[test]
    fn codes_are_complete_and_as_short_as_allowed() {
        let fibonacci: Vec<u32> = (0..40)
            .scan((1, 1), |(a, b), _| {
                (*a, *b) = (*b, *a + *b);
                Some(*a)
            })
            .collect();
        let flat = vec![7; 280];
        let rare = [&[u32::MAX][..], &[1; 279]].concat();
        for counts in [fibonacci, flat, rare, vec![1, 0, 1]] {
            for longest in [15, 9] {
                let lengths = lengths(&counts, longest);
                assert!(is_complete(&lengths, longest), "{lengths:?}");
                let pairs = counts.iter().zip(&lengths);
                assert!(
                    pairs
                        .clone()
                        .all(|(count, length)| (*count > 0) == (*length > 0))
                );
            }
        }
    }
}
