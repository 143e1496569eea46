//! Roles of client keys.

use std::fmt;

/// The role of a key. Each role includes the previous ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum KeyRole {
    /// Calls models.
    #[default]
    Client,
    /// Also reads its own team's requests and usage on the operator's listener.
    Viewer,
    /// Reads and changes everything there.
    Operator,
}

impl KeyRole {
    /// Names in the configuration file.
    pub(crate) const WORDS: [(&'static str, Self); 3] = [
        ("client", Self::Client),
        ("viewer", Self::Viewer),
        ("operator", Self::Operator),
    ];
}

impl fmt::Display for KeyRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = Self::WORDS.iter().find(|(_, role)| role == self);
        f.write_str(word.map_or("", |(word, _)| word))
    }
}
