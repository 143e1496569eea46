//! The operator's sections: the page, the log, captured requests, the cluster.

use serde_json::Value;

use super::shapes::{bytes, choice, count, flag, table, text};

pub(super) fn page() -> Value {
    table(
        "The web page of the operator's listener.",
        &[],
        vec![("enabled", flag("Whether it is served. Default: true."))],
    )
}

pub(super) fn log() -> Value {
    table(
        "The log on standard error. A change needs a restart.",
        &[],
        vec![
            (
                "format",
                choice(
                    "For people, or one JSON object per line. Default: text.",
                    ["text", "json"],
                ),
            ),
            (
                "level",
                choice(
                    "Lines below this level are not written. Default: info.",
                    ["off", "error", "warn", "info", "debug", "trace"],
                ),
            ),
        ],
    )
}

pub(super) fn capture() -> Value {
    table(
        "Requests of keys that opt in, kept in memory.",
        &[],
        vec![(
            "size",
            bytes("Maximum size of all captured requests and responses. Default: 64MiB."),
        )],
    )
}

pub(super) fn cluster() -> Value {
    table(
        "Several gateways that share limits.",
        &["state"],
        vec![
            (
                "state",
                text("The Redis or Valkey server that all nodes use: redis:// or rediss://."),
            ),
            ("name", text("This node's name. Default: the machine's.")),
            (
                "nodes",
                count(
                    "The number of nodes to assume until the others have been seen. Default: 3.",
                    1,
                    10_000,
                ),
            ),
        ],
    )
}
