//! The gateway as a process: signals, limits of the system, memory and load. The
//! names of the cases are those of the fault catalogue: P for the process, L for
//! load, G for what must hold after every case; C, F and S where only the command
//! itself can show it.
//!
//! Load is sized for a busy machine of two cores. `MAJORDOMO_LOAD=full` runs it at
//! the size of the catalogue; the figures are printed with `--nocapture`.
#![cfg(target_os = "linux")]

mod bodies;
mod limits;
mod load;
mod memory;
mod served;
mod signals;
#[cfg(feature = "otel")]
mod spans;
mod starting;
