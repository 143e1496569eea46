//! Our count of the output of a stream that is cut, against the usage that providers report.
//!
//! Every recorded stream is cut after the last frame that carries content: reports in later
//! frames are not seen. What we then charge is compared with the last report, without the
//! reasoning that the provider says it did not send.

use bytes::Bytes;
use majordomo_llm::{Event, OutputCount, OutputCounter, Part, TokenizerFamily, Usage};
use majordomo_wire::{FrameContent, Protocol};

use super::exchange;
use super::index::Index;

/// What of a stream's reported tokens can be seen, the easiest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Class {
    /// The provider reports its usage with every chunk, including reasoning.
    Reports,
    /// Text and reasoning, a token per delta.
    Tokens,
    /// Text and reasoning in larger deltas.
    Text,
    /// Calls, around which models write tokens that no byte shows.
    Calls,
    /// Reasoning that did not arrive, or in a summary only.
    Hidden,
    /// Calls that the provider ran itself, with their input and output.
    Hosted,
    /// The report contradicts the stream, as in fixtures that were written by hand.
    Inconsistent,
}

/// Recordings whose report does not match their visible content, with the reason.
const NAMED: &[(&str, Class, &str)] = &[
    (
        "utf8_chunking_bug/",
        Class::Inconsistent,
        "50 tokens for 7,566 bytes",
    ),
    (
        "openai-reasoning-encrypted-content.1",
        Class::Inconsistent,
        "several responses in a file",
    ),
    (
        "anthropic-message-delta-input-tokens",
        Class::Inconsistent,
        "2 tokens for a text of one",
    ),
    (
        "anthropic-refusal.chunks",
        Class::Inconsistent,
        "22 tokens in the first report, 5 in the last",
    ),
    (
        "prism/groq/stream-basic-text-1",
        Class::Inconsistent,
        "50 tokens for 33 deltas of one",
    ),
    (
        "prism/openrouter/",
        Class::Inconsistent,
        "reports of other responses",
    ),
    (
        "test_openrouter_advisor_tool",
        Class::Hosted,
        "another model is asked",
    ),
    (
        "test_openrouter_web_search",
        Class::Hosted,
        "the router searches",
    ),
    (
        "_citations.0",
        Class::Hosted,
        "citations are written and not sent as text",
    ),
];

/// One recorded stream, with the provider's report and our count.
pub(crate) struct CountedStream {
    pub(crate) path: String,
    pub(crate) class: Class,
    /// Reported output tokens, without hidden reasoning.
    pub(crate) reported: u64,
    /// Our count, by the events.
    counted: u64,
    /// Our count of the same content in a stream that is forwarded as bytes.
    tapped: u64,
}

impl CountedStream {
    /// How far our count is off, as a share of the reported one.
    pub(crate) fn off(&self) -> f64 {
        (self.counted as f64 / self.reported as f64 - 1.0).abs()
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
        let frames = frames(protocol, &exchange.response_body);
        if let Some(events) = events(protocol, &frames) {
            counted.extend(count(&row.path, protocol, &frames, &events));
        }
    }
    counted
}

fn frames(protocol: Protocol, body: &[u8]) -> Vec<Bytes> {
    let mut splitter = protocol.frames();
    splitter
        .push(Bytes::copy_from_slice(body))
        .expect("short frames");
    let mut frames = Vec::new();
    frames.extend(splitter.by_ref());
    frames.push(splitter.rest());
    frames
}

/// The events of each frame; none if the stream is not complete.
fn events(protocol: Protocol, frames: &[Bytes]) -> Option<Vec<Vec<Event>>> {
    let mut reader = protocol.codec().stream_reader();
    let mut all = Vec::new();
    for frame in frames {
        let mut events = Vec::new();
        reader.push(frame, &mut events).ok()?;
        all.push(events);
    }
    let mut last = Vec::new();
    reader.finish(&mut last).ok()?;
    all.push(last);
    Some(all)
}

fn count(
    path: &str,
    protocol: Protocol,
    frames: &[Bytes],
    by_frame: &[Vec<Event>],
) -> Option<CountedStream> {
    let all: Vec<&Event> = by_frame.iter().flatten().collect();
    let reported = all.iter().rev().find_map(|event| match event {
        Event::Usage(usage) => Some(*usage),
        _ => None,
    })?;
    let name = all.iter().find_map(|event| match event {
        Event::Start { model, .. } => model.clone(),
        _ => None,
    });
    let family = match protocol {
        Protocol::Messages => TokenizerFamily::Claude,
        _ => TokenizerFamily::of(name.as_deref().unwrap_or_default()),
    };
    let hidden = match protocol {
        // Every chunk reports it.
        Protocol::Gemini => 0,
        _ => hidden_reasoning(&all, &reported),
    };
    let has_content = |events: &Vec<Event>| events.iter().any(|event| event.content_len() > 0);
    let arrived = by_frame
        .iter()
        .rposition(has_content)
        .map_or(0, |at| at + 1);
    let (mut counter, mut unreported) = (OutputCounter::default(), OutputCount::default());
    let mut opening = 0;
    for event in by_frame[..arrived].iter().flatten() {
        if let Event::Usage(usage) = event
            && usage.output > 0
        {
            opening = usage.output;
            unreported = OutputCount::default();
        }
        // A summary stands for the reasoning that is not compared.
        if hidden == 0 || !matches!(event, Event::Reasoning(_)) {
            unreported += counter.event(event);
        }
    }
    let stream = CountedStream {
        path: path.to_owned(),
        class: class(path, protocol, &all, hidden),
        reported: reported.output.checked_sub(hidden)?,
        counted: opening + unreported.tokens(family),
        tapped: tapped(protocol, frames, family),
    };
    (stream.reported > 0).then_some(stream)
}

/// Reported reasoning that did not arrive as it was written.
fn hidden_reasoning(events: &[&Event], reported: &Usage) -> u64 {
    let mut deltas = 0;
    let (mut counter, mut count) = (OutputCounter::default(), OutputCount::default());
    for event in events {
        if let Event::Reasoning(text) = event {
            deltas += u64::from(!text.is_empty());
            count += counter.event(event);
        }
    }
    // A summary is not as long as what it summarizes.
    let as_written = |shown: u64| shown.abs_diff(reported.reasoning) * 10 <= reported.reasoning;
    match as_written(deltas) || as_written(count.tokens(TokenizerFamily::Other)) {
        true => 0,
        false => reported.reasoning,
    }
}

fn class(path: &str, protocol: Protocol, events: &[&Event], hidden: u64) -> Class {
    let named = NAMED.iter().find(|(part, _, _)| path.contains(part));
    if let Some((_, class, _)) = named {
        return *class;
    }
    let has = |is: fn(&Event) -> bool| events.iter().any(|event| is(event));
    let calls = has(|event| {
        matches!(
            event,
            Event::ToolCallStart { .. } | Event::Part(Part::ToolCall(_))
        )
    });
    if has(|event| matches!(event, Event::Part(Part::Opaque(_)))) {
        return Class::Hosted;
    }
    if protocol == Protocol::Gemini && !calls {
        return Class::Reports;
    }
    let reasons = has(|event| matches!(event, Event::Reasoning(_)));
    if hidden > 0 || (protocol == Protocol::Responses && reasons) {
        return Class::Hidden;
    }
    if calls {
        return Class::Calls;
    }
    let (mut counter, mut texts) = (OutputCounter::default(), (0, 0));
    for event in events.iter().filter(|event| event.content_len() > 0) {
        texts.0 += 1;
        texts.1 += u64::from(counter.event(event).tokens(TokenizerFamily::Other) <= 1);
    }
    match protocol != Protocol::Messages && texts.1 * 10 >= texts.0 * 8 {
        true => Class::Tokens,
        false => Class::Text,
    }
}

/// Our count of a stream that is forwarded as bytes.
fn tapped(protocol: Protocol, frames: &[Bytes], family: TokenizerFamily) -> u64 {
    let reader = protocol.codec().stream_reader();
    let (mut counter, mut count) = (OutputCounter::default(), OutputCount::default());
    for frame in frames {
        match reader.content(frame) {
            FrameContent::Delta(text) => count += counter.escaped(text),
            FrameContent::Call(name) => count += counter.call(name),
            FrameContent::WholeCall { name, arguments } => {
                count += counter.call(name);
                count += counter.escaped(arguments);
            }
            _ => {}
        }
    }
    count.tokens(family)
}

/// Prints the distribution of the differences, and returns their 95th percentile.
pub(crate) fn print<'a>(
    name: &str,
    streams: impl Iterator<Item = &'a CountedStream> + Clone,
) -> f64 {
    let (mut off, mut tokens): (Vec<f64>, Vec<u64>) = streams
        .clone()
        .map(|one| (one.off(), one.counted.abs_diff(one.reported)))
        .unzip();
    off.sort_unstable_by(f64::total_cmp);
    tokens.sort_unstable();
    if off.is_empty() {
        return 0.0;
    }
    let at = |share: usize| (off.len() - 1) * share / 100;
    let (reported, counted) = streams.fold((0, 0), |sum, one| {
        (sum.0 + one.reported, sum.1 + one.counted)
    });
    println!(
        "recordings: {name}: {} streams, our count is off by p50 {:.0} % ({}), p95 {:.0} % ({} tokens), in sum {:+.1} %",
        off.len(),
        100.0 * off[at(50)],
        tokens[at(50)],
        100.0 * off[at(95)],
        tokens[at(95)],
        100.0 * (counted as f64 / reported as f64 - 1.0)
    );
    off[at(95)]
}

/// Prints large deviations, for work on the count.
pub(crate) fn print_outliers(streams: &[CountedStream]) {
    for one in streams.iter().filter(|one| one.off() > 0.1) {
        println!(
            "recordings: {:?}: {} tokens of {}, as bytes {}: {}",
            one.class, one.counted, one.reported, one.tapped, one.path
        );
    }
}
