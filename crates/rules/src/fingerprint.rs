//! Recognizes requests of Claude Code by their prompts, in any dialect.

use majordomo::llm::Prompt;
use memchr::memmem;

use super::texts;

/// The kind of a Claude Code request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ClaudeCode {
    /// The interactive conversation.
    Main,
    /// A task delegated by the main conversation.
    Subagent,
    /// Compaction of a conversation.
    Compact,
}

impl ClaudeCode {
    pub(super) const ALL: [Self; 3] = [Self::Main, Self::Subagent, Self::Compact];

    /// The kind's name in rules.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Main => "main",
            Self::Subagent => "subagent",
            Self::Compact => "compact",
        }
    }
}

const COMPACTION: &str = "summary of the conversation";
const SUBAGENT: &str = "You are an agent";
const INTERACTIVE: &str = "You are Claude Code";
/// The introduction that programs get through the Agent SDK, and the line that it
/// puts before its instructions.
const AGENT_SDK: [&str; 2] = [
    "You are a Claude agent, built on Anthropic's Claude Agent SDK",
    "x-anthropic-billing-header: cc_version=",
];

/// The kind of request, if it comes from Claude Code.
pub(super) fn claude_code(prompt: &Prompt) -> Option<ClaudeCode> {
    let instructed = |words: &str| any_contains(texts::system_texts(prompt), words);
    // Only the last message can request the summary; an earlier one merely mentions it.
    if instructed(COMPACTION) || any_contains(texts::last_user_texts(prompt), COMPACTION) {
        Some(ClaudeCode::Compact)
    } else if instructed(INTERACTIVE) {
        Some(ClaudeCode::Main)
    } else if instructed(SUBAGENT) {
        Some(ClaudeCode::Subagent)
    } else if AGENT_SDK.into_iter().any(instructed) {
        Some(ClaudeCode::Main)
    } else {
        None
    }
}

fn any_contains<'a>(mut texts: impl Iterator<Item = &'a str>, words: &str) -> bool {
    let words = memmem::Finder::new(words);
    texts.any(|text| words.find(text.as_bytes()).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use majordomo::{Message, Request};

    #[test]
    fn kinds_are_recognized_by_their_phrases() {
        let kind =
            |system: &str, user: &str| claude_code(Request::user(user).system(system).prompt());
        let cli = "You are Claude Code, Anthropic's official CLI for Claude.";
        let sdk = "You are a Claude agent, built on Anthropic's Claude Agent SDK.";
        for (system, user, expected) in [
            (cli, "hi", Some(ClaudeCode::Main)),
            (sdk, "hi", Some(ClaudeCode::Main)),
            (
                "x-anthropic-billing-header: cc_version=2.1;",
                "hi",
                Some(ClaudeCode::Main),
            ),
            (
                "You are an agent for Claude Code.",
                "hi",
                Some(ClaudeCode::Subagent),
            ),
            (
                cli,
                "Write a detailed summary of the conversation so far.",
                Some(ClaudeCode::Compact),
            ),
            ("You are terse.", "You are Claude Code", None),
        ] {
            assert_eq!(kind(system, user), expected, "{system:?}, {user:?}");
        }
    }

    #[test]
    fn a_conversation_that_mentioned_a_summary_earlier_is_not_compaction() {
        let request = Request::user("What does `summary of the conversation` mean?")
            .system("You are Claude Code")
            .message(Message::assistant("It is a phrase."))
            .message(Message::user("Thanks, now fix the bug."));
        assert_eq!(claude_code(request.prompt()), Some(ClaudeCode::Main));
    }
}
