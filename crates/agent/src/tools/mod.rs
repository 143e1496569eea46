//! Executable tools.
//!
//! A [`Function`] is a tool with a handler; a [`Toolbox`] is a set of functions. A call
//! never panics and always yields exactly one result, because a call without a result
//! invalidates the conversation.

mod function;
mod output;
mod prepared_call;
mod sanitize;
mod toolbox;

pub use function::{Function, NoArguments};
pub use output::{IntoToolOutput, ToolOutput};
pub(crate) use prepared_call::PreparedCall;
pub use toolbox::{Toolbox, ToolboxError};
