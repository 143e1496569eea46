//! Converts one case through two dialects.

use std::fmt;

use bytes::{Bytes, BytesMut};
use majordomo_llm::{Assembler, Event, Message, Prompt, Request, Response, Role};
use majordomo_wire::{Codec, Loss, Outgoing, Protocol, Reply, restore_reasoning};

use super::{compare, corpus};

/// A client of one dialect and a provider of another.
pub(crate) struct Crossing {
    pub(crate) client: Protocol,
    pub(crate) provider: Protocol,
}

impl fmt::Display for Crossing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} to {}",
            self.client.dialect(),
            self.provider.dialect()
        )
    }
}

/// The changes, or an error if anything else changed.
type LossResult = Result<Vec<String>, String>;

/// Client to provider.
pub(crate) fn request(prompt: &Prompt, pair: &Crossing) -> LossResult {
    let (client, provider) = (pair.client.codec(), pair.provider.codec());
    let to = Outgoing::new("a-model");
    let sent = client.write_request(&Request::from(prompt.clone()), &to);
    let incoming = read_request(client, sent.body.clone())?;
    let forwarded = provider.write_request(&incoming, &to);
    if pair.client == pair.provider && (forwarded.body != sent.body || !forwarded.losses.is_empty())
    {
        return Err("an untouched request did not keep its bytes".into());
    }
    let actual = read_request(provider, forwarded.body)?;
    let losses = [sent.losses, forwarded.losses].concat();
    compare::prompts(prompt, actual.prompt(), &losses)?;
    Ok(fields(&losses))
}

fn read_request(codec: &dyn Codec, body: Bytes) -> Result<Request, String> {
    let read = codec.read_request(body.clone());
    let read = read.map_err(|error| format!("{error} in {}", String::from_utf8_lossy(&body)))?;
    Ok(read.request)
}

/// Provider to client, whole.
pub(crate) fn response(response: &Response, pair: &Crossing) -> LossResult {
    let mut actual = response.clone();
    let mut losses = Vec::new();
    for codec in [pair.provider.codec(), pair.client.codec()] {
        let written = codec.write_response(&actual, &reply());
        losses.extend(written.losses);
        actual = codec
            .read_response(written.body, 0)
            .map_err(|error| error.to_string())?;
    }
    compare::responses(response, &unsealed(actual, pair), &losses)?;
    Ok(fields(&losses))
}

/// The reasoning that the target gets back after it was sent to the client: sealed state is
/// opened, first the client's writer's, then the provider's.
fn unsealed(mut response: Response, pair: &Crossing) -> Response {
    let message = Message::new(Role::Assistant, response.parts);
    let mut request = Request::from(vec![message]);
    for target in [pair.provider].into_iter().chain(Protocol::ALL) {
        let (attempt, dropped) = request.clone().recording_changes();
        let restored = restore_reasoning(attempt, &target.dialect());
        if dropped.take().is_empty() {
            request = restored;
        }
    }
    let messages = request.prompt().messages.iter();
    response.parts = messages.flat_map(|message| message.parts.clone()).collect();
    response
}

/// Provider to client, streamed.
pub(crate) fn stream(response: &Response, pair: &Crossing) -> LossResult {
    let mut events = corpus::events(response);
    let mut losses = Vec::new();
    for codec in [pair.provider.codec(), pair.client.codec()] {
        let mut writer = codec.stream_writer(&reply());
        let mut out = BytesMut::new();
        for event in &events {
            writer.write(event, &mut out);
        }
        losses.extend(writer.losses());
        events = read_stream(codec, &out).map_err(|error| error.to_string())?;
    }
    compare::responses(response, &unsealed(assemble(events), pair), &losses)?;
    Ok(fields(&losses))
}

fn read_stream(codec: &dyn Codec, body: &[u8]) -> majordomo_llm::Result<Vec<Event>> {
    let mut reader = codec.stream_reader();
    let mut events = Vec::new();
    reader.push(body, &mut events)?;
    reader.finish(&mut events)?;
    Ok(events)
}

fn assemble(events: Vec<Event>) -> Response {
    let mut assembler = Assembler::default();
    for event in events {
        assembler.push(event);
    }
    assembler.into_response()
}

fn reply() -> Reply {
    Reply {
        id: "id-1".into(),
        model: "a-model".into(),
        created: 1,
        stream_usage: true,
        ..Reply::default()
    }
}

fn fields(losses: &[Loss]) -> Vec<String> {
    let mut fields: Vec<String> = losses
        .iter()
        .map(|loss| format!("{} {}", loss.field, loss.verb))
        .collect();
    fields.sort();
    fields.dedup();
    fields
}
