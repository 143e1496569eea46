//! One question to the chain: the answer to stdout, what happened to stderr.

use std::io::{self, Write};

use majordomo::agent::TypedOutput;
use majordomo::{
    Attempt, Chain, FinishReason, Outcome, Part, Request, Response, StreamItem, Usage,
};
use serde::Serialize;
use serde_json::Value;

use crate::failure::Failure;
use crate::paint;

/// How questions are asked and answers told.
pub(crate) struct Turn {
    pub(crate) chain: Chain,
    pub(crate) schema: Option<TypedOutput<Value>>,
    pub(crate) json: bool,
}

/// An answer for programs.
#[derive(Serialize)]
struct Report<'a> {
    text: String,
    /// The answer read, where a schema was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<&'a Value>,
    model: &'a str,
    finish: &'a FinishReason,
    usage: Usage,
    attempts: &'a [Attempt],
}

impl Turn {
    pub(crate) async fn ask(&self, request: Request) -> Result<Response, Failure> {
        let (response, value) = match &self.schema {
            Some(schema) => {
                let answer = schema.generate(&self.chain, request).await?;
                (answer.response, Some(answer.value))
            }
            None => (self.stream(request).await?, None),
        };
        if self.json {
            print(&serde_json::to_string(&Report {
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
        tell(&response);
        match declined(&response) {
            Some(why) => Err(Failure::new(format!("{} {why}", response.model))),
            None => Ok(response),
        }
    }

    /// Prints the text as it comes, unless it is wanted as JSON.
    async fn stream(&self, request: Request) -> Result<Response, Failure> {
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
                None => return Err(Failure::new("the answer ended without its end; ask again")),
            }
        }
    }
}

fn print(json: &serde_json::Result<String>) -> Result<(), Failure> {
    match json {
        Ok(text) => Ok(writeln!(io::stdout(), "{text}")?),
        Err(error) => Err(Failure::new(format!(
            "the answer cannot be written as JSON: {error}"
        ))),
    }
}

/// Who served, who did not, and what was changed.
fn tell(response: &Response) {
    for attempt in &response.attempt_log.attempts {
        if attempt.outcome != Outcome::Served {
            paint::note(&attempt.to_string());
        }
    }
    let usage = response.usage;
    let tokens = match usage.total() {
        0 => String::new(),
        _ => format!(" ({} tokens in, {} out)", usage.input, usage.output),
    };
    paint::note(&format!("served by {}{tokens}", response.model));
    for change in response.attempt_log.changes() {
        let detail = match change.detail.as_str() {
            "" => String::new(),
            detail => format!(" ({detail})"),
        };
        paint::note(&format!("changed: {change}{detail}"));
    }
    match response.finish {
        FinishReason::Length => paint::note("the answer was cut at the token limit"),
        FinishReason::ContextWindow => paint::note("the answer was cut: the context is full"),
        _ => {}
    }
}

/// Why a response is no answer: the model or a filter said no.
fn declined(response: &Response) -> Option<String> {
    let said: String = response
        .parts
        .iter()
        .filter_map(|part| match part {
            Part::Refusal(text) => Some(text.text.as_str()),
            _ => None,
        })
        .collect();
    match response.finish {
        FinishReason::ContentFilter => {
            Some("stopped: the provider's filter cut the answer; ask in other words".to_owned())
        }
        FinishReason::Refusal if said.is_empty() => {
            Some("declined to answer; ask in other words or another model".to_owned())
        }
        _ if said.is_empty() => None,
        _ => Some(format!("declined to answer: {said}")),
    }
}
