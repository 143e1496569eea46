//! Providers, their models and prices.

use serde_json::{Value, json};

use super::shapes::{
    Shape, any_of, bytes, choice, count, duration, flag, list, named, pattern, table, text,
};
use crate::config::models::TYPES;
use crate::config::providers::kinds;

/// A name that specs can contain.
pub(super) const NAME: &str = r"^[^/,\s]+$";
const URL: &str = "^[hH][tT][tT][pP][sS]?://[^@?]+$";

pub(super) fn providers() -> Value {
    let own = |about: &str| flag(&format!("{about} Default: per model."));
    let mut provider = table(
        "An upstream provider; its name begins the specs of its models.",
        &[],
        vec![
            (
                "kind",
                choice("Its protocol. Default: the built-in provider of this name.", kinds()),
            ),
            ("base_url", pattern("Its address. Default: the kind's own.", URL)),
            (
                "api_key",
                text("Its key, as ${NAME}. Default: the kind's usual variable.").non_empty(),
            ),
            (
                "dsn",
                text("Kind, key, address and options in one line: scheme://[token@]host[/path]. Replaces the three keys above.").non_empty(),
            ),
            (
                "headers",
                named("Headers of every request.", "^[A-Za-z0-9!#$%&'*+.^_`|~-]+$", text("").non_empty()),
            ),
            ("timeout", duration("Time limit for an attempt to begin its stream, or to return its whole response.")),
            (
                "proxy",
                any_of(
                    "A proxy, as http://host:port or socks5://host:port, or off to connect directly. Default: HTTPS_PROXY and the like.",
                    vec![
                        pattern("", "^[a-zA-Z0-9]+://.+$"),
                        json!({ "enum": ["off", false] }),
                    ],
                ),
            ),
            ("images", own("Whether its models take images.")),
            ("tools", own("Whether its models call tools.")),
            ("context", count("Context window of its models, in tokens.", 1, u64::MAX)),
            (
                "legacy_max_tokens",
                flag("Whether it knows only `max_tokens`. Default: false."),
            ),
            (
                "api_keys",
                list("Several keys, each as ${NAME}.", text("A key, as ${NAME}.").non_empty()),
            ),
            (
                "cache",
                choice(
                    "Whether prompt-cache breakpoints are set for clients that set none. Default: off.",
                    ["auto", "off"],
                ),
            ),
            (
                "client_credentials",
                choice(
                    "Whether a client's own credential is sent to this vendor. Default: ignore.",
                    ["forward", "ignore"],
                ),
            ),
            (
                "trace",
                flag("Whether requests carry the client's trace and request id. Default: true."),
            ),
            (
                "stream_usage",
                flag("Whether streams ask for usage on behalf of clients."),
            ),
            (
                "version",
                pattern("Version of Anthropic's API. Default: 2023-06-01.", "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"),
            ),
            ("num_ctx", count("Context window to request from Ollama.", 1, u64::MAX)),
            ("models", named("Overrides of the defaults for a model.", "", model())),
        ],
    );
    provider["dependentSchemas"] = json!({
        "dsn": { "properties": { "kind": false, "base_url": false, "api_key": false } },
    });
    named("Upstream providers by name.", NAME, provider)
}

fn model() -> Value {
    let limits = table(
        "",
        &[],
        vec![
            ("max", count("Images of a request.", 1, 10_000)),
            ("max_bytes", bytes("Size of one image.")),
            ("max_px", count("Pixels on the longer side.", 16, 100_000)),
            (
                "types",
                list("MIME types.", choice("", TYPES)).not_empty_list(),
            ),
        ],
    );
    table(
        "A model's capabilities.",
        &[],
        vec![
            (
                "images",
                any_of(
                    "Whether it takes images, or their limits.",
                    vec![flag(""), limits],
                ),
            ),
            (
                "context_window",
                count("Tokens of prompt and response together.", 1, u64::MAX),
            ),
            ("max_output", count("Tokens of the response.", 1, u64::MAX)),
            ("tools", flag("Whether it calls tools.")),
            (
                "structured",
                flag("Whether it can constrain its output to a schema."),
            ),
            (
                "describe",
                text("A spec or a route: the describer of images for it.").non_empty(),
            ),
        ],
    )
}

pub(super) fn prices() -> Value {
    let rates = || -> Vec<(&'static str, Value)> {
        let rate = |about: &str| pattern(about, r"^\s*[0-9.]+\s*$");
        vec![
            ("input", rate("US dollars per million input tokens.")),
            ("output", rate("Per million output tokens.")),
            (
                "cache_read",
                rate("Per million tokens read from the prompt cache."),
            ),
            ("cache_write", rate("Per million tokens written to it.")),
            (
                "cache_write_1h",
                rate("Per million tokens written to it for an hour."),
            ),
            ("reasoning", rate("Per million reasoning tokens.")),
            ("image", rate("Per image.")),
            ("request", rate("Per request.")),
        ]
    };
    let mut tier = rates();
    let above = count(
        "Input tokens above which these rates apply.",
        1,
        u64::from(u32::MAX),
    );
    tier.insert(0, ("above", above));
    let mut price = rates();
    price.push((
        "tiers",
        list(
            "Rates of requests with more input tokens.",
            table("", &["above"], tier),
        ),
    ));
    let price = table(
        "The price of a target, or of all targets that match `*`.",
        &[],
        price,
    );
    let mut prices = named("Prices beyond the shipped table.", "^file$|/", price);
    prices["properties"] = json!({
        "file": text("A table that replaces the shipped one.").non_empty(),
    });
    prices
}
