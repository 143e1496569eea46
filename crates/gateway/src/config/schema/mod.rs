//! The JSON Schema of the configuration file, for editors.
//!
//! To add a setting, start in `config` itself: its first lines list the steps. The reader
//! knows its keys only while it reads, so the schema is written separately, and `tests`
//! compare the two: every section has the same keys and the same words, no value that the
//! reader accepts is invalid here, and no type that it rejects is valid. Rules over several
//! values (a spec's provider, a shadowed route) are left to `majordomo check`.
//!
//! Words come from the code that parses them. May use `limits`, `models`, `providers` and
//! the types of other crates.

mod callers;
mod operations;
mod routing;
mod shapes;
mod upstreams;

#[cfg(test)]
mod tests;

use serde_json::{Value, json};

use shapes::{
    Shape, bytes, bytes_or_off, choice, count, decimal, duration, duration_or_off, flag, list,
    pattern, table, text,
};

/// The JSON Schema (2020-12) of the configuration file.
///
/// ```
/// let schema = majordomo_gateway::config::json_schema();
/// assert_eq!(schema["properties"]["server"]["type"], "object");
/// ```
pub fn json_schema() -> Value {
    let mut root = table(
        "The configuration of majordomo, an LLM gateway. `majordomo check` also judges what a \
         schema cannot.",
        &[],
        vec![
            (
                "version",
                count(
                    "Version of the file's meaning. New files start with 1.",
                    1,
                    1,
                ),
            ),
            ("server", server()),
            ("keys", callers::keys()),
            ("teams", callers::teams()),
            ("limits", callers::limits()),
            ("end_users", callers::end_users()),
            ("providers", upstreams::providers()),
            ("aliases", routing::aliases()),
            ("routes", routing::routes()),
            ("vision", vision()),
            ("fetch", fetch()),
            ("health", health()),
            ("chain", chain()),
            ("ledger", ledger()),
            ("prices", upstreams::prices()),
            ("page", operations::page()),
            ("log", operations::log()),
            ("capture", operations::capture()),
            ("cluster", operations::cluster()),
        ],
    );
    root["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    root["title"] = json!("majordomo.toml");
    root["$defs"] = json!({ "condition": routing::condition() });
    root
}

fn server() -> Value {
    let limit = |about: &str, least| count(about, least, u64::from(u32::MAX));
    table(
        "Listeners and request limits.",
        &[],
        vec![
            (
                "listen",
                address(
                    "Address for clients. Other machines are served only if a key is configured. Default: 127.0.0.1:4100.",
                ),
            ),
            (
                "operator_listen",
                address(
                    "Address of the operator's page, API and metrics. Default: 127.0.0.1:4101.",
                ),
            ),
            ("max_body", bytes("Largest request body. Default: 32MiB.")),
            (
                "max_requests",
                limit("Concurrent requests. Default: 1024.", 1),
            ),
            (
                "max_bytes_in_flight",
                bytes("Bytes held by all requests together; at least `max_body`. Default: 512MiB."),
            ),
            (
                "max_messages",
                limit("Messages of one request. Default: 20000.", 1),
            ),
            (
                "max_parts",
                limit("Parts of its messages. Default: 100000.", 1),
            ),
            ("max_images", limit("Images among them. Default: 2000.", 0)),
            ("max_tools", limit("Its tools. Default: 2000.", 0)),
            ("max_stops", limit("Its stop sequences. Default: 256.", 0)),
            (
                "max_fields",
                limit("Fields unknown to the gateway. Default: 30000.", 0),
            ),
            (
                "max_values",
                limit("JSON values in the body. Default: 1000000.", 1),
            ),
            (
                "body_timeout",
                duration("How long a body may lag behind 64 KiB per second. Default: 60s."),
            ),
            (
                "keepalive",
                duration_or_off(
                    "Interval of keep-alives in a stream that waits for its model. Default: off.",
                ),
            ),
            (
                "grace",
                duration_or_off(
                    "How long connections are accepted after a shutdown signal, while /readyz says 503. Default: off.",
                ),
            ),
            (
                "drain",
                duration("Time for running requests after a shutdown signal. Default: 30s."),
            ),
            (
                "traces",
                count(
                    "Recent requests kept for the operator; 0 keeps none. Default: 200.",
                    0,
                    100_000,
                ),
            ),
            ("trace_bytes", bytes("Memory for them. Default: 4MiB.")),
            (
                "tls",
                table(
                    "PEM files for HTTPS on both listeners; reloaded when they change.",
                    &["cert", "key"],
                    vec![
                        ("cert", text("Certificate chain.").non_empty()),
                        ("key", text("Private key.").non_empty()),
                    ],
                ),
            ),
            (
                "origins",
                list(
                    "Sites whose pages may send requests.",
                    text("A site, such as https://chat.example").non_empty(),
                ),
            ),
        ],
    )
}

/// A listen address or a port.
fn address(about: &str) -> Value {
    let port = count("", 0, u64::from(u16::MAX));
    let written = pattern("", r"^\s*\S*[0-9]\s*$");
    shapes::any_of(about, vec![port, written])
}

fn vision() -> Value {
    table(
        "The vision proxy: text instead of images, for models that take none.",
        &[],
        vec![
            (
                "history",
                choice(
                    "Images of earlier turns. Default: omit.",
                    ["omit", "cached"],
                ),
            ),
            (
                "latest",
                choice(
                    "Which images are described. Default: message.",
                    ["message", "turn"],
                ),
            ),
            (
                "per_request",
                count("Concurrent descriptions per request. Default: 4.", 1, 1_000),
            ),
            (
                "total",
                count(
                    "Concurrent descriptions of the process. Default: 16.",
                    1,
                    1_000,
                ),
            ),
            (
                "max_images",
                count("Images described per request.", 1, 100_000),
            ),
            ("prompt", text("The describer's prompt.").non_empty()),
            (
                "question",
                flag("Whether the describer gets the user's question. Default: false."),
            ),
            (
                "cache",
                bytes_or_off("Size of the cache of descriptions. Default: 64MiB."),
            ),
            (
                "ttl",
                duration("How long a description is cached. Default: 10m."),
            ),
            (
                "timeout",
                duration("Time for all descriptions of a request. Default: 30s."),
            ),
            (
                "max_tokens",
                count("Tokens of one description. Default: 256.", 1, 100_000),
            ),
            (
                "on_failure",
                choice(
                    "When an image cannot be described. Default: marker.",
                    ["marker", "fail"],
                ),
            ),
        ],
    )
}

fn fetch() -> Value {
    table(
        "Fetching of remote images, for targets that need their bytes.",
        &[],
        vec![
            (
                "enabled",
                flag("Whether remote images are fetched. Default: false."),
            ),
            ("max_bytes", bytes("Largest image. Default: 20MiB.")),
            ("timeout", duration("Time for one image. Default: 10s.")),
            (
                "max_redirects",
                count("Redirects to follow. Default: 3.", 0, 10),
            ),
        ],
    )
}

fn health() -> Value {
    table(
        "When a failing target is benched, and for how long.",
        &[],
        vec![
            (
                "threshold",
                count(
                    "Consecutive failures that bench a target. Default: 2.",
                    1,
                    1_000,
                ),
            ),
            ("base", duration("The first bench. Default: 5s.")),
            (
                "max",
                duration("The longest bench; at least `base`. Default: 5m."),
            ),
            (
                "factor",
                decimal("Growth of each further bench. Default: 2.", 1.1, 100.0),
            ),
        ],
    )
}

fn chain() -> Value {
    table(
        "Retries and failover.",
        &[],
        vec![
            (
                "retries",
                count(
                    "Retries on the same target after a transient failure. Default: 1.",
                    0,
                    10,
                ),
            ),
            (
                "advance_on_permanent",
                flag("Whether an invalid request or a policy stop advances. Default: false."),
            ),
            (
                "all_benched",
                choice(
                    "When every target is benched. Default: least_bad.",
                    ["least_bad", "fail"],
                ),
            ),
            (
                "deadline",
                duration_or_off("Time of a request over all attempts. Default: 10m."),
            ),
            (
                "max_retry_after",
                duration_or_off("Longest Retry-After that a request waits for. Default: 10s."),
            ),
        ],
    )
}

fn ledger() -> Value {
    table(
        "The record of requests and their cost. Read at startup.",
        &[],
        vec![
            (
                "store",
                pattern(
                    "sqlite, sqlite:///folder, postgres://user:${PGPASSWORD}@host/database, or off. Default: sqlite.",
                    r"^(sqlite|off|sqlite:///.*|postgres(ql)?://.*)$",
                ),
            ),
            (
                "retention",
                duration_or_off("How long requests are kept. Default: 90d."),
            ),
            (
                "audit_retention",
                duration_or_off("How long changes of keys are kept. Default: 365d."),
            ),
            (
                "end_users",
                choice(
                    "How names of end users are stored. Default: plain.",
                    ["plain", "hash"],
                ),
            ),
        ],
    )
}
