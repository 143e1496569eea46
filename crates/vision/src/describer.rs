//! Calls a describer for one image.
//!
//! Always as a stream, which most providers prefer for images; the shared assembler folds
//! it. The chain handles health, failover to the next describer and fitting the image to
//! the target's limits.

use std::future::poll_fn;
use std::time::Instant;

use majordomo::clock::Clock;
use majordomo::llm::{Assembler, Attempt, AttemptOutcome, Change};
use majordomo::{
    Chain, EventStream, FinishReason, Message, Part, Request, Response, Result, Role, Usage,
};

use super::marker;
use super::outcome::{CANCELLED, DescribeCall};
use super::scope::Scope;

/// Maximum bytes of the user's question that are passed on.
const MAX_QUESTION_BYTES: usize = 2 << 10;

/// The result of one call.
pub(super) enum DescribeResult {
    /// The description, ready to replace the image.
    Description(String),
    /// The image was not sent: the describer's dialect has no image URLs.
    Unseen,
    /// Why there is no description.
    Failed(String),
}

/// The text sent along with the image.
pub(super) fn prompt_text(prompt: &str, question: &str) -> String {
    if question.is_empty() {
        return prompt.to_owned();
    }
    let question = marker::cut(question, MAX_QUESTION_BYTES);
    format!(
        "{prompt}\n\nIt will be used to answer the following. Do not answer it yourself, but \
         describe what matters for it:\n{question}"
    )
}

/// Describes an image and records the call, even if the call is dropped.
pub(super) async fn call(
    chain: &Chain,
    image: Part,
    prompt_text: &str,
    max_tokens: u64,
    scope: &Scope,
    clock: &dyn Clock,
) -> DescribeResult {
    let message = Message::new(Role::User, vec![image, Part::text(prompt_text)]);
    let request = Request::from(vec![message]).max_tokens(max_tokens);
    let mut record = CallRecorder::new(scope, clock);
    let open = match scope.gate_of(chain).open(request).await {
        Ok(open) => open,
        Err(error) => {
            record.attempts = error.attempt_log().attempts.clone();
            return record.failed(error.to_string());
        }
    };
    record.target = Some(open.target);
    let unseen = open.attempt_log.changes().iter().any(is_lost_image);
    record.attempts = open.attempt_log.attempts;
    if unseen {
        // Dropping the stream cancels the call.
        record.failure = Some("the image was not sent".to_owned());
        return DescribeResult::Unseen;
    }
    let mut assembler = Assembler::default();
    let read = fold(open.events, &mut assembler).await;
    let response = assembler.into_response();
    record.usage = response.usage;
    let judged = match read {
        Ok(()) => parse_description(&response),
        Err(error) => {
            if let Some(last) = record.attempts.last_mut() {
                last.outcome = AttemptOutcome::failed(&error);
            }
            Err(error.to_string())
        }
    };
    match judged {
        Ok(description) => {
            record.failure = None;
            DescribeResult::Description(description)
        }
        Err(reason) => record.failed(reason),
    }
}

async fn fold(mut events: EventStream, assembler: &mut Assembler) -> Result<()> {
    while let Some(event) = poll_fn(|cx| events.as_mut().poll_next(cx)).await {
        assembler.push(event?);
        if assembler.is_finished() {
            break;
        }
    }
    Ok(())
}

/// Extracts the description from a response. A refusal or a tool call is not a description: no
/// tool was offered.
fn parse_description(response: &Response) -> std::result::Result<String, String> {
    let refused = matches!(
        response.finish,
        FinishReason::Refusal | FinishReason::ContentFilter
    );
    if refused
        || response
            .parts
            .iter()
            .any(|part| matches!(part, Part::Refusal(_)))
    {
        return Err("the describer refused".to_owned());
    }
    if response.tool_calls().next().is_some() {
        return Err("the describer called a tool".to_owned());
    }
    marker::described(&response.text()).ok_or_else(|| "the describer returned no text".to_owned())
}

fn is_lost_image(change: &Change) -> bool {
    change.subject == "image" && change.verb == "dropped"
}

/// A call in flight; recorded on drop, however it ends.
struct CallRecorder<'r> {
    scope: &'r Scope,
    clock: &'r dyn Clock,
    began: Instant,
    target: Option<String>,
    attempts: Vec<Attempt>,
    usage: Usage,
    failure: Option<String>,
}

impl<'r> CallRecorder<'r> {
    fn new(scope: &'r Scope, clock: &'r dyn Clock) -> Self {
        Self {
            scope,
            clock,
            began: clock.now(),
            target: None,
            attempts: Vec::new(),
            usage: Usage::default(),
            failure: Some(CANCELLED.to_owned()),
        }
    }

    fn failed(mut self, reason: String) -> DescribeResult {
        self.failure = Some(reason.clone());
        DescribeResult::Failed(reason)
    }
}

impl Drop for CallRecorder<'_> {
    fn drop(&mut self) {
        self.scope.add_call(DescribeCall {
            target: self.target.take(),
            attempts: std::mem::take(&mut self.attempts),
            usage: self.usage,
            began: self.began,
            took: self.clock.now().saturating_duration_since(self.began),
            failure: self.failure.take(),
        });
    }
}
