//! Smart rules: conditions on a request that choose its destination.
//!
//! Rules are compiled once, when the configuration is loaded. A route's rules are
//! tried in order; the first one whose conditions all hold decides. Conditions read
//! the canonical request, so they mean the same in every client dialect. Values
//! that several conditions need (joined texts, the token estimate) are computed
//! lazily and at most once per request.
//!
//! The crate does no I/O, starts no task and reads no clock: the caller supplies
//! time, headers and service metrics through [`Subject`]. It uses `majordomo` and
//! `majordomo-wire` (for the dialect of a request) and never the gateway.
//!
//! | module | provides |
//! |---|---|
//! | `spec` | rules as plain data, as the configuration supplies them |
//! | `compile`, `error` | compilation to [`Condition`]s, reporting every error at once |
//! | `positions/` | one file per position with its operations: add new ones here |
//! | `text_match`, `number_match`, `value`, `glob/` | matchers and value parsers shared by positions |
//! | `subject`, `texts`, `fingerprint`, `services` | the inputs of conditions |
//! | `rule_set`, `trace`, `notes`, `excerpt` | evaluation, its full trace, and its compact record |
//! | `processor/`, `apply` | operations that change a request, and running them after a match |
//!
//! ```
//! use majordomo::Request;
//! use majordomo_rules::{ConditionSpec, RuleSet, RuleSpec, Subject};
//! use serde_json::json;
//!
//! let long = RuleSpec {
//!     name: "long prompts".to_owned(),
//!     when: vec![ConditionSpec::leaf("token", "ge", json!(60_000))],
//!     services: vec!["google/gemini-3.8-flash".to_owned()],
//! };
//! let rules = RuleSet::compile(vec![long])?;
//!
//! let request = Request::user("hi");
//! assert_eq!(rules.evaluate(&Subject::new(&request, "coder")), None);
//! # Ok::<(), Vec<majordomo_rules::RuleError>>(())
//! ```

mod apply;
mod compile;
mod condition;
mod error;
mod excerpt;
mod fingerprint;
mod glob;
mod notes;
mod number_match;
mod positions;
mod processor;
mod rule_set;
mod services;
mod spec;
mod subject;
#[cfg(test)]
mod tests;
mod text_match;
mod texts;
mod trace;
mod value;

pub use apply::{Applied, Destination, ProcessorTrace, apply, destination, dry_run};
pub use compile::{compile, compile_with};
pub use condition::Condition;
pub use error::{RuleError, RuleField};
pub use fingerprint::ClaudeCode;
pub use glob::{Glob, GlobError};
pub use notes::Notes;
pub use positions::operations;
pub use processor::{Processor, ProcessorError, ProcessorTask, Processors};
pub use rule_set::{RuleIndex, RuleSet, Verdict};
pub use services::{NoServices, SeatUsage, ServiceMetrics, Services, Ttft};
pub use spec::{ConditionSpec, RuleSpec};
pub use subject::Subject;
pub use trace::{ConditionTrace, RuleTrace, Trace};
