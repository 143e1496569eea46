//! Three gateways as one, as processes, with a real Redis and a real PostgreSQL behind a
//! network that fails. `tests/cluster/run` starts both and runs this.
//!
//! A separate binary, because it measures waits and rates, which other tests would disturb.
#![cfg(target_os = "linux")]

mod dollar;
mod faults;
mod frozen_start;
mod kept;
mod matrix;
mod mock;
mod nginx;
mod node;
mod restarts;
mod tls;
mod waits;
mod world;
