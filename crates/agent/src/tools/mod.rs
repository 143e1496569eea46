//! Tools with code behind them.
//!
//! A [`Function`] is a tool that can be run; a [`Toolbox`] holds some of them.
//! Running one never panics and always gives exactly one result, because a call
//! without its answer makes the whole conversation invalid.

mod call;
mod clean;
mod function;
mod output;
mod toolbox;

pub(crate) use call::Prepared;
pub use function::{Function, NoArguments};
pub use output::{IntoToolOutput, ToolOutput};
pub use toolbox::{Toolbox, ToolboxError};
