//! A stream gives the same events however its bytes are cut.

use std::sync::atomic::{AtomicUsize, Ordering};

use majordomo_llm::{Event, Result};
use majordomo_wire::{Codec, Protocol, StreamReader};

use crate::exchange;
use crate::index::Index;

/// Up to this length every position is a way of its own.
const SHORT: usize = 1_000;
/// In how many random ways a longer stream is cut.
const RANDOM_WAYS: usize = 1_000;
/// Few cuts leave long pieces, in which a mistake is not healed by the next cut.
const MOST_CUTS: usize = 3;

/// How many streams were cut, in how many ways, and which of them read otherwise.
#[derive(Default)]
pub(crate) struct Cut {
    pub(crate) streams: usize,
    pub(crate) ways: usize,
    pub(crate) failures: Vec<String>,
}

/// Cuts every stream among the recordings, on all processors.
pub(crate) fn cut_all(index: &Index, spoken: &[(&str, Protocol)]) -> Cut {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut cut = Cut::default();
        while let Some(row) = index.rows.get(next.fetch_add(1, Ordering::Relaxed)) {
            let exchange = exchange::load(&index.folder, row);
            let protocol = exchange.protocol(&row.protocol, spoken);
            let Some(protocol) = protocol.filter(|_| exchange.streamed) else {
                continue;
            };
            let ways = ways(exchange.answer.len());
            cut.streams += 1;
            cut.ways += ways.len();
            if let Err(why) = same_however_cut(protocol.codec(), &exchange.answer, &ways) {
                cut.failures.push(format!("{}: {why}", row.path));
            }
        }
        cut
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        let working: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        working.into_iter().fold(Cut::default(), |mut all, thread| {
            let cut = thread.join().expect("no reader panics");
            all.streams += cut.streams;
            all.ways += cut.ways;
            all.failures.extend(cut.failures);
            all
        })
    })
}

/// How bytes are given to a reader: read in full, or tapped.
type Take = fn(&mut dyn StreamReader, &[u8], &mut Vec<Event>) -> Result<()>;

/// Both take apart the same frames, so a tap is tried in a part of the ways.
const TAKES: [(&str, usize, Take); 2] = [
    ("read", usize::MAX, |reader, piece, events| {
        reader.push(piece, events)
    }),
    ("tapped", RANDOM_WAYS / 10, |reader, piece, events| {
        reader.tap(piece, events)
    }),
];

fn same_however_cut(codec: &dyn Codec, body: &[u8], ways: &[Vec<usize>]) -> Result<(), String> {
    for (taken, most, take) in TAKES {
        let whole = seen(codec, take, [body]);
        for cuts in ways.iter().take(most) {
            if seen(codec, take, pieces(body, cuts)) != whole {
                let few: Vec<_> = cuts.iter().take(MOST_CUTS).collect();
                return Err(format!("{taken} otherwise when cut at {few:?}"));
            }
        }
    }
    Ok(())
}

/// The events of a stream, and the kind of its error if it ends with one.
fn seen<'b>(
    codec: &dyn Codec,
    take: Take,
    pieces: impl IntoIterator<Item = &'b [u8]>,
) -> (Vec<Event>, Result<(), String>) {
    let mut reader = codec.stream_reader();
    let mut events = Vec::new();
    let ended = pieces
        .into_iter()
        .try_for_each(|piece| take(&mut *reader, piece, &mut events))
        .and_then(|()| reader.finish(&mut events));
    (events, ended.map_err(|error| error.to_string()))
}

/// Lists of cut positions, the same in every run.
fn ways(length: usize) -> Vec<Vec<usize>> {
    let each_byte = (1..length).collect();
    let mut ways = vec![each_byte];
    if length <= SHORT {
        ways.extend((1..length).map(|cut| vec![cut]));
        return ways;
    }
    let mut random = Random(length as u64);
    ways.extend((0..RANDOM_WAYS).map(|_| random.cuts(length)));
    ways
}

/// The pieces between the cuts.
fn pieces<'b>(bytes: &'b [u8], cuts: &'b [usize]) -> impl Iterator<Item = &'b [u8]> {
    let starts = std::iter::once(0).chain(cuts.iter().copied());
    let ends = cuts.iter().copied().chain(std::iter::once(bytes.len()));
    starts.zip(ends).map(|(start, end)| &bytes[start..end])
}

/// xorshift: repeatable, and good enough to choose places.
struct Random(u64);

impl Random {
    fn cuts(&mut self, length: usize) -> Vec<usize> {
        let count = 1 + self.below(MOST_CUTS);
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
