//! Roles required on the operator's listener.

use http::Method;
use majordomo::{Error, ErrorKind};

use crate::keys::{ClientKey, KeyRole};

/// What a viewer may do: everything that only reads. Anything else requires an operator,
/// so a new path is closed by default.
const READ_ENDPOINTS: [(Method, &str); 7] = [
    (Method::GET, "/"),
    (Method::GET, "/connect"),
    (Method::GET, "/api/health"),
    (Method::GET, "/api/requests"),
    (Method::GET, "/api/usage"),
    (Method::GET, "/metrics"),
    // A dry run: no upstream calls and no side effects.
    (Method::POST, "/api/explain"),
];

/// Rejects a key with an insufficient role.
pub(crate) fn authorize(key: &ClientKey, method: &Method, path: &str) -> Result<(), Error> {
    let needed = needed(method, path);
    if key.role() >= needed {
        return Ok(());
    }
    let text = format!(
        "the key `{}` has the role `{}`, but this requires `{needed}`: set `role` in its [[keys]] entry",
        key.name(),
        key.role(),
    );
    Err(Error::new(ErrorKind::Local, text).with_status(403))
}

/// Where the screens of single requests are; a viewer sees those of its own team.
const REQUEST_SCREENS: &str = "/requests/";

fn needed(method: &Method, path: &str) -> KeyRole {
    let method = match *method {
        Method::HEAD => &Method::GET,
        _ => method,
    };
    let only_reads = READ_ENDPOINTS
        .iter()
        .any(|(known, at)| known == method && *at == path);
    let is_screen = method == Method::GET && path.starts_with(REQUEST_SCREENS);
    if only_reads || is_screen {
        KeyRole::Viewer
    } else {
        KeyRole::Operator
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_but_known_reads_requires_an_operator() {
        for (method, path, expected) in [
            ("GET", "/", KeyRole::Viewer),
            ("HEAD", "/metrics", KeyRole::Viewer),
            ("GET", "/api/health", KeyRole::Viewer),
            ("GET", "/api/requests", KeyRole::Viewer),
            ("GET", "/api/usage", KeyRole::Viewer),
            ("POST", "/api/explain", KeyRole::Viewer),
            ("POST", "/", KeyRole::Operator),
            ("DELETE", "/api/requests", KeyRole::Operator),
            ("PUT", "/api/health", KeyRole::Operator),
            ("POST", "/api/targets/a/x/release", KeyRole::Operator),
            ("GET", "/api/keys", KeyRole::Operator),
            ("GET", "/connect", KeyRole::Viewer),
            ("GET", "/requests/abc", KeyRole::Viewer),
            ("POST", "/requests/abc", KeyRole::Operator),
            ("GET", "/requests", KeyRole::Operator),
            // Events of all teams.
            ("GET", "/api/events", KeyRole::Operator),
            ("GET", "/targets", KeyRole::Operator),
            ("POST", "/api/try", KeyRole::Operator),
            ("GET", "/api/health/", KeyRole::Operator),
            ("GET", "//api/health", KeyRole::Operator),
            ("OPTIONS", "/metrics", KeyRole::Operator),
        ] {
            let method = Method::from_bytes(method.as_bytes()).unwrap();
            assert_eq!(needed(&method, path), expected, "{method} {path}");
        }
    }
}
