//! JSON Schemas: derived from Rust types, adapted to providers, compiled once.

mod checker;
mod derived;
mod portable;
mod strict;

pub(crate) use checker::SchemaChecker;
pub(crate) use derived::{arguments_of, of};
pub(crate) use strict::{StrictSchema, WRAPPER, strict};
