//! Task-local byte budgets.
//!
//! Like a tracing span, the budget of a request travels with its task: fetchers,
//! transports and decoders charge what they hold without an extra parameter. Without a
//! budget nothing is charged. Work that moves to another task takes its budget along
//! with [`Budget::carry`].

use bytes::Bytes;

use crate::flow::Flow;
use crate::permit::Permit;
use crate::shared::SharedCore;

tokio::task_local! {
    static CURRENT: Budget;
}

/// The memory that a request may hold, and the flow it belongs to.
#[derive(Clone, Debug)]
pub struct Budget {
    shared: SharedCore,
    flow: Flow,
}

/// The budget is exhausted until other requests release memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the memory budget for requests in flight is exhausted; try again")]
pub struct BudgetExhausted;

impl Budget {
    /// Returns the budget that a permit draws from, for the permit's flow.
    pub fn of(permit: &Permit) -> Self {
        Self {
            shared: permit.shared().clone(),
            flow: permit.flow(),
        }
    }

    /// Returns the budget of the current task.
    pub fn current() -> Option<Self> {
        CURRENT.try_with(Self::clone).ok()
    }

    /// Runs a future within this budget.
    // Not an `async fn`, which would store `work` twice; requests are large futures.
    pub fn scope<F: Future>(self, work: F) -> impl Future<Output = F::Output> {
        CURRENT.scope(self, work)
    }

    /// Runs a future within another task's budget, if it has one.
    pub async fn carry<F: Future>(budget: Option<Self>, work: F) -> F::Output {
        match budget {
            Some(budget) => budget.scope(work).await,
            None => work.await,
        }
    }
}

impl Flow {
    /// Returns the flow of the current task. All tasks without a budget share one flow.
    pub fn current() -> Self {
        let flow = CURRENT.try_with(|budget| budget.flow);
        flow.unwrap_or_else(|_| Self::named(""))
    }
}

/// Bytes charged to the current task's budget, released on drop.
#[derive(Debug)]
pub struct Charge(Option<Permit>);

impl Charge {
    /// Starts an empty charge.
    pub fn begin() -> Self {
        let new = |budget: Budget| Permit::new(budget.shared, budget.flow, 0);
        Self(Budget::current().map(new))
    }

    /// Raises the charge to `bytes` in total, without waiting.
    pub fn reach(&mut self, bytes: u64) -> Result<(), BudgetExhausted> {
        let Some(permit) = &mut self.0 else {
            return Ok(());
        };
        let more = bytes.saturating_sub(permit.units());
        permit.try_grow(more).then_some(()).ok_or(BudgetExhausted)
    }

    /// Waits until the bytes are available and charges them.
    ///
    /// At most a quarter of the budget is charged, so that the wait can end. It delays no
    /// queued waiter; the caller must apply a timeout.
    pub async fn wait_for(&mut self, bytes: u64) {
        if let Some(permit) = &mut self.0 {
            let max = permit.shared().lock().total() / 4;
            permit.grow(bytes.min(max)).await;
        }
    }

    /// Attaches the charge to `bytes`, until their last clone is dropped.
    pub fn hold(self, bytes: Bytes) -> Bytes {
        match self.0 {
            Some(permit) if permit.units() > 0 => Bytes::from_owner(ChargedBytes {
                bytes,
                _permit: permit,
            }),
            _ => bytes,
        }
    }
}

struct ChargedBytes {
    bytes: Bytes,
    _permit: Permit,
}

impl AsRef<[u8]> for ChargedBytes {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}
