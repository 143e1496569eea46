//! `litellm_settings`, `general_settings` and `router_settings` that have a counterpart.

use crate::credentials::window;
use crate::draft::{Draft, DraftKey, DraftLimits, dollars, seconds};
use crate::secret::reference;
use crate::source::Field;

/// Settings that apply to all deployments.
#[derive(Debug, Default)]
pub(super) struct Settings {
    pub(super) timeout: Option<String>,
    pub(super) capacity: Option<u32>,
    pub(super) affinity: Option<String>,
}

pub(super) fn read(root: &Field<'_>, draft: &mut Draft) -> Settings {
    let mut settings = Settings::default();
    let general = root.get("general_settings");
    let library = root.get("litellm_settings");
    let router = root.get("router_settings");
    // Settings of the router take precedence over those of the library.
    for section in [&router, &library].into_iter().flatten() {
        reliability(section, draft);
        timeouts(section, draft, &mut settings);
    }
    if let Some(router) = &router {
        affinity(router, &mut settings);
    }
    let capacity = [
        router
            .as_ref()
            .and_then(|it| it.get("default_max_parallel_requests")),
        general
            .as_ref()
            .and_then(|it| it.get("max_parallel_requests")),
    ];
    for field in capacity.into_iter().flatten() {
        match (field.whole(1, 1_000_000), settings.capacity) {
            (Some(most), None) => {
                settings.capacity = Some(most);
                field.mapped("capacity of every service");
            }
            (Some(_), Some(_)) => field.skipped("another default of the file takes precedence"),
            (None, _) => field.unusable("a positive number"),
        }
    }
    if let Some(library) = &library {
        money(library, draft);
        flags(library);
    }
    if let Some(general) = &general {
        server(general, draft);
        keys(general, draft);
        ledger(general, draft);
    }
    if let Some(variables) = root.get("environment_variables") {
        for (name, field) in variables.entries() {
            field.approximated(format!("set {name} in majordomo's environment"));
        }
    }
    settings
}

fn reliability(section: &Field<'_>, draft: &mut Draft) {
    if let Some(field) = section.get("num_retries") {
        match (field.number(), draft.retries) {
            (Some(number), None) => {
                draft.retries = Some(number.clamp(0.0, 10.0) as u32);
                field.approximated("retries in [chain]: on the same target, before the next one");
            }
            (Some(_), Some(_)) => field.skipped("router_settings.num_retries takes precedence"),
            (None, _) => field.unusable("a number"),
        }
    }
    if let Some(field) = section.get("allowed_fails") {
        match (field.whole(0, 999), draft.threshold) {
            (Some(number), None) => {
                draft.threshold = Some(number + 1);
                field.approximated("threshold in [health]: consecutive failures, not per minute");
            }
            (Some(_), Some(_)) => field.skipped("another setting of the file takes precedence"),
            (None, _) => field.unusable("a number up to 999"),
        }
    }
    if let Some(field) = section.get("cooldown_time") {
        match (field.number().and_then(seconds), &draft.bench) {
            (Some(time), None) => {
                draft.bench = Some(time);
                field.approximated("base in [health]: the first bench; further ones are longer");
            }
            (Some(_), Some(_)) => field.skipped("another setting of the file takes precedence"),
            (None, _) => field.unusable("a number of seconds"),
        }
    }
    if let Some(field) = section.get("disable_cooldowns") {
        match field.flag() {
            Some(true) => {
                draft.threshold = Some(1_000);
                field.approximated("threshold = 1000 in [health]");
            }
            Some(false) => field.mapped("the default"),
            None => field.unusable("true or false"),
        }
    }
    for key in [
        "enable_pre_call_checks",
        "enable_pre_call_check",
        "enable_weighted_failover",
    ] {
        if let Some(field) = section.get(key) {
            match field.flag() {
                Some(true) => field.mapped("majordomo always does this"),
                Some(false) => field.approximated("majordomo always does this"),
                None => field.unusable("true or false"),
            }
        }
    }
}

fn timeouts(section: &Field<'_>, draft: &mut Draft, settings: &mut Settings) {
    for key in ["timeout", "request_timeout"] {
        let Some(field) = section.get(key) else {
            continue;
        };
        match (field.number().and_then(seconds), &draft.deadline) {
            (Some(time), None) => {
                draft.deadline = Some(time);
                field.approximated("deadline in [chain]: of a request over all its attempts");
            }
            (Some(_), Some(_)) => field.skipped("another timeout of the file takes precedence"),
            (None, _) => field.unusable("a number of seconds"),
        }
    }
    for key in ["stream_timeout", "ttft_timeout"] {
        let Some(field) = section.get(key) else {
            continue;
        };
        match (field.number().and_then(seconds), &settings.timeout) {
            (Some(time), None) => {
                settings.timeout = Some(time);
                field.approximated("timeout of every provider: until an attempt streams");
            }
            (Some(_), Some(_)) => field.skipped("another timeout of the file takes precedence"),
            (None, _) => field.unusable("a number of seconds"),
        }
    }
    if let Some(field) = section.get("keepalive_seconds") {
        keepalive(&field, draft);
    }
}

fn keepalive(field: &Field<'_>, draft: &mut Draft) {
    match (field.number().and_then(seconds), &draft.keepalive) {
        (Some(interval), None) => {
            draft.keepalive = Some(interval);
            field.mapped("keepalive in [server]");
        }
        (Some(_), Some(_)) => field.skipped("another interval of the file takes precedence"),
        (None, _) => field.skipped("keep-alives are off unless an interval is set"),
    }
}

fn affinity(router: &Field<'_>, settings: &mut Settings) {
    let ttl = router.get("deployment_affinity_ttl_seconds");
    let time = ttl.as_ref().and_then(Field::number).and_then(seconds);
    let checks = router
        .get("optional_pre_call_checks")
        .map(|list| list.items());
    for field in checks.unwrap_or_default() {
        match field.text() {
            Some("deployment_affinity" | "session_affinity" | "prompt_caching") => {
                let time = time.clone().unwrap_or_else(|| "1h".to_owned());
                settings.affinity = Some(time);
                field
                    .approximated("affinity of every route: a conversation stays with its service");
            }
            _ => field.skipped("majordomo has no such check"),
        }
    }
    if let Some(field) = ttl {
        match settings.affinity.is_some() && time.is_some() {
            true => field.mapped("affinity of every route"),
            false => field.skipped("affinity is off in this file"),
        }
    }
}

fn money(library: &Field<'_>, draft: &mut Draft) {
    let duration = library.get("budget_duration");
    if let Some(field) = library.get("max_budget") {
        let window = duration
            .as_ref()
            .map_or(Some("total"), |field| field.text().and_then(window));
        let amount = field.number().and_then(|amount| dollars(amount, 2));
        match (amount, window) {
            (Some(amount), _) if amount == "0" => field.mapped("no budget"),
            (Some(amount), Some(window)) => {
                draft.limits.budget = Some((window, amount));
                field.mapped(format!("budget per {window} in [limits]"));
            }
            (Some(_), None) => field.skipped("majordomo has budgets per day, week or month"),
            (None, _) => field.unusable("an amount of dollars"),
        }
        if let Some(field) = duration {
            match window {
                Some(window) => field.mapped(format!("the window `{window}`")),
                None => field.unusable("a day, a week or a month"),
            }
        }
    }
}

/// Flags whose effect is always on, or always off, in majordomo.
fn flags(library: &Field<'_>) {
    if let Some(field) = library.get("drop_params") {
        match field.flag() {
            Some(true) => {
                field.mapped("the default: dropped fields are listed in x-majordomo-changes")
            }
            Some(false) => field.approximated(
                "parameters that a target does not support are always dropped, and listed",
            ),
            None => field.unusable("true or false"),
        }
    }
    for (key, note) in [
        (
            "turn_off_message_logging",
            "majordomo never records content",
        ),
        ("redact_user_api_key_info", "majordomo never records keys"),
        (
            "modify_params",
            "requests are always adapted to their target",
        ),
        ("http2", "HTTP/2 is always negotiated"),
        (
            "user_url_validation",
            "remote images are fetched from public addresses only",
        ),
        (
            "request_correlation_in_logs",
            "log lines always have the request's id",
        ),
        (
            "return_response_headers",
            "responses always have x-majordomo- headers",
        ),
        ("store_audit_logs", "changes of keys are always recorded"),
        ("disable_hf_tokenizer_download", "nothing is downloaded"),
        (
            "disable_stop_sequence_limit",
            "stop sequences are passed on unchanged",
        ),
        ("disable_aiohttp_transport", "there is one transport"),
    ] {
        if let Some(field) = library.get(key) {
            match field.flag() {
                Some(false) => field.approximated(note),
                _ => field.mapped(note),
            }
        }
    }
    if let Some(field) = library.get("telemetry") {
        match field.flag() {
            Some(false) => field.mapped("majordomo sends no telemetry"),
            _ => field.skipped("majordomo sends no telemetry"),
        }
    }
}

fn server(general: &Field<'_>, draft: &mut Draft) {
    if let Some(field) = general.get("max_request_size_mb") {
        match field.whole(1, 65_536) {
            Some(size) => {
                draft.max_body = Some(size);
                field.mapped("max_body in [server]");
            }
            None => field.unusable("a number of megabytes"),
        }
    }
    if let Some(field) = general.get("sse_keepalive_ping_interval_seconds") {
        keepalive(&field, draft);
    }
    if let Some(field) = general.get("global_max_parallel_requests") {
        match field.whole(1, u32::MAX) {
            Some(most) => {
                draft.limits = DraftLimits {
                    concurrent: Some(most),
                    ..std::mem::take(&mut draft.limits)
                };
                field.mapped("concurrent in [limits]");
            }
            None => field.unusable("a positive number"),
        }
    }
    for (key, note) in [
        ("cancel_on_disconnect", "a call ends with its client"),
        (
            "always_include_stream_usage",
            "usage of streams is always recorded",
        ),
        (
            "disable_master_key_return",
            "no response ever contains a key",
        ),
        (
            "forward_client_headers_to_llm_api",
            "headers of the same dialect are passed on",
        ),
    ] {
        if let Some(field) = general.get(key) {
            match field.flag() {
                Some(true) => field.mapped(note),
                _ => field.approximated(note),
            }
        }
    }
}

fn keys(general: &Field<'_>, draft: &mut Draft) {
    let Some(field) = general.get("master_key") else {
        return;
    };
    let Some(text) = field.written() else {
        field.unusable("a key");
        return;
    };
    let key = draft.secrets.text(text, "LITELLM_MASTER_KEY", &field.path);
    match reference(text) {
        Some(_) => field.mapped("a key of role operator"),
        None => field.approximated(format!(
            "a key of role operator, key = \"{}\": set this variable",
            key.0
        )),
    }
    draft.keys.push(DraftKey {
        name: "master".to_owned(),
        key,
        role: Some("operator"),
        team: None,
        models: Vec::new(),
        limits: DraftLimits::default(),
    });
}

fn ledger(general: &Field<'_>, draft: &mut Draft) {
    if let Some(field) = general.get("disable_spend_logs") {
        match field.flag() {
            Some(true) => {
                draft.ledger_off = true;
                field.mapped("store = \"off\" in [ledger]");
            }
            Some(false) => field.mapped("the default"),
            None => field.unusable("true or false"),
        }
    }
    if let Some(field) = general.get("maximum_spend_logs_retention_period") {
        match field.text().and_then(days) {
            Some(days) => {
                draft.retention = Some(days);
                field.mapped("retention in [ledger]");
            }
            None => field.unusable("a duration such as 30d"),
        }
    }
    if let Some(field) = general.get("database_url") {
        match field.text() {
            Some(text) => {
                let url = draft.secrets.text(text, "DATABASE_URL", &field.path);
                draft.ledger_remark = Some(url);
                field.approximated(
                    "a comment: the ledger is SQLite unless [ledger] names a database",
                );
            }
            None => field.unusable("an address"),
        }
    }
}

/// A retention such as `30d`.
fn days(text: &str) -> Option<String> {
    let text = text.trim();
    let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    let unit = &text[digits.len()..];
    let number: u32 = digits
        .parse()
        .ok()
        .filter(|number| (1..=3_000).contains(number))?;
    matches!(unit, "s" | "m" | "h" | "d" | "w").then(|| format!("{number}{unit}"))
}
