//! What an answer needs beside its content: an id, a name, a time.

use majordomo_wire::Reply;

use crate::clock::unix_now;
use crate::fronts::Front;

/// The frame of one answer. The model's name is what the upstream said.
pub(crate) fn reply(front: Front, id: &str, model: &str, asked: &Asked) -> Reply {
    Reply {
        id: format!("{}{id}", front.id_prefix()),
        model: model.to_owned(),
        created: unix_now(),
        stream_usage: asked.stream_usage,
        first_call: asked.first_call,
    }
}

/// What of the request its answer must know.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked {
    pub(crate) stream_usage: bool,
    pub(crate) first_call: usize,
}
