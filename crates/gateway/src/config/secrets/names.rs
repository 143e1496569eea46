//! Classifies names of keys and variables.

use majordomo::nearest::most_similar;

/// Parts of a key's name that mark its value as a secret.
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

/// Names that misspelled keys are compared with.
pub(in crate::config) const SECRET_NAMES: [&str; 14] = [
    "key",
    "keys",
    "api_key",
    "api_keys",
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

/// Keys whose values may be displayed, and sections that contain only such keys.
pub(in crate::config) const SETTINGS: &[&str] = &[
    "above",
    "active",
    "advance_on_permanent",
    "affinity",
    "alerts",
    "aliases",
    "all_benched",
    "any",
    "asserts_users",
    "audit_retention",
    "balance",
    "base",
    "base_url",
    "budget",
    "cache",
    "cache_read",
    "capture",
    "cache_write",
    "cache_write_1h",
    "capacity",
    "cert",
    "chain",
    "cluster",
    "concurrent",
    "context",
    "context_window",
    "day",
    "deadline",
    "describe",
    "drain",
    "enabled",
    "end_users",
    "expires",
    "factor",
    "fetch",
    "file",
    "format",
    "grace",
    "health",
    "history",
    "image",
    "images",
    "input",
    "keepalive",
    "kind",
    "latest",
    "ledger",
    "legacy_max_tokens",
    "level",
    "limits",
    "listen",
    "log",
    "max",
    "max_body",
    "max_bytes",
    "max_bytes_in_flight",
    "max_images",
    "max_output",
    "max_px",
    "max_redirects",
    "max_requests",
    "max_retry_after",
    "max_tokens",
    "model",
    "models",
    "month",
    "name",
    "nodes",
    "not",
    "num_ctx",
    "on_failure",
    "op",
    "operator_listen",
    "origins",
    "output",
    "page",
    "per_request",
    "position",
    "prompt",
    "question",
    "queue",
    "reasoning",
    "request",
    "requests_per_minute",
    "reserve_output",
    "retention",
    "retries",
    "role",
    "routes",
    "scope",
    "server",
    "services",
    "smart",
    "spec",
    "stream_usage",
    "structured",
    "team",
    "teams",
    "threshold",
    "tier",
    "tiers",
    "time_zone",
    "timeout",
    "tls",
    "tokens_per_minute",
    "tools",
    "total",
    "trace",
    "trace_bytes",
    "traces",
    "ttl",
    "types",
    "unpriced",
    "version",
    "vision",
    "week",
    "weight",
    "when_exhausted",
    "within",
];

/// Whether a key with this name holds a secret.
pub(in crate::config) fn is_secret_name(name: &str) -> bool {
    let name = name.to_lowercase();
    let found = SECRET_WORDS.iter().any(|word| name.contains(word));
    found && !SETTINGS.contains(&name.as_str())
}

/// Like [`is_secret_name`], for an unknown key that may be misspelled.
pub(in crate::config) fn may_be_secret_name(name: &str) -> bool {
    is_secret_name(name) || most_similar(&name.to_lowercase(), SECRET_NAMES).is_some()
}

/// Whether a name is a plain word, which may be displayed even among secrets.
pub(in crate::config) fn is_word(name: &str) -> bool {
    let letters = |c: char| c.is_ascii_lowercase() || c == '_' || c == '-';
    (1..=24).contains(&name.len()) && name.chars().all(letters)
}

/// Whether the text is exactly `${NAME}` with a conventional variable name. A key in
/// place of the name is not. `$NAME` is a reference without its braces, but one with
/// digits may be a key.
pub(in crate::config) fn is_reference(raw: &str) -> bool {
    let name = raw.strip_prefix("${").and_then(|raw| raw.strip_suffix('}'));
    let bare = raw.strip_prefix('$');
    let bare = bare.filter(|name| !name.contains(|c: char| c.is_ascii_digit()));
    name.or(bare).is_some_and(is_variable)
}

/// The variable that the whole text names in the way of another program, such as LiteLLM's
/// `os.environ/NAME`, Bifrost's `env.NAME` and a shell's `%NAME%`.
pub(in crate::config) fn foreign_reference(raw: &str) -> Option<&str> {
    const AROUND: [(&str, &str); 5] = [
        ("%", "%"),
        ("$(", ")"),
        ("{{", "}}"),
        ("{", "}"),
        ("$ENV{", "}"),
    ];
    const BEFORE: [&str; 4] = ["os.environ/", "env.", "env:", "$env:"];
    let mut around = AROUND.iter();
    let inner = around.find_map(|(open, close)| raw.strip_prefix(open)?.strip_suffix(close));
    let text = inner.map_or(raw, str::trim);
    let named = BEFORE.iter().find_map(|before| text.strip_prefix(before));
    let name = named.or(inner.map(str::trim));
    name.filter(|name| is_variable(name))
}

/// Whether a variable's name may be displayed anywhere.
pub(in crate::config) fn is_variable(name: &str) -> bool {
    let letters = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    (1..=64).contains(&name.len())
        && name.chars().all(letters)
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && super::patterns::secret_spans(name).is_empty()
}
