//! A vendor's own document: its examples are replayed like recordings.

use majordomo_wire::Protocol;
use serde_json::Value;

use crate::exchange::Exchange;
use crate::index::Row;
use crate::replay::{self, Held, holds};

/// Replays the requests and whole answers among the examples. Those that are
/// abbreviated are no JSON and are counted.
pub(crate) fn replay(protocol: Protocol, row: &Row, exchange: &Exchange) -> Held {
    let codec = protocol.codec();
    let text = String::from_utf8_lossy(&exchange.answer);
    let (mut requests, mut answers, mut abbreviated) = (0, 0, 0);
    for example in requests_in(&text) {
        match serde_json::from_str::<Value>(example) {
            Ok(_) => {
                replay::request(codec, example.as_bytes())
                    .map_err(|e| format!("{e} in {example}"))?;
                requests += 1;
            }
            Err(_) => abbreviated += 1,
        }
    }
    for example in answers_in(&text) {
        match serde_json::from_str::<Value>(example) {
            Ok(value) if value["done"] == true => {
                replay::whole(codec, example.as_bytes())
                    .map_err(|e| format!("{e} in {example}"))?;
                answers += 1;
            }
            Ok(_) => {}
            Err(_) => abbreviated += 1,
        }
    }
    println!(
        "recordings: {}: {requests} requests, {answers} answers, {abbreviated} abbreviated",
        row.path
    );
    holds(requests > 0, "document: no example was found")
}

/// Bodies of `curl` calls of the two endpoints that are spoken.
fn requests_in(text: &str) -> impl Iterator<Item = &str> {
    text.split("curl ").skip(1).filter_map(|call| {
        let (line, _) = call.split_once('\n')?;
        let spoken = line.contains("/api/chat") || line.contains("/api/generate");
        let (_, body) = call.split_once("-d '").filter(|_| spoken)?;
        Some(
            body.split_once("}'")
                .map_or(body, |(head, _)| &body[..=head.len()]),
        )
    })
}

/// Blocks of JSON in a markdown document.
fn answers_in(text: &str) -> impl Iterator<Item = &str> {
    let blocks = text.split("```json").skip(1);
    blocks.filter_map(|block| Some(block.split_once('\n')?.1.split_once("```")?.0))
}
