//! The vision proxy over fake and HTTP describers.

mod asking;
mod blind;
mod caching;
mod dialects;
mod hostile;
mod over_http;
mod properties;
mod recorded;
mod replacing;
mod stage;
