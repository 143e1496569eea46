//! The lease protocol in virtual time and on a real server, which `tests/cluster/run`
//! starts.

mod nodes;
mod protocol;
mod simulation;
