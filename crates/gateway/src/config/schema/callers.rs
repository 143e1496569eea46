//! Keys, teams and their limits.

use majordomo_limits::BudgetWindow;
use serde_json::{Value, json};

use super::shapes::{Shape, choice, count, duration, flag, list, pattern, table, text};
use crate::keys::KeyRole;

type Keys = Vec<(&'static str, Value)>;

pub(super) fn keys() -> Value {
    let mut keys = vec![
        (
            "name",
            text("The key's owner, as logs and rules name it.").non_empty(),
        ),
        (
            "hash",
            pattern(
                "The key's SHA-256, from `majordomo key new`.",
                "^sha256:[0-9a-fA-F]{64}$",
            ),
        ),
        (
            "key",
            text("The key itself, as ${NAME}; prefer `hash`.").non_empty(),
        ),
        (
            "models",
            list(
                "The models it may use, `*` and `?` allowed. Default: all.",
                text("").non_empty(),
            )
            .not_empty_list(),
        ),
        ("team", text("The team that it belongs to.").non_empty()),
        (
            "expires",
            text("The last day on which it works, as 2027-01-31, or a time in UTC.").non_empty(),
        ),
        (
            "capture",
            flag("Whether its requests are kept in memory for the page. Default: false."),
        ),
        (
            "asserts_users",
            flag("Whether its client may name end users. Default: false."),
        ),
        (
            "role",
            choice(
                "Its role, which decides about the operator's listener. Default: client.",
                KeyRole::WORDS.map(|(word, _)| word),
            ),
        ),
        (
            "scope",
            choice(
                "Whether a viewer sees all teams. Default: team.",
                ["team", "all"],
            ),
        ),
    ];
    keys.extend(policy());
    let mut key = table("A client of the gateway.", &["name"], keys);
    key["oneOf"] = json!([{ "required": ["hash"] }, { "required": ["key"] }]);
    list(
        "The clients that may use the gateway. Without any, only this machine is served.",
        key,
    )
}

pub(super) fn teams() -> Value {
    let mut keys = vec![("name", text("The name that keys refer to.").non_empty())];
    keys.extend(policy());
    let team = table("A team of keys.", &["name"], keys);
    list("Keys that are reported and limited together.", team)
}

pub(super) fn end_users() -> Value {
    table("Limits of each end user.", &[], policy())
}

pub(super) fn limits() -> Value {
    let mut keys = traffic();
    keys.extend(money());
    keys.extend([
        (
            "time_zone",
            text(
                "The time zone in which the days of budgets begin, as an IANA name. Default: UTC.",
            )
            .non_empty(),
        ),
        (
            "reserve_output",
            count(
                "Output tokens reserved for a request without a maximum. Default: 8192.",
                1,
                10_000_000,
            ),
        ),
        (
            "alerts",
            table(
                "A webhook for alerts about budgets.",
                &["url", "secret"],
                vec![
                    (
                        "url",
                        pattern("Its address.", "^[hH][tT][tT][pP][sS]?://.+"),
                    ),
                    ("secret", text("Signs the alerts, as ${NAME}.").non_empty()),
                ],
            ),
        ),
    ]);
    table("Limits of all clients together.", &[], keys)
}

/// The keys of one level: of a key, a team or end users.
fn policy() -> Keys {
    let mut keys = vec![("limits", table("Rates and concurrency.", &[], traffic()))];
    keys.extend(money());
    keys
}

fn traffic() -> Keys {
    let most = u64::from(u32::MAX);
    vec![
        (
            "requests_per_minute",
            count("Requests per minute.", 1, most),
        ),
        ("tokens_per_minute", count("Tokens per minute.", 1, most)),
        ("concurrent", count("Concurrent requests.", 1, most)),
        (
            "queue",
            duration("How long a request waits for a free seat. Default: 5s."),
        ),
    ]
}

fn money() -> Keys {
    let amount = || pattern("An amount, such as 5 USD.", r"^\s*[0-9][0-9.]*\s*USD\s*$");
    let windows = BudgetWindow::ALL.into_iter();
    let windows = windows.map(|window| (window.name(), amount())).collect();
    vec![
        ("budget", table("US dollars per window.", &[], windows)),
        (
            "when_exhausted",
            pattern(
                "Action when the budget is spent: refuse, clamp, warn or spec:<cheaper spec>. Default: refuse.",
                "^(refuse|clamp|warn|spec:.*)$",
            ),
        ),
        (
            "unpriced",
            choice(
                "Whether models of unknown price are served despite a budget. Default: refuse.",
                ["refuse", "allow"],
            ),
        ),
    ]
}
