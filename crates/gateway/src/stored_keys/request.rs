//! Requests for keys, teams and the audit log, and their form in HTTP.
//!
//! The operator's listener reads them and commands write them. Both are here, so that neither
//! changes alone.

use std::time::Duration;

use http::Method;
use majordomo_ledger::{AuditQuery, parse_since};
use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use serde_json::{Map, Value, json};

/// The overlap of a rotation, unless another one is given.
const DEFAULT_OVERLAP: Duration = Duration::from_secs(86_400);
/// The longest overlap.
const LONGEST_OVERLAP: Duration = Duration::from_secs(90 * 86_400);
/// Maximum audit rows of one response.
const MAX_AUDIT: usize = 1_000;

/// A request to the store of keys and teams.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum AccessRequest {
    /// Lists all keys.
    ListKeys,
    /// Creates a key.
    CreateKey {
        /// Its name.
        name: String,
        /// The settings of `[[keys]]`.
        settings: Map<String, Value>,
    },
    /// Replaces the settings that are given; null removes one.
    UpdateKey {
        /// The key.
        name: String,
        /// The settings of `[[keys]]` to replace.
        settings: Map<String, Value>,
    },
    /// Gives a key a new secret.
    RotateKey {
        /// The key.
        name: String,
        /// How long the old secret keeps working.
        overlap: Duration,
    },
    /// Freezes or unfreezes a key.
    FreezeKey {
        /// The key.
        name: String,
        /// Whether it is refused.
        frozen: bool,
    },
    /// Deletes a key.
    DeleteKey {
        /// The key.
        name: String,
    },
    /// Lists all teams.
    ListTeams,
    /// Creates a team, or replaces its settings.
    PutTeam {
        /// The team.
        name: String,
        /// The settings of `[[teams]]`.
        settings: Map<String, Value>,
    },
    /// Deletes a team without keys.
    DeleteTeam {
        /// The team.
        name: String,
    },
    /// Lists changes.
    Audit(AuditQuery),
}

/// The error of a malformed request: its status and a sentence.
pub(crate) type Unreadable = (u16, String);

impl AccessRequest {
    /// Whether a path of the operator's listener belongs here.
    pub(crate) fn is_path(path: &str) -> bool {
        let rest = path.strip_prefix("/api/").unwrap_or_default();
        let first = rest.split('/').next().unwrap_or_default();
        matches!(first, "keys" | "teams" | "audit")
    }

    /// Reads a request of the operator's listener.
    pub(crate) fn read(
        method: &Method,
        path: &str,
        query: &str,
        body: &[u8],
        now_millis: i64,
    ) -> Result<Self, Unreadable> {
        let rest = path.strip_prefix("/api/").unwrap_or_default();
        let mut segments = Vec::new();
        for segment in rest.split('/') {
            let decoded = percent_decode_str(segment).decode_utf8();
            let decoded = decoded.map_err(|_| (400, "the path is not UTF-8".to_owned()))?;
            segments.push(decoded.into_owned());
        }
        let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
        let settings = || object(body);
        let named = |name: &str| name.to_owned();
        Ok(match (method.as_str(), segments.as_slice()) {
            ("GET" | "HEAD", ["keys"]) => Self::ListKeys,
            ("POST", ["keys"]) => {
                let mut settings = settings()?;
                let Some(Value::String(name)) = settings.remove("name") else {
                    return Err((400, "the key has no `name`".to_owned()));
                };
                Self::CreateKey { name, settings }
            }
            ("PATCH", ["keys", name]) => Self::UpdateKey {
                name: named(name),
                settings: settings()?,
            },
            ("DELETE", ["keys", name]) => Self::DeleteKey { name: named(name) },
            ("POST", ["keys", name, "rotate"]) => Self::RotateKey {
                name: named(name),
                overlap: overlap(&settings()?)?,
            },
            ("POST", ["keys", name, action @ ("freeze" | "unfreeze")]) => Self::FreezeKey {
                name: named(name),
                frozen: *action == "freeze",
            },
            ("GET" | "HEAD", ["teams"]) => Self::ListTeams,
            ("PUT", ["teams", name]) => Self::PutTeam {
                name: named(name),
                settings: settings()?,
            },
            ("DELETE", ["teams", name]) => Self::DeleteTeam { name: named(name) },
            ("GET" | "HEAD", ["audit"]) => Self::Audit(audit_query(query, now_millis)?),
            (_, ["keys" | "teams" | "audit"] | ["keys" | "teams", _])
            | (_, ["keys", _, "rotate" | "freeze" | "unfreeze"]) => {
                return Err((405, "the method is not allowed here".to_owned()));
            }
            _ => return Err((404, "no such page".to_owned())),
        })
    }

    /// The request as HTTP: method, path and body.
    pub(crate) fn to_http(&self) -> (Method, String, Option<Value>) {
        let at = |kind: &str, name: &str| {
            let name = utf8_percent_encode(name, NON_ALPHANUMERIC);
            format!("/api/{kind}/{name}")
        };
        match self {
            Self::ListKeys => (Method::GET, "/api/keys".to_owned(), None),
            Self::CreateKey { name, settings } => {
                let mut body = settings.clone();
                body.insert("name".to_owned(), json!(name));
                (Method::POST, "/api/keys".to_owned(), Some(body.into()))
            }
            Self::UpdateKey { name, settings } => {
                let body = Some(settings.clone().into());
                (Method::PATCH, at("keys", name), body)
            }
            Self::RotateKey { name, overlap } => {
                let overlap = humantime::format_duration(*overlap).to_string();
                let path = format!("{}/rotate", at("keys", name));
                (Method::POST, path, Some(json!({ "overlap": overlap })))
            }
            Self::FreezeKey { name, frozen } => {
                let action = if *frozen { "freeze" } else { "unfreeze" };
                (Method::POST, format!("{}/{action}", at("keys", name)), None)
            }
            Self::DeleteKey { name } => (Method::DELETE, at("keys", name), None),
            Self::ListTeams => (Method::GET, "/api/teams".to_owned(), None),
            Self::PutTeam { name, settings } => {
                let body = Some(settings.clone().into());
                (Method::PUT, at("teams", name), body)
            }
            Self::DeleteTeam { name } => (Method::DELETE, at("teams", name), None),
            Self::Audit(query) => {
                let path = format!("/api/audit?limit={}", query.limit);
                (Method::GET, path, None)
            }
        }
    }
}

fn object(body: &[u8]) -> Result<Map<String, Value>, Unreadable> {
    if body.is_empty() {
        return Ok(Map::new());
    }
    serde_json::from_slice(body)
        .map_err(|error| (400, format!("the body is not a JSON object: {error}")))
}

fn overlap(body: &Map<String, Value>) -> Result<Duration, Unreadable> {
    let Some(overlap) = body.get("overlap") else {
        return Ok(DEFAULT_OVERLAP);
    };
    let parsed = overlap.as_str().and_then(parse_overlap);
    parsed.ok_or_else(|| {
        let text = "`overlap` is a duration such as \"24h\", at most 90 days";
        (400, text.to_owned())
    })
}

/// Reads the overlap of a rotation, such as `24h`; `None` if it is longer than 90 days.
pub fn parse_overlap(text: &str) -> Option<Duration> {
    let overlap = humantime::parse_duration(text).ok()?;
    (overlap <= LONGEST_OVERLAP).then_some(overlap)
}

fn audit_query(query: &str, now_millis: i64) -> Result<AuditQuery, Unreadable> {
    let mut asked = AuditQuery {
        limit: 100,
        ..AuditQuery::default()
    };
    for (name, value) in query.split('&').filter_map(|pair| pair.split_once('=')) {
        let invalid = || (400, format!("`{name}` cannot be read"));
        match name {
            "limit" => asked.limit = value.parse().map_err(|_| invalid())?,
            "before" => asked.before = Some(value.parse().map_err(|_| invalid())?),
            "since" => asked.since_millis = parse_since(value, now_millis).ok_or_else(invalid)?,
            _ => {}
        }
    }
    asked.limit = asked.limit.min(MAX_AUDIT);
    Ok(asked)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_command_writes_the_listener_reads() {
        let name = || "Ada's key, ü%".to_owned();
        let settings = || {
            json!({"team": "a"})
                .as_object()
                .cloned()
                .unwrap_or_default()
        };
        for request in [
            AccessRequest::ListKeys,
            AccessRequest::CreateKey {
                name: name(),
                settings: settings(),
            },
            AccessRequest::UpdateKey {
                name: name(),
                settings: settings(),
            },
            AccessRequest::RotateKey {
                name: name(),
                overlap: Duration::from_secs(90),
            },
            AccessRequest::FreezeKey {
                name: name(),
                frozen: true,
            },
            AccessRequest::FreezeKey {
                name: name(),
                frozen: false,
            },
            AccessRequest::DeleteKey { name: name() },
            AccessRequest::ListTeams,
            AccessRequest::PutTeam {
                name: name(),
                settings: settings(),
            },
            AccessRequest::DeleteTeam { name: name() },
            AccessRequest::Audit(AuditQuery {
                limit: 7,
                ..AuditQuery::default()
            }),
        ] {
            let (method, uri, body) = request.to_http();
            let (path, query) = uri.split_once('?').unwrap_or((&uri, ""));
            assert!(AccessRequest::is_path(path), "{path}");
            let body = body.map(|body| body.to_string()).unwrap_or_default();
            let read = AccessRequest::read(&method, path, query, body.as_bytes(), 0);
            assert_eq!(read, Ok(request));
        }
    }

    #[test]
    fn other_methods_and_paths_are_refused() {
        for (method, path, status) in [
            (Method::PUT, "/api/keys", 405),
            (Method::GET, "/api/keys/a/rotate", 405),
            (Method::POST, "/api/audit", 405),
            (Method::POST, "/api/keys/a/melt", 404),
            (Method::GET, "/api/teams/a/b", 404),
        ] {
            let read = AccessRequest::read(&method, path, "", b"", 0);
            assert_eq!(read.map_err(|(status, _)| status), Err(status), "{path}");
        }
    }
}
