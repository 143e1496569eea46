//! Tactics, affinity, statistics, reload, and failover over real health and chains.

mod affinity;
mod failover;
mod metered;
mod properties;
mod reload;
mod simulation;
mod streams;
mod support;
mod tactics;
