//! Codec tests, one file per direction.

mod discovery;
mod generate;
mod requests;
mod responses;
mod streams;
mod writing;

use bytes::Bytes;
use majordomo_llm::Event;

use super::{Ollama, OllamaEndpoint};
use crate::{Codec, Incoming, Outgoing, Reply};

const CHAT: Ollama = Ollama(OllamaEndpoint::Chat);

/// The PNG signature, also in base64.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n";
const PNG_TEXT: &str = "iVBORw0KGgo=";

fn read(body: &str) -> Incoming {
    CHAT.read_request(Bytes::from(body.to_owned())).unwrap()
}

fn write(request: &majordomo_llm::Request) -> (String, Vec<String>) {
    write_to(request, &Outgoing::new("m"))
}

fn write_to(request: &majordomo_llm::Request, to: &Outgoing<'_>) -> (String, Vec<String>) {
    let written = CHAT.write_request(request, to);
    let losses = written.losses.into_iter().map(|loss| loss.field).collect();
    (String::from_utf8(written.body.to_vec()).unwrap(), losses)
}

fn reply() -> Reply {
    Reply {
        id: "id-1".into(),
        model: "m".into(),
        created: 1_700_000_000,
        ..Reply::default()
    }
}

/// Reads NDJSON lines into events.
fn events(lines: &[&str]) -> majordomo_llm::Result<Vec<Event>> {
    let mut reader = CHAT.stream_reader();
    let mut events = Vec::new();
    for line in lines {
        reader.push(format!("{line}\n").as_bytes(), &mut events)?;
    }
    reader.finish(&mut events)?;
    Ok(events)
}
