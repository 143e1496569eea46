//! An authenticated client: its name, team, role and models. Keys are checked in
//! `trust::authenticate`.

use std::sync::Arc;

use majordomo_limits::LimitPolicy;
use majordomo_rules::Glob;

use super::{KeyEntry, KeyRefusal, KeyRole, TeamEntry};
use crate::refusal::RequestRefusal;

/// Allowed models that a rejection lists; further ones are counted.
const MAX_LISTED: usize = 8;

/// An authenticated client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientKey {
    name: Arc<str>,
    team: Option<Arc<str>>,
    role: KeyRole,
    sees_all: bool,
    expires_millis: Option<i64>,
    asserts_users: bool,
    capture: bool,
    frozen: bool,
    limits: Arc<LimitPolicy>,
    team_limits: Arc<LimitPolicy>,
    /// `None` means all.
    models: Option<Vec<Glob>>,
}

impl ClientKey {
    pub(super) fn new(entry: &KeyEntry, team: Option<&TeamEntry>, frozen: bool) -> Self {
        let globs = |models: &Vec<String>| models.iter().map(|m| Glob::new(m)).collect();
        Self {
            name: entry.name.as_str().into(),
            team: team.map(|team| team.name.as_str().into()),
            role: entry.role,
            sees_all: entry.sees_all,
            expires_millis: entry.expires_millis,
            asserts_users: entry.asserts_users,
            capture: entry.capture,
            frozen,
            limits: Arc::clone(&entry.limits),
            team_limits: team
                .map(|team| Arc::clone(&team.limits))
                .unwrap_or_default(),
            models: entry.models.as_ref().map(globs),
        }
    }

    /// Whether it works at this Unix time, in milliseconds.
    pub(crate) fn usable(&self, now_millis: i64) -> Result<(), KeyRefusal> {
        if self.frozen {
            return Err(KeyRefusal::Frozen(self.shared_name()));
        }
        if self.expires_millis.is_some_and(|end| now_millis >= end) {
            return Err(KeyRefusal::Expired(self.shared_name()));
        }
        Ok(())
    }

    /// The owner's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The name, shared by the records of its requests.
    pub(crate) fn shared_name(&self) -> Arc<str> {
        Arc::clone(&self.name)
    }

    /// The team that it belongs to.
    pub fn team(&self) -> Option<&str> {
        self.team.as_deref()
    }

    /// The team, shared by the records of its requests.
    pub(crate) fn shared_team(&self) -> Option<Arc<str>> {
        self.team.clone()
    }

    /// Its own limits.
    pub(crate) fn limits(&self) -> &Arc<LimitPolicy> {
        &self.limits
    }

    /// The limits that it shares with its team.
    pub(crate) fn team_limits(&self) -> &Arc<LimitPolicy> {
        &self.team_limits
    }

    /// The role of the key.
    pub fn role(&self) -> KeyRole {
        self.role
    }

    /// Whether its client may name end users.
    pub(crate) fn asserts_users(&self) -> bool {
        self.asserts_users
    }

    /// Whether its requests are captured in memory.
    pub(crate) fn is_captured(&self) -> bool {
        self.capture
    }

    /// Whether it may read the data of all teams.
    pub(crate) fn sees_all(&self) -> bool {
        self.sees_all || self.role >= KeyRole::Operator
    }

    /// When it expires, in milliseconds of Unix time.
    pub(crate) fn expires_millis(&self) -> Option<i64> {
        self.expires_millis
    }

    /// The models that it may use, as globs; `None` means all.
    pub(crate) fn models(&self) -> Option<&[Glob]> {
        self.models.as_deref()
    }

    /// Whether it may use a model. Every element of a chain must be allowed.
    pub fn may_use(&self, model: &str) -> bool {
        let Some(allowed) = &self.models else {
            return true;
        };
        let mut elements = model
            .split(',')
            .map(str::trim)
            .filter(|e| !e.is_empty())
            .peekable();
        elements.peek().is_some() && elements.all(|e| allowed.iter().any(|glob| glob.matches(e)))
    }

    /// Rejects a model that it may not use.
    pub(crate) fn allow(&self, model: &str) -> Result<(), RequestRefusal> {
        if self.may_use(model) {
            return Ok(());
        }
        let text = format!(
            "the key `{}` may not use the model `{model}`; it allows {}",
            self.name,
            self.allowed()
        );
        // OpenAI's code for a model that a valid key has no access to.
        Err(RequestRefusal::of_key(403, text).with_code("model_not_found"))
    }

    /// The allowed models, for people.
    fn allowed(&self) -> String {
        let patterns = self.models.as_deref().unwrap_or_default();
        let shown = patterns.iter().take(MAX_LISTED);
        let mut names: Vec<String> = shown.map(|glob| format!("`{glob}`")).collect();
        if patterns.len() > MAX_LISTED {
            names.push(format!("and {} more", patterns.len() - MAX_LISTED));
        }
        names.join(", ")
    }
}
