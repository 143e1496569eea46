//! Converts the thinking settings of a request to what a model supports.

use majordomo_llm::{Change, Effort, Message, Part, Request, Role, ToolChoice};
use majordomo_wire::Protocol;

use super::claude_model::{ClaudeModel, ThinkingSupport};
use crate::reasoning_budget::effort_of;

/// Smallest budget that the API accepts.
const MIN_BUDGET: u64 = 1_024;

/// Why a budget is dropped.
const TAKES_EFFORT: &str = "the model takes an effort instead";
const WITHOUT_THOUGHT: &str = "a tool call of this turn has lost its thought";

/// Changes settings that the model would reject.
pub(super) fn fit_thinking(request: &mut Request, claude: ClaudeModel) {
    let native = request.prompt().native.as_deref();
    if native.is_some_and(|native| native.get("thinking").is_some()) {
        return;
    }
    match claude.thinking_support() {
        ThinkingSupport::Unsupported => {
            drop_effort(request, "the model does not support thinking");
            drop_budget(request, "the model does not support thinking");
        }
        ThinkingSupport::BudgetOnly => {
            effort_to_budget(request);
            if request.prompt().reasoning_budget.is_some() && has_step_without_thought(request) {
                drop_budget(request, WITHOUT_THOUGHT);
            }
        }
        ThinkingSupport::BudgetOrAdaptive => {
            if request.prompt().reasoning_budget.is_some() && has_step_without_thought(request) {
                budget_to_effort(request, WITHOUT_THOUGHT);
            }
        }
        ThinkingSupport::Adaptive => budget_to_effort(request, TAKES_EFFORT),
        ThinkingSupport::AlwaysOn => {
            if request.prompt().effort == Some(Effort::None) {
                let change = Change::new("effort", "raised");
                request.record_change(change.detail("the model always thinks; low is the minimum"));
                request.edit().effort = Some(Effort::Low);
            }
            budget_to_effort(request, TAKES_EFFORT);
        }
    }
    if request.prompt().effort == Some(Effort::XHigh) && !claude.supports_xhigh() {
        request.record_change(Change::new("effort", "lowered").detail("the nearest is high"));
        request.edit().effort = Some(Effort::High);
    }
}

/// Converts an effort for models that take only a budget. These reject thinking
/// together with a forced tool call.
fn effort_to_budget(request: &mut Request) {
    let Some(effort) = request
        .prompt()
        .effort
        .filter(|effort| *effort != Effort::None)
    else {
        return;
    };
    let wanted = match effort {
        Effort::None | Effort::Minimal => MIN_BUDGET,
        Effort::Low => 2_048,
        Effort::Medium => 8_192,
        Effort::High => 16_384,
        Effort::XHigh => 24_576,
        Effort::Max => 32_000,
    };
    if request.prompt().reasoning_budget.is_some() {
        return drop_effort(request, "the budget takes precedence");
    }
    if matches!(
        request.prompt().tool_choice,
        ToolChoice::Required | ToolChoice::Named(_)
    ) {
        return drop_effort(request, "the model does not think when a tool is forced");
    }
    // `max_tokens` includes thinking, so half is left for the text.
    let budget = match request.prompt().max_tokens {
        Some(max) => wanted.min(max / 2),
        None => wanted,
    };
    if budget < MIN_BUDGET {
        return drop_effort(request, "max_tokens is too small for thinking");
    }
    let text = format!("the model takes a budget: {budget} tokens");
    request.record_change(Change::new("effort", "rewritten").detail(text));
    let prompt = request.edit();
    prompt.effort = None;
    prompt.reasoning_budget = Some(budget);
}

/// Converts a budget to adaptive thinking.
fn budget_to_effort(request: &mut Request, why: &str) {
    let Some(budget) = request.prompt().reasoning_budget else {
        return;
    };
    drop_budget(request, why);
    if request.prompt().effort.is_none() {
        request.edit().effort = Some(effort_of(budget));
    }
}

/// Whether a step of the current turn calls a tool without beginning with a thought of
/// this dialect. The API rejects that together with a budget, and clients of other dialects
/// do not send thoughts back.
fn has_step_without_thought(request: &Request) -> bool {
    let messages = &request.prompt().messages;
    let begins_turn =
        |message: &Message| message.role == Role::User && message.tool_results().next().is_none();
    let start = messages
        .iter()
        .rposition(begins_turn)
        .map_or(0, |at| at + 1);
    let same_step = |a: &Message, b: &Message| a.role == b.role;
    messages[start..].chunk_by(same_step).any(|step| {
        let is_assistant = step[0].role == Role::Assistant;
        let calls = step.iter().flat_map(Message::tool_calls).next().is_some();
        let mut parts = step.iter().flat_map(|message| &message.parts);
        // Parts that the writer omits do not count.
        let first = parts.find(|part| !is_foreign_reasoning(part));
        is_assistant && calls && !matches!(first, Some(Part::Reasoning(_)))
    })
}

fn is_foreign_reasoning(part: &Part) -> bool {
    let Part::Reasoning(reasoning) = part else {
        return false;
    };
    let messages = Protocol::Messages.dialect();
    let native = reasoning.native.as_deref();
    native.is_none_or(|native| *native.dialect() != messages)
}

fn drop_effort(request: &mut Request, why: &str) {
    let Some(effort) = request.prompt().effort else {
        return;
    };
    if effort != Effort::None {
        request.record_change(Change::new("effort", "dropped").detail(why));
    }
    request.edit().effort = None;
}

fn drop_budget(request: &mut Request, why: &str) {
    if request.prompt().reasoning_budget.is_none() {
        return;
    }
    request.record_change(Change::new("reasoning_budget", "dropped").detail(why));
    request.edit().reasoning_budget = None;
}

/// Drops reasoning with an empty signature, which the API rejects. A client that was
/// shown reasoning without a signature sends it back like this.
pub(super) fn strip_unsigned(request: &mut Request) {
    let messages = Protocol::Messages.dialect();
    let unsigned = |part: &Part| {
        let Part::Reasoning(reasoning) = part else {
            return false;
        };
        let own = reasoning.native.as_deref();
        let own = own.filter(|native| *native.dialect() == messages);
        own.and_then(|native| native.get("signature"))
            .is_some_and(|signature| signature.as_str() == "\"\"")
    };
    let parts = request
        .prompt()
        .messages
        .iter()
        .flat_map(|message| &message.parts);
    let count = parts.filter(|part| unsigned(part)).count();
    if count == 0 {
        return;
    }
    let note = Change::new("reasoning", "dropped").times(count);
    request.record_change(note.detail("it has no signature"));
    for message in &mut request.edit().messages {
        message.parts.retain(|part| !unsigned(part));
    }
}

#[cfg(test)]
mod tests {
    use majordomo_llm::{Json, Native, Reasoning, ToolCall, ToolResult};

    use super::*;

    fn fitted(model: &str, mut request: Request) -> (Option<Effort>, Option<u64>, Vec<String>) {
        let (noting, notes) = request.recording_changes();
        request = noting;
        fit_thinking(&mut request, ClaudeModel::parse(model).unwrap());
        let notes = notes.take().iter().map(ToString::to_string).collect();
        (
            request.prompt().effort,
            request.prompt().reasoning_budget,
            notes,
        )
    }

    fn budget(tokens: u64) -> Request {
        let mut request = Request::user("hi");
        request.edit().reasoning_budget = Some(tokens);
        request
    }

    #[test]
    fn each_model_gets_a_supported_kind_of_thinking() {
        const OLD: &str = "claude-haiku-4-5-20251001";
        let effort = |effort| Request::user("hi").effort(effort);
        let forced = || effort(Effort::High).tool_choice(ToolChoice::Required);
        let rows = [
            (
                OLD,
                effort(Effort::High),
                None,
                Some(16_384),
                "effort rewritten",
            ),
            (
                OLD,
                effort(Effort::High).max_tokens(4_000),
                None,
                Some(2_000),
                "effort rewritten",
            ),
            (
                OLD,
                effort(Effort::High).max_tokens(500),
                None,
                None,
                "effort dropped",
            ),
            (OLD, effort(Effort::None), Some(Effort::None), None, ""),
            (OLD, forced(), None, None, "effort dropped"),
            (
                "claude-3-5-haiku-20241022",
                effort(Effort::Low),
                None,
                None,
                "effort dropped",
            ),
            (
                "claude-opus-4-6",
                effort(Effort::XHigh),
                Some(Effort::High),
                None,
                "effort lowered",
            ),
            ("claude-opus-4-6", budget(2_000), None, Some(2_000), ""),
            (
                "claude-opus-4-8",
                budget(2_000),
                Some(Effort::Low),
                None,
                "reasoning_budget dropped",
            ),
            (
                "claude-sonnet-5-5",
                effort(Effort::None),
                Some(Effort::Low),
                None,
                "effort raised",
            ),
            (
                "claude-sonnet-5-5",
                effort(Effort::Max),
                Some(Effort::Max),
                None,
                "",
            ),
        ];
        for (model, request, effort, budget, note) in rows {
            let (found, tokens, notes) = fitted(model, request);
            assert_eq!((found, tokens), (effort, budget), "{model}");
            assert_eq!(notes.join(", "), note, "{model}");
        }
    }

    #[test]
    fn a_budget_is_not_sent_over_a_tool_call_that_lost_its_thought() {
        let own = Native::new(Protocol::Messages.dialect());
        let own = own.with("signature", Json::string("abc")).into_option();
        let foreign = Native::new(Protocol::Responses.dialect());
        let foreign = foreign.with("encrypted_content", Json::string("x"));
        let thought = |native| {
            Part::Reasoning(Reasoning {
                text: "hm".into(),
                native,
            })
        };
        let call = ToolCall::new("a", "look", "{}");
        let result = || Message::tool_results_message([ToolResult::new(&call, "seen")]);
        let step = |first: Option<Part>| {
            let mut parts: Vec<Part> = first.into_iter().collect();
            parts.push(Part::ToolCall(call.clone()));
            Message::new(Role::Assistant, parts)
        };
        let with = |messages: Vec<Message>| {
            let mut request = budget(2_000);
            request.edit().messages.extend(messages);
            request
        };
        const OLD: &str = "claude-haiku-4-5";
        const BOTH: &str = "claude-sonnet-4-6";
        let kept = (None, Some(2_000));
        let rows = [
            (OLD, vec![step(None), result()], (None, None)),
            (BOTH, vec![step(None), result()], (Some(Effort::Low), None)),
            (
                OLD,
                vec![step(Some(thought(foreign.into_option()))), result()],
                (None, None),
            ),
            (OLD, vec![step(Some(thought(own.clone()))), result()], kept),
            // An item-based client sends each part as one message.
            (
                OLD,
                vec![Message::assistant(thought(own)), step(None), result()],
                kept,
            ),
            // Only the current turn counts.
            (
                OLD,
                vec![
                    step(None),
                    result(),
                    Message::assistant("so"),
                    Message::user("go on"),
                ],
                kept,
            ),
            (OLD, vec![Message::assistant("so")], kept),
        ];
        for (row, (model, messages, expected)) in rows.into_iter().enumerate() {
            let (effort, tokens, changes) = fitted(model, with(messages));
            assert_eq!((effort, tokens), expected, "row {row}");
            let dropped = changes.contains(&"reasoning_budget dropped".to_owned());
            assert_eq!(dropped, expected != kept, "row {row}");
        }
    }

    #[test]
    fn unsigned_reasoning_is_not_sent_back() {
        let reasoning = |signature: &str| {
            let native = Native::new(Protocol::Messages.dialect());
            Part::Reasoning(Reasoning {
                text: "hm".into(),
                native: native
                    .with("signature", Json::string(signature))
                    .into_option(),
            })
        };
        let mut message = Message::assistant(reasoning(""));
        message.parts.push(reasoning("abc"));
        let (mut request, notes) = Request::user("hi").message(message).recording_changes();
        strip_unsigned(&mut request);
        assert_eq!(request.prompt().messages[1].parts, [reasoning("abc")]);
        assert_eq!(notes.take()[0].to_string(), "reasoning:1 dropped");

        let before = request.clone();
        strip_unsigned(&mut request);
        assert!(
            request.same_prompt(&before),
            "nothing to strip, so nothing is edited"
        );
    }
}
