//! Rates, concurrency and budgets of tenants, at several levels.
//!
//! A caller's [`LimitStack`] has one [`Level`] each for everyone, its team, its key and its
//! end user. A request is charged at every level or at none; an attempt reserves tokens and
//! money in a [`Reservation`], which is settled with the actual usage. Budgets are spent from
//! leases of a [`LeaseBackend`], so that several nodes can share them.
//!
//! Everything is pure: moments are passed in, and backends are called through a trait.

mod account;
mod account_state;
mod accounts;
mod alert;
mod calendar;
mod demand;
mod exchange;
mod gcra;
mod lease;
mod level;
mod level_id;
mod level_traffic;
mod moment;
mod refusal;
mod registry;
mod reservation;
mod shared_rate;
mod shared_seats;
mod stack;
mod traffic;

pub use accounts::BudgetUsage;
pub use alert::{AlertSink, BudgetAlert, NoAlerts};
pub use calendar::{Calendar, UtcCalendar};
pub use gcra::RateState;
pub use lease::{
    BudgetOpening, ClosedLease, LeaseAsk, LeaseBackend, LeaseGrant, LeaseReply, MemoryLeases,
};
pub use level::Level;
pub use level_id::{LevelId, LevelKind};
pub use moment::Moment;
pub use refusal::{Refusal, RefusedBy};
pub use registry::{LevelPolicy, LimitRegistry};
pub use reservation::Reservation;
pub use stack::{
    ChargeOutcome, LeaseWait, LimitStack, RequestCharge, ReservationAsk, ReserveOutcome, SeatQueue,
};
pub use traffic::{TrafficAsk, TrafficBackend, TrafficGrant, TrafficKind, TrafficReply};
