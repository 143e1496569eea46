//! The gate: consulted before every attempt, and notified of its outcome.

mod admission;
mod books;
mod drops;
mod settlement;
mod stepwise;
