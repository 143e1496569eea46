//! The ledger's specification: prices, stores, the writer.

#![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

mod access;
mod postgres;
mod prices;
mod rows;
mod sqlite;
mod store;
mod writer;
