//! Converts the thinking settings of a request to what a model supports.

use majordomo_llm::{Change, Effort, Message, Part, Request, Role, ToolChoice};
use majordomo_wire::Protocol;

use super::claude_model::{ClaudeModel, ThinkingSupport};
use super::own_thinking::fit_own_thinking;
use crate::reasoning_budget::effort_of;

/// Smallest budget that the API accepts.
const MIN_BUDGET: u64 = 1_024;

/// Why a budget is dropped.
const TAKES_EFFORT: &str = "the model takes an effort instead";
const TOO_LITTLE_OUTPUT: &str = "max_tokens is too small for thinking";
const WITH_FORCED_TOOL: &str = "the model does not think when a tool is forced";
const WITHOUT_THOUGHT: &str = "this turn has lost its thought";

/// Changes settings that the model would reject.
pub(super) fn fit_thinking(request: &mut Request, claude: ClaudeModel) {
    let asked = asks_to_think(request);
    fit_own_thinking(request, claude.thinking_support());
    if has_own_thinking(request) {
        return;
    }
    fit_settings(request, claude);
    if asked && !asks_to_think(request) {
        drop_thoughts_of_turn(request);
    }
}

/// Fits effort and budget.
fn fit_settings(request: &mut Request, claude: ClaudeModel) {
    if claude.rejects_thinking_with_forced_tools() && forces_a_tool(request) {
        drop_effort(request, WITH_FORCED_TOOL);
        drop_budget(request, WITH_FORCED_TOOL);
    }
    match claude.thinking_support() {
        ThinkingSupport::Unsupported => {
            drop_effort(request, "the model does not support thinking");
            drop_budget(request, "the model does not support thinking");
        }
        ThinkingSupport::BudgetOnly => {
            effort_to_budget(request);
            if request.prompt().reasoning_budget.is_some() && turn_lost_its_thought(request) {
                drop_budget(request, WITHOUT_THOUGHT);
            }
        }
        ThinkingSupport::BudgetOrAdaptive => {
            if request.prompt().reasoning_budget.is_some() && turn_lost_its_thought(request) {
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
    fit_budget(request);
}

fn forces_a_tool(request: &Request) -> bool {
    let choice = &request.prompt().tool_choice;
    matches!(choice, ToolChoice::Required | ToolChoice::Named(_))
}

/// Brings a budget into the range that the API accepts: from [`MIN_BUDGET`] to less than the
/// output limit. That of a Messages client is kept, because some betas accept more.
fn fit_budget(request: &mut Request) {
    let messages = Protocol::Messages.dialect();
    let own = request.source().is_some_and(|it| *it.dialect() == messages);
    let Some(budget) = request.prompt().reasoning_budget.filter(|_| !own) else {
        return;
    };
    let limit = request.prompt().max_tokens.unwrap_or(u64::MAX);
    let below_limit = if budget < limit { budget } else { limit / 2 };
    let fitted = below_limit.max(MIN_BUDGET);
    if fitted >= limit {
        return drop_budget(request, TOO_LITTLE_OUTPUT);
    }
    if fitted != budget {
        let verb = if fitted < budget { "lowered" } else { "raised" };
        let change = Change::new("reasoning_budget", verb);
        request.record_change(change.detail(format!("to {fitted}")));
        request.edit().reasoning_budget = Some(fitted);
    }
}

/// Converts an effort for models that take only a budget.
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
    // `max_tokens` includes thinking, so half is left for the text.
    let budget = match request.prompt().max_tokens {
        Some(max) => wanted.min(max / 2),
        None => wanted,
    };
    if budget < MIN_BUDGET {
        return drop_effort(request, TOO_LITTLE_OUTPUT);
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

/// Whether the current turn calls tools, but has lost the thought with which it began. The
/// API rejects that together with a budget, and clients of other dialects do not send thoughts
/// back. Later steps of a turn need no thought: most models think once per turn.
fn turn_lost_its_thought(request: &Request) -> bool {
    let messages = &request.prompt().messages;
    let turn = messages[turn_start(messages)..].iter();
    let steps = turn.filter(|message| message.role == Role::Assistant);
    let calls = steps.clone().flat_map(Message::tool_calls).next().is_some();
    let mut parts = steps.flat_map(|message| &message.parts);
    // Parts that the writer omits do not count.
    let first = parts.find(|part| !is_foreign_reasoning(part));
    calls && !matches!(first, Some(Part::Reasoning(_)))
}

/// The first message after the last one that the user wrote; a tool loop is one turn.
fn turn_start(messages: &[Message]) -> usize {
    let begins_turn =
        |message: &Message| message.role == Role::User && message.tool_results().next().is_none();
    messages
        .iter()
        .rposition(begins_turn)
        .map_or(0, |at| at + 1)
}

/// Drops the thoughts of the current turn, which the API rejects if thinking is off.
fn drop_thoughts_of_turn(request: &mut Request) {
    let start = turn_start(&request.prompt().messages);
    let is_thought = |part: &Part| matches!(part, Part::Reasoning(_));
    let turn = &request.prompt().messages[start..];
    let own = |part: &&Part| is_thought(part) && !is_foreign_reasoning(part);
    let count = turn
        .iter()
        .flat_map(|message| &message.parts)
        .filter(own)
        .count();
    if count == 0 {
        return;
    }
    let change = Change::new("reasoning", "dropped").times(count);
    request.record_change(change.detail("thinking is off for this turn"));
    for message in &mut request.edit().messages[start..] {
        message
            .parts
            .retain(|part| !is_thought(part) || is_foreign_reasoning(part));
    }
}

/// Whether the request asks for thinking in any form.
fn asks_to_think(request: &Request) -> bool {
    let prompt = request.prompt();
    let by_effort = prompt.effort.is_some_and(|effort| effort != Effort::None);
    by_effort || prompt.reasoning_budget.is_some() || has_own_thinking(request)
}

/// Whether a Messages client sent a `thinking` object that the contract cannot represent.
fn has_own_thinking(request: &Request) -> bool {
    let native = request.prompt().native.as_deref();
    native.is_some_and(|native| native.get("thinking").is_some())
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
mod tests;
