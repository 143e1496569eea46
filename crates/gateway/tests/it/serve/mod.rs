//! The gateway as its clients see it: real sockets, scripted upstreams.

mod acceptance;
mod access;
mod charges;
mod demo_dialects;
mod dialect_pairs;
mod disconnects;
mod explain;
mod failover;
mod fidelity;
mod heartbeats;
mod keys;
mod ledger;
mod limits;
mod max_counts;
mod model_lists;
mod passthrough;
mod records;
mod recovery;
mod reload;
mod responses;
mod routes;
mod test_gateway;
mod traces;
mod truncation;
mod unprocessed;
mod wires;
