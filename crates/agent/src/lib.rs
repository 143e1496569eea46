//! Tools, typed responses, the agent loop and skills.
//!
//! - [`Agent`] calls a model and runs the tools that it requests, until it responds
//!   with a final answer.
//! - [`Toolbox`] holds tools: [`Function`]s, usually created with [`macro@tool`].
//! - [`GenerateAs`] and [`TypedOutput`] return responses as Rust types.
//! - [`Skill`] bundles instructions with tools.
//!
//! Everything works with any [`Model`](majordomo_llm::Model): a single target, a chain
//! or a fake. Except for MCP connections, the crate spawns no tasks and opens no
//! sockets: all work happens in the caller's future.
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
mod char_prefix;
mod compact;
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
pub use skills::{BuiltSkill, Skill, SkillBuilder, calc, clock, clock_with};
pub use tools::{Function, IntoToolOutput, NoArguments, ToolOutput, Toolbox, ToolboxError};
pub use transcript::check_transcript;
pub use typed::{GenerateAs, ObjectItem, ObjectStream, TypedOutput, TypedResponse};

/// Cancels a run; see [`Run::cancel`].
pub use tokio_util::sync::CancellationToken;

/// Used by code that [`macro@tool`] generates. Not public API.
#[doc(hidden)]
pub mod __private {
    pub use {schemars, serde};
}
