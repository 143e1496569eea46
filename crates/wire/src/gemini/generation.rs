//! What a model's name tells about how it wants to be spoken to.

/// The generations of models that differ on the wire. A name that says nothing
/// is taken for the newest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Generation {
    /// Before 2.5: cannot be told how hard to think.
    Unthinking,
    /// 2.5: thinks within a budget of tokens.
    Budgets,
    /// 3 and later: thinks at a level, takes pictures inside a tool's answer,
    /// and refuses calls of its own that come back without a signature.
    Levels,
}

impl Generation {
    pub(super) fn of(model: &str) -> Self {
        let name = model.rsplit('/').next().unwrap_or(model);
        let older = |prefixes: &[&str]| prefixes.iter().any(|prefix| name.starts_with(prefix));
        if older(&["gemini-1.", "gemini-2.0"]) {
            Self::Unthinking
        } else if older(&["gemini-2."]) {
            Self::Budgets
        } else {
            Self::Levels
        }
    }
}
