//! Roles required on the operator's listener.

use std::sync::Arc;

use http::Method;

use super::paths::{Needed, needed};
use crate::keys::{ClientKey, KeyRole};
use crate::refusal::RequestRefusal;

/// The requests and usage that a reader may see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Visible {
    /// Everyone's.
    All,
    /// Only those of a team.
    Team(Arc<str>),
    /// Only those of a key without a team.
    Key(Arc<str>),
}

impl Visible {
    /// The scope of a key's holder.
    pub(crate) fn of(key: &ClientKey) -> Self {
        match key.shared_team() {
            _ if key.sees_all() => Self::All,
            Some(team) => Self::Team(team),
            None => Self::Key(key.shared_name()),
        }
    }

    /// Whether the scope includes a request of this key and team.
    pub(crate) fn includes(&self, key: Option<&str>, team: Option<&str>) -> bool {
        match self {
            Self::All => true,
            Self::Team(own) => team == Some(&**own),
            Self::Key(own) => key == Some(&**own),
        }
    }
}

/// Rejects a key with an insufficient role.
pub(crate) fn authorize(
    key: &ClientKey,
    method: &Method,
    path: &str,
) -> Result<(), RequestRefusal> {
    let needed = needed(method.as_str(), path);
    let (role, all) = (key.role(), key.sees_all());
    let enough = match needed {
        Needed::Nothing => true,
        Needed::Viewer => role >= KeyRole::Viewer,
        Needed::ViewerOfAll => role >= KeyRole::Viewer && all,
        Needed::Operator => role >= KeyRole::Operator,
    };
    if !enough {
        let required = match needed {
            Needed::Nothing | Needed::Viewer => "`viewer`",
            Needed::ViewerOfAll => "`operator`, or `viewer` with `scope = \"all\"`",
            Needed::Operator => "`operator`",
        };
        let text = format!(
            "the key `{}` has the role `{role}`, but this requires {required}: set `role` in its \
             [[keys]] entry",
            key.name(),
        );
        return Err(RequestRefusal::new(403, text));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_but_known_reads_requires_an_operator() {
        for (method, path, expected) in [
            ("GET", "/api/requests", Needed::Viewer),
            ("GET", "/api/usage", Needed::Viewer),
            ("GET", "/", Needed::Viewer),
            ("GET", "/connect", Needed::Viewer),
            ("GET", "/requests/abc", Needed::Viewer),
            ("POST", "/requests/abc", Needed::Operator),
            ("GET", "/requests", Needed::Operator),
            // Events of all teams.
            ("GET", "/api/events", Needed::Operator),
            ("GET", "/targets", Needed::Operator),
            ("POST", "/api/try", Needed::Operator),
            ("HEAD", "/metrics", Needed::ViewerOfAll),
            ("GET", "/api/health", Needed::ViewerOfAll),
            ("POST", "/api/explain", Needed::ViewerOfAll),
            ("POST", "/", Needed::Operator),
            ("DELETE", "/api/requests", Needed::Operator),
            ("PUT", "/api/health", Needed::Operator),
            ("POST", "/api/targets/a/x/release", Needed::Operator),
            ("GET", "/api/keys", Needed::Operator),
            ("POST", "/api/keys", Needed::Operator),
            ("GET", "/api/teams", Needed::Operator),
            ("GET", "/api/audit", Needed::Operator),
            ("GET", "/usage", Needed::Viewer),
            ("GET", "/api/budgets", Needed::Viewer),
            ("GET", "/requests/", Needed::Operator),
            ("GET", "/api/health/", Needed::Operator),
            ("GET", "//api/health", Needed::Operator),
            ("OPTIONS", "/metrics", Needed::Operator),
        ] {
            assert_eq!(needed(method, path), expected, "{method} {path}");
        }
    }

    #[test]
    fn only_requests_of_the_own_team_or_key_are_visible() {
        let rows = [
            (Some("a"), Some("search")),
            (Some("b"), Some("ads")),
            (Some("b"), None),
            (None, None),
        ];
        for (sees, expected) in [
            (Visible::All, [true; 4]),
            (Visible::Team("search".into()), [true, false, false, false]),
            (Visible::Key("b".into()), [false, true, true, false]),
        ] {
            let seen = rows.map(|(key, team)| sees.includes(key, team));
            assert_eq!(seen, expected, "{sees:?}");
        }
    }

    #[test]
    fn a_viewer_sees_its_team_or_else_itself() {
        let text = "[[teams]]\nname = \"search\"\n\
            [[keys]]\nname = \"a\"\nkey = \"canary-canary-canary-a\"\nrole = \"viewer\"\nteam = \"search\"\n\
            [[keys]]\nname = \"b\"\nkey = \"canary-canary-canary-b\"\nrole = \"viewer\"\n\
            [[keys]]\nname = \"c\"\nkey = \"canary-canary-canary-c\"\nrole = \"viewer\"\nscope = \"all\"\n\
            [[keys]]\nname = \"d\"\nkey = \"canary-canary-canary-d\"\nrole = \"operator\"\nteam = \"search\"\n\
            [[keys]]\nname = \"e\"\nkey = \"canary-canary-canary-e\"\nscope = \"all\"\n";
        let config = crate::Config::parse("f", text, &Default::default()).unwrap();
        let keys = crate::ClientKeys::new(&config.keys, &config.teams);
        let sees = |name: &str, path: &str| {
            let key = keys.named(name).unwrap();
            let visible = authorize(&key, &Method::GET, path).map(|()| Visible::of(&key));
            visible.map_err(|error| error.status())
        };
        let refused = Err(403);
        for (name, usage, metrics, keys) in [
            ("a", Ok(Visible::Team("search".into())), false, false),
            ("b", Ok(Visible::Key("b".into())), false, false),
            ("c", Ok(Visible::All), true, false),
            ("d", Ok(Visible::All), true, true),
            ("e", refused, false, false),
        ] {
            assert_eq!(sees(name, "/api/usage"), usage, "{name}");
            assert_eq!(sees(name, "/metrics").is_ok(), metrics, "{name}");
            assert_eq!(sees(name, "/api/keys").is_ok(), keys, "{name}");
        }
    }
}
