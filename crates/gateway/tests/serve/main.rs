//! The gateway as its clients see it: real sockets, scripted upstreams.

mod dialects;
mod failover;
mod leaving;
mod pairs;
mod stage;
mod wires;
