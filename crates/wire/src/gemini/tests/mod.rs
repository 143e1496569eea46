//! Codec tests, one file per direction.

mod editing;
mod partial_args;
mod requests;
mod responses;
mod round_trips;
mod streams;
mod writing;

use bytes::{Bytes, BytesMut};
use majordomo_llm::{Assembler, Event, Request, Response};

use super::Gemini;
use crate::{Codec, Incoming, Outgoing, Reply};

fn read(body: &str) -> Incoming {
    Gemini.read_request(Bytes::from(body.to_owned())).unwrap()
}

/// Reads a request with these `contents`.
fn contents(contents: &str) -> Request {
    read(&format!(r#"{{"contents":[{contents}]}}"#)).request
}

fn write(request: &Request) -> (String, Vec<String>) {
    write_to(request, "m")
}

fn write_to(request: &Request, model: &str) -> (String, Vec<String>) {
    let written = Gemini.write_request(request, &Outgoing::new(model));
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

/// Reads a stream into events.
fn events(stream: &str) -> majordomo_llm::Result<Vec<Event>> {
    let mut reader = Gemini.stream_reader();
    let mut events = Vec::new();
    reader.push(stream.as_bytes(), &mut events)?;
    reader.finish(&mut events)?;
    Ok(events)
}

/// Writes events as a stream; also returns the lost fields.
fn stream(events: &[Event]) -> (String, Vec<String>) {
    let mut writer = Gemini.stream_writer(&reply());
    let mut out = BytesMut::new();
    for event in events {
        writer.write(event, &mut out);
    }
    let losses = writer.losses().into_iter().map(|loss| loss.field).collect();
    (String::from_utf8(out.to_vec()).unwrap(), losses)
}

fn fold(events: &[Event]) -> Response {
    let mut assembler = Assembler::default();
    for event in events {
        assembler.push(event.clone());
    }
    assembler.into_response()
}
