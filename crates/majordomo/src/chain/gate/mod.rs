//! The gate: decides before each attempt whether it is sent, and learns how it ended.
//!
//! Every call to a target passes the gate: retries, repairs, forced attempts and token
//! counts included. An attempt that entered is settled exactly once, on every path: served,
//! failed, or cancelled because its future or stream was dropped. A chain without a gate
//! pays for a check of an empty option.

mod admitted;
mod enter;
mod kind;
mod pending;
mod report;

use std::time::Duration;

use majordomo_llm::BoxFuture;

pub(super) use admitted::AdmittedAttempt;
pub(super) use enter::enter;
pub use kind::AttemptKind;
pub use pending::PendingAttempt;
pub use report::{AttemptEnd, AttemptReport};

/// Decides whether attempts are sent, and learns how they ended. Budgets are gates.
///
/// ```
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicU64, Ordering};
/// use majordomo::chain::{
///     AttemptGate, AttemptPermit, AttemptReport, GateDecision, GatePass, GateRefusal,
///     PendingAttempt,
/// };
/// use majordomo::fake::Fake;
/// use majordomo::{Registry, Request};
///
/// /// Admits attempts until a number of tokens is spent.
/// struct Budget(Arc<AtomicU64>);
///
/// impl AttemptGate for Budget {
///     fn enter<'a>(&'a self, attempt: &PendingAttempt<'a>) -> GateDecision<'a> {
///         if self.0.load(Ordering::Relaxed) < attempt.input_tokens() {
///             return GateDecision::refuse(GateRefusal::new("the budget is spent"));
///         }
///         GateDecision::admit(GatePass::new(Spending(Arc::clone(&self.0))))
///     }
/// }
///
/// struct Spending(Arc<AtomicU64>);
///
/// impl AttemptPermit for Spending {
///     fn settle(self: Box<Self>, report: AttemptReport) {
///         self.0.fetch_sub(report.usage().total(), Ordering::Relaxed);
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> majordomo::Result<()> {
/// let registry = Registry::empty();
/// registry.register(Fake::new("fp"));
/// let budget = Arc::new(Budget(Arc::new(AtomicU64::new(3))));
/// let chain = registry.model("fp/a")?.gated_by(budget);
/// let error = chain.generate(Request::user("a question that is too long")).await.unwrap_err();
/// assert!(error.to_string().contains("fp/a: skipped, the budget is spent"), "{error}");
/// # Ok(()) }
/// ```
pub trait AttemptGate: Send + Sync {
    /// Decides about an attempt, immediately if possible.
    fn enter<'a>(&'a self, attempt: &PendingAttempt<'a>) -> GateDecision<'a>;
}

/// A gate's decision, or the wait for it.
pub enum GateDecision<'a> {
    /// Decided without waiting, which allocates nothing.
    Now(Result<GatePass, GateRefusal>),
    /// To be awaited, within the request's deadline.
    Later(BoxFuture<'a, Result<GatePass, GateRefusal>>),
}

impl GateDecision<'_> {
    /// Admits the attempt.
    pub fn admit(pass: GatePass) -> Self {
        Self::Now(Ok(pass))
    }

    /// Refuses the attempt. The chain advances, at no cost to the target's health.
    pub fn refuse(refusal: GateRefusal) -> Self {
        Self::Now(Err(refusal))
    }
}

/// The admission of one attempt. Dropping it settles its permit as not sent.
pub struct GatePass {
    /// `None` once the attempt has taken it.
    permit: Option<Box<dyn AttemptPermit>>,
    max_tokens: Option<u64>,
}

impl GatePass {
    /// Admits the attempt as it is.
    pub fn new(permit: impl AttemptPermit + 'static) -> Self {
        Self {
            permit: Some(Box::new(permit)),
            max_tokens: None,
        }
    }

    /// Sets the maximum output tokens that the attempt may request. It replaces a higher or
    /// missing limit of the request, and is listed as a change.
    #[must_use]
    pub fn max_tokens(mut self, tokens: u64) -> Self {
        self.max_tokens = Some(tokens);
        self
    }
}

impl Drop for GatePass {
    fn drop(&mut self) {
        if let Some(permit) = self.permit.take() {
            permit.settle(AttemptReport::not_sent());
        }
    }
}

/// A gate's reservation for an attempt.
pub trait AttemptPermit: Send {
    /// Settles the attempt, which has ended. Called exactly once, possibly from a destructor:
    /// it must neither block nor panic.
    fn settle(self: Box<Self>, report: AttemptReport);
}

/// Why a gate refuses an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct GateRefusal {
    /// The reason, in a sentence; part of the attempt log and of the chain's error.
    pub reason: String,
    /// When another attempt may pass.
    pub retry_after: Option<Duration>,
}

impl GateRefusal {
    /// A refusal for this reason.
    pub fn new(reason: impl Into<String>) -> Self {
        Self {
            reason: reason.into(),
            retry_after: None,
        }
    }

    /// Sets when another attempt may pass.
    #[must_use]
    pub fn retry_after(mut self, wait: Duration) -> Self {
        self.retry_after = Some(wait);
        self
    }
}
