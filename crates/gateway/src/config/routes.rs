//! `[[routes]]`: requested models and the services behind them.

use std::time::Duration;

use majordomo_balance::Tactic;
use majordomo_rules::Glob;
use toml::de::DeValue;

use super::Span;
use super::condition::{self, ConditionEntry};
use super::provider_options::CACHE;
use super::reader::{ConfigField, ConfigReader, ConfigText, Section};
use super::specs::SpecEntry;

/// A model name and the services behind it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RouteEntry {
    /// The model name that clients request; may contain `*` and `?`.
    pub model: String,
    /// The services.
    pub services: Vec<ServiceEntry>,
    /// The tactic that picks a service; `None` if the services imply it, see
    /// [`balance_of`](Self::balance_of).
    pub balance: Option<Tactic>,
    /// The tactic within a tier.
    pub within: Option<Tactic>,
    /// How long a session stays with its service; `None` disables affinity.
    pub affinity: Option<Duration>,
    /// The describer for services that have none.
    pub describe: Option<SpecEntry>,
    /// Whether to set prompt-cache breakpoints for clients that set none; `None` leaves it to
    /// the providers.
    pub auto_cache: Option<bool>,
    /// Smart rules, in order.
    pub smart: Vec<SmartRule>,
    /// Position of the route's name.
    pub span: Span,
}

/// A service of a route.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ServiceEntry {
    /// A target, an alias or a chain; `{model}` stands for the requested model.
    pub spec: SpecEntry,
    /// Relative weight; 1 if unset, and 0 for a spare.
    pub weight: Option<u32>,
    /// The tier; 0 if unset. Lower ones are preferred.
    pub tier: Option<u32>,
    /// Concurrent requests; `None` if unknown.
    pub capacity: Option<u32>,
    /// Whether the service is in use.
    pub active: bool,
    /// The describer of images for it.
    pub describe: Option<SpecEntry>,
    /// Position in the file.
    pub span: Span,
}

/// Conditions on a request, and the services for requests that match.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SmartRule {
    /// Its name in logs and traces.
    pub name: String,
    /// Conditions, all of which must match.
    pub when: Vec<ConditionEntry>,
    /// Services that serve, or describe images of, matching requests.
    pub services: Vec<ServiceEntry>,
    /// Position in the file.
    pub span: Span,
}

/// All tactics by name.
fn tactics() -> [(&'static str, Tactic); 10] {
    Tactic::ALL.map(|tactic| (tactic.name(), tactic))
}

/// The sections of all routes.
pub(super) fn sections<'a>(field: &ConfigField<'a>) -> Option<Vec<Section<'a>>> {
    let DeValue::Table(table) = field.value else {
        return field.sections("[[routes]]");
    };
    if let Some((name, _)) = table.get_key_value("smart") {
        field
            .reader
            .report(name.span(), SMART_FIRST, SMART_FIRST_HINT);
        return None;
    }
    // `[routes.coder]`, by analogy with providers.
    let hint = match table.iter().next() {
        Some((name, value)) if matches!(value.get_ref(), DeValue::Table(_)) => {
            format!(
                "write each route as `[[routes]]` with `model = \"{}\"`",
                name.get_ref()
            )
        }
        _ => "write it as `[[routes]]`".to_owned(),
    };
    field.type_error("an array of tables", &hint)
}

/// A smart rule that no route precedes.
pub(super) const SMART_FIRST: &str = "`[[routes.smart]]` comes before any `[[routes]]`";
pub(super) const SMART_FIRST_HINT: &str = "a smart rule belongs to the route above it: write `[[routes]]` with `model` and `services` first";

pub(super) fn read_routes(sections: Vec<Section<'_>>) -> Vec<RouteEntry> {
    let mut routes: Vec<RouteEntry> = Vec::new();
    for section in sections {
        let reader = section.reader;
        if let Some((route, name)) = route(section) {
            check_reachable(reader, &routes, &route, &name);
            routes.push(route);
        }
    }
    routes
}

/// The first match wins, so a later route with the same name is unreachable.
fn check_reachable(
    reader: &ConfigReader<'_>,
    earlier: &[RouteEntry],
    route: &RouteEntry,
    name: &ConfigText,
) {
    let literal = Glob::new(&route.model).is_literal();
    let (message, hint) = if earlier.iter().any(|first| first.model == route.model) {
        (
            format!("duplicate route {}", name.shown()),
            "merge their services into one route",
        )
    } else if literal
        && earlier
            .iter()
            .any(|first| Glob::new(&first.model).matches(&route.model))
    {
        (
            format!(
                "{} is never reached: an earlier route matches it",
                name.shown()
            ),
            "move the exact name before the pattern",
        )
    } else {
        return;
    };
    reader.report(route.span.clone(), message, hint);
}

fn route(mut section: Section<'_>) -> Option<(RouteEntry, ConfigText)> {
    let model = section.require(
        "model",
        "set the model that clients request: `model = \"coder\"`",
    );
    let model = model.and_then(|field| name(&field));
    let services = section
        .require("services", SERVICES_HINT)
        .and_then(|field| {
            let services = services(&field)?;
            check_active(&field, &services);
            Some(services)
        });
    let balance_field = section.take("balance");
    let balance = balance_field
        .as_ref()
        .and_then(|field| field.choice(&tactics()));
    let within_field = section.take("within");
    let within = within_field
        .as_ref()
        .and_then(|field| field.choice(&tactics()));
    if let Some(field) = &within_field {
        if within == Some(Tactic::Tier) {
            field.report("`within` cannot be \"tier\"", "choose another tactic");
        }
        if balance.is_some_and(|tactic| tactic != Tactic::Tier) {
            let hint = "write `balance = \"tier\"` or remove `within`";
            field.report("`within` requires `balance = \"tier\"`", hint);
        } else if balance_field.is_none() && !services.iter().flatten().any(has_tier) {
            let hint = "give the services a `tier`, or replace `within` by `balance`";
            field.report(
                "`within` applies within tiers, but no service has one",
                hint,
            );
        }
    }
    if let (Some(tactic), Some(services)) = (balance, &services)
        && tactic != Tactic::Tier
        && let Some(ignored) = services.iter().find(|service| has_tier(service))
    {
        section.reader.warn(
            ignored.span.clone(),
            format!("`tier` has no effect with `balance = \"{tactic}\"`"),
            "write `balance = \"tier\"`, or remove `tier`",
        );
    }
    let affinity = section
        .take("affinity")
        .and_then(|field| field.duration_or_off());
    let describe = section
        .take("describe")
        .and_then(|field| SpecEntry::describer(&field));
    let cache = section.take("cache");
    let auto_cache = cache.and_then(|field| field.choice(&CACHE));
    let smart = section
        .take("smart")
        .and_then(|field| field.sections("[[routes.smart]]"));
    let smart = smart.map(smart_rules).unwrap_or_default();
    section.finish();
    let name = model?;
    let route = RouteEntry {
        model: name.value.clone(),
        services: services.unwrap_or_default(),
        balance,
        within,
        affinity: affinity.flatten(),
        describe,
        auto_cache,
        smart,
        span: name.span.clone(),
    };
    Some((route, name))
}

fn has_tier(service: &ServiceEntry) -> bool {
    service.tier.is_some()
}

const SERVICES_HINT: &str = "list the services: `services = [ { spec = \"provider/model\" } ]`";

fn name(field: &ConfigField<'_>) -> Option<ConfigText> {
    let text = field.non_empty()?;
    if text.value.contains(|c: char| c == ',' || c.is_whitespace()) {
        let message = format!("{} cannot be a route's name", text.shown());
        field.report(
            message,
            "use a name without commas or spaces; a pattern such as `gpt-*` matches several names",
        );
        return None;
    }
    Some(text)
}

fn services(field: &ConfigField<'_>) -> Option<Vec<ServiceEntry>> {
    let items = field.items()?;
    if items.is_empty() {
        field.report("`services` is empty", SERVICES_HINT);
    }
    Some(items.iter().filter_map(service).collect())
}

/// A route needs an active service; the requests of a rule without one fall through to
/// the route.
fn check_active(field: &ConfigField<'_>, services: &[ServiceEntry]) {
    if !services.is_empty() && services.iter().all(|service| !service.active) {
        field.report("no service is active", "set `active = true` on one of them");
    }
}

fn service(field: &ConfigField<'_>) -> Option<ServiceEntry> {
    if let DeValue::String(spec) = field.value {
        let hint = format!("write it as `{{ spec = \"{spec}\" }}`");
        field.report("a service must be a table", hint);
        return None;
    }
    let mut section = field.section("a service")?;
    section.span = field.span.clone();
    let spec = section.require(
        "spec",
        "name a target, an alias or a chain: `spec = \"provider/model\"`",
    );
    let small = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
    let service = (
        spec.as_ref().and_then(SpecEntry::service),
        section.number("weight", 0, 10_000).map(small),
        section.number("tier", 0, 1_000).map(small),
        section.number("capacity", 1, 1_000_000).map(small),
        section.flag("active").unwrap_or(true),
        section
            .take("describe")
            .and_then(|field| SpecEntry::describer(&field)),
    );
    let span = section.span.clone();
    section.finish();
    let (spec, weight, tier, capacity, active, describe) = service;
    Some(ServiceEntry {
        spec: spec?,
        weight,
        tier,
        capacity,
        active,
        describe,
        span,
    })
}

fn smart_rules(sections: Vec<Section<'_>>) -> Vec<SmartRule> {
    let mut rules: Vec<SmartRule> = Vec::new();
    for mut section in sections {
        let name = section.require("name", "name the rule: `name = \"long prompts\"`");
        let title = name.as_ref().and_then(|field| field.non_empty());
        let when = section.require(
            "when",
            "add its conditions: `when = [ { position = \"token\", op = \"ge\", value = 60000 } ]`",
        );
        let conditions = when.as_ref().and_then(condition::read_conditions);
        if let (Some(field), Some([])) = (&when, conditions.as_deref())
            && field.items().is_some_and(|items| items.is_empty())
        {
            let hint = "add a condition, or move these services to the route";
            field.report("a smart rule without conditions would always match", hint);
        }
        let services = section
            .require("services", SERVICES_HINT)
            .and_then(|field| services(&field));
        let (reader, span) = (section.reader, section.span.clone());
        section.finish();
        let Some(title) = title else { continue };
        if rules.iter().any(|known| known.name == title.value) {
            let message = format!("duplicate smart rule {}", title.shown());
            reader.report(title.span, message, "give each rule a unique name");
            continue;
        }
        rules.push(SmartRule {
            name: title.value,
            when: conditions.unwrap_or_default(),
            services: services.unwrap_or_default(),
            span,
        });
    }
    rules
}
