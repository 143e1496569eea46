//! Alerts: a budget passed 50, 80 or 100 percent.

use super::level_id::LevelId;
use crate::policy::{BudgetWindow, Nanodollars};

/// The percentages that are announced.
const STEPS: [u8; 3] = [50, 80, 100];

/// A budget passed a step, for the first time in its window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BudgetAlert {
    /// The level whose budget it is.
    pub level: LevelId,
    /// Its window.
    pub window: BudgetWindow,
    /// The window's number.
    pub number: i64,
    /// The budget.
    pub limit: Nanodollars,
    /// The settled amount.
    pub settled: Nanodollars,
    /// 50, 80 or 100. A budget that refuses a request counts as 100.
    pub percent: u8,
}

/// Receives alerts. Must not block, because it is called while a request is settled.
pub trait AlertSink: Send + Sync {
    /// A budget passed a step.
    fn alert(&self, alert: BudgetAlert);
}

/// Ignores alerts.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoAlerts;

impl AlertSink for NoAlerts {
    fn alert(&self, _alert: BudgetAlert) {}
}

/// The announced steps.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct AlertSteps {
    done: [bool; STEPS.len()],
    looked: bool,
}

impl AlertSteps {
    /// Marks the steps that are already passed when a node first sees a budget.
    pub(super) fn note_first(&mut self, settled: Nanodollars, limit: Nanodollars) {
        if !std::mem::replace(&mut self.looked, true) {
            let _ = self.passed(settled, limit);
        }
    }

    /// The steps passed for the first time.
    pub(super) fn passed(&mut self, settled: Nanodollars, limit: Nanodollars) -> [Option<u8>; 3] {
        STEPS.map(|step| {
            let passed = u128::from(settled.0) * 100 >= u128::from(limit.0) * u128::from(step);
            (passed && self.reach(step)).then_some(step)
        })
    }

    /// Whether a step was announced.
    pub(super) fn any(self) -> bool {
        self.done.contains(&true)
    }

    /// Marks one step. Returns whether it is new.
    pub(super) fn reach(&mut self, step: u8) -> bool {
        let Some(at) = STEPS.iter().position(|known| *known == step) else {
            return false;
        };
        !std::mem::replace(&mut self.done[at], true)
    }
}
