//! Keeps call ids unique across providers.

use std::collections::HashSet;

use majordomo_llm::{Message, Part, Response, ToolCall};

/// Replaces call ids that are empty or already in use.
///
/// Some providers number calls from zero in every response, so that ids would collide
/// after a failover.
pub(super) fn make_ids_unique(response: &mut Response, messages: &[Message]) {
    let used = messages.iter().flat_map(Message::tool_calls);
    let mut used: HashSet<String> = used.map(|call| call.id.clone()).collect();
    let mut next = 0;
    for part in &mut response.parts {
        let Part::ToolCall(call) = part else {
            continue;
        };
        if !call.id.is_empty() && used.insert(call.id.clone()) {
            continue;
        }
        call.id = loop {
            let id = ToolCall::synthetic_id(next);
            next += 1;
            if used.insert(id.clone()) {
                break id;
            }
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_empty_and_duplicate_ids_are_replaced() {
        let call = |id: &str| Part::ToolCall(ToolCall::new(id, "look", "{}"));
        let messages = [Message::assistant(call("call_0"))];
        let ids = ["call_0", "toolu_9", "", "toolu_9", "call_1"];
        let mut response = Response::new(ids.map(call).into());
        make_ids_unique(&mut response, &messages);
        let ids: Vec<&str> = response.tool_calls().map(|c| c.id.as_str()).collect();
        assert_eq!(ids, ["call_1", "toolu_9", "call_2", "call_3", "call_4"]);
    }
}
