//! Prices: the shipped table, overrides, and the cost of an attempt's usage.
//!
//! Pure: parsing and arithmetic. `book` is the entry point; it uses `table` (the shipped
//! text), `glob` (names of models), `condition` (when a price is valid) and `card` (rates and
//! the sum). An unknown price is `None`, never zero.

mod book;
mod card;
mod condition;
mod glob;
mod table;
mod vendor;

pub use book::{PriceBook, PriceOverride, PriceQuery, TierOverride};
pub use card::{PriceCard, PriceId, Rates};
pub use table::TableError;
pub use vendor::Vendor;
