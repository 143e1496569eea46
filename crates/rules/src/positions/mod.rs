//! The catalogue of positions (what rules inspect) and their operations.
//!
//! One file per position. To add an operation, add an entry to its position's `ops`;
//! to add a position, add a file and an entry in [`ALL`]. Positions use the crate's
//! matchers and [`Subject`](crate::Subject), never each other; code for several
//! positions is in `check` and `shared`. Operations with a processor are registered from
//! outside; `processed` makes conditions of them.

mod agent;
mod check;
mod context;
mod header;
mod images;
mod key;
mod latest_user;
mod model;
pub(crate) mod processed;
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

/// An input that rules inspect.
#[derive(Debug)]
pub(super) struct Position {
    /// Its name in the configuration.
    pub(super) name: &'static str,
    /// Its operations.
    pub(super) ops: &'static [Op],
}

/// One operation of a position.
#[derive(Debug)]
pub(super) struct Op {
    /// Its name in the configuration.
    pub(super) name: &'static str,
    /// Compiles the condition's value.
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
    agent::CLAUDE_CODE,
    header::HEADER,
    key::KEY,
    time::TIME,
    service_ttft::SERVICE_TTFT,
    service_capacity::SERVICE_CAPACITY,
];

/// Finds a position by name.
pub(super) fn find(name: &str) -> Option<&'static Position> {
    ALL.iter().find(|position| position.name == name)
}

/// Every position with each of its operations, as `(position, op)`.
pub fn operations() -> impl Iterator<Item = (&'static str, &'static str)> {
    ALL.iter()
        .flat_map(|position| position.ops.iter().map(|op| (position.name, op.name)))
}
