//! Derives the features of Claude models from their ids.
//!
//! An unknown id restricts nothing: the API itself rejects what the model does not
//! support.

/// A family of models.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ClaudeFamily {
    Opus,
    Sonnet,
    Haiku,
    Fable,
    Mythos,
}

const FAMILIES: [(&str, ClaudeFamily); 5] = [
    ("opus", ClaudeFamily::Opus),
    ("sonnet", ClaudeFamily::Sonnet),
    ("haiku", ClaudeFamily::Haiku),
    ("fable", ClaudeFamily::Fable),
    ("mythos", ClaudeFamily::Mythos),
];

/// Which forms of thinking a model supports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ThinkingSupport {
    /// None.
    Unsupported,
    /// A token budget only.
    BudgetOnly,
    /// A token budget or adaptive thinking.
    BudgetOrAdaptive,
    /// Adaptive thinking that can be disabled.
    Adaptive,
    /// Adaptive thinking that cannot be disabled.
    AlwaysOn,
}

/// A model, as parsed from its id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ClaudeModel {
    family: ClaudeFamily,
    version: (u32, u32),
}

impl ClaudeModel {
    /// Parses `claude-opus-5-5` and the older form `claude-3-7-sonnet`. A trailing
    /// date is not part of the version.
    pub(super) fn parse(model: &str) -> Option<Self> {
        let mut words = model.strip_prefix("claude-")?.split('-');
        let number = |word: &str| (word.len() <= 2).then(|| word.parse().ok()).flatten();
        let first = words.next()?;
        if let Some(family) = family_named(first) {
            let major = words.next().and_then(number)?;
            let minor = words.next().and_then(number).unwrap_or(0);
            let version = (major, minor);
            return Some(Self { family, version });
        }
        let major = number(first)?;
        let next = words.next()?;
        let (minor, name) = match number(next) {
            Some(minor) => (minor, words.next()?),
            None => (0, next),
        };
        Some(Self {
            family: family_named(name)?,
            version: (major, minor),
        })
    }

    /// Whether forcing a tool call is an error.
    pub(super) fn rejects_forced_tools(self) -> bool {
        match self.family {
            ClaudeFamily::Opus | ClaudeFamily::Sonnet => self.version >= (5, 5),
            ClaudeFamily::Fable | ClaudeFamily::Mythos => self.version >= (5, 1),
            ClaudeFamily::Haiku => false,
        }
    }

    /// Whether thinking together with a forced tool call is an error.
    pub(super) fn rejects_thinking_with_forced_tools(self) -> bool {
        self.version < (5, 0)
    }

    /// Whether sampling parameters are an error.
    pub(super) fn rejects_sampling(self) -> bool {
        match self.family {
            ClaudeFamily::Opus | ClaudeFamily::Sonnet => self.version > (4, 6),
            ClaudeFamily::Haiku => self.version > (4, 5),
            ClaudeFamily::Fable | ClaudeFamily::Mythos => true,
        }
    }

    /// Whether `temperature` and `top_p` together are an error.
    pub(super) fn takes_one_of_temperature_and_top_p(self) -> bool {
        self.version >= (4, 1)
    }

    /// The output limit that all models of this family and version support.
    pub(super) fn least_max_output(self) -> u64 {
        match (self.family, self.version) {
            (_, version) if version < (3, 5) => 4_096,
            (_, version) if version < (3, 7) => 8_192,
            (ClaudeFamily::Opus, version) if version < (4, 5) => 32_000,
            _ => 64_000,
        }
    }

    /// Whether structured output is supported.
    pub(super) fn supports_schemas(self) -> bool {
        self.version >= (4, 1)
    }

    /// Whether the conversation may contain system messages.
    pub(super) fn accepts_system_turns(self) -> bool {
        self.version >= (4, 8)
    }

    /// Whether images are processed at the higher resolution.
    pub(super) fn has_high_resolution_vision(self) -> bool {
        self.version >= (4, 7)
    }

    pub(super) fn thinking_support(self) -> ThinkingSupport {
        match (self.family, self.version) {
            (_, version) if version < (3, 7) => ThinkingSupport::Unsupported,
            (_, version) if version <= (4, 5) => ThinkingSupport::BudgetOnly,
            (_, (4, 6)) => ThinkingSupport::BudgetOrAdaptive,
            (ClaudeFamily::Fable | ClaudeFamily::Mythos, _) => ThinkingSupport::AlwaysOn,
            (ClaudeFamily::Opus | ClaudeFamily::Sonnet, version) if version >= (5, 5) => {
                ThinkingSupport::AlwaysOn
            }
            _ => ThinkingSupport::Adaptive,
        }
    }

    /// Whether the effort `xhigh` is supported.
    pub(super) fn supports_xhigh(self) -> bool {
        self.version != (4, 6)
    }
}

fn family_named(word: &str) -> Option<ClaudeFamily> {
    let found = FAMILIES.iter().find(|(name, _)| *name == word);
    found.map(|(_, family)| *family)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn family_and_version_are_parsed_from_the_id() {
        for (model, expected) in [
            ("claude-opus-5-5", Some((ClaudeFamily::Opus, (5, 5)))),
            ("claude-opus-4-20250514", Some((ClaudeFamily::Opus, (4, 0)))),
            (
                "claude-opus-4-6-20260101",
                Some((ClaudeFamily::Opus, (4, 6))),
            ),
            (
                "claude-3-7-sonnet-20250219",
                Some((ClaudeFamily::Sonnet, (3, 7))),
            ),
            (
                "claude-3-haiku-20240307",
                Some((ClaudeFamily::Haiku, (3, 0))),
            ),
            ("claude-opus", None),
            ("claude-someone-5", None),
            ("opus-5-5", None),
        ] {
            let parsed = ClaudeModel::parse(model).map(|claude| (claude.family, claude.version));
            assert_eq!(parsed, expected, "{model}");
        }
    }

    #[test]
    fn thinking_support_matches_the_documentation() {
        for (model, support) in [
            ("claude-3-5-sonnet-20241022", ThinkingSupport::Unsupported),
            ("claude-3-7-sonnet-20250219", ThinkingSupport::BudgetOnly),
            ("claude-haiku-4-5-20251001", ThinkingSupport::BudgetOnly),
            ("claude-opus-4-6", ThinkingSupport::BudgetOrAdaptive),
            ("claude-opus-4-8", ThinkingSupport::Adaptive),
            ("claude-sonnet-5", ThinkingSupport::Adaptive),
            ("claude-fable-5", ThinkingSupport::AlwaysOn),
            ("claude-sonnet-5-5", ThinkingSupport::AlwaysOn),
        ] {
            assert_eq!(
                ClaudeModel::parse(model).unwrap().thinking_support(),
                support,
                "{model}"
            );
        }
    }
}
