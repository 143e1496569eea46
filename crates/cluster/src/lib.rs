//! Several gateways as one: leases of rates and seats, hints and shared values, over Redis or
//! Valkey.
//!
//! A [`ClusterNode`] is one process of a cluster. It implements
//! [`TrafficBackend`](majordomo_limits::TrafficBackend) over scripts that run in the store:
//! [`LeaseTable`] is the same protocol in memory, for simulations and as the script's
//! specification. Every call has a deadline, because a frozen server returns no error, and one
//! [`Availability`] per store tracks whether it responds. No request fails because a store is
//! unavailable; `docs/guide/cluster.md` lists the consequences.
//!
//! The store's clock decides when a lease ends; a node counts its own monotonic time from
//! before it asked, and stops earlier. Wall clocks of nodes are not used.

mod address;
mod availability;
mod call;
mod connection;
mod lease_table;
mod news;
mod node;
mod node_stats;
mod scripts;
mod tls;

pub use address::{StateUrl, StateUrlError};
pub use availability::{Availability, StoreState, StoreStatus};
pub use lease_table::{LEASE, LeaseTable, RESERVED, TableReply};
pub use news::News;
pub use node::{ClusterNode, ClusterSettings, HearNews};
pub use node_stats::NodeStats;
