//! Tests of the dialect, one file per direction.

mod cache_marks;
mod corpus;
mod requests;
mod responses;
mod round_trip;
mod streams;
mod writing;

use bytes::{Bytes, BytesMut};
use majordomo_llm::{Assembler, Event, Request, Response};

use super::{MESSAGES, Messages};
use crate::{Codec, Incoming, Outgoing, Reply};

fn read(body: &str) -> Incoming {
    Messages.read_request(Bytes::from(body.to_owned())).unwrap()
}

fn write(request: &Request) -> (String, Vec<String>) {
    let written = Messages.write_request(request, &Outgoing::new("m"));
    let losses = written.losses.into_iter().map(|loss| loss.field).collect();
    (String::from_utf8(written.body.to_vec()).unwrap(), losses)
}

fn reply() -> Reply {
    Reply {
        id: "msg_1".into(),
        model: "m".into(),
        created: 7,
        stream_usage: false,
        first_call: 0,
        ..Reply::default()
    }
}

/// Reads a stream, given its events without their framing.
fn events(chunks: &[&str]) -> majordomo_llm::Result<Vec<Event>> {
    let mut reader = Messages.stream_reader();
    let mut events = Vec::new();
    for chunk in chunks {
        reader.push(format!("data: {chunk}\n\n").as_bytes(), &mut events)?;
    }
    reader.finish(&mut events)?;
    Ok(events)
}

fn assemble(events: impl IntoIterator<Item = Event>) -> Response {
    let mut assembler = Assembler::default();
    for event in events {
        assembler.push(event);
    }
    assembler.into_response()
}

/// Writes a stream and returns it with its losses.
fn written(events: &[Event]) -> (String, Vec<String>) {
    let mut writer = Messages.stream_writer(&reply());
    let mut out = BytesMut::new();
    for event in events {
        writer.write(event, &mut out);
    }
    let losses = writer.losses().into_iter().map(|loss| loss.field).collect();
    (String::from_utf8(out.to_vec()).unwrap(), losses)
}
