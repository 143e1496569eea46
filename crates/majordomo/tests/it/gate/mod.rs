//! The gate: asked before every attempt, told how each one ended.

mod admission;
mod books;
mod drops;
mod settlement;
mod stepwise;
