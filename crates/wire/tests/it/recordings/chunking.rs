//! A stream yields the same events for every chunking.

use std::sync::atomic::{AtomicUsize, Ordering};

use majordomo_llm::{Event, Result};
use majordomo_wire::{Codec, Protocol, StreamReader};

use super::exchange;
use super::index::Index;

/// Up to this length, every single cut is tried.
const MAX_EXHAUSTIVE: usize = 1_000;
/// Number of random chunkings for longer streams.
const RANDOM_CHUNKINGS: usize = 1_000;
/// Few cuts leave long chunks, in which the next cut cannot mask an error.
const MAX_CUTS: usize = 3;

/// Number of streams and chunkings, and the failures.
#[derive(Default)]
pub(crate) struct ChunkingReport {
    pub(crate) streams: usize,
    pub(crate) chunkings: usize,
    pub(crate) failures: Vec<String>,
}

/// Chunks every recorded stream, on all CPUs.
pub(crate) fn cut_all(index: &Index, codecs: &[(&str, Protocol)]) -> ChunkingReport {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut cut = ChunkingReport::default();
        while let Some(row) = index.rows.get(next.fetch_add(1, Ordering::Relaxed)) {
            let exchange = exchange::load(&index.folder, row);
            let protocol = exchange.protocol(&row.protocol, codecs);
            let Some(protocol) = protocol.filter(|_| exchange.streamed) else {
                continue;
            };
            let chunkings = chunkings(exchange.response_body.len());
            cut.streams += 1;
            cut.chunkings += chunkings.len();
            if let Err(why) =
                same_for_all_chunkings(protocol.codec(), &exchange.response_body, &chunkings)
            {
                cut.failures.push(format!("{}: {why}", row.path));
            }
        }
        cut
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        let working: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        working
            .into_iter()
            .fold(ChunkingReport::default(), |mut all, thread| {
                let cut = thread.join().expect("no reader panics");
                all.streams += cut.streams;
                all.chunkings += cut.chunkings;
                all.failures.extend(cut.failures);
                all
            })
    })
}

/// Feeds bytes to a reader, either reading or tapping them.
type FeedFn = fn(&mut dyn StreamReader, &[u8], &mut Vec<Event>) -> Result<()>;

/// Both decode the same frames, so a tap is tried with fewer chunkings.
const FEEDS: [(&str, usize, FeedFn); 2] = [
    ("read", usize::MAX, |reader, chunk, events| {
        reader.push(chunk, events)
    }),
    ("tapped", RANDOM_CHUNKINGS / 10, |reader, chunk, events| {
        reader.tap(chunk, events)
    }),
];

fn same_for_all_chunkings(
    codec: &dyn Codec,
    body: &[u8],
    chunkings: &[Vec<usize>],
) -> Result<(), String> {
    for (verb, most, feed) in FEEDS {
        let whole = read_chunks(codec, feed, [body]);
        for cuts in chunkings.iter().take(most) {
            if read_chunks(codec, feed, chunks(body, cuts)) != whole {
                let few: Vec<_> = cuts.iter().take(MAX_CUTS).collect();
                return Err(format!("{verb} otherwise when cut at {few:?}"));
            }
        }
    }
    Ok(())
}

/// The events of a stream, and its error if it fails.
fn read_chunks<'b>(
    codec: &dyn Codec,
    feed: FeedFn,
    chunks: impl IntoIterator<Item = &'b [u8]>,
) -> (Vec<Event>, Result<(), String>) {
    let mut reader = codec.stream_reader();
    let mut events = Vec::new();
    let ended = chunks
        .into_iter()
        .try_for_each(|chunk| feed(&mut *reader, chunk, &mut events))
        .and_then(|()| reader.finish(&mut events));
    (events, ended.map_err(|error| error.to_string()))
}

/// Lists of cut positions, the same in every run.
fn chunkings(length: usize) -> Vec<Vec<usize>> {
    let each_byte = (1..length).collect();
    let mut chunkings = vec![each_byte];
    if length <= MAX_EXHAUSTIVE {
        chunkings.extend((1..length).map(|cut| vec![cut]));
        return chunkings;
    }
    let mut random = Random(length as u64);
    chunkings.extend((0..RANDOM_CHUNKINGS).map(|_| random.cuts(length)));
    chunkings
}

/// The chunks between the cuts.
fn chunks<'b>(bytes: &'b [u8], cuts: &'b [usize]) -> impl Iterator<Item = &'b [u8]> {
    let starts = std::iter::once(0).chain(cuts.iter().copied());
    let ends = cuts.iter().copied().chain(std::iter::once(bytes.len()));
    starts.zip(ends).map(|(start, end)| &bytes[start..end])
}

/// xorshift: deterministic, and good enough to choose positions.
struct Random(u64);

impl Random {
    fn cuts(&mut self, length: usize) -> Vec<usize> {
        let count = 1 + self.below(MAX_CUTS);
        let mut cuts: Vec<usize> = (0..count).map(|_| self.below(length)).collect();
        cuts.sort_unstable();
        cuts
    }

    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit as u64) as usize
    }
}
