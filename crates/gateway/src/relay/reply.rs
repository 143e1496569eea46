//! What an answer needs beside its content: an id, a name, a time.

use std::time::{SystemTime, UNIX_EPOCH};

use majordomo_wire::Reply;

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

/// An id that nobody else has.
pub(crate) fn new_id() -> String {
    const LETTERS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
    let random = u128::from(fastrand::u64(..)) << 64 | u128::from(fastrand::u64(..));
    (0..24)
        .map(|n| char::from(LETTERS[(random >> (n * 5)) as usize & 31]))
        .collect()
}

/// The time of day, for answers and for rules: the one place that asks for it.
#[expect(clippy::disallowed_methods, reason = "clients are told the real time")]
pub(crate) fn wall_clock() -> SystemTime {
    SystemTime::now()
}

/// Seconds since 1970.
pub(crate) fn unix_now() -> u64 {
    let since = wall_clock().duration_since(UNIX_EPOCH);
    since.map(|since| since.as_secs()).unwrap_or_default()
}
