//! Tests of the public API, with scripted models.

#![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

mod agents;
mod compaction;
mod mcp;
mod resume;
mod run_faults;
mod runs;
mod schemas;
mod support;
mod tools;
mod typed;
