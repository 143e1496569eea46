//! JSON Schemas: derived from types, made fit for models, compiled once.

mod checker;
mod derive;
mod portable;

pub(crate) use checker::Checker;
pub(crate) use derive::arguments_of;
