//! The catalogue: what rules can look at, and how.
//!
//! One file per position. An operation is one entry in its position's `ops`; a
//! position is one file and one line in [`ALL`]. Nothing else has to know.

mod agent;
mod check;
mod context;
mod header;
mod images;
mod key;
mod latest_user;
mod model;
mod proxy_vision;
mod service_capacity;
mod service_ttft;
mod shared;
mod thinking;
mod time;
mod token;
mod tools;

use serde_json::Value;

pub(super) use check::Check;
use check::Compiled;

/// Something that rules look at.
#[derive(Debug)]
pub(super) struct Position {
    /// Its name in the configuration.
    pub(super) name: &'static str,
    /// The ways to judge it.
    pub(super) ops: &'static [Op],
}

/// One way to judge a position.
#[derive(Debug)]
pub(super) struct Op {
    /// Its name in the configuration.
    pub(super) name: &'static str,
    /// Reads the condition's value and makes the operation ready.
    pub(super) compile: fn(Option<&Value>) -> Compiled,
}

/// Every position.
pub(super) static ALL: &[Position] = &[
    model::MODEL,
    thinking::THINKING,
    context::CONTEXT_SYSTEM,
    context::CONTEXT_USER,
    latest_user::LATEST_USER,
    tools::TOOL,
    tools::TOOL_USE,
    token::TOKEN,
    images::IMAGES,
    proxy_vision::PROXY_VISION,
    agent::CLAUDE_CODE,
    header::HEADER,
    key::KEY,
    time::TIME,
    service_ttft::SERVICE_TTFT,
    service_capacity::SERVICE_CAPACITY,
];

/// The position of a name.
pub(super) fn find(name: &str) -> Option<&'static Position> {
    ALL.iter().find(|position| position.name == name)
}

/// Every position with each of its operations, as `(position, op)`.
pub fn operations() -> impl Iterator<Item = (&'static str, &'static str)> {
    ALL.iter()
        .flat_map(|position| position.ops.iter().map(|op| (position.name, op.name)))
}
