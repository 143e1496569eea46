//! The command line, run as a process against scripted providers.

mod accounts;
mod chat;
mod commands;
mod configuration;
mod image;
mod keys;
mod one_configuration;
#[cfg(unix)]
mod snippets;
mod support;
mod tools;
mod variables;
