//! Conditions that look into a request, compiled when the configuration is loaded.
//!
//! A route's smart rules are tried in order; the first one whose conditions all
//! hold decides. Conditions read the canonical request, so they mean the same in
//! every client dialect. What several of them need (joined texts, the token
//! estimate) is made once per request and only when somebody asks.
//!
//! | file | holds |
//! |---|---|
//! | `spec` | rules as plain data, as the configuration hands them over |
//! | `compile`, `error` | data to [`Condition`]s, with every mistake at once |
//! | `positions/` | one file per position with its operations: the place to add one |
//! | `text_match`, `number_match`, `value` | what several positions share |
//! | `subject`, `texts`, `fingerprint`, `services` | what conditions look at |
//! | `rule_set`, `trace`, `notes`, `excerpt` | the verdict, and why; in short, for those who may ask later |
//! | `processors/` | what may change the request after a match |
//!
//! ```
//! use majordomo::Request;
//! use majordomo_rules::{ConditionSpec, RuleSet, RuleSpec, Subject};
//! use serde_json::json;
//!
//! let long = RuleSpec {
//!     name: "long prompts".to_owned(),
//!     when: vec![ConditionSpec::leaf("token", "ge", json!(60_000))],
//!     services: vec!["google/gemini-3.8-flash"],
//! };
//! let rules = RuleSet::compile(vec![long])?;
//!
//! let request = Request::user("hi");
//! assert_eq!(rules.evaluate(&Subject::new(&request, "coder")), None);
//! # Ok::<(), Vec<majordomo_rules::RuleError>>(())
//! ```

mod compile;
mod condition;
mod error;
mod excerpt;
mod fingerprint;
mod glob;
mod notes;
mod number_match;
mod positions;
pub mod processors;
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

pub use compile::compile;
pub use condition::Condition;
pub use error::{Field, RuleError};
pub use fingerprint::ClaudeCode;
pub use glob::{BadGlob, Glob};
pub use notes::Notes;
pub use positions::operations;
pub use rule_set::{RuleIndex, RuleSet, Verdict};
pub use services::{NoServices, Seats, ServiceStats, Services, Ttft};
pub use spec::{ConditionSpec, RuleSpec};
pub use subject::Subject;
pub use trace::{ConditionTrace, RuleTrace, Trace};
