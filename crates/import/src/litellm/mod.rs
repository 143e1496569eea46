//! LiteLLM's `config.yaml`.
//!
//! A model group becomes a route, its deployments become services, and the groups to which it
//! falls back become services of later tiers. `known` has the keys without a counterpart.

mod deployments;
mod fallbacks;
mod known;
mod known_parameters;
mod known_settings;
mod pricing;
mod providers;
mod reasons;
mod service;
mod settings;

use crate::draft::Draft;
use crate::source::Source;

/// Top-level keys, by which the format is recognized.
pub(crate) const SECTIONS: [&str; 5] = [
    "model_list",
    "litellm_settings",
    "general_settings",
    "router_settings",
    "environment_variables",
];

pub(crate) fn import(source: &Source<'_>, draft: &mut Draft) {
    let root = source.root();
    let settings = settings::read(&root, draft);
    let groups = deployments::read(&root, draft, &settings);
    fallbacks::write_routes(&root, draft, groups, &settings);
    if draft.keys.is_empty() {
        draft.remarks.push(
            "no master_key: only this machine is served; `majordomo key new NAME` creates a key"
                .to_owned(),
        );
    }
    let port = "clients find majordomo at http://127.0.0.1:4100, LiteLLM's default was port 4000";
    draft.remarks.push(port.to_owned());
    known::report(&root);
}
