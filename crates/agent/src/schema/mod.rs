//! JSON Schemas: derived from types, made fit for models, compiled once.

mod checker;
mod derive;
mod in_words;
mod portable;
mod strict;

pub(crate) use checker::Checker;
pub(crate) use derive::{arguments_of, of};
pub use in_words::schema_to_instructions;
pub(crate) use strict::{Strict, WRAPPER, strict};
