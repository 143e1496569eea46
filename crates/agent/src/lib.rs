//! Tools, typed answers, the agent loop and skills.
//!
//! Everything here runs on any [`Model`](majordomo_llm::Model) of the contract:
//! a single target, a failover chain, a fake. The crate starts no task and opens
//! no socket; what it waits for, the caller's future waits for.
//!
//! ```
//! use majordomo::agent::{Toolbox, tool};
//! use majordomo::ToolCall;
//!
//! /// Adds two whole numbers.
//! #[tool]
//! async fn add(
//!     /// The first one.
//!     a: i64,
//!     /// The second one.
//!     b: i64,
//! ) -> i64 {
//!     a + b
//! }
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() {
//! let toolbox = Toolbox::new([add()]).unwrap();
//! let call = ToolCall::new("call_0", "add", r#"{"a": 2, "b": 3}"#);
//! assert_eq!(toolbox.call(&call).await.text(), "5");
//! # }
//! ```

mod agent;
mod bounded_json;
mod compact;
mod head;
#[cfg(feature = "mcp")]
mod mcp;
mod schema;
mod skills;
mod tools;
mod transcript;
mod typed;

pub use agent::{
    Agent, AgentBuilder, AgentError, AgentEvent, AgentStep, Approve, Checkpoint, CheckpointStore,
    Decision, Run, RunOutcome, RunStream, Steer, StopReason,
};
pub use compact::{Compact, Compacted, CompactionInput, Summarize};
pub use majordomo_agent_macros::tool;
#[cfg(feature = "mcp")]
pub use mcp::{McpError, McpServer};
pub use schema::schema_in_words;
pub use skills::{BuiltSkill, Skill, SkillBuilder, calc, clock, clock_with};
pub use tools::{Function, IntoToolOutput, NoArguments, ToolOutput, Toolbox, ToolboxError};
pub use transcript::check_transcript;
pub use typed::{GenerateAs, ObjectItem, ObjectStream, TypedOutput, TypedResponse};

/// Ends a run from outside; see [`Run::cancel`].
pub use tokio_util::sync::CancellationToken;

/// What the code written by [`tool`] refers to. Not for use by hand.
#[doc(hidden)]
pub mod __private {
    pub use {schemars, serde};
}
