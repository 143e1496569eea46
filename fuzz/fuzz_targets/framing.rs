//! Any bytes, as a stream: chunking and line endings change nothing.
#![no_main]
#![allow(dead_code, reason = "only the streams of the shared checks are used")]

#[path = "wire.rs"]
mod wire;

use majordomo_wire::Protocol;
use wire::{chunks, pushed};

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let windows = (!data.contains(&b'\r')).then(|| replace(data, b"\n", b"\r\n"));
    let commented = replace(data, b"\n\n", b"\n\n: ping\n\n");
    for protocol in Protocol::ALL {
        let whole = pushed(protocol, [data]);
        assert_eq!(whole, pushed(protocol, chunks(data)), "cut");
        assert_eq!(whole, pushed(protocol, data.chunks(1)), "byte by byte");
        if let Some(windows) = &windows {
            assert_eq!(whole, pushed(protocol, chunks(windows)), "with CRLF");
        }
        // NDJSON has no comments.
        if protocol != Protocol::Ollama {
            assert_eq!(whole, pushed(protocol, chunks(&commented)), "with comments");
        }
    }
});

fn replace(data: &[u8], old: &[u8], new: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(data.len() * 2);
    let mut rest = data;
    while let Some(first) = rest.first() {
        match rest.strip_prefix(old) {
            Some(after) => {
                out.extend_from_slice(new);
                rest = after;
            }
            None => {
                out.push(*first);
                rest = &rest[1..];
            }
        }
    }
    out
}
