//! Validation and execution of a tool call.

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use majordomo_llm::{ToolCall, ToolResult};
use serde_json::Value;
use tokio::time::timeout;

use super::ToolOutput;
use super::sanitize::{printable, shorten};
use super::toolbox::ToolEntry;
use crate::bounded_json;

/// Maximum bytes of arguments.
const MAX_ARGUMENTS_LEN: usize = 1024 * 1024;
/// Maximum bytes of a schema quoted in an error.
const MAX_QUOTED_SCHEMA_LEN: usize = 4 * 1024;
/// Maximum bytes of an error.
const MAX_ERROR_LEN: usize = 16 * 1024;

/// A call whose tool exists and whose arguments are valid.
pub(crate) struct PreparedCall {
    entry: Arc<ToolEntry>,
    call: ToolCall,
    arguments: Value,
}

impl PreparedCall {
    pub(super) fn new(entry: &Arc<ToolEntry>, call: &ToolCall) -> Result<Self, ToolResult> {
        match arguments(entry, call) {
            Ok(arguments) => Ok(Self {
                entry: Arc::clone(entry),
                call: call.clone(),
                arguments,
            }),
            Err(text) => Err(failure(call, &text)),
        }
    }

    /// Returns `true` if the tool must not run concurrently with others.
    pub(crate) fn is_alone(&self) -> bool {
        self.entry.function.alone
    }

    /// Runs the tool. It yields a result even if the handler panics or times out.
    pub(crate) async fn run(self) -> ToolResult {
        let Self {
            entry,
            call,
            arguments,
        } = self;
        let function = &entry.function;
        // The handler is called inside the future to catch panics before its first
        // await as well. It shares no state with us.
        let work = AssertUnwindSafe(async { (function.handler)(call.clone(), arguments).await });
        let output = match within(function.timeout, work.catch_unwind()).await {
            Ok(Ok(output)) => output,
            Ok(Err(panic)) => Err(format!("The tool panicked: {}.", panic_message(&*panic))),
            Err(limit) => Err(format!("The tool did not finish within {limit:?}.")),
        };
        match output {
            Ok(output) => success(&call, output),
            Err(text) => failure(&call, &text),
        }
    }
}

/// Applies an optional timeout; the error is the limit.
async fn within<T>(limit: Option<Duration>, work: impl Future<Output = T>) -> Result<T, Duration> {
    match limit {
        None => Ok(work.await),
        Some(limit) => timeout(limit, work).await.map_err(|_| limit),
    }
}

fn arguments(entry: &ToolEntry, call: &ToolCall) -> Result<Value, String> {
    let text = call.arguments.trim();
    let text = if text.is_empty() { "{}" } else { text };
    if text.len() > MAX_ARGUMENTS_LEN {
        return Err(format!(
            "The arguments are {} bytes long; at most {MAX_ARGUMENTS_LEN} are accepted. Send less.",
            text.len()
        ));
    }
    let value = bounded_json::parse(text).map_err(|error| {
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

fn mismatch(entry: &ToolEntry, problems: &str) -> String {
    let tool = &entry.function.tool;
    let mut text = format!(
        "The arguments do not match the schema of `{}`:\n{problems}Call it again with arguments that match.",
        tool.name
    );
    let schema = tool.parameters.as_ref().map(|schema| schema.as_str());
    if let Some(schema) = schema.filter(|schema| schema.len() <= MAX_QUOTED_SCHEMA_LEN) {
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

/// Creates a sanitized error result.
pub(super) fn failure(call: &ToolCall, text: &str) -> ToolResult {
    let short = shorten(text.into(), MAX_ERROR_LEN);
    ToolResult::error(call, printable(&short))
}

fn panic_message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message")
}
