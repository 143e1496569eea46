//! Response metadata: id, model name, creation time.

use majordomo_wire::Reply;

use crate::clock::unix_now;
use crate::fronts::Front;

/// The metadata of one response. The model name is the one that the upstream reported.
pub(crate) fn reply(front: Front, id: &str, model: &str, asked: &Asked) -> Reply {
    Reply {
        id: format!("{}{id}", front.id_prefix()),
        model: model.to_owned(),
        created: unix_now(),
        stream_usage: asked.stream_usage,
        first_call: asked.first_call,
    }
}

/// Properties of the request that affect its response.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked {
    pub(crate) stream_usage: bool,
    pub(crate) first_call: usize,
}
