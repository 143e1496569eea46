//! Properties of every dialect's reader, for any bytes.

use std::collections::BTreeMap;
use std::time::SystemTime;

use bytes::{Bytes, BytesMut};
use majordomo_llm::{Event, Result};
use majordomo_wire::{Codec, FailedResponse, Incoming, Outgoing, Protocol, Reply, StreamReader};
use serde_json::value::RawValue;

/// Passes the bytes to every reader of the dialect, and the results to every writer.
pub fn read(protocol: Protocol, data: &[u8]) {
    request(protocol, data);
    response(protocol, data);
    error(protocol, data);
    models(protocol, data);
    stream(protocol, data);
}

fn request(protocol: Protocol, data: &[u8]) {
    let body = Bytes::copy_from_slice(data);
    if let Some(counter) = protocol.codec().count_tokens() {
        if let Ok(incoming) = counter.read_request(body.clone()) {
            let written = counter.write_request(&incoming.request, &Outgoing::new("m"));
            assert_json(&written.body);
        }
        let _ = counter.read_response(data);
    }
    let Ok(incoming) = protocol.codec().read_request(body) else {
        return;
    };
    untouched(protocol.codec(), &incoming, data);
    let mut edited = incoming.request.clone();
    edited.edit().seed = Some(1);
    let to = Outgoing::new("m").stream(!incoming.stream);
    assert_json(&protocol.codec().write_request(&edited, &to).body);
    for other in others(protocol) {
        let written = other.codec().write_request(&incoming.request, &to);
        assert_json(&written.body);
    }
}

/// An untouched request is written back as the same bytes, except for the model.
fn untouched(codec: &dyn Codec, incoming: &Incoming, data: &[u8]) {
    let model = incoming.model.clone().unwrap_or_default();
    let to = Outgoing::new(&model).stream(incoming.stream);
    let written = codec.write_request(&incoming.request, &to);
    assert!(written.losses.is_empty(), "nothing is lost at home");
    let (Some(before), Some(after)) = (around_model(data), around_model(&written.body)) else {
        assert_json(&written.body);
        return;
    };
    assert!(before == after, "more than the model was changed");
}

/// The bytes before and after the value of `model`; `None` if there is none.
fn around_model(body: &[u8]) -> Option<(&[u8], &[u8])> {
    let fields: BTreeMap<String, &RawValue> = serde_json::from_slice(body).ok()?;
    let value = fields.get("model")?.get();
    let at = value.as_ptr().addr() - body.as_ptr().addr();
    Some((&body[..at], &body[at + value.len()..]))
}

fn response(protocol: Protocol, data: &[u8]) {
    let body = Bytes::copy_from_slice(data);
    if let Ok(response) = protocol.codec().read_response(body, 0) {
        for to in Protocol::ALL {
            assert_json(&to.codec().write_response(&response, &reply()).body);
        }
    }
}

fn error(protocol: Protocol, data: &[u8]) {
    let error = protocol.codec().read_error(&FailedResponse {
        status: 400,
        header: &|_| None,
        body: data,
        now: SystemTime::UNIX_EPOCH,
    });
    for to in Protocol::ALL {
        assert_json(&to.codec().write_error(&error).body);
    }
}

fn models(protocol: Protocol, data: &[u8]) {
    if let Ok(models) = protocol.codec().read_models(data) {
        for to in Protocol::ALL {
            assert_json(&to.codec().write_models(&models, 1));
        }
    }
}

fn stream(protocol: Protocol, data: &[u8]) {
    let whole = pushed(protocol, [data]);
    let pieces = pushed(protocol, chunks(data));
    assert_eq!(whole, pieces, "chunking changed the events");
    let tapped = tapped(protocol, data);
    // A tap matches keys bytewise, so it may miss escaped ones.
    if whole.ended.is_ok() && !data.contains(&b'\\') {
        assert_eq!(tapped.ended, Ok(()), "the tap saw another end");
        assert_eq!(tapped.usage(), whole.usage(), "the tap saw another usage");
    }
    for to in Protocol::ALL {
        let mut writer = to.codec().stream_writer(&reply());
        let mut out = BytesMut::new();
        for event in &whole.events {
            writer.write(event, &mut out);
        }
        writer.losses();
    }
}

/// The outcome of reading a stream.
#[derive(Debug, PartialEq)]
pub struct Seen {
    /// The events, up to the end or the first error.
    pub events: Vec<Event>,
    /// `Ok`, or the kind of the error that ended it.
    pub ended: Result<(), String>,
}

impl Seen {
    fn usage(&self) -> Option<&Event> {
        let usage = |event: &&Event| matches!(event, Event::Usage(_));
        self.events.iter().filter(usage).last()
    }
}

/// Reads a stream that arrives in these chunks.
pub fn pushed<'d>(protocol: Protocol, pieces: impl IntoIterator<Item = &'d [u8]>) -> Seen {
    seen(protocol, pieces, |reader, piece, events| {
        reader.push(piece, events)
    })
}

/// Taps a stream, whole and in chunks; the results must be equal.
fn tapped(protocol: Protocol, data: &[u8]) -> Seen {
    let tap = |reader: &mut dyn StreamReader, piece: &[u8], events: &mut Vec<Event>| {
        reader.tap(piece, events)
    };
    let whole = seen(protocol, [data], tap);
    let pieces = seen(protocol, chunks(data), tap);
    assert_eq!(whole, pieces, "chunking changed what a tap sees");
    whole
}

fn seen<'d>(
    protocol: Protocol,
    pieces: impl IntoIterator<Item = &'d [u8]>,
    mut take: impl FnMut(&mut dyn StreamReader, &[u8], &mut Vec<Event>) -> Result<()>,
) -> Seen {
    let mut reader = protocol.codec().stream_reader();
    let mut events = Vec::new();
    let mut pieces = pieces.into_iter();
    let ended = pieces
        .try_for_each(|piece| take(&mut *reader, piece, &mut events))
        .and_then(|()| reader.finish(&mut events))
        .map_err(|error| format!("{:?}", error.kind()));
    Seen { events, ended }
}

/// Chunks of 1 to 32 bytes, with sizes derived from the bytes.
pub fn chunks(mut data: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut dice = data.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3)
    }) | 1;
    std::iter::from_fn(move || {
        dice ^= dice << 13;
        dice ^= dice >> 7;
        dice ^= dice << 17;
        let size = (dice >> 32) as usize % 32 + 1;
        let (piece, rest) = data.split_at(size.min(data.len()));
        data = rest;
        (!piece.is_empty()).then_some(piece)
    })
}

fn others(protocol: Protocol) -> impl Iterator<Item = Protocol> {
    let all = Protocol::ALL.into_iter();
    all.filter(move |other| *other != protocol)
}

fn assert_json(body: &[u8]) {
    let valid = serde_json::from_slice::<serde::de::IgnoredAny>(body);
    assert!(valid.is_ok(), "written, but no JSON: {valid:?}");
}

fn reply() -> Reply {
    Reply {
        id: "id".into(),
        model: "m".into(),
        created: 1,
        stream_usage: true,
        first_call: 0,
    }
}
