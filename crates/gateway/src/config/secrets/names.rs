//! Names that tell whether their value is a secret.

use majordomo::nearest;

/// Words in a key's name that make its value a secret.
const SECRET_WORDS: [&str; 14] = [
    "key",
    "token",
    "secret",
    "passw",
    "passphrase",
    "dsn",
    "auth",
    "bearer",
    "credential",
    "cookie",
    "header",
    "signature",
    "private",
    "hash",
];

/// Whole names to compare misspelled ones with.
const SECRET_NAMES: [&str; 13] = [
    "key",
    "keys",
    "api_key",
    "apikey",
    "token",
    "secret",
    "password",
    "passphrase",
    "dsn",
    "authorization",
    "credentials",
    "headers",
    "hash",
];

/// Settings whose names only look like it.
const HARMLESS: [&str; 1] = ["max_tokens"];

/// Keys whose values may be shown, and sections that only hold others.
pub(in crate::config) const SETTINGS: [&str; 70] = [
    "active",
    "advance_on_permanent",
    "affinity",
    "aliases",
    "all_benched",
    "any",
    "balance",
    "base",
    "base_url",
    "cache",
    "capacity",
    "cert",
    "chain",
    "context_window",
    "deadline",
    "describe",
    "drain",
    "enabled",
    "factor",
    "fetch",
    "health",
    "history",
    "images",
    "keepalive",
    "kind",
    "latest",
    "listen",
    "max",
    "max_body",
    "max_bytes",
    "max_bytes_in_flight",
    "max_images",
    "max_output",
    "max_px",
    "max_redirects",
    "max_requests",
    "max_tokens",
    "model",
    "models",
    "name",
    "not",
    "on_failure",
    "op",
    "operator_listen",
    "origins",
    "per_request",
    "position",
    "prompt",
    "question",
    "retries",
    "role",
    "routes",
    "server",
    "services",
    "smart",
    "spec",
    "structured",
    "threshold",
    "tier",
    "timeout",
    "tls",
    "tools",
    "total",
    "trace_bytes",
    "traces",
    "ttl",
    "types",
    "vision",
    "weight",
    "within",
];

/// Whether a key of this name holds a secret.
pub(in crate::config) fn is_secret_name(name: &str) -> bool {
    let name = name.to_lowercase();
    let found = SECRET_WORDS.iter().any(|word| name.contains(word));
    found && !HARMLESS.contains(&name.as_str())
}

/// The same for a key that nobody knows, which may be misspelled.
pub(in crate::config) fn may_be_secret_name(name: &str) -> bool {
    is_secret_name(name) || nearest(&name.to_lowercase(), SECRET_NAMES).is_some()
}

/// Whether a name is a word, and so may be shown where secrets are expected.
pub(in crate::config) fn is_word(name: &str) -> bool {
    let letters = |c: char| c.is_ascii_lowercase() || c == '_' || c == '-';
    (1..=24).contains(&name.len()) && name.chars().all(letters)
}

/// Whether a text is nothing but a variable, `${NAME}`, whose name is written as
/// such names are. A key in the place of the name is none.
pub(in crate::config) fn is_reference(raw: &str) -> bool {
    let name = raw.strip_prefix("${").and_then(|raw| raw.strip_suffix('}'));
    name.is_some_and(is_variable)
}

/// Whether a variable's name may be shown wherever it stands.
pub(in crate::config) fn is_variable(name: &str) -> bool {
    let letters = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    (1..=64).contains(&name.len())
        && name.chars().all(letters)
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && super::shape::parts(name).is_empty()
}
