//! The prompt for each image: the configured text and, if enabled, the user's question
//! from the image's turn or before it.
//!
//! A turn may have thousands of images and a long text, so each turn is found and read
//! once. A prompt depends on nothing after its turn, so it stays the same while the
//! conversation grows.

use std::collections::HashMap;
use std::sync::Arc;

use majordomo::{Message, Part, Role};

use super::cache::CacheKey;
use super::config::VisionConfig;
use super::describer;

/// The prompt for an image, and its digest.
#[derive(Clone)]
pub(super) struct DescribePrompt {
    pub(super) text: Arc<str>,
    pub(super) key: CacheKey,
}

/// The location of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum QuestionSource {
    /// In the messages of a turn.
    Turn {
        start: usize,
        end: usize,
    },
    /// In an earlier message.
    Earlier(usize),
    Nowhere,
}

/// The prompts of one conversation.
pub(super) struct DescribePrompts<'a> {
    config: &'a VisionConfig,
    messages: &'a [Message],
    /// Start and end of the turn of each message; empty if questions are disabled.
    turns: Vec<(usize, usize)>,
    /// The user's last message with text, before each index.
    spoke_before: Vec<Option<usize>>,
    cache: HashMap<QuestionSource, DescribePrompt>,
}

impl<'a> DescribePrompts<'a> {
    pub(super) fn of(config: &'a VisionConfig, messages: &'a [Message]) -> Self {
        let (turns, spoke_before) = match config.question {
            true => (turns(messages), spoke_before(messages)),
            false => (Vec::new(), Vec::new()),
        };
        Self {
            config,
            messages,
            turns,
            spoke_before,
            cache: HashMap::new(),
        }
    }

    /// The prompt for an image of this message.
    pub(super) fn prompt(&mut self, message: usize) -> DescribePrompt {
        let source = self.source(message);
        if let Some(cache) = self.cache.get(&source) {
            return cache.clone();
        }
        let question = match source {
            QuestionSource::Turn { start, end } => text(&self.messages[start..end]),
            QuestionSource::Earlier(at) => text(&self.messages[at..=at]),
            QuestionSource::Nowhere => String::new(),
        };
        let text = describer::prompt_text(&self.config.prompt, &question);
        let prompt = DescribePrompt {
            key: CacheKey::of(&[text.as_bytes()]),
            text: text.into(),
        };
        self.cache.insert(source, prompt.clone());
        prompt
    }

    fn source(&self, message: usize) -> QuestionSource {
        let Some((start, end)) = self.turns.get(message).copied() else {
            return QuestionSource::Nowhere;
        };
        let before = |at: usize| self.spoke_before.get(at).copied().flatten();
        match before(end).filter(|at| *at >= start) {
            Some(_) => QuestionSource::Turn { start, end },
            None => before(start).map_or(QuestionSource::Nowhere, QuestionSource::Earlier),
        }
    }
}

/// The turn around each message: after the model's previous message, up to its next one.
fn turns(messages: &[Message]) -> Vec<(usize, usize)> {
    let is_assistant = |message: &Message| message.role == Role::Assistant;
    let mut turns = Vec::with_capacity(messages.len());
    let mut start = 0;
    for (at, message) in messages.iter().enumerate() {
        turns.push((start, messages.len()));
        if is_assistant(message) {
            start = at + 1;
        }
    }
    let mut end = messages.len();
    for (at, message) in messages.iter().enumerate().rev() {
        if is_assistant(message) {
            end = at;
        }
        turns[at].1 = end;
    }
    turns
}

fn spoke_before(messages: &[Message]) -> Vec<Option<usize>> {
    let has_text = |message: &Message| {
        let mut texts = message.parts.iter().filter_map(Part::as_text);
        message.role == Role::User && texts.any(|text| !text.is_empty())
    };
    let mut last = None;
    let mut before = vec![None];
    for (at, message) in messages.iter().enumerate() {
        if has_text(message) {
            last = Some(at);
        }
        before.push(last);
    }
    before
}

/// The user's text in these messages.
fn text(messages: &[Message]) -> String {
    let users = messages.iter().filter(|m| m.role == Role::User);
    let texts: Vec<String> = users.map(Message::text).filter(|t| !t.is_empty()).collect();
    texts.join("\n")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The reference: searches the turn of each message from scratch.
    fn plain(messages: &[Message], index: usize) -> String {
        let said = messages[..index]
            .iter()
            .rposition(|m| m.role == Role::Assistant);
        let start = said.map_or(0, |index| index + 1);
        let length = messages[index..]
            .iter()
            .position(|m| m.role == Role::Assistant);
        let end = length.map_or(messages.len(), |length| index + length);
        let in_turn = text(&messages[start..end]);
        let earlier = messages[..start]
            .iter()
            .rev()
            .map(|m| text(std::slice::from_ref(m)));
        let mut all = std::iter::once(in_turn).chain(earlier);
        all.find(|text| !text.is_empty()).unwrap_or_default()
    }

    fn message() -> impl Strategy<Value = Message> {
        let role =
            prop::sample::select(vec![Role::User, Role::Assistant, Role::Tool, Role::System]);
        let prompt = prop::collection::vec("[ab]{0,2}", 0..3);
        (role, prompt).prop_map(|(role, prompt)| {
            Message::new(role, prompt.into_iter().map(Part::text).collect())
        })
    }

    proptest! {
        #[test]
        fn each_image_gets_the_question_of_its_own_turn(
            messages in prop::collection::vec(message(), 1..30),
        ) {
            let config = VisionConfig {
                question: true,
                ..VisionConfig::default()
            };
            let mut questions = DescribePrompts::of(&config, &messages);
            for at in 0..messages.len() {
                let expected = describer::prompt_text(&config.prompt, &plain(&messages, at));
                prop_assert_eq!(&*questions.prompt(at).text, &*expected);
            }
        }
    }

    #[test]
    fn without_the_setting_only_the_prompt_is_sent() {
        let config = VisionConfig::default();
        let messages = [Message::user("what is this?")];
        let prompt = DescribePrompts::of(&config, &messages).prompt(0);
        assert_eq!(*prompt.text, *config.prompt);
    }
}
