//! Roles required on the operator's listener.

use http::Method;
use majordomo::{Error, ErrorKind};

use crate::keys::{Key, Role};

/// What a viewer may do: everything that only reads. Anything else requires an operator,
/// so a new path is closed by default.
const READS: [(Method, &str); 5] = [
    (Method::GET, "/"),
    (Method::GET, "/api/health"),
    (Method::GET, "/api/requests"),
    (Method::GET, "/metrics"),
    // A dry run: no upstream calls and no side effects.
    (Method::POST, "/api/explain"),
];

/// Rejects a key with an insufficient role.
pub(crate) fn authorize(key: &Key, method: &Method, path: &str) -> Result<(), Error> {
    let needed = needed(method, path);
    if key.role() >= needed {
        return Ok(());
    }
    let text = format!(
        "the key `{}` has the role `{}`, and this needs `{needed}`: set `role` in its [[keys]] entry",
        key.name(),
        key.role(),
    );
    Err(Error::new(ErrorKind::Local, text).with_status(403))
}

fn needed(method: &Method, path: &str) -> Role {
    let method = match *method {
        Method::HEAD => &Method::GET,
        _ => method,
    };
    let reads = READS
        .iter()
        .any(|(known, at)| known == method && *at == path);
    if reads { Role::Viewer } else { Role::Operator }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_known_to_read_needs_an_operator() {
        for (method, path, expected) in [
            ("GET", "/", Role::Viewer),
            ("HEAD", "/metrics", Role::Viewer),
            ("GET", "/api/health", Role::Viewer),
            ("GET", "/api/requests", Role::Viewer),
            ("POST", "/api/explain", Role::Viewer),
            ("POST", "/", Role::Operator),
            ("DELETE", "/api/requests", Role::Operator),
            ("PUT", "/api/health", Role::Operator),
            ("POST", "/api/targets/a/x/release", Role::Operator),
            ("GET", "/api/keys", Role::Operator),
            ("GET", "/api/health/", Role::Operator),
            ("GET", "//api/health", Role::Operator),
            ("OPTIONS", "/metrics", Role::Operator),
        ] {
            let method = Method::from_bytes(method.as_bytes()).unwrap();
            assert_eq!(needed(&method, path), expected, "{method} {path}");
        }
    }
}
