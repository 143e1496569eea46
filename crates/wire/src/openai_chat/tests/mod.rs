//! Codec tests, one file per direction.

mod requests;
mod responses;
mod streams;
mod writing;

use bytes::Bytes;
use majordomo_llm::Event;

use super::Chat;
use crate::{Codec, Incoming, Outgoing, Reply};

fn read(body: &str) -> Incoming {
    Chat.read_request(Bytes::from(body.to_owned())).unwrap()
}

fn write(request: &majordomo_llm::Request) -> (String, Vec<String>) {
    let written = Chat.write_request(request, &Outgoing::new("m"));
    let losses = written.losses.into_iter().map(|loss| loss.field).collect();
    (String::from_utf8(written.body.to_vec()).unwrap(), losses)
}

fn reply() -> Reply {
    Reply {
        id: "id-1".into(),
        model: "m".into(),
        created: 7,
        stream_usage: false,
        first_call: 0,
        ..Reply::default()
    }
}

/// Reads chunks, given without their SSE framing, into events.
fn events(chunks: &[&str]) -> majordomo_llm::Result<Vec<Event>> {
    let mut reader = Chat.stream_reader();
    let mut events = Vec::new();
    for chunk in chunks {
        reader.push(format!("data: {chunk}\n\n").as_bytes(), &mut events)?;
    }
    reader.finish(&mut events)?;
    Ok(events)
}
