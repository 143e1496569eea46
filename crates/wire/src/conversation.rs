//! Views of a conversation for writers whose dialect groups it differently.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet, VecDeque};

use majordomo_llm::{Dialect, Message, Native, Part, Role, ToolCall};

/// Assigns call ids that the target accepts, in conversation order: duplicate
/// ids become unique, missing ids are generated, and each result gets the id of
/// its call.
pub(crate) struct CallIds {
    allowed: fn(char) -> bool,
    used: HashSet<String>,
    /// Copies of an id that were assigned or found in use.
    copies: HashMap<String, usize>,
    /// The id assigned to the latest call of each original id.
    latest: HashMap<String, String>,
    /// Assigned ids of calls without an original id that have no result yet.
    without_id: VecDeque<String>,
    calls: usize,
}

impl CallIds {
    /// Replaces characters that are not `allowed` by underscores.
    pub(crate) fn new(allowed: fn(char) -> bool) -> Self {
        Self {
            allowed,
            used: HashSet::new(),
            copies: HashMap::new(),
            latest: HashMap::new(),
            without_id: VecDeque::new(),
            calls: 0,
        }
    }

    /// Returns the id to write for the next call.
    pub(crate) fn call(&mut self, id: &str) -> String {
        let fitting = |c| if (self.allowed)(c) { c } else { '_' };
        let mut written: String = id.chars().map(fitting).collect();
        if written.is_empty() {
            written = ToolCall::synthetic_id(self.calls);
        }
        if self.used.contains(&written) {
            written = self.copy_of(written);
        }
        self.keep(id, written.clone());
        written
    }

    /// Returns the first free id among `id_2`, `id_3` and so on. Used ids stay
    /// used, so each search resumes where the last one ended.
    fn copy_of(&mut self, id: String) -> String {
        let copies = self.copies.entry(id.clone()).or_insert(1);
        loop {
            *copies += 1;
            let written = format!("{id}_{copies}");
            if !self.used.contains(&written) {
                return written;
            }
        }
    }

    /// Records a call whose id is already written.
    pub(crate) fn keep(&mut self, id: &str, written: String) {
        self.calls += 1;
        self.used.insert(written.clone());
        if id.is_empty() {
            self.without_id.push_back(written);
        } else {
            self.latest.insert(id.to_owned(), written);
        }
    }

    /// Returns the id to write for a result of the call `id`.
    pub(crate) fn result<'i>(&mut self, id: &'i str) -> Cow<'i, str> {
        if id.is_empty() {
            return Cow::Owned(self.without_id.pop_front().unwrap_or_default());
        }
        match self.latest.get(id) {
            Some(written) => Cow::Owned(written.clone()),
            None => Cow::Borrowed(id),
        }
    }
}

/// Tool names by call id, for dialects that pair results by name. A later call
/// of the same id shadows an earlier one.
pub(crate) struct ToolNames<'m>(HashMap<&'m str, &'m str>);

impl<'m> ToolNames<'m> {
    pub(crate) fn of(messages: &'m [Message]) -> Self {
        let calls = messages.iter().flat_map(Message::tool_calls);
        Self(
            calls
                .map(|call| (call.id.as_str(), call.name.as_str()))
                .collect(),
        )
    }

    pub(crate) fn get(&self, call_id: &str) -> Option<&'m str> {
        self.0.get(call_id).copied()
    }
}

/// Consecutive messages of one side, for dialects whose turns must alternate.
#[derive(Debug, PartialEq)]
pub(crate) struct ConversationTurn<'m> {
    /// Never [`Role::Tool`]: results are part of the user's turn.
    pub(crate) role: Role,
    /// Indexes of the merged messages.
    pub(crate) messages: std::ops::Range<usize>,
    /// Their parts; in a user's turn, tool results come first.
    pub(crate) parts: Vec<&'m Part>,
}

/// Groups messages into turns. Every system message is a separate turn.
pub(crate) fn turns(messages: &[Message]) -> Vec<ConversationTurn<'_>> {
    let mut turns: Vec<ConversationTurn<'_>> = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        let role = match message.role {
            Role::Tool => Role::User,
            role => role,
        };
        match turns.last_mut() {
            Some(last) if last.role == role && role != Role::System => {
                last.messages.end = index + 1;
                last.parts.extend(&message.parts);
            }
            _ => turns.push(ConversationTurn {
                role,
                messages: index..index + 1,
                parts: message.parts.iter().collect(),
            }),
        }
    }
    for turn in &mut turns {
        turn.parts
            .sort_by_key(|part| !matches!(part, Part::ToolResult(_)));
    }
    turns
}

/// Merges consecutive assistant messages, since item-based dialects put every
/// call and every reasoning item into a separate message, and a result must
/// follow the message with its call. Consecutive texts stay separate, as do
/// messages that both have native fields of `dialect`.
pub(crate) fn merge_assistant_messages<'m>(
    messages: &'m [Message],
    dialect: &Dialect,
) -> Vec<Cow<'m, Message>> {
    let texts_only = |message: &Message| {
        let mut parts = message.parts.iter();
        parts.all(|part| matches!(part, Part::Text(_) | Part::Refusal(_)))
    };
    let own = |message: &Message| {
        let native = message.native.as_ref();
        native.is_some_and(|native| native.dialect() == dialect)
    };
    let mut joined: Vec<Cow<'m, Message>> = Vec::with_capacity(messages.len());
    // Whether the last message has only texts.
    let mut plain = false;
    for message in messages {
        let adds_texts = texts_only(message);
        match joined.last_mut() {
            Some(last)
                if last.role == Role::Assistant
                    && message.role == Role::Assistant
                    && !(plain && adds_texts)
                    && !(own(last) && own(message)) =>
            {
                let last = last.to_mut();
                last.parts.extend_from_slice(&message.parts);
                last.native = merge_native(last.native.take(), message.native.as_deref(), dialect);
                plain &= adds_texts;
            }
            _ => {
                joined.push(Cow::Borrowed(message));
                plain = adds_texts;
            }
        }
    }
    joined
}

/// Merges native fields; if the dialects differ, those of `dialect` win.
fn merge_native(
    first: Option<Box<Native>>,
    second: Option<&Native>,
    dialect: &Dialect,
) -> Option<Box<Native>> {
    let Some(second) = second else { return first };
    match first {
        Some(mut first) if first.dialect() == second.dialect() => {
            for (name, value) in second.fields() {
                first.push(name, value.clone());
            }
            Some(first)
        }
        Some(first) if second.dialect() != dialect => Some(first),
        _ => Some(Box::new(second.clone())),
    }
}

/// Assigns ids to the calls of a response that lack one, from `first_call` on.
pub(crate) fn assign_call_ids(parts: &mut [Part], first_call: usize) {
    let calls = parts.iter_mut().filter_map(|part| match part {
        Part::ToolCall(call) => Some(call),
        Part::Text(_)
        | Part::Refusal(_)
        | Part::Image(_)
        | Part::RemoteImage(_)
        | Part::Reasoning(_)
        | Part::ToolResult(_)
        | Part::File(_)
        | Part::Opaque(_) => None,
    });
    for (n, call) in calls.enumerate() {
        if call.id.is_empty() {
            call.id = ToolCall::synthetic_id(first_call + n);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use majordomo_llm::ToolResult;
    use proptest::prelude::*;

    #[test]
    fn duplicate_and_missing_call_ids_become_unique_and_results_match_them() {
        let mut ids = CallIds::new(|c| c.is_ascii_alphanumeric() || c == '_');
        assert_eq!(ids.call("a"), "a");
        assert_eq!(ids.result("a"), "a");
        assert_eq!(ids.call("a"), "a_2");
        assert_eq!(ids.result("a"), "a_2");
        assert_eq!(ids.call("b:1"), "b_1");
        assert_eq!(ids.result("b:1"), "b_1");
        assert_eq!(ids.call(""), "call_3");
        assert_eq!(ids.call(""), "call_4");
        assert_eq!(ids.result(""), "call_3");
        assert_eq!(ids.result(""), "call_4");
        assert_eq!(ids.result("unknown"), "unknown");
    }

    proptest! {
        #[test]
        fn duplicate_ids_get_the_first_free_suffix(ids in prop::collection::vec("a(_[23]){0,2}", 0..40)) {
            let mut given = CallIds::new(|_| true);
            let mut used: HashSet<String> = HashSet::new();
            for id in ids {
                let copies = (2..).map(|n| format!("{id}_{n}"));
                let free = std::iter::once(id.clone()).chain(copies).find(|id| !used.contains(id));
                let free = free.unwrap_or_default();
                prop_assert_eq!(given.call(&id), &*free);
                used.insert(free);
            }
        }
    }

    #[test]
    fn consecutive_calls_and_reasoning_merge_but_consecutive_texts_do_not() {
        const HERE: Dialect = Dialect::new("here");
        let call = |id| Message::assistant(Part::ToolCall(ToolCall::new(id, "look", "{}")));
        let mut with_native = Message::assistant("one");
        with_native.native = Native::new(HERE)
            .with("x", majordomo_llm::Json::string("y"))
            .into_option();
        let messages = [
            Message::assistant("zero"),
            with_native.clone(),
            call("a"),
            call("b"),
            Message::user("hurry"),
            call("c"),
            with_native,
        ];
        let counts = |dialect: &Dialect| -> Vec<usize> {
            let joined = merge_assistant_messages(&messages, dialect);
            joined.iter().map(|message| message.parts.len()).collect()
        };
        assert_eq!(counts(&HERE), [1, 3, 1, 2]);
        let kept = &merge_assistant_messages(&messages, &HERE)[1];
        assert!(kept.native.is_some(), "fields of the text are kept");
    }

    #[test]
    fn tool_results_and_the_next_user_message_form_one_turn() {
        let call = ToolCall::new("a", "look", "{}");
        let messages = [
            Message::user("see"),
            Message::assistant(Part::ToolCall(call.clone())),
            Message::user("hurry"),
            Message::tool_results_message([ToolResult::new(&call, "seen")]),
            Message::system("be brief"),
            Message::system("really"),
        ];
        let turns = turns(&messages);
        let roles: Vec<_> = turns.iter().map(|t| (t.role, t.messages.clone())).collect();
        assert_eq!(
            roles,
            [
                (Role::User, 0..1),
                (Role::Assistant, 1..2),
                (Role::User, 2..4),
                (Role::System, 4..5),
                (Role::System, 5..6),
            ]
        );
        assert!(matches!(turns[2].parts[0], Part::ToolResult(_)));
        assert_eq!(ToolNames::of(&messages).get("a"), Some("look"));
    }
}
