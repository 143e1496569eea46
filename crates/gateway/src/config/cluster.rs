//! `[cluster]`: several gateways as one.

use majordomo_cluster::{StateUrl, StateUrlError};

use super::reader::{ConfigField, ConfigReader, Section};
use super::{Config, LedgerPlace, Span};

/// This gateway's membership in a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClusterEntry {
    /// The Redis or Valkey server that all nodes use.
    pub state: StateUrl,
    /// This node's name; `None` for the machine's.
    pub name: Option<String>,
    /// The number of nodes to assume until the others have been seen.
    pub nodes: u64,
    /// The position of `state` in the file.
    pub(crate) span: Span,
}

/// The default number of nodes.
const NODES: u64 = 3;

pub(super) fn read_cluster(mut section: Section<'_>) -> Option<ClusterEntry> {
    let hint = "name the store: `state = \"redis://127.0.0.1:6379/0\"`";
    let field = section.require("state", hint);
    let state = field.and_then(|field| read_state(&field));
    let name = section.take("name").and_then(|field| field.non_empty());
    let nodes = section
        .take("nodes")
        .and_then(|field| field.number(1, 10_000));
    section.finish();
    let (state, span) = state?;
    Some(ClusterEntry {
        state,
        name: name.map(|name| name.value),
        nodes: nodes.unwrap_or(NODES),
        span,
    })
}

fn read_state(field: &ConfigField<'_>) -> Option<(StateUrl, Span)> {
    let text = field.non_empty()?;
    if field.is_literal() {
        // The URL may contain a password.
        field.reader.hide(field.span.clone());
        if text.value.contains('@') {
            field.reader.note_secret();
        }
    }
    match text.value.parse() {
        Ok(url) => Some((url, field.span.clone())),
        Err(error) => {
            let hint = "write `state = \"redis://user:${REDIS_PASSWORD}@host:6379/0\"`";
            field.report(StateUrlError::to_string(&error), hint);
            None
        }
    }
}

impl Config {
    /// Whether budgets hold over all nodes: money is leased from a database that they share.
    pub(crate) fn shares_budgets(&self) -> bool {
        self.cluster.is_none() || matches!(self.ledger.store, LedgerPlace::Postgres(_))
    }
}

/// Checks the other sections against the needs of a cluster.
pub(super) fn check(reader: &ConfigReader<'_>, config: &Config) {
    let Some(cluster) = &config.cluster else {
        return;
    };
    if config.has_budgets() && !config.shares_budgets() {
        reader.report(
            cluster.span.clone(),
            "budgets are configured, but each node of this cluster would have its own: money is \
             leased from a ledger that all nodes share",
            "set `store = \"postgres://…\"` in [ledger], or remove the budgets",
        );
    }
}
