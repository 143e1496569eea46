//! Tactics, affinity, statistics, reload, and failover over real health and chains.

mod acceptance_affinity;
mod acceptance_failover;
mod house;
mod metered;
mod properties;
mod reload;
mod simulation;
mod streams;
mod tactics;
