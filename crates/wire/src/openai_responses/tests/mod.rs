//! Tests of the dialect, one file per direction.

mod crossing;
mod declared_tools;
mod requests;
mod responses;
mod stream_reading;
mod stream_writing;
mod writing;

use bytes::Bytes;
use majordomo_llm::{Assembler, Event, Json, Native, Response};

use super::{RESPONSES, Responses};
use crate::{Codec, Incoming, Outgoing, Reply};

fn read(body: &str) -> Incoming {
    Responses
        .read_request(Bytes::from(body.to_owned()))
        .unwrap()
}

fn write(request: &majordomo_llm::Request) -> (String, Vec<String>) {
    let written = Responses.write_request(request, &Outgoing::new("m"));
    let losses = written.losses.into_iter().map(|loss| loss.field).collect();
    (String::from_utf8(written.body.to_vec()).unwrap(), losses)
}

fn reply() -> Reply {
    Reply {
        id: "resp_1".into(),
        model: "m".into(),
        created: 7,
        stream_usage: true,
        first_call: 0,
        ..Reply::default()
    }
}

/// Reads a stream, given its events without their framing.
fn events(frames: &[&str]) -> majordomo_llm::Result<Vec<Event>> {
    let mut reader = Responses.stream_reader();
    let mut events = Vec::new();
    for frame in frames {
        reader.push(format!("data: {frame}\n\n").as_bytes(), &mut events)?;
    }
    reader.finish(&mut events)?;
    Ok(events)
}

fn assemble(events: &[Event]) -> Response {
    let mut assembler = Assembler::default();
    for event in events {
        assembler.push(event.clone());
    }
    assembler.into_response()
}
