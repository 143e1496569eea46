//! A draft as commented TOML.

use std::fmt::Write as _;

use crate::ImportFormat;
use crate::draft::{Draft, DraftLimits, DraftRoute, DraftService};
use crate::report::{FieldOutcome, ImportReport};
use crate::secret::OutputText;

pub(crate) fn write(format: ImportFormat, draft: &Draft, report: &ImportReport) -> String {
    let mut out = String::new();
    let name = format.name();
    let _ = writeln!(
        out,
        "# Imported from a configuration of {name} by `majordomo import`."
    );
    remarks(&mut out, draft, report);
    let _ = writeln!(out, "\nversion = 1");
    server(&mut out, draft);
    for key in &draft.keys {
        let _ = writeln!(out, "\n[[keys]]\nname = {}", literal(&key.name));
        let _ = writeln!(out, "key = {}", quoted(&key.key.0));
        if let Some(role) = key.role {
            let _ = writeln!(out, "role = {}", quoted(role));
        }
        if let Some(team) = &key.team {
            let _ = writeln!(out, "team = {}", literal(team));
        }
        if !key.models.is_empty() {
            let _ = writeln!(out, "models = [{}]", list(&key.models));
        }
        policy(&mut out, &key.limits);
    }
    for team in &draft.teams {
        let _ = writeln!(out, "\n[[teams]]\nname = {}", literal(&team.name));
        policy(&mut out, &team.limits);
    }
    if !draft.limits.is_empty() {
        out.push_str("\n[limits]\n");
        for (key, value) in traffic(&draft.limits) {
            let _ = writeln!(out, "{key} = {value}");
        }
        budget(&mut out, &draft.limits);
    }
    providers(&mut out, draft);
    for route in &draft.routes {
        write_route(&mut out, route);
    }
    reliability(&mut out, draft);
    for price in &draft.prices {
        let _ = writeln!(
            out,
            "\n[prices.{}]      # US dollars per million tokens",
            quoted(&price.target)
        );
        for (key, rate) in &price.rates {
            let _ = writeln!(out, "{key} = {}", quoted(rate));
        }
        let tiers = price.tiers.iter().map(|(above, rates)| {
            let rates = rates.iter();
            let rates = rates.map(|(key, rate)| format!(", {key} = {}", quoted(rate)));
            format!("{{ above = {above}{} }}", rates.collect::<String>())
        });
        let tiers: Vec<String> = tiers.collect();
        if !tiers.is_empty() {
            let _ = writeln!(out, "tiers = [ {} ]", tiers.join(", "));
        }
    }
    out
}

fn remarks(out: &mut String, draft: &Draft, report: &ImportReport) {
    let mut block = |title: &str, lines: &[String]| {
        if !lines.is_empty() {
            let _ = writeln!(out, "#\n# {title}:");
        }
        for line in lines {
            let _ = writeln!(out, "#   {}", comment(line));
        }
    };
    let variables = report.new_variables.iter();
    let variables: Vec<String> = variables
        .map(|(name, path)| format!("{name}: {path}"))
        .collect();
    block(
        "Set these variables, whose values were in the file",
        &variables,
    );
    block("Good to know", &draft.remarks);
    block("Approximated", &report.lines(FieldOutcome::Approximated));
    block("Not imported", &report.lines(FieldOutcome::NotImported));
}

/// A text that stays within its comment.
fn comment(text: &str) -> String {
    let plain = |c: char| if c.is_control() { ' ' } else { c };
    text.chars().map(plain).collect()
}

fn server(out: &mut String, draft: &Draft) {
    let mut lines = Vec::new();
    if let Some(listen) = &draft.listen {
        lines.push(format!("listen = {}", quoted(listen)));
    }
    if let Some(size) = draft.max_body {
        lines.push(format!("max_body = \"{size}MiB\""));
    }
    if let Some(interval) = &draft.keepalive {
        lines.push(format!("keepalive = {}", quoted(interval)));
    }
    if !draft.origins.is_empty() {
        lines.push(format!("origins = [{}]", list(&draft.origins)));
    }
    section(out, "server", &lines);
}

fn section(out: &mut String, name: &str, lines: &[String]) {
    if !lines.is_empty() {
        let _ = writeln!(out, "\n[{name}]\n{}", lines.join("\n"));
    }
}

fn policy(out: &mut String, limits: &DraftLimits) {
    let traffic = traffic(limits);
    if !traffic.is_empty() {
        let pairs: Vec<String> = traffic
            .iter()
            .map(|(key, it)| format!("{key} = {it}"))
            .collect();
        let _ = writeln!(out, "limits = {{ {} }}", pairs.join(", "));
    }
    budget(out, limits);
}

fn traffic(limits: &DraftLimits) -> Vec<(&'static str, u32)> {
    let pairs = [
        ("requests_per_minute", limits.requests_per_minute),
        ("tokens_per_minute", limits.tokens_per_minute),
        ("concurrent", limits.concurrent),
    ];
    pairs
        .into_iter()
        .filter_map(|(key, it)| Some((key, it?)))
        .collect()
}

fn budget(out: &mut String, limits: &DraftLimits) {
    if let Some((window, amount)) = &limits.budget {
        let _ = writeln!(out, "budget = {{ {window} = \"{amount} USD\" }}");
        out.push_str("unpriced = \"allow\"      # models without a known price count as free\n");
    }
}

fn providers(out: &mut String, draft: &Draft) {
    for provider in &draft.providers {
        let name = quoted_key(&provider.name);
        let it = &provider.connection;
        let mut lines = Vec::new();
        if let Some(kind) = it.kind {
            lines.push(format!("kind = {}", quoted(kind)));
        }
        for (key, value) in [
            ("base_url", &it.base_url),
            ("api_key", &it.api_key),
            ("proxy", &it.proxy),
        ] {
            if let Some(value) = value {
                lines.push(format!("{key} = {}", quoted(&value.0)));
            }
        }
        if !it.headers.is_empty() {
            let pair = |(name, value): &(String, OutputText)| {
                format!("{} = {}", quoted_key(name), quoted(&value.0))
            };
            let pairs: Vec<String> = it.headers.iter().map(pair).collect();
            lines.push(format!("headers = {{ {} }}", pairs.join(", ")));
        }
        if let Some(timeout) = &it.timeout {
            lines.push(format!("timeout = {}", quoted(timeout)));
        }
        // A table of models alone implies the provider's.
        if !lines.is_empty() || provider.models.is_empty() {
            let _ = writeln!(out, "\n[providers.{name}]");
            for line in lines {
                let _ = writeln!(out, "{line}");
            }
        }
        for (id, model) in &provider.models {
            let _ = writeln!(out, "\n[providers.{name}.models.{}]", quoted_key(id));
            for (key, value) in [
                ("images", model.images),
                ("tools", model.tools),
                ("structured", model.structured),
            ] {
                if let Some(value) = value {
                    let _ = writeln!(out, "{key} = {value}");
                }
            }
            for (key, value) in [
                ("context_window", model.context_window),
                ("max_output", model.max_output),
            ] {
                if let Some(value) = value {
                    let _ = writeln!(out, "{key} = {value}");
                }
            }
        }
    }
}

fn write_route(out: &mut String, route: &DraftRoute) {
    let _ = writeln!(out, "\n[[routes]]\nmodel = {}", literal(&route.model));
    if let Some(remark) = &route.remark {
        let _ = writeln!(out, "# {}", comment(remark));
    }
    let services: Vec<String> = route.services.iter().map(service).collect();
    match services.as_slice() {
        [one] => {
            let _ = writeln!(out, "services = [ {one} ]");
        }
        many => {
            let _ = writeln!(out, "services = [\n    {},\n]", many.join(",\n    "));
        }
    }
    let tiers = route.services.iter().any(|service| service.tier.is_some());
    match (tiers, route.balance) {
        (true, Some(tactic)) => {
            let _ = writeln!(out, "balance = \"tier\"\nwithin = {}", quoted(tactic));
        }
        (false, Some(tactic)) => {
            let _ = writeln!(out, "balance = {}", quoted(tactic));
        }
        (_, None) => {}
    }
    if let Some(affinity) = &route.affinity {
        let _ = writeln!(out, "affinity = {}", quoted(affinity));
    }
    for rule in &route.rules {
        let _ = writeln!(out, "\n[[routes.smart]]\nname = {}", quoted(rule.name));
        let _ = writeln!(out, "when = [ {} ]", rule.when);
        let _ = writeln!(out, "services = [ {{ spec = {} }} ]", quoted(&rule.spec));
    }
}

fn service(service: &DraftService) -> String {
    let mut pairs = vec![format!("spec = {}", quoted(&service.spec))];
    for (key, value) in [
        ("weight", service.weight),
        ("tier", service.tier),
        ("capacity", service.capacity),
    ] {
        pairs.extend(value.map(|value| format!("{key} = {value}")));
    }
    format!("{{ {} }}", pairs.join(", "))
}

fn reliability(out: &mut String, draft: &Draft) {
    let text = |key: &str, value: &Option<String>| {
        value
            .as_ref()
            .map(|value| format!("{key} = {}", quoted(value)))
    };
    let number = |key: &str, value: Option<u32>| value.map(|value| format!("{key} = {value}"));
    let health = [
        number("threshold", draft.threshold),
        text("base", &draft.bench),
    ];
    section(
        out,
        "health",
        &health.into_iter().flatten().collect::<Vec<_>>(),
    );
    let chain = [
        number("retries", draft.retries),
        text("deadline", &draft.deadline),
    ];
    section(
        out,
        "chain",
        &chain.into_iter().flatten().collect::<Vec<_>>(),
    );
    let store = draft.ledger_off.then(|| "store = \"off\"".to_owned());
    let ledger = [store, text("retention", &draft.retention)];
    let ledger: Vec<String> = ledger.into_iter().flatten().collect();
    section(out, "ledger", &ledger);
    if let Some(url) = &draft.ledger_remark {
        let heading = if ledger.is_empty() {
            "\n# [ledger]\n"
        } else {
            ""
        };
        let _ = writeln!(
            out,
            "{heading}# store = {}      # to share a ledger between gateways",
            quoted(&url.0)
        );
    }
}

fn list(items: &[String]) -> String {
    let items: Vec<String> = items.iter().map(|item| literal(item)).collect();
    items.join(", ")
}

fn quoted_key(key: &str) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    match !key.is_empty() && key.chars().all(bare) {
        true => key.to_owned(),
        false => quoted(key),
    }
}

/// A string in which nothing is substituted.
fn literal(text: &str) -> String {
    quoted(&OutputText::literal(text).0)
}

/// A basic string.
pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c.is_control() => {
                let _ = write!(out, "\\u{:04X}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
