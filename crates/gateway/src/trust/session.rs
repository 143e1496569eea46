//! Browser sessions of the page: a cookie instead of a key in every request.
//!
//! A session has no more rights than the secret that opened it: the secret's hash is looked up
//! at every request, so a frozen, expired, deleted or rotated key ends its sessions. Only
//! hashes are kept, in memory. A change also needs the session's token, which only the
//! gateway's own pages can read.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use http::header::{COOKIE, ORIGIN};
use http::{HeaderMap, Method, Uri};
use secrecy::{ExposeSecret, SecretString};
use subtle::ConstantTimeEq;

use super::origin;
use crate::keys::{ClientKey, ClientKeys, Hash, generate_secret, sha256};

/// The cookie's name.
const COOKIE_NAME: &str = "majordomo_session";
/// The header with the token of a change.
const TOKEN_HEADER: &str = "x-majordomo-token";
/// How long a session lasts.
const LIFETIME: Duration = Duration::from_secs(12 * 60 * 60);
/// Maximum sessions; a new one ends the oldest.
const MOST_SESSIONS: usize = 1_024;
/// Maximum sessions of one secret, so that its holder cannot end the sessions of others.
const MOST_OF_ONE: usize = 32;

/// The open sessions, by the hash of their cookie.
#[derive(Default)]
pub(crate) struct Sessions(Mutex<HashMap<Hash, OpenSession>>);

struct OpenSession {
    /// The hash of the secret that signed in.
    secret: Hash,
    token: Arc<str>,
    expires_millis: i64,
}

/// A session that a request belongs to.
pub(crate) struct Session {
    /// The key that signed in.
    pub(crate) key: Arc<ClientKey>,
    /// Proves that a change comes from the gateway's own page.
    pub(crate) token: Arc<str>,
}

impl Sessions {
    /// Opens a session for a key's holder, and returns its cookie as the value of
    /// `Set-Cookie`.
    ///
    /// # Errors
    ///
    /// Fails if the system has no random bytes.
    pub(crate) fn open(
        &self,
        secret: &SecretString,
        now_millis: i64,
        secure: bool,
    ) -> io::Result<SecretString> {
        let (cookie, _) = generate_secret()?;
        let (token, _) = generate_secret()?;
        let lifetime = i64::try_from(LIFETIME.as_millis()).unwrap_or(i64::MAX);
        let session = OpenSession {
            secret: sha256(secret.expose_secret()),
            token: token.expose_secret().into(),
            expires_millis: now_millis.saturating_add(lifetime),
        };
        let mut sessions = self.sessions();
        sessions.retain(|_, session| session.expires_millis > now_millis);
        let own = |it: &OpenSession| it.secret == session.secret;
        if sessions.values().filter(|it| own(it)).count() >= MOST_OF_ONE {
            end_oldest(&mut sessions, own);
        } else if sessions.len() >= MOST_SESSIONS {
            end_oldest(&mut sessions, |_| true);
        }
        sessions.insert(sha256(cookie.expose_secret()), session);
        let secure = if secure { "; Secure" } else { "" };
        Ok(SecretString::from(format!(
            "{COOKIE_NAME}={}; HttpOnly; SameSite=Strict; Path=/; Max-Age={}{secure}",
            cookie.expose_secret(),
            LIFETIME.as_secs()
        )))
    }

    /// The session of a request, if its key may still be used.
    pub(crate) fn find(
        &self,
        keys: &ClientKeys,
        headers: &HeaderMap,
        now_millis: i64,
    ) -> Option<Session> {
        let hash = sha256(cookie(headers)?);
        let sessions = self.sessions();
        let session = sessions.get(&hash)?;
        if session.expires_millis <= now_millis {
            return None;
        }
        let key = keys.check_hash(&session.secret, now_millis).ok()?;
        let token = Arc::clone(&session.token);
        Some(Session { key, token })
    }

    /// Ends the session of a request.
    pub(crate) fn close(&self, headers: &HeaderMap) {
        if let Some(cookie) = cookie(headers) {
            self.sessions().remove(&sha256(cookie));
        }
    }

    /// The `Set-Cookie` that makes a browser forget its session.
    pub(crate) fn forget() -> String {
        format!("{COOKIE_NAME}=; HttpOnly; SameSite=Strict; Path=/; Max-Age=0")
    }

    fn sessions(&self) -> MutexGuard<'_, HashMap<Hash, OpenSession>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ends the oldest of the given sessions.
fn end_oldest(sessions: &mut HashMap<Hash, OpenSession>, of: impl Fn(&OpenSession) -> bool) {
    let some = sessions.iter().filter(|(_, session)| of(session));
    let oldest = some.min_by_key(|(_, session)| session.expires_millis);
    if let Some(oldest) = oldest.map(|(hash, _)| *hash) {
        sessions.remove(&oldest);
    }
}

impl Session {
    /// Whether a request may make changes: it comes from the gateway's own page and has the
    /// token. Reading needs neither.
    pub(crate) fn permits(&self, method: &Method, uri: &Uri, headers: &HeaderMap) -> bool {
        if matches!(*method, Method::GET | Method::HEAD) {
            return true;
        }
        let token = headers.get(TOKEN_HEADER).map(|token| token.as_bytes());
        is_own_page(uri, headers) && token.is_some_and(|token| self.has_token(token))
    }

    /// Compares a token, in constant time.
    pub(crate) fn has_token(&self, token: &[u8]) -> bool {
        bool::from(self.token.as_bytes().ct_eq(token))
    }
}

/// Whether the browser reports that the gateway's own page sent the request.
pub(crate) fn is_own_page(uri: &Uri, headers: &HeaderMap) -> bool {
    let mut origins = headers.get_all(ORIGIN).iter();
    match (origins.next(), origins.next()) {
        (Some(origin), None) => origin::is_own(origin, uri, headers),
        _ => false,
    }
}

fn cookie(headers: &HeaderMap) -> Option<&str> {
    let cookies = headers.get_all(COOKIE).iter();
    let cookies = cookies.filter_map(|cookies| cookies.to_str().ok());
    let mut pairs = cookies.flat_map(|cookies| cookies.split(';'));
    pairs.find_map(|pair| pair.trim().strip_prefix(COOKIE_NAME)?.strip_prefix('='))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use http::HeaderValue;

    use super::*;
    use crate::config::Config;
    use crate::keys::StoredGrant;

    const NOW: i64 = 1_794_924_000_000;

    fn keys(text: &str) -> ClientKeys {
        let config = Config::parse("t.toml", text, &BTreeMap::new()).unwrap();
        ClientKeys::new(&config.keys, &config.teams)
    }

    fn operator() -> ClientKeys {
        keys("[[keys]]\nname = \"ops\"\nkey = \"canary-key\"\nrole = \"operator\"")
    }

    /// The operator's.
    fn secret() -> SecretString {
        SecretString::from("canary-key")
    }

    /// The headers that a browser sends after this `Set-Cookie`.
    fn browser(set_cookie: &SecretString) -> HeaderMap {
        let cookie = set_cookie.expose_secret().split(';').next().unwrap();
        let mut headers = HeaderMap::new();
        let cookies = format!("other=1; {cookie}");
        headers.insert(COOKIE, HeaderValue::from_str(&cookies).unwrap());
        headers.insert("host", HeaderValue::from_static("gw.example:4101"));
        headers
    }

    #[test]
    fn a_session_lasts_as_long_as_its_key() {
        let (sessions, keys_now) = (Sessions::default(), operator());
        let cookie = sessions.open(&secret(), NOW, true).unwrap();
        assert!(cookie.expose_secret().ends_with("; Secure"));
        let headers = browser(&cookie);
        assert_eq!(
            sessions.find(&keys_now, &headers, NOW).unwrap().key.name(),
            "ops"
        );
        let later = NOW + LIFETIME.as_millis() as i64;
        assert!(
            sessions.find(&keys_now, &headers, later).is_none(),
            "it expires"
        );
        for (name, why) in [("x", "its key is gone"), ("ops", "its key was replaced")] {
            let others = keys(&format!(
                "[[keys]]\nname = \"{name}\"\nkey = \"canary-other\"\nrole = \"operator\""
            ));
            assert!(sessions.find(&others, &headers, NOW).is_none(), "{why}");
        }
        sessions.close(&headers);
        assert!(
            sessions.find(&keys_now, &headers, NOW).is_none(),
            "it was closed"
        );
    }

    #[test]
    fn freezing_a_stored_key_or_ending_its_secret_ends_its_sessions() {
        let text = "[[keys]]\nname = \"ops\"\nkey = \"unused\"\nrole = \"operator\"";
        let entry = Config::parse("t.toml", text, &BTreeMap::new())
            .unwrap()
            .keys[0]
            .clone();
        let stored = |frozen, until_millis| {
            let grant = StoredGrant {
                entry: entry.clone(),
                secrets: vec![(sha256("canary-key"), until_millis)],
                frozen,
            };
            ClientKeys::default().with_stored(&[grant], &[], true)
        };
        let sessions = Sessions::default();
        let headers = browser(&sessions.open(&secret(), NOW, true).unwrap());
        for (frozen, until, open) in [
            (false, None, true),
            (true, None, false),
            (false, Some(NOW + 1), true),
            (false, Some(NOW), false),
        ] {
            let found = sessions.find(&stored(frozen, until), &headers, NOW);
            assert_eq!(found.is_some(), open, "frozen: {frozen}, until {until:?}");
        }
    }

    #[test]
    fn a_change_needs_our_own_origin_and_the_sessions_token() {
        let (sessions, keys) = (Sessions::default(), operator());
        let cookie = sessions.open(&secret(), NOW, false).unwrap();
        let uri = Uri::from_static("/api/targets/a/x/bench");
        for (origin, token, permitted) in [
            (Some("http://gw.example:4101"), true, true),
            (Some("https://gw.example:4101"), true, true),
            (Some("http://gw.example:4101"), false, false),
            (Some("https://evil.example"), true, false),
            (Some("null"), true, false),
            (None, true, false),
        ] {
            let mut headers = browser(&cookie);
            let session = sessions.find(&keys, &headers, NOW).unwrap();
            if let Some(origin) = origin {
                headers.insert(ORIGIN, HeaderValue::from_static(origin));
            }
            let sent = if token { &*session.token } else { "guess" };
            headers.insert(TOKEN_HEADER, HeaderValue::from_str(sent).unwrap());
            let allowed = session.permits(&Method::POST, &uri, &headers);
            assert_eq!(allowed, permitted, "{origin:?}");
            assert!(
                session.permits(&Method::GET, &uri, &headers),
                "reading is free"
            );
        }
    }

    #[test]
    fn sessions_are_bounded_per_secret_and_in_all() {
        let (sessions, keys) = (Sessions::default(), operator());
        let open = |secret: &str, at| sessions.open(&secret.into(), at, false).unwrap();
        let first = sessions.open(&secret(), NOW, false).unwrap();
        // One holder who signs in again and again ends only its own sessions.
        for n in 1..=MOST_SESSIONS as i64 {
            open("one-holder", NOW + n);
        }
        assert_eq!(sessions.sessions().len(), MOST_OF_ONE + 1);
        assert!(sessions.find(&keys, &browser(&first), NOW).is_some());
        for n in 0..MOST_SESSIONS {
            open(&format!("holder-{n}"), NOW + 2_000);
        }
        assert_eq!(sessions.sessions().len(), MOST_SESSIONS);
        assert!(sessions.find(&keys, &browser(&first), NOW).is_none());
    }
}
