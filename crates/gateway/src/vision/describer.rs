//! Asks a describer about one image.
//!
//! Always as a stream, since most providers want that for images; the shared
//! assembler folds it. Health, fallback to the next describer and the fitting of
//! the image to its limits are the chain's.

use std::future::poll_fn;
use std::time::Instant;

use majordomo::{
    Assembler, Attempt, AttemptOutcome, Chain, Change, Clock, EventStream, FinishReason, Message,
    Part, Request, Response, Result, Role, Usage,
};

use super::marker;
use super::outcome::{CANCELLED, DescribeCall};
use super::scope::Scope;

/// The longest part of a question that is passed on, in bytes.
const LONGEST_QUESTION: usize = 2 << 10;

/// What one call gave.
pub(super) enum Answer {
    /// The description as it is written in the image's place.
    Description(String),
    /// The image did not reach the describer: its dialect has no addresses.
    Unseen,
    /// Why there is none.
    Failed(String),
}

/// What the describer is told beside the image.
pub(super) fn words(prompt: &str, question: &str) -> String {
    if question.is_empty() {
        return prompt.to_owned();
    }
    let question = marker::cut(question, LONGEST_QUESTION);
    format!(
        "{prompt}\n\nIt will be used to answer the following. Do not answer it yourself, but \
         describe what matters for it:\n{question}"
    )
}

/// Describes an image, and writes the call down even if it is dropped.
pub(super) async fn ask(
    chain: &Chain,
    image: Part,
    words: &str,
    max_tokens: u64,
    scope: &Scope,
    clock: &dyn Clock,
) -> Answer {
    let message = Message::new(Role::User, vec![image, Part::text(words)]);
    let request = Request::from(vec![message]).max_tokens(max_tokens);
    let mut record = Record::new(scope, clock);
    let open = match chain.open(request).await {
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
        // The stream is dropped, and with it the call.
        record.failure = Some("the image did not reach it".to_owned());
        return Answer::Unseen;
    }
    let mut assembler = Assembler::default();
    let read = fold(open.events, &mut assembler).await;
    let response = assembler.into_response();
    record.usage = response.usage;
    let judged = match read {
        Ok(()) => judge(&response),
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
            Answer::Description(description)
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

/// The description in an answer. A refusal is none, and neither is a tool call:
/// nobody offered a tool.
fn judge(response: &Response) -> std::result::Result<String, String> {
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
        return Err("the describer declined".to_owned());
    }
    if response.tool_calls().next().is_some() {
        return Err("the describer asked for a tool".to_owned());
    }
    marker::described(&response.text()).ok_or_else(|| "the describer said nothing".to_owned())
}

fn is_lost_image(change: &Change) -> bool {
    change.subject == "image" && change.verb == "dropped"
}

/// A call on its way; whatever ends it, it is written down.
struct Record<'r> {
    scope: &'r Scope,
    clock: &'r dyn Clock,
    began: Instant,
    target: Option<String>,
    attempts: Vec<Attempt>,
    usage: Usage,
    failure: Option<String>,
}

impl<'r> Record<'r> {
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

    fn failed(mut self, reason: String) -> Answer {
        self.failure = Some(reason.clone());
        Answer::Failed(reason)
    }
}

impl Drop for Record<'_> {
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
