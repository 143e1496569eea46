//! The identity that a request is counted for: key, team, end user and tags.
//!
//! Read once, when the request is authenticated. The key determines the team; only a key that
//! asserts users may name an end user. Values that clients choose are bounded in count and
//! length. May use `keys` and `refusal`.

use std::sync::Arc;

use http::{HeaderMap, HeaderName, HeaderValue};

use crate::keys::ClientKey;
use crate::refusal::RequestRefusal;

/// The header with tags, such as `project=x,env=ci`.
const TAGS: &str = "x-majordomo-tags";
static TAGS_HEADER: HeaderName = HeaderName::from_static(TAGS);
/// Headers that name an end user; the first one that is set counts.
const USERS: [&str; 3] = [
    "x-majordomo-user",
    "x-openwebui-user-email",
    "x-openwebui-user-id",
];
/// Maximum tags of a request.
const MAX_TAGS: usize = 16;
/// Longest tag, `name=value`, in bytes.
const LONGEST_TAG: usize = 128;
/// Longest name of an end user, in bytes.
const LONGEST_USER: usize = 256;

/// The identity that a request is counted for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CallerIdentity {
    /// The name of the client's key; `None` if keys are not required.
    pub key: Option<Arc<str>>,
    /// The key's team.
    pub team: Option<Arc<str>>,
    /// The end user, named by a client that may name one.
    pub user: Option<Arc<str>>,
    /// Tags, each as `name=value`, in the client's order.
    pub tags: Vec<Arc<str>>,
}

impl CallerIdentity {
    /// The holder of a key, without an end user and tags.
    pub(crate) fn of_key(key: &ClientKey) -> Self {
        Self {
            key: Some(key.shared_name()),
            team: key.shared_team(),
            ..Self::default()
        }
    }

    /// The same with one more tag.
    pub(crate) fn tagged(mut self, tag: Arc<str>) -> Self {
        self.tags.push(tag);
        self
    }

    /// Reads the identity of an authenticated request.
    ///
    /// # Errors
    ///
    /// Rejects tags and users beyond their bounds: a request that is counted for the wrong
    /// party is worse than one that is refused.
    pub(crate) fn read(
        key: Option<&ClientKey>,
        headers: &HeaderMap,
    ) -> Result<Self, RequestRefusal> {
        let user = match key {
            Some(key) if key.asserts_users() => read_user(headers)?,
            _ => None,
        };
        Ok(Self {
            key: key.map(ClientKey::shared_name),
            team: key.and_then(ClientKey::shared_team),
            user,
            tags: read_tags(headers)?,
        })
    }
}

fn read_user(headers: &HeaderMap) -> Result<Option<Arc<str>>, RequestRefusal> {
    for name in USERS {
        let Some(value) = headers.get(name) else {
            continue;
        };
        let user = readable(name, value)?;
        if user.len() > LONGEST_USER {
            let text = format!("`{name}` is longer than {LONGEST_USER} bytes");
            return Err(invalid(text));
        }
        if !user.is_empty() {
            return Ok(Some(user.into()));
        }
    }
    Ok(None)
}

fn read_tags(headers: &HeaderMap) -> Result<Vec<Arc<str>>, RequestRefusal> {
    let mut tags: Vec<Arc<str>> = Vec::new();
    for value in headers.get_all(&TAGS_HEADER) {
        let list = readable(TAGS, value)?.split(',').map(str::trim);
        for tag in list.filter(|tag| !tag.is_empty()) {
            let (name, value) = tag
                .split_once('=')
                .map(|(name, value)| (name.trim_end(), value.trim_start()))
                .filter(|(name, value)| is_tag_name(name) && !value.is_empty())
                .ok_or_else(|| {
                    invalid(format!("`{TAGS}` is not a list such as `project=x,env=ci`"))
                })?;
            if name.len() + 1 + value.len() > LONGEST_TAG {
                let text = format!("a tag in `{TAGS}` is longer than {LONGEST_TAG} bytes");
                return Err(invalid(text));
            }
            let twice = |known: &Arc<str>| {
                let known = known.split_once('=');
                known.is_some_and(|(known, _)| known == name)
            };
            if tags.iter().any(twice) {
                return Err(invalid(format!("`{TAGS}` has the tag `{name}` twice")));
            }
            if tags.len() == MAX_TAGS {
                return Err(invalid(format!("`{TAGS}` has more than {MAX_TAGS} tags")));
            }
            tags.push(format!("{name}={value}").into());
        }
    }
    Ok(tags)
}

/// Names are also used as labels of reports.
fn is_tag_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    !name.is_empty() && name.chars().all(plain)
}

/// The text of a header. Browsers and OpenWebUI send UTF-8.
fn readable<'a>(name: &str, value: &'a HeaderValue) -> Result<&'a str, RequestRefusal> {
    let text = std::str::from_utf8(value.as_bytes()).ok();
    let text = text.filter(|text| !text.chars().any(char::is_control));
    text.map(str::trim)
        .ok_or_else(|| invalid(format!("`{name}` is not readable text")))
}

fn invalid(text: String) -> RequestRefusal {
    RequestRefusal::new(400, text)
}

#[cfg(test)]
mod tests {
    use http::HeaderName;
    use proptest::prelude::*;

    use super::*;
    use crate::keys::ClientKeys;

    fn key(asserts_users: bool) -> Arc<ClientKey> {
        let text = format!(
            "[[teams]]\nname = \"search\"\n[[keys]]\nname = \"chat\"\nteam = \"search\"\n\
             key = \"canary-canary-canary\"\nasserts_users = {asserts_users}\n"
        );
        let config = crate::Config::parse("f", text, &Default::default()).unwrap();
        let keys = ClientKeys::new(&config.keys, &config.teams);
        keys.named("chat").unwrap()
    }

    fn headers(list: &[(&'static str, &str)]) -> HeaderMap {
        let pair = |(name, value): &(&'static str, &str)| {
            let value = HeaderValue::from_bytes(value.as_bytes()).unwrap();
            (HeaderName::from_static(name), value)
        };
        list.iter().map(pair).collect()
    }

    #[test]
    fn a_request_is_counted_for_its_key_team_user_and_tags() {
        let sent = headers(&[
            ("x-majordomo-tags", "project=x, env = ci ,,"),
            ("x-openwebui-user-email", "ada@example.com"),
            ("x-openwebui-user-id", "17"),
        ]);
        let caller = CallerIdentity::read(Some(&key(true)), &sent).unwrap();
        assert_eq!(caller.key.as_deref(), Some("chat"));
        assert_eq!(caller.team.as_deref(), Some("search"));
        assert_eq!(caller.user.as_deref(), Some("ada@example.com"));
        let tags: Vec<&str> = caller.tags.iter().map(|tag| &**tag).collect();
        assert_eq!(tags, ["project=x", "env=ci"]);
    }

    #[test]
    fn our_own_header_names_the_user_before_those_of_other_programs() {
        let sent = headers(&[
            ("x-openwebui-user-email", "ada@example.com"),
            ("x-majordomo-user", "ada"),
        ]);
        let caller = CallerIdentity::read(Some(&key(true)), &sent).unwrap();
        assert_eq!(caller.user.as_deref(), Some("ada"));
    }

    #[test]
    fn a_key_that_does_not_assert_users_names_none() {
        let sent = headers(&[("x-majordomo-user", "ada")]);
        let caller = CallerIdentity::read(Some(&key(false)), &sent).unwrap();
        assert_eq!(caller.user, None);
        assert_eq!(CallerIdentity::read(None, &sent).unwrap().user, None);
    }

    #[test]
    fn tags_and_users_beyond_their_bounds_are_refused() {
        let many: String = (0..17).map(|n| format!("t{n}=x,")).collect();
        let long = format!("a={}", "x".repeat(LONGEST_TAG));
        for (tags, text) in [
            ("project", "not a list"),
            ("=x", "not a list"),
            ("a b=x", "not a list"),
            ("a=", "not a list"),
            ("a=x,a=y", "`a` twice"),
            (&*many, "more than 16"),
            (&*long, "longer than 128"),
        ] {
            let error = CallerIdentity::read(None, &headers(&[("x-majordomo-tags", tags)]));
            let error = error.unwrap_err();
            assert_eq!(error.status(), 400);
            assert!(error.message().contains(text), "{tags}: {error}");
        }
        let user = "x".repeat(LONGEST_USER + 1);
        let sent = headers(&[("x-majordomo-user", &user)]);
        let error = CallerIdentity::read(Some(&key(true)), &sent).unwrap_err();
        assert!(error.message().contains("longer than 256"), "{error}");
    }

    proptest! {
        #[test]
        fn whatever_the_headers_say_the_identity_is_bounded(
            tags in proptest::collection::vec(any::<u8>(), 0..2_000),
            user in proptest::collection::vec(any::<u8>(), 0..600),
        ) {
            let mut map = HeaderMap::new();
            for (name, bytes) in [(TAGS, tags), (USERS[0], user)] {
                if let Ok(value) = HeaderValue::from_bytes(&bytes) {
                    map.insert(name, value);
                }
            }
            if let Ok(caller) = CallerIdentity::read(Some(&key(true)), &map) {
                prop_assert!(caller.tags.len() <= MAX_TAGS);
                prop_assert!(caller.tags.iter().all(|tag| tag.len() <= LONGEST_TAG));
                prop_assert!(caller.user.is_none_or(|user| user.len() <= LONGEST_USER));
            }
        }
    }
}
