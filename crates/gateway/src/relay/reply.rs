//! Response metadata: id, model name, creation time.

use majordomo_wire::{Reply, RequestEcho, Stopwatch};
use tokio::time::Instant;

use crate::clock::unix_now;
use crate::fronts::Front;

/// The metadata of one response. The model name is the one that the upstream reported.
pub(crate) fn reply(front: Front, id: &str, model: &str, options: &ReplyOptions) -> Reply {
    Reply {
        id: format!("{}{id}", front.id_prefix()),
        model: model.to_owned(),
        created: unix_now(),
        stream_usage: options.stream_usage,
        first_call: options.first_call,
        echo: options.echo.clone(),
        estimated_input: options.estimated_input,
        stopwatch: stopwatch(front, options.began),
    }
}

/// Measures a response, if its dialect reports how long it took.
fn stopwatch(front: Front, began: Instant) -> Stopwatch {
    match front {
        Front::OllamaChat | Front::OllamaGenerate => Stopwatch::new(move || began.elapsed()),
        Front::Chat
        | Front::TextCompletions
        | Front::Responses
        | Front::Compaction
        | Front::Messages
        | Front::Gemini => Stopwatch::default(),
    }
}

/// Properties of the request that affect its response.
#[derive(Clone, Debug)]
pub(crate) struct ReplyOptions {
    pub(crate) stream_usage: bool,
    pub(crate) first_call: usize,
    /// Set once it is known that the response is not forwarded as bytes.
    pub(crate) echo: RequestEcho,
    /// Set where a stream begins with it.
    pub(crate) estimated_input: Option<u64>,
    pub(crate) began: Instant,
}
