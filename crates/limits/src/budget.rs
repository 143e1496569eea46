//! The byte budget of the request that a task works for.
//!
//! It travels with the task, as a tracing span does: fetchers, transports and
//! decoders charge what they hold without a new argument on the way to them. Where
//! nobody has set one, nothing is charged. Work that moves to another task takes it
//! along by [`Budget::carry`].

use bytes::Bytes;

use crate::flow::Flow;
use crate::permit::Permit;

tokio::task_local! {
    static CURRENT: Budget;
}

/// What a request may hold in memory, and whose request it is.
#[derive(Clone, Debug)]
pub struct Budget(Source);

#[derive(Clone, Debug)]
struct Source {
    semaphore: crate::FairSemaphore,
    flow: Flow,
}

/// The budget is exhausted; it is not once other requests have ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the requests being served hold as many bytes as they may; try again")]
pub struct BudgetExhausted;

impl Budget {
    /// The budget that a permit takes its units from, for the permit's flow.
    pub fn of(permit: &Permit) -> Self {
        Self(Source {
            semaphore: permit.semaphore().clone(),
            flow: permit.flow(),
        })
    }

    /// The budget of this task.
    pub fn current() -> Option<Self> {
        CURRENT.try_with(Self::clone).ok()
    }

    /// Works within this budget.
    // Not an `async fn`: that would hold the work twice, and requests are large futures.
    pub fn scope<F: Future>(self, work: F) -> impl Future<Output = F::Output> {
        CURRENT.scope(self, work)
    }

    /// Works within the budget of another task, if that has one.
    pub async fn carry<F: Future>(budget: Option<Self>, work: F) -> F::Output {
        match budget {
            Some(budget) => budget.scope(work).await,
            None => work.await,
        }
    }
}

impl Flow {
    /// The flow that this task works for; all work without one is one flow.
    pub fn current() -> Self {
        let flow = CURRENT.try_with(|budget| budget.0.flow);
        flow.unwrap_or_else(|_| Self::named(""))
    }
}

/// Bytes that some work holds, charged to its task's budget until this is dropped.
#[derive(Debug)]
pub struct Charge(Option<Permit>);

impl Charge {
    /// Nothing yet.
    pub fn begin() -> Self {
        let new = |Budget(source)| Permit::new(source.semaphore, source.flow, 0);
        Self(Budget::current().map(new))
    }

    /// Charges up to so many bytes in all. It never waits.
    pub fn reach(&mut self, bytes: u64) -> Result<(), BudgetExhausted> {
        let Some(permit) = &mut self.0 else {
            return Ok(());
        };
        let more = bytes.saturating_sub(permit.units());
        permit.try_grow(more).then_some(()).ok_or(BudgetExhausted)
    }

    /// Charges so many bytes, once they are free. What waits here delays nobody who
    /// waits in a queue; the caller bounds the time. No more than a quarter of the
    /// budget is charged, so that it can be had at all.
    pub async fn wait_for(&mut self, bytes: u64) {
        if let Some(permit) = &mut self.0 {
            let most = permit.semaphore().total() / 4;
            permit.grow(bytes.min(most)).await;
        }
    }

    /// Bytes that stay charged until their last clone is dropped.
    pub fn hold(self, bytes: Bytes) -> Bytes {
        match self.0 {
            Some(permit) if permit.units() > 0 => Bytes::from_owner(Charged {
                bytes,
                _permit: permit,
            }),
            _ => bytes,
        }
    }
}

struct Charged {
    bytes: Bytes,
    _permit: Permit,
}

impl AsRef<[u8]> for Charged {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}
