//! The gateway as its clients see it: real sockets, scripted upstreams.

mod answers;
mod dialects;
mod failover;
mod leaving;
mod pairs;
mod silence;
mod stage;
mod wires;
