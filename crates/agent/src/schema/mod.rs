//! JSON Schemas: derived from Rust types, adapted to providers, compiled once.

mod checker;
mod derived;
mod instructions;
mod portable;
mod strict;

pub(crate) use checker::SchemaChecker;
pub(crate) use derived::{arguments_of, of};
pub use instructions::schema_to_instructions;
pub(crate) use strict::{StrictSchema, WRAPPER, strict};
