//! What the ids of Claude models say about them.
//!
//! An id that is not understood is left alone: its model takes what the newest
//! documented ones of its line take, or says itself what it refuses.

/// A line of models.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Line {
    Opus,
    Sonnet,
    Haiku,
    Fable,
    Mythos,
}

const LINES: [(&str, Line); 5] = [
    ("opus", Line::Opus),
    ("sonnet", Line::Sonnet),
    ("haiku", Line::Haiku),
    ("fable", Line::Fable),
    ("mythos", Line::Mythos),
];

/// How a model is told to think.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Thinks {
    /// Not at all.
    Never,
    /// With a budget only.
    Budget,
    /// With a budget or as it sees fit.
    Both,
    /// As it sees fit, and it can be switched off.
    Adaptive,
    /// As it sees fit, always.
    Always,
}

/// A model that is known by its id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Claude {
    line: Line,
    version: (u32, u32),
}

impl Claude {
    /// Reads `claude-opus-5-5` and the older `claude-3-7-sonnet`; a date behind
    /// it is no part of the version.
    pub(super) fn read(model: &str) -> Option<Self> {
        let mut words = model.strip_prefix("claude-")?.split('-');
        let number = |word: &str| (word.len() <= 2).then(|| word.parse().ok()).flatten();
        let first = words.next()?;
        if let Some(line) = line(first) {
            let major = words.next().and_then(number)?;
            let minor = words.next().and_then(number).unwrap_or(0);
            let version = (major, minor);
            return Some(Self { line, version });
        }
        let major = number(first)?;
        let next = words.next()?;
        let (minor, name) = match number(next) {
            Some(minor) => (minor, words.next()?),
            None => (0, next),
        };
        Some(Self {
            line: line(name)?,
            version: (major, minor),
        })
    }

    /// Whether it answers forced tools with an error.
    pub(super) fn refuses_forced_tools(self) -> bool {
        match self.line {
            Line::Opus | Line::Sonnet => self.version >= (5, 5),
            Line::Fable | Line::Mythos => self.version >= (5, 1),
            Line::Haiku => false,
        }
    }

    /// Whether it answers sampling knobs with an error.
    pub(super) fn refuses_sampling(self) -> bool {
        match self.line {
            Line::Opus | Line::Sonnet => self.version > (4, 6),
            Line::Haiku => self.version > (4, 5),
            Line::Fable | Line::Mythos => true,
        }
    }

    /// Whether it binds its answer to a schema; the first ones could not.
    pub(super) fn takes_schemas(self) -> bool {
        self.version >= (4, 1)
    }

    /// Whether it looks at large pictures closely.
    pub(super) fn sees_sharply(self) -> bool {
        self.version >= (4, 7)
    }

    pub(super) fn thinks(self) -> Thinks {
        match (self.line, self.version) {
            (_, version) if version < (3, 7) => Thinks::Never,
            (_, version) if version <= (4, 5) => Thinks::Budget,
            (_, (4, 6)) => Thinks::Both,
            (Line::Fable | Line::Mythos, _) => Thinks::Always,
            (Line::Opus | Line::Sonnet, version) if version >= (5, 5) => Thinks::Always,
            _ => Thinks::Adaptive,
        }
    }

    /// Whether it knows the effort `xhigh`.
    pub(super) fn knows_xhigh(self) -> bool {
        self.version != (4, 6)
    }
}

fn line(word: &str) -> Option<Line> {
    let found = LINES.iter().find(|(name, _)| *name == word);
    found.map(|(_, line)| *line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_and_version_are_read_from_the_id() {
        for (model, expected) in [
            ("claude-opus-5-5", Some((Line::Opus, (5, 5)))),
            ("claude-opus-4-20250514", Some((Line::Opus, (4, 0)))),
            ("claude-opus-4-6-20260101", Some((Line::Opus, (4, 6)))),
            ("claude-3-7-sonnet-20250219", Some((Line::Sonnet, (3, 7)))),
            ("claude-3-haiku-20240307", Some((Line::Haiku, (3, 0)))),
            ("claude-opus", None),
            ("claude-someone-5", None),
            ("opus-5-5", None),
        ] {
            let read = Claude::read(model).map(|claude| (claude.line, claude.version));
            assert_eq!(read, expected, "{model}");
        }
    }

    #[test]
    fn thinking_is_that_of_the_documented_table() {
        for (model, thinks) in [
            ("claude-3-5-sonnet-20241022", Thinks::Never),
            ("claude-3-7-sonnet-20250219", Thinks::Budget),
            ("claude-haiku-4-5-20251001", Thinks::Budget),
            ("claude-opus-4-6", Thinks::Both),
            ("claude-opus-4-8", Thinks::Adaptive),
            ("claude-sonnet-5", Thinks::Adaptive),
            ("claude-fable-5", Thinks::Always),
            ("claude-sonnet-5-5", Thinks::Always),
        ] {
            assert_eq!(Claude::read(model).unwrap().thinks(), thinks, "{model}");
        }
    }
}
