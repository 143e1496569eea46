//! The gateway as its clients see it: real sockets, scripted upstreams.

mod dialects;
mod stage;
