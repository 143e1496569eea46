//! Replays the examples of a vendor's documentation.

use majordomo_wire::Protocol;
use serde_json::Value;

use super::exchange::Exchange;
use super::index::RecordingRow;
use super::replay::{self, CheckResult, check};

/// Replays the requests and whole responses among the examples. Abbreviated
/// ones are not JSON; they are only counted.
pub(crate) fn replay(protocol: Protocol, row: &RecordingRow, exchange: &Exchange) -> CheckResult {
    let codec = protocol.codec();
    let text = String::from_utf8_lossy(&exchange.response_body);
    let (mut requests, mut responses, mut abbreviated) = (0, 0, 0);
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
                responses += 1;
            }
            Ok(_) => {}
            Err(_) => abbreviated += 1,
        }
    }
    println!(
        "recordings: {}: {requests} requests, {responses} responses, {abbreviated} abbreviated",
        row.path
    );
    check(requests > 0, "document: no example was found")
}

/// Bodies of `curl` calls to the two supported endpoints.
fn requests_in(text: &str) -> impl Iterator<Item = &str> {
    text.split("curl ").skip(1).filter_map(|call| {
        let (line, _) = call.split_once('\n')?;
        let is_supported = line.contains("/api/chat") || line.contains("/api/generate");
        let (_, body) = call.split_once("-d '").filter(|_| is_supported)?;
        Some(
            body.split_once("}'")
                .map_or(body, |(head, _)| &body[..=head.len()]),
        )
    })
}

/// JSON blocks of a Markdown document.
fn answers_in(text: &str) -> impl Iterator<Item = &str> {
    let blocks = text.split("```json").skip(1);
    blocks.filter_map(|block| Some(block.split_once('\n')?.1.split_once("```")?.0))
}
