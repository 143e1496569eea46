//! Hints between nodes. A node that misses one finds out by itself, later.

use serde::{Deserialize, Serialize};

/// A hint from another node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum News {
    /// Hints may have been missed.
    Resync,
    /// Stored keys or teams changed.
    KeysChanged,
    /// A target, or a provider's credential, was benched elsewhere.
    Benched {
        /// `provider/model`, or `provider` for its credential.
        subject: String,
        /// For how long.
        millis: u64,
        /// Whether the provider demanded the pause.
        demanded: bool,
    },
}

/// News with its sender.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Message {
    pub(crate) from: String,
    pub(crate) news: News,
}

impl Message {
    pub(crate) fn text(from: &str, news: News) -> Option<String> {
        let from = from.to_owned();
        serde_json::to_string(&Self { from, news }).ok()
    }

    /// Parses a hint from another node; `None` for one that this version does not understand.
    pub(crate) fn read(text: &str, own: &str) -> Option<News> {
        let message: Self = serde_json::from_str(text).ok()?;
        (message.from != own).then_some(message.news)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_ignores_its_own_news_and_what_it_does_not_understand() {
        let text = Message::text("a#1", News::KeysChanged).unwrap();
        assert_eq!(Message::read(&text, "b#2"), Some(News::KeysChanged));
        assert_eq!(Message::read(&text, "a#1"), None);
        for unknown in ["", "{}", r#"{"from":"x","news":"from_the_future"}"#] {
            assert_eq!(Message::read(unknown, "a#1"), None, "{unknown}");
        }
    }
}
