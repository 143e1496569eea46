//! Aliases, routes and smart rules.

use majordomo_balance::Tactic;
use serde_json::{Value, json};

use super::shapes::{
    Shape, any_of, choice, count, duration_or_off, flag, list, named, pattern, table, text,
};
use super::upstreams::NAME;
use crate::processors::PROXY_VISION;

pub(super) fn aliases() -> Value {
    let spec = text("A spec: provider/model, another alias, or several with commas.").non_empty();
    named("Names for specs.", NAME, spec)
}

pub(super) fn routes() -> Value {
    let tactics = || Tactic::ALL.into_iter().map(Tactic::name);
    let route = table(
        "A model name that clients request, and its services.",
        &["model", "services"],
        vec![
            (
                "model",
                pattern(
                    "The requested name; `*` and `?` match any text and character.",
                    r"^[^,\s]+$",
                ),
            ),
            ("services", services()),
            (
                "balance",
                choice(
                    "The tactic that picks a service. Default: in order; by tier or by weight if one is set.",
                    tactics(),
                ),
            ),
            (
                "within",
                choice(
                    "The tactic inside a tier.",
                    tactics().filter(|name| *name != Tactic::Tier.name()),
                ),
            ),
            (
                "cache",
                choice(
                    "Whether prompt-cache breakpoints are set for clients that set none. Default: the provider's setting.",
                    ["auto", "off"],
                ),
            ),
            (
                "affinity",
                duration_or_off("How long a conversation stays with its service. Default: off."),
            ),
            ("describe", describer()),
            (
                "smart",
                list(
                    "Rules; the first whose conditions all hold applies.",
                    rule(),
                ),
            ),
        ],
    );
    list(
        "Model names that clients request; the first match is used.",
        route,
    )
}

fn services() -> Value {
    let service = table(
        "",
        &["spec"],
        vec![
            (
                "spec",
                text("A target, an alias or a chain; {model} stands for the requested name.")
                    .non_empty(),
            ),
            (
                "weight",
                count("Its share; 0 makes it a spare. Default: 1.", 0, 10_000),
            ),
            (
                "tier",
                count("Lower tiers are used first. Default: 0.", 0, 1_000),
            ),
            (
                "capacity",
                count("Its concurrent requests. Default: unlimited.", 1, 1_000_000),
            ),
            ("active", flag("Whether it is used. Default: true.")),
            ("describe", describer()),
        ],
    );
    list("What serves it.", service).not_empty_list()
}

fn describer() -> Value {
    text("A spec or a route: describes images for services that take none.").non_empty()
}

fn rule() -> Value {
    let condition = json!({ "$ref": "#/$defs/condition" });
    table(
        "A smart rule.",
        &["name", "when", "services"],
        vec![
            (
                "name",
                text("The purpose of the rule; shown in traces.").non_empty(),
            ),
            (
                "when",
                list("Conditions, all of which must hold.", condition).not_empty_list(),
            ),
            ("services", services()),
        ],
    )
}

/// A condition or a group, which refers to itself.
pub(super) fn condition() -> Value {
    let member = || json!({ "$ref": "#/$defs/condition" });
    let mut positions: Vec<&str> = Vec::new();
    let mut ops: Vec<&str> = Vec::new();
    let vision = [(PROXY_VISION, "enabled")];
    for (position, op) in majordomo_rules::operations().chain(vision) {
        if !positions.contains(&position) {
            positions.push(position);
        }
        if !ops.contains(&op) {
            ops.push(op);
        }
    }
    let comparison = table(
        "A comparison.",
        &["position"],
        vec![
            ("position", choice("What to inspect.", positions)),
            ("op", choice("How to compare.", ops)),
            (
                "name",
                text("Selects one of several inputs, such as a header.").non_empty(),
            ),
            (
                "value",
                json!({ "description": "The value to compare with: a text, a number, a list or a table." }),
            ),
        ],
    );
    let any = table(
        "Holds if one of these does.",
        &["any"],
        vec![("any", list("", member()).not_empty_list())],
    );
    let not = table("Holds if this does not.", &["not"], vec![("not", member())]);
    any_of("A condition of a smart rule.", vec![comparison, any, not])
}
