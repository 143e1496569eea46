//! Tests of the public API.

#![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

mod fairness;
mod model;
mod quota;
