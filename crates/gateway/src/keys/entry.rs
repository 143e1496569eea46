//! Client keys and teams as the configuration declares them.

use std::ops::Range;
use std::sync::Arc;

use majordomo::dsn::SecretString;
use majordomo_limits::LimitPolicy;

use super::KeyRole;

/// A client key.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct KeyEntry {
    /// The owner's name, used in logs.
    pub name: String,
    /// The form in which the secret is known.
    pub secret: KeySecret,
    /// The team that it belongs to.
    pub team: Option<String>,
    /// The role of the key.
    pub role: KeyRole,
    /// Whether it may read the data of all teams, not only its own.
    pub sees_all: bool,
    /// When it stops working, in milliseconds of Unix time.
    pub expires_millis: Option<i64>,
    /// Whether its client may name end users.
    pub asserts_users: bool,
    /// Whether its requests are captured in memory.
    pub capture: bool,
    /// Its rates, concurrency and budget.
    pub limits: Arc<LimitPolicy>,
    /// The models it may use, as globs; `None` means all.
    pub models: Option<Vec<String>>,
    /// Position of `models`; empty without it.
    pub models_span: Range<usize>,
    /// Position in the file.
    pub span: Range<usize>,
}

impl KeyEntry {
    /// Whether something that restricts `before` is missing here.
    pub(crate) fn lacks_restriction_of(&self, before: &Self) -> bool {
        let lost = |before: bool, now: bool| before && !now;
        lost(before.models.is_some(), self.models.is_some())
            || lost(before.team.is_some(), self.team.is_some())
            || lost(
                before.expires_millis.is_some(),
                self.expires_millis.is_some(),
            )
            || lost(
                !before.limits.budget.is_empty(),
                !self.limits.budget.is_empty(),
            )
            || lost(!before.limits.is_unlimited(), !self.limits.is_unlimited())
    }
}

/// A team: keys that share limits and are reported together.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TeamEntry {
    /// Its name.
    pub name: String,
    /// The rates, concurrency and budget that its keys share.
    pub limits: Arc<LimitPolicy>,
    /// Position in the file.
    pub span: Range<usize>,
}

/// The form in which a key's secret is known.
#[derive(Clone, Debug)]
pub enum KeySecret {
    /// By its SHA-256.
    Sha256([u8; 32]),
    /// By its plain text.
    Plain(SecretString),
}
