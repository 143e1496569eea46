//! One call of a tool: its arguments checked, then run to one result.

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use majordomo_llm::{ToolCall, ToolResult};
use serde_json::Value;
use tokio::time::timeout;

use super::ToolOutput;
use super::clean::{printable, shorten};
use super::toolbox::Entry;
use crate::bounded_json;

/// Longer arguments are refused unread.
const LONGEST_ARGUMENTS: usize = 1024 * 1024;
/// A longer schema is not repeated in an error.
const LONGEST_QUOTED_SCHEMA: usize = 4 * 1024;
/// An error's text is for reading, not for data.
const LONGEST_ERROR: usize = 16 * 1024;

/// A call whose tool exists and whose arguments match.
pub(crate) struct Prepared {
    entry: Arc<Entry>,
    call: ToolCall,
    arguments: Value,
}

impl Prepared {
    pub(super) fn new(entry: &Arc<Entry>, call: &ToolCall) -> Result<Self, ToolResult> {
        match arguments(entry, call) {
            Ok(arguments) => Ok(Self {
                entry: Arc::clone(entry),
                call: call.clone(),
                arguments,
            }),
            Err(text) => Err(failure(call, &text)),
        }
    }

    /// Whether the tool wants to run alone.
    pub(crate) fn is_alone(&self) -> bool {
        self.entry.function.alone
    }

    /// Runs the tool to exactly one result, whatever it does.
    pub(crate) async fn run(self) -> ToolResult {
        let Self {
            entry,
            call,
            arguments,
        } = self;
        let function = &entry.function;
        // The handler is called inside, so that a panic before its first await
        // is caught as well. Nothing of ours is shared with it.
        let work = AssertUnwindSafe(async { (function.handler)(call.clone(), arguments).await });
        let output = match within(function.timeout, work.catch_unwind()).await {
            Ok(Ok(output)) => output,
            Ok(Err(panic)) => Err(format!("The tool broke: {}.", reason(&*panic))),
            Err(limit) => Err(format!("The tool did not answer within {limit:?}.")),
        };
        match output {
            Ok(output) => success(&call, output),
            Err(text) => failure(&call, &text),
        }
    }
}

/// Gives the limit back when it passed.
async fn within<T>(limit: Option<Duration>, work: impl Future<Output = T>) -> Result<T, Duration> {
    match limit {
        None => Ok(work.await),
        Some(limit) => timeout(limit, work).await.map_err(|_| limit),
    }
}

fn arguments(entry: &Entry, call: &ToolCall) -> Result<Value, String> {
    let text = call.arguments.trim();
    let text = if text.is_empty() { "{}" } else { text };
    if text.len() > LONGEST_ARGUMENTS {
        return Err(format!(
            "The arguments are {} bytes long, and at most {LONGEST_ARGUMENTS} are read. Send less.",
            text.len()
        ));
    }
    let value = bounded_json::read(text).map_err(|error| {
        format!(
            "The arguments are not valid JSON: {error}. Call the tool again with one JSON object."
        )
    })?;
    if !value.is_object() {
        return Err("The arguments must be one JSON object. Call the tool again with one.".into());
    }
    if let Some(checker) = &entry.checker {
        checker
            .check(&value)
            .map_err(|problems| mismatch(entry, &problems))?;
    }
    Ok(value)
}

fn mismatch(entry: &Entry, problems: &str) -> String {
    let tool = &entry.function.tool;
    let mut text = format!(
        "The arguments do not match the schema of `{}`:\n{problems}Call it again with arguments that match.",
        tool.name
    );
    let schema = tool.parameters.as_ref().map(|schema| schema.as_str());
    if let Some(schema) = schema.filter(|schema| schema.len() <= LONGEST_QUOTED_SCHEMA) {
        text.push_str(" The schema: ");
        text.push_str(schema);
    }
    text
}

fn success(call: &ToolCall, output: ToolOutput) -> ToolResult {
    ToolResult {
        parts: output.into_parts(),
        ..ToolResult::new(call, "")
    }
}

/// An error result in readable form.
pub(super) fn failure(call: &ToolCall, text: &str) -> ToolResult {
    let short = shorten(text.into(), LONGEST_ERROR);
    ToolResult::error(call, printable(&short))
}

fn reason(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("it panicked without a message")
}
