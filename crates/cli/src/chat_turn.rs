//! One prompt to the chain: the response on stdout, everything about it on stderr.

use std::io::{self, Write};

use majordomo::agent::TypedOutput;
use majordomo::llm::{Attempt, AttemptOutcome};
use majordomo::{Chain, FinishReason, Part, Request, Response, StreamItem, Usage};
use serde::Serialize;
use serde_json::Value;

use crate::error::CliError;
use crate::output;

/// Sends prompts and prints responses.
pub(crate) struct ChatTurn {
    pub(crate) chain: Chain,
    pub(crate) schema: Option<TypedOutput<Value>>,
    pub(crate) json: bool,
}

/// A response as JSON.
#[derive(Serialize)]
struct ResponseJson<'a> {
    text: String,
    /// The decoded response, if a schema was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<&'a Value>,
    model: &'a str,
    finish: &'a FinishReason,
    usage: Usage,
    attempts: &'a [Attempt],
}

impl ChatTurn {
    pub(crate) async fn send(&self, request: Request) -> Result<Response, CliError> {
        let (response, value) = match &self.schema {
            Some(schema) => {
                let typed = schema.generate(&self.chain, request).await?;
                (typed.response, Some(typed.value))
            }
            None => (self.stream(request).await?, None),
        };
        if self.json {
            print(&serde_json::to_string(&ResponseJson {
                text: response.text(),
                value: value.as_ref(),
                model: &response.model,
                finish: &response.finish,
                usage: response.usage,
                attempts: &response.attempt_log.attempts,
            }))?;
        } else if let Some(value) = &value {
            print(&serde_json::to_string_pretty(value))?;
        }
        print_notes(&response);
        match declined(&response) {
            Some(why) => Err(CliError::new(format!("{} {why}", response.model))),
            None => Ok(response),
        }
    }

    /// Prints the text as it arrives, unless JSON is requested.
    async fn stream(&self, request: Request) -> Result<Response, CliError> {
        let mut stream = self.chain.stream(request).await?;
        let mut line_open = false;
        let end_line = |open: bool| if open { writeln!(io::stdout()) } else { Ok(()) };
        loop {
            match stream.next().await {
                Some(Ok(StreamItem::Text(text))) if !self.json => {
                    let mut stdout = io::stdout().lock();
                    stdout.write_all(text.as_bytes())?;
                    stdout.flush()?;
                    line_open = !text.ends_with('\n');
                }
                Some(Ok(StreamItem::Response(response))) => {
                    end_line(line_open)?;
                    return Ok(*response);
                }
                Some(Ok(_)) => {}
                Some(Err(error)) => {
                    end_line(line_open)?;
                    return Err(error.into());
                }
                None => return Err(CliError::new("the stream ended without a final response")),
            }
        }
    }
}

fn print(json: &serde_json::Result<String>) -> Result<(), CliError> {
    match json {
        Ok(text) => Ok(writeln!(io::stdout(), "{text}")?),
        Err(error) => Err(CliError::new(format!(
            "failed to serialize the response: {error}"
        ))),
    }
}

/// Prints which targets failed, which one served, and the changes made for it.
fn print_notes(response: &Response) {
    for attempt in &response.attempt_log.attempts {
        if attempt.outcome != AttemptOutcome::Served {
            output::note(&attempt.to_string());
        }
    }
    let usage = response.usage;
    let tokens = match usage.total() {
        0 => String::new(),
        _ => format!(" ({} tokens in, {} out)", usage.input, usage.output),
    };
    output::note(&format!("served by {}{tokens}", response.model));
    for change in response.attempt_log.changes() {
        let detail = match change.detail.as_str() {
            "" => String::new(),
            detail => format!(" ({detail})"),
        };
        output::note(&format!("changed: {change}{detail}"));
    }
    match response.finish {
        FinishReason::Length => output::note("the response was cut off at the token limit"),
        FinishReason::ContextWindow => {
            output::note("the response was cut off: the context is full")
        }
        _ => {}
    }
}

/// Why the model or a content filter declined to respond, if so.
fn declined(response: &Response) -> Option<String> {
    let refusal: String = response
        .parts
        .iter()
        .filter_map(|part| match part {
            Part::Refusal(text) => Some(text.text.as_str()),
            Part::Text(_)
            | Part::Image(_)
            | Part::RemoteImage(_)
            | Part::Reasoning(_)
            | Part::ToolCall(_)
            | Part::ToolResult(_)
            | Part::File(_)
            | Part::Opaque(_) => None,
        })
        .collect();
    match response.finish {
        FinishReason::ContentFilter => Some(
            "stopped: the provider's content filter cut off the response; rephrase the prompt"
                .to_owned(),
        ),
        FinishReason::Refusal if refusal.is_empty() => {
            Some("declined to respond; rephrase the prompt or try another model".to_owned())
        }
        _ if refusal.is_empty() => None,
        _ => Some(format!("declined to respond: {refusal}")),
    }
}
