//! Fair limits for resources shared by tenants.
//!
//! [`FairSemaphore`] grants units (seats, bytes, threads) to flows, one per tenant.
//! Waiters are served by deficit round robin, so a flow with a thousand waiters delays
//! another flow's only waiter by at most one turn.
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
//! The crate performs no I/O, spawns no tasks, reads no clock and needs no runtime. To
//! bound a wait, wrap [`FairSemaphore::acquire`] in a timeout.

mod acquire;
mod bounds;
mod budget;
mod core;
mod drr;
mod error;
mod flow;
mod permit;
mod policy;
mod quota;
mod semaphore;
mod shared;

pub use acquire::Acquire;
pub use bounds::Bounds;
pub use budget::{Budget, BudgetExhausted, Charge};
pub use error::AcquireError;
pub use flow::Flow;
pub use permit::Permit;
pub use policy::{
    BudgetLimits, BudgetWindow, LimitPolicy, Nanodollars, TrafficLimits, UnpricedPolicy,
    WhenExhausted,
};
pub use quota::{
    AlertSink, BudgetAlert, BudgetOpening, BudgetUsage, Calendar, ChargeOutcome, ClosedLease,
    LeaseAsk, LeaseBackend, LeaseGrant, LeaseReply, LeaseWait, Level, LevelId, LevelKind,
    LevelPolicy, LimitRegistry, LimitStack, MemoryLeases, Moment, NoAlerts, RateState, Refusal,
    RefusedBy, RequestCharge, Reservation, ReservationAsk, ReserveOutcome, SeatQueue, TrafficAsk,
    TrafficBackend, TrafficGrant, TrafficKind, TrafficReply, UtcCalendar,
};
pub use semaphore::FairSemaphore;
