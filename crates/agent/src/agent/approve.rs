//! Approval of tool calls.

use majordomo_llm::{BoxFuture, ToolCall};

/// The decision about a tool call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Run it.
    Allow,
    /// Do not run it. The model receives the reason and continues.
    Deny(String),
    /// Undecided. The run ends with a checkpoint; resuming it asks again.
    Suspend,
}

/// Approves tool calls, on behalf of a person or a policy.
///
/// It sees only calls whose tool exists and whose arguments are valid.
pub trait Approve: Send + Sync {
    /// Decides about a call.
    fn approve<'a>(&'a self, call: &'a ToolCall) -> BoxFuture<'a, Decision>;
}

/// A closure decides synchronously.
impl<F: Fn(&ToolCall) -> Decision + Send + Sync> Approve for F {
    fn approve<'a>(&'a self, call: &'a ToolCall) -> BoxFuture<'a, Decision> {
        Box::pin(async move { self(call) })
    }
}
