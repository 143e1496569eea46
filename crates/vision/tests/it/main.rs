//! The vision proxy. The numbers are those of its acceptance cases: V the seed's
//! and ours, S the security cases.

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
