//! Reservations: guards of an attempt's maximum usage.

use std::sync::Arc;
use std::time::Duration;

use super::account::HeldMoney;
use super::gcra::RateCharge;
use super::level::Level;
use super::level_id::LevelId;
use crate::policy::{BudgetWindow, Nanodollars};

/// The tokens and money that an attempt may use, reserved at every level.
///
/// [`settle`](Self::settle) replaces them with the actual usage. Dropping the guard returns
/// them, as for an attempt that was never sent.
#[must_use = "a reservation that is dropped is given back"]
#[derive(Default)]
pub struct Reservation {
    pub(super) tokens: Vec<(Arc<Level>, RateCharge)>,
    pub(super) money: Vec<HeldMoney>,
    pub(super) over: Vec<(LevelId, BudgetWindow)>,
    /// When it was made.
    made: Duration,
}

impl Reservation {
    pub(super) fn at(made: Duration) -> Self {
        let mut reservation = Self::default();
        reservation.made = made;
        reservation
    }

    /// Ends the reservation with the actual usage.
    pub fn settle(mut self, now: Duration, tokens: u64, cost: Nanodollars) {
        for (level, charge) in self.tokens.drain(..) {
            level.settle_tokens(now, charge, tokens);
        }
        for held in self.money.drain(..) {
            held.account.settle(held.amount, cost);
        }
    }

    /// The number of budgets in which money is reserved, and the sum.
    pub fn held(&self) -> (u64, Nanodollars) {
        let none = (0, Nanodollars::ZERO);
        self.money.iter().fold(none, |(count, sum), held| {
            (count + 1, sum.plus(held.amount))
        })
    }

    /// Whether nothing is held.
    pub fn is_empty(&self) -> bool {
        self.tokens.is_empty() && self.money.is_empty()
    }

    /// Budgets with `warn` that this reservation exceeds.
    pub fn exceeded(&self) -> &[(LevelId, BudgetWindow)] {
        &self.over
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        let made = self.made;
        // In reverse order of acquisition.
        for held in self.money.drain(..).rev() {
            held.account.settle(held.amount, Nanodollars::ZERO);
        }
        for (level, charge) in self.tokens.drain(..).rev() {
            level.undo_tokens(made, charge);
        }
    }
}
