//! Our count of output against the usage that providers report.

use majordomo_llm::Event;
use majordomo_wire::Protocol;

use super::exchange;
use super::index::Index;

/// As the chain counts what arrived of a stream that was cut.
const BYTES_PER_TOKEN: usize = 4;

/// One recorded stream: what the provider reports, and what we count.
pub(crate) struct CountedStream {
    pub(crate) dialect: String,
    /// Reported output tokens that are visible in the stream.
    reported: u64,
    /// Our count.
    counted: u64,
}

impl CountedStream {
    /// How far our count is off, as a share of the reported one.
    fn off(&self) -> f64 {
        self.counted as f64 / self.reported as f64 - 1.0
    }
}

/// Reads every complete stream that reports its output.
pub(crate) fn count_all(index: &Index, codecs: &[(&str, Protocol)]) -> Vec<CountedStream> {
    let mut counted = Vec::new();
    for row in &index.rows {
        let exchange = exchange::load(&index.folder, row);
        let protocol = exchange.protocol(&row.protocol, codecs);
        let Some(protocol) = protocol.filter(|_| exchange.streamed) else {
            continue;
        };
        let mut reader = protocol.codec().stream_reader();
        let mut events = Vec::new();
        let read = reader.push(&exchange.response_body, &mut events);
        if read.and_then(|()| reader.finish(&mut events)).is_err() {
            continue;
        }
        let usage = events.iter().rev().find_map(|event| match event {
            Event::Usage(usage) => Some(*usage),
            _ => None,
        });
        let Some(usage) = usage else {
            continue;
        };
        // Encrypted reasoning is reported, and not shown.
        let is_shown = |event: &Event| matches!(event, Event::Reasoning(text) if !text.is_empty());
        let shows_reasoning = events.iter().any(is_shown);
        let hidden = if shows_reasoning { 0 } else { usage.reasoning };
        let bytes: usize = events.iter().map(Event::content_len).sum();
        let stream = CountedStream {
            dialect: protocol.dialect().to_string(),
            reported: usage.output.saturating_sub(hidden),
            counted: bytes.div_ceil(BYTES_PER_TOKEN) as u64,
        };
        counted.extend((stream.reported > 0).then_some(stream));
    }
    counted
}

/// Prints the distribution of the differences, and returns that of the sums.
pub(crate) fn print<'a>(
    name: &str,
    streams: impl Iterator<Item = &'a CountedStream> + Clone,
) -> f64 {
    let mut off: Vec<f64> = streams.clone().map(|one| one.off().abs()).collect();
    off.sort_unstable_by(f64::total_cmp);
    let at = |share: usize| 100.0 * off[(off.len() - 1) * share / 100];
    let (reported, counted) = streams.fold((0, 0), |sum, one| {
        (sum.0 + one.reported, sum.1 + one.counted)
    });
    let total = counted as f64 / reported as f64 - 1.0;
    println!(
        "recordings: {name}: {} streams, our count is off by p50 {:.0} %, p95 {:.0} %, in sum {:.0} %",
        off.len(),
        at(50),
        at(95),
        100.0 * total
    );
    total
}
