//! The gate before each tool call.

use majordomo_llm::{BoxFuture, ToolCall};

/// Whether a call may run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// It may.
    Allow,
    /// It may not; the model is told why and goes on.
    Deny(String),
    /// Nobody can say now. The run ends with a checkpoint; resuming it asks
    /// again.
    Suspend,
}

/// Decides about tool calls: a person, a policy, a budget.
///
/// It sees only calls whose tool exists and whose arguments match.
pub trait Approve: Send + Sync {
    /// Decides about one call.
    fn approve<'a>(&'a self, call: &'a ToolCall) -> BoxFuture<'a, Decision>;
}

/// Closures decide at once.
impl<F: Fn(&ToolCall) -> Decision + Send + Sync> Approve for F {
    fn approve<'a>(&'a self, call: &'a ToolCall) -> BoxFuture<'a, Decision> {
        Box::pin(async move { self(call) })
    }
}
