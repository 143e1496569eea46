//! Bifrost's `config.json`.
//!
//! Each key of a provider becomes a separate provider; models that several keys serve get a
//! route that balances them. Virtual keys become keys, with their budgets and limits.

mod client;
mod governance;
mod key_models;
mod limits;
mod network;
mod rules;
mod upstreams;

use crate::draft::Draft;
use crate::source::Source;
use crate::tree::Node;

/// Whether a file is Bifrost's: its providers may be in its database only.
pub(crate) fn is_its_own(root: &Node) -> bool {
    let has_schema =
        matches!(root.get("$schema"), Some(Node::Text(url)) if url.contains("bifrost"));
    let has_store = ["config_store", "logs_store"].map(|key| root.get(key).is_some());
    has_schema || has_store.contains(&true) || matches!(root.get("providers"), Some(Node::Map(_)))
}

pub(crate) fn import(source: &Source<'_>, draft: &mut Draft) {
    let root = source.root();
    let providers = root
        .get("providers")
        .map(|it| it.entries())
        .unwrap_or_default();
    if let Some(field) = root.get("providers").filter(|_| providers.is_empty()) {
        field.skipped("the file has no provider: Bifrost keeps those of its page in its database");
    }
    let mut upstreams = Vec::new();
    for (name, entry) in providers {
        upstreams::provider(name, &entry, &mut upstreams, draft);
    }
    if let Some(client) = root.get("client") {
        client::read(&client, draft);
    }
    if let Some(governance) = root.get("governance") {
        rules::read(&governance, &upstreams, draft);
        governance::read(&governance, draft);
    }
    draft.sort_routes();
    draft.remarks.push(
        "clients find majordomo at http://127.0.0.1:4100, Bifrost's default was port 8080"
            .to_owned(),
    );
    for (note, keys) in [
        (
            "the schema of Bifrost's file",
            &["$schema", "version", "source_of_truth"][..],
        ),
        (
            "keys stay in the environment; nothing is encrypted at rest",
            &["encryption_key"],
        ),
        (
            "majordomo's configuration is this file; keys can also be stored, see `majordomo key`",
            &["config_store"],
        ),
        (
            "requests are recorded in [ledger], without content",
            &["logs_store"],
        ),
        (
            "majordomo does not cache responses",
            &["vector_store", "local_cache"],
        ),
        ("majordomo is not an MCP gateway", &["mcp"]),
        ("majordomo has no plugins", &["plugins"]),
        ("prices are part of majordomo, see [prices]", &["framework"]),
        ("majordomo has no guardrails", &["guardrails_config"]),
        (
            "roles of keys replace logins",
            &["auth_config", "scim_config", "saml_config", "setup_token"],
        ),
        (
            "a setting for Bifrost's own process",
            &[
                "server",
                "websocket",
                "env_label",
                "cluster_config",
                "load_balancer_config",
                "audit_logs",
                "large_payload_optimization",
            ],
        ),
    ] {
        for key in keys {
            if let Some(field) = root.get(key) {
                field.skipped(note);
            }
        }
    }
}
