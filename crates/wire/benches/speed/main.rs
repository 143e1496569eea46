//! Performance goals of all dialects, as one table: `cargo bench -p majordomo-wire`.
//!
//! Contenders run in interleaved rounds and the fastest round of each counts, so
//! the ratios hold on a busy machine. A missed goal fails the run.

mod chunks;
mod goals;
mod requests;

use std::hint::black_box;
use std::process::ExitCode;

use bytes::{Bytes, BytesMut};
use majordomo_llm::Event;
use majordomo_wire::{Protocol, Reply};
use serde_json::Value;

use chunks::CHUNKS;
use goals::{GoalTable, fastest};

fn main() -> ExitCode {
    // `cargo test --all-targets` also runs this binary, as a debug build.
    if !std::env::args().any(|argument| argument == "--bench") {
        return ExitCode::SUCCESS;
    }
    let mut table = GoalTable::default();
    for protocol in Protocol::ALL {
        requests(&mut table, protocol);
    }
    for from in Protocol::ALL {
        for to in Protocol::ALL {
            if from != to {
                transcode(&mut table, from, to);
            }
        }
    }
    for protocol in Protocol::ALL {
        tap(&mut table, protocol);
    }
    table.end()
}

fn requests(table: &mut GoalTable, protocol: Protocol) {
    let of = protocol.dialect();
    let body = requests::agent(protocol);
    let ratio = against_value(protocol, &body, 3);
    table.row(&format!("80 KB agent request, {of}"), ratio, 1.3, "×");
    let body = requests::image(protocol);
    let ratio = against_value(protocol, &body, 1);
    table.row(&format!("1 MB image, {of}"), ratio, 1.0, "×");
}

/// Time to read a request, relative to parsing it as [`Value`].
fn against_value(protocol: Protocol, body: &Bytes, runs: usize) -> f64 {
    let codec = protocol.codec();
    let [ours, theirs] = fastest(
        runs,
        [
            &mut || drop(black_box(codec.read_request(black_box(body.clone())))),
            &mut || drop(black_box(serde_json::from_slice::<Value>(black_box(body)))),
        ],
    );
    ours.as_secs_f64() / theirs.as_secs_f64()
}

/// Time to read one chunk and write it in another dialect, in microseconds.
fn transcode(table: &mut GoalTable, from: Protocol, to: Protocol) {
    let (first, chunks) = chunks::of(from);
    let reply = Reply {
        id: "id".into(),
        model: "m".into(),
        created: 1,
        ..Reply::default()
    };
    let mut texts = 0;
    let [time] = fastest(
        1,
        [&mut || {
            let mut reader = from.codec().stream_reader();
            let mut writer = to.codec().stream_writer(&reply);
            let mut out = BytesMut::with_capacity(256 * 1024);
            let mut events: Vec<Event> = Vec::new();
            texts = 0;
            for chunk in first.iter().chain(&chunks) {
                let read = reader.push(black_box(chunk), &mut events);
                read.expect("a valid chunk");
                for event in events.drain(..) {
                    texts += usize::from(matches!(event, Event::Text(_)));
                    writer.write(&event, &mut out);
                }
            }
            black_box(out);
        }],
    );
    assert_eq!(texts, CHUNKS, "every chunk is read");
    let name = format!("chunk, {} to {}", from.dialect(), to.dialect());
    table.row(&name, micros(time), 2.0, "µs");
}

/// Time to tap one chunk that is forwarded as bytes, in microseconds.
fn tap(table: &mut GoalTable, protocol: Protocol) {
    let (first, chunks) = chunks::of(protocol);
    let [time] = fastest(
        4,
        [&mut || {
            let mut reader = protocol.codec().stream_reader();
            let mut events: Vec<Event> = Vec::new();
            for chunk in first.iter().chain(&chunks) {
                let read = reader.tap(black_box(chunk), &mut events);
                read.expect("a valid chunk");
            }
            black_box(events);
        }],
    );
    let name = format!("tap, {}", protocol.dialect());
    table.row(&name, micros(time), 0.3, "µs");
}

fn micros(time: std::time::Duration) -> f64 {
    time.as_secs_f64() * 1e6 / CHUNKS as f64
}
