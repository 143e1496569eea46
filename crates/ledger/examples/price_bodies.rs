//! Prices response bodies: one JSON object per line in, one number of nanodollars out.
//!
//! `tests/prices` compares the output with `genai_prices`. A line is `{"vendor", "model",
//! "at_millis", "tier"}` with either `"protocol"` and `"body"`, a recorded response, or
//! `"used"`, the quantities themselves. The output is the cost, `unknown` without a price,
//! or `error` and the reason.

use std::io::{BufRead, Write};

use majordomo_ledger::{PriceBook, Quantities};
use majordomo_wire::Protocol;
use serde::Deserialize;

#[derive(Deserialize)]
struct Line {
    vendor: String,
    model: String,
    at_millis: i64,
    tier: Option<String>,
    #[serde(default)]
    protocol: String,
    #[serde(default)]
    body: String,
    used: Option<Quantities>,
}

fn used(line: &Line) -> Result<Quantities, String> {
    if let Some(used) = line.used {
        return Ok(used);
    }
    let protocol = match line.protocol.as_str() {
        "openai-chat" => Protocol::Chat,
        "openai-responses" => Protocol::Responses,
        "anthropic-messages" => Protocol::Messages,
        "gemini" => Protocol::Gemini,
        other => return Err(format!("no protocol `{other}`")),
    };
    let response = protocol.codec().read_response(line.body.clone().into(), 0);
    let response = response.map_err(|error| error.to_string())?;
    Ok(Quantities::from(&response.usage))
}

fn price(book: &PriceBook, line: &Line) -> Result<String, String> {
    let used = used(line)?;
    let tier = line.tier.as_deref();
    let card = book.listed(&line.vendor, &line.model, tier, line.at_millis);
    let cost = card.and_then(|card| card.cost(&used));
    Ok(cost.map_or("unknown".to_owned(), |cost| cost.nanodollars().to_string()))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let book = PriceBook::default();
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let line: Line = serde_json::from_str(&line?)?;
        match price(&book, &line) {
            Ok(cost) => writeln!(out, "{cost}")?,
            Err(reason) => writeln!(out, "error {}", reason.replace('\n', " "))?,
        }
    }
    Ok(())
}
