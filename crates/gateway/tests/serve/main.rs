//! The gateway as its clients see it: real sockets, scripted upstreams.

mod acceptance;
mod answers;
mod beside;
mod counts;
mod cuts;
mod dialects;
mod explain;
mod failover;
mod keys;
mod leaving;
mod lists;
mod pairs;
mod passing;
mod reload;
mod routes;
mod silence;
mod stage;
mod traces;
mod wires;
