//! Derives the session of a request from its hints.

use std::hash::{DefaultHasher, Hash, Hasher};

/// Hints that identify a request's session; the first non-empty one wins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SessionHints<'a> {
    /// `metadata.user_id` of the body.
    pub user_id: Option<&'a str>,
    /// `prompt_cache_key` of the body.
    pub prompt_cache_key: Option<&'a str>,
    /// The header `x-session-id`.
    pub session_header: Option<&'a str>,
    /// The name of the client's key. It also identifies the tenant: the same id under
    /// two keys is two sessions.
    pub key_name: Option<&'a str>,
}

/// A session. Holds only digests, so no client id stays in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SessionKey {
    tenant: Tenant,
    session: u64,
}

/// The owner of a session: a digest of the key's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Tenant(u64);

impl Tenant {
    /// The tenants beyond the limit.
    pub(super) const OTHERS: Self = Self(0);
}

impl SessionKey {
    /// The session that the hints identify, if any.
    ///
    /// ```
    /// use majordomo_balance::{SessionHints, SessionKey};
    ///
    /// let hints = SessionHints { key_name: Some("laptop"), ..SessionHints::default() };
    /// let by_key = SessionKey::of(&hints);
    /// let by_user = SessionKey::of(&SessionHints { user_id: Some("u1"), ..hints });
    /// assert!(by_key.is_some() && by_user.is_some() && by_key != by_user);
    /// assert_eq!(SessionKey::of(&SessionHints::default()), None);
    /// ```
    pub fn of(hints: &SessionHints<'_>) -> Option<Self> {
        let named = [
            hints.user_id,
            hints.prompt_cache_key,
            hints.session_header,
            hints.key_name,
        ];
        let named = named.into_iter().enumerate();
        let mut given = named.filter_map(|(source, name)| Some((source, name?.trim())));
        // The same string in two hints is two sessions.
        let first = given.find(|(_, name)| !name.is_empty())?;
        Some(Self {
            tenant: Tenant(digest(&hints.key_name).max(1)),
            session: digest(&first),
        })
    }

    pub(super) fn tenant(&self) -> Tenant {
        self.tenant
    }

    /// Both parts as one number, the same in every process.
    pub(super) fn digest(&self) -> u64 {
        self.tenant.0.rotate_left(32) ^ self.session
    }
}

fn digest(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_non_empty_hint_identifies_the_session() {
        let all = SessionHints {
            user_id: Some("u"),
            prompt_cache_key: Some("p"),
            session_header: Some("s"),
            key_name: Some("k"),
        };
        let only_user = SessionHints {
            user_id: Some("u"),
            key_name: Some("k"),
            ..SessionHints::default()
        };
        assert_eq!(SessionKey::of(&all), SessionKey::of(&only_user));

        let blank_user = SessionHints {
            user_id: Some("  "),
            ..all
        };
        let only_prompt = SessionHints {
            prompt_cache_key: Some("p"),
            key_name: Some("k"),
            ..SessionHints::default()
        };
        assert_eq!(SessionKey::of(&blank_user), SessionKey::of(&only_prompt));
    }

    #[test]
    fn the_same_value_in_two_hints_is_two_sessions() {
        let by_user = SessionHints {
            user_id: Some("x"),
            ..SessionHints::default()
        };
        let by_header = SessionHints {
            session_header: Some("x"),
            ..SessionHints::default()
        };
        assert_ne!(SessionKey::of(&by_user), SessionKey::of(&by_header));
    }
    #[test]
    fn the_same_value_under_two_keys_is_two_sessions() {
        let by_header = |key| SessionHints {
            session_header: Some("x"),
            key_name: key,
            ..SessionHints::default()
        };
        let of = |key| SessionKey::of(&by_header(key));
        assert_ne!(of(Some("laptop")), of(Some("phone")));
        assert_ne!(of(Some("laptop")), of(None));
    }
}
