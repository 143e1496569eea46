//! System messages inside the conversation, for models that take none.

use majordomo_llm::{Change, Message, Part, Request, Role, WireSource};
use majordomo_wire::Protocol;

use super::claude_model::ClaudeModel;

/// Folds system messages into the instructions if the model rejects them inside the
/// conversation. For an unknown model, a client that speaks the API itself is trusted.
pub(super) fn fold_system_turns(request: &mut Request, claude: Option<ClaudeModel>) {
    let messages = Protocol::Messages.dialect();
    let is_own = |source: &WireSource| *source.dialect() == messages;
    let own = request.source().is_some_and(is_own);
    let accepts = match claude {
        Some(claude) => claude.accepts_system_turns(),
        None => own,
    };
    let is_system = |message: &Message| message.role == Role::System;
    // For other dialects, the writer itself moves the leading ones.
    let first = match own {
        true => 0,
        false => request
            .prompt()
            .messages
            .iter()
            .take_while(|m| is_system(m))
            .count(),
    };
    if accepts || !request.prompt().messages[first..].iter().any(is_system) {
        return;
    }
    request.record_change(
        Change::new("system", "folded").detail("the model takes instructions only at the front"),
    );
    let prompt = request.edit();
    let mut conversation = Vec::with_capacity(prompt.messages.len());
    for mut message in std::mem::take(&mut prompt.messages) {
        if message.role != Role::System {
            conversation.push(message);
            continue;
        }
        for part in std::mem::take(&mut message.parts) {
            match part {
                Part::Text(text) => prompt.system.push(text),
                Part::Refusal(_)
                | Part::Image(_)
                | Part::RemoteImage(_)
                | Part::Reasoning(_)
                | Part::ToolCall(_)
                | Part::ToolResult(_)
                | Part::File(_)
                | Part::Opaque(_) => message.parts.push(part),
            }
        }
        // Instructions are text; other content is not moved.
        if !message.parts.is_empty() {
            message.role = Role::User;
            conversation.push(message);
        }
    }
    prompt.messages = conversation;
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: &str = "claude-sonnet-4-5";
    const NEW: &str = "claude-opus-4-8";

    fn folded(request: Request, model: &str) -> (Request, Vec<String>) {
        let (mut request, notes) = request.recording_changes();
        fold_system_turns(&mut request, ClaudeModel::parse(model));
        let notes = notes.take();
        (request, notes.iter().map(Change::to_string).collect())
    }

    fn conversation() -> Request {
        Request::from(vec![
            Message::system("S1"),
            Message::user("a"),
            Message::assistant("b"),
            Message::system("S2"),
            Message::user("c"),
        ])
        .system("S0")
    }

    #[test]
    fn system_messages_are_folded_for_models_that_refuse_them() {
        for model in [OLD, "another-servers-model"] {
            let (request, changes) = folded(conversation(), model);
            let system: Vec<_> = request
                .prompt()
                .system
                .iter()
                .map(|t| t.text.as_str())
                .collect();
            assert_eq!(system, ["S0", "S1", "S2"], "{model}");
            let texts: Vec<_> = request
                .prompt()
                .messages
                .iter()
                .map(Message::text)
                .collect();
            assert_eq!(texts, ["a", "b", "c"], "{model}");
            assert_eq!(changes, ["system folded"], "{model}");
        }
    }

    #[test]
    fn system_messages_stay_for_models_that_accept_them() {
        let conversation = conversation();
        let (request, changes) = folded(conversation.clone(), NEW);
        assert!(request.same_prompt(&conversation));
        assert!(changes.is_empty());
    }

    #[test]
    fn a_messages_client_decides_for_unknown_models_only() {
        let body = r#"{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"a"},{"role":"system","content":"S"}]}"#;
        let read = || {
            let read = Protocol::Messages.codec().read_request(body.into());
            read.unwrap().request
        };
        assert!(folded(read(), "another-servers-model").1.is_empty());
        assert!(folded(read(), NEW).1.is_empty());
        assert_eq!(folded(read(), OLD).1, ["system folded"]);
    }
}
