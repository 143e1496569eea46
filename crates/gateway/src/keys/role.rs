//! What a key is for.

use std::fmt;

/// What a key opens. Each role can do what the ones before it can.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// Calls models.
    #[default]
    Client,
    /// Also reads the operator's listener.
    Viewer,
    /// Also changes things there.
    Operator,
}

impl Role {
    /// As it stands in the configuration file.
    pub(crate) const WORDS: [(&'static str, Self); 3] = [
        ("client", Self::Client),
        ("viewer", Self::Viewer),
        ("operator", Self::Operator),
    ];
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = Self::WORDS.iter().find(|(_, role)| role == self);
        f.write_str(word.map_or("", |(word, _)| word))
    }
}
