//! The gateway as a process: signals, resource limits, memory and load.
//!
//! A separate binary, because it measures memory and latency, which other tests would
//! disturb. Load is sized for a busy machine with two cores; `MAJORDOMO_LOAD=full` runs it at
//! full size, and `--nocapture` prints the figures.
#![cfg(target_os = "linux")]

mod bodies;
mod capture;
mod crashes;
mod gateway;
mod health;
mod limits;
mod listening;
mod load;
mod log;
mod memory;
mod signals;
#[cfg(feature = "otel")]
mod spans;
mod starting;
