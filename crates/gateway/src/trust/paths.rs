//! Every path of the operator's listener and the role that it needs.
//!
//! The listener serves only paths that are listed here. So every new path has a role, and the
//! test that walks all paths as a viewer of one team covers it.

/// The role that a request requires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Needed {
    /// No role: the path reveals nothing protected.
    Nothing,
    /// A viewer, who sees its own team's data.
    Viewer,
    /// A viewer of everything.
    ViewerOfAll,
    /// An operator.
    Operator,
}

/// The paths with their methods. A last segment `*` matches the remaining path.
pub(crate) const PATHS: &[(&str, &str, Needed)] = &[
    ("GET", "/healthz", Needed::Nothing),
    ("GET", "/readyz", Needed::Nothing),
    ("GET", "/", Needed::Viewer),
    ("GET", "/requests/*", Needed::Viewer),
    ("GET", "/usage", Needed::Viewer),
    ("GET", "/connect", Needed::Viewer),
    ("GET", "/targets", Needed::Operator),
    ("GET", "/routes", Needed::Operator),
    ("GET", "/keys", Needed::Operator),
    ("GET", "/config", Needed::Operator),
    ("GET", "/playground", Needed::Operator),
    ("GET", "/api/requests", Needed::Viewer),
    ("GET", "/api/requests/*", Needed::Viewer),
    ("GET", "/api/usage", Needed::Viewer),
    ("GET", "/api/budgets", Needed::Viewer),
    ("GET", "/api/health", Needed::ViewerOfAll),
    ("GET", "/metrics", Needed::ViewerOfAll),
    // A dry run: no upstream calls and no side effects.
    ("POST", "/api/explain", Needed::ViewerOfAll),
    // Events of all teams.
    ("GET", "/api/events", Needed::Operator),
    ("POST", "/api/try", Needed::Operator),
    ("POST", "/api/targets/*", Needed::Operator),
    ("POST", "/api/playground", Needed::Operator),
    ("GET", "/api/keys", Needed::Operator),
    ("POST", "/api/keys", Needed::Operator),
    ("POST", "/api/keys/*", Needed::Operator),
    ("PATCH", "/api/keys/*", Needed::Operator),
    ("DELETE", "/api/keys/*", Needed::Operator),
    ("GET", "/api/teams", Needed::Operator),
    ("PUT", "/api/teams/*", Needed::Operator),
    ("DELETE", "/api/teams/*", Needed::Operator),
    ("GET", "/api/audit", Needed::Operator),
    ("GET", "/api/captures/*", Needed::Operator),
    ("GET", "/api/config", Needed::Operator),
    ("POST", "/api/config/check", Needed::Operator),
];

/// Whether a path is listed, with any method.
pub(crate) fn is_listed(path: &str) -> bool {
    PATHS.iter().any(|(_, listed, _)| matches(listed, path))
}

/// The role that a request requires. Any unlisted path requires an operator.
pub(super) fn needed(method: &str, path: &str) -> Needed {
    let method = if method == "HEAD" { "GET" } else { method };
    let mut listed = PATHS.iter();
    let listed = listed.find(|(known, listed, _)| *known == method && matches(listed, path));
    listed.map_or(Needed::Operator, |(_, _, needed)| *needed)
}

fn matches(listed: &str, path: &str) -> bool {
    match listed.strip_suffix('*') {
        Some(prefix) => path
            .strip_prefix(prefix)
            .is_some_and(|rest| !rest.is_empty()),
        None => listed == path,
    }
}
