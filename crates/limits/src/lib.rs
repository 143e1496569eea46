//! Limits that tenants share.
//!
//! [`FairSemaphore`] hands out units (seats, bytes, threads) to flows, one flow per
//! tenant. Those who wait are served by deficit round robin, so a flow with a
//! thousand waiters delays another flow's single one by no more than one turn.
//!
//! ```
//! use majordomo_limits::{Bounds, FairSemaphore, Flow};
//!
//! let seats = FairSemaphore::new(Bounds::new(1));
//! let (alice, bob) = (Flow::named("alice"), Flow::named("bob"));
//! let permit = seats.try_acquire(alice, 1).unwrap();
//! assert!(seats.try_acquire(bob, 1).is_none());
//! drop(permit);
//! assert!(seats.try_acquire(bob, 1).is_some());
//! ```
//!
//! The core does no I/O, starts no task and reads no clock: a deadline is the
//! caller's `timeout` around [`FairSemaphore::acquire`]. It needs no runtime.

mod acquire;
mod bounds;
mod budget;
mod core;
mod drr;
mod error;
mod flow;
mod permit;
mod semaphore;

pub use acquire::Acquire;
pub use bounds::Bounds;
pub use budget::{Budget, BudgetExhausted, Charge};
pub use error::AcquireError;
pub use flow::Flow;
pub use permit::Permit;
pub use semaphore::FairSemaphore;
