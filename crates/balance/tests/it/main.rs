//! The balance room seen from outside: tactics, affinity, statistics, reload, and
//! the acceptance cases of routing on `majordomo`'s own health and chains.

mod acceptance_affinity;
mod acceptance_failover;
mod house;
mod metered;
mod properties;
mod reload;
mod simulation;
mod streams;
mod tactics;
