//! Routes: the deployments of a group, and of the groups to which it falls back.

use super::deployments::Group;
use super::settings::Settings;
use crate::draft::{Draft, DraftService, route_name};
use crate::source::Field;

/// Later groups of one group.
const MOST_FALLBACKS: usize = 16;

pub(super) fn write_routes(
    root: &Field<'_>,
    draft: &mut Draft,
    groups: Vec<Group>,
    settings: &Settings,
) {
    let tactic = tactic(root);
    let mut later: Vec<(String, Vec<String>)> = Vec::new();
    let mut default: Vec<String> = Vec::new();
    for section in ["router_settings", "litellm_settings"] {
        let Some(section) = root.get(section) else {
            continue;
        };
        for (key, note) in [
            ("fallbacks", None),
            (
                "context_window_fallbacks",
                Some(
                    "services of later tiers, tried after any failure; a target whose window is known to be too small is skipped",
                ),
            ),
            (
                "content_policy_fallbacks",
                Some(
                    "services of later tiers, tried after other failures; set advance_on_permanent in [chain] for refusals too",
                ),
            ),
        ] {
            if let Some(field) = section.get(key) {
                read_list(&field, note, &groups, &mut later);
            }
        }
        if let Some(field) = section.get("default_fallbacks") {
            default.extend(names(&field, None, &groups));
        }
    }
    let aliases = aliases(root, &groups);
    for group in &groups {
        let own = later.iter().find(|(name, _)| *name == group.name);
        let followers = own.map_or(&default, |(_, names)| names);
        let names = followers.iter().filter(|name| **name != group.name);
        let next = names.filter_map(|name| groups.iter().find(|group| group.name == *name));
        let next: Vec<&Group> = next.take(MOST_FALLBACKS).collect();
        let called = aliases.iter().filter(|(_, target)| *target == group.name);
        let called = called.map(|(alias, _)| alias.clone());
        for name in [group.name.clone()].into_iter().chain(called) {
            write_route(draft, &name, group, &next, tactic, settings);
        }
    }
    draft.sort_routes();
}

/// The tactic for several services of one tier.
fn tactic(root: &Field<'_>) -> &'static str {
    let field = root
        .get("router_settings")
        .and_then(|it| it.get("routing_strategy"));
    let Some(field) = field else {
        return "random";
    };
    let (tactic, note) = match field.text() {
        Some("simple-shuffle") => ("random", None),
        Some("least-busy") => ("least_busy", None),
        Some("latency-based-routing") => ("latency", None),
        Some("usage-based-routing" | "usage-based-routing-v2") => (
            "token",
            Some("balance = \"token\": by the tokens in use, not by minutes"),
        ),
        Some("cost-based-routing") => (
            "in_order",
            Some("balance = \"in_order\": put the cheapest service first"),
        ),
        _ => (
            "random",
            Some("balance = \"random\": majordomo has no such strategy"),
        ),
    };
    match note {
        None => field.mapped(format!("balance = \"{tactic}\"")),
        Some(note) => field.approximated(note),
    }
    tactic
}

fn write_route(
    draft: &mut Draft,
    name: &str,
    group: &Group,
    next: &[&Group],
    tactic: &'static str,
    settings: &Settings,
) {
    let mut services: Vec<DraftService> = Vec::new();
    let mut add = |service: &DraftService, tier: u32| {
        if !services.iter().any(|known| known.spec == service.spec) {
            let tier = Some(tier);
            services.push(DraftService {
                tier,
                ..service.clone()
            });
        }
    };
    let mut orders: Vec<u32> = group
        .services
        .iter()
        .map(|it| it.tier.unwrap_or(0))
        .collect();
    orders.sort_unstable();
    orders.dedup();
    for service in &group.services {
        let order = service.tier.unwrap_or(0);
        let tier = orders
            .iter()
            .position(|it| *it == order)
            .unwrap_or_default();
        add(service, tier as u32);
    }
    for (at, group) in next.iter().enumerate() {
        for service in &group.services {
            // A wildcard stands for the requested name, not for another group.
            if !service.spec.contains("{model}") {
                add(service, (orders.len() + at) as u32);
            }
        }
    }
    scale(&mut services);
    services.sort_by_key(|service| service.tier);
    let tiers: Vec<Option<u32>> = services.iter().map(|service| service.tier).collect();
    let shares = tiers.windows(2).any(|pair| pair[0] == pair[1]);
    if !shares {
        // Services in order are the default.
        for service in &mut services {
            (service.tier, service.weight) = (None, None);
        }
    }
    let is_single_tier = tiers.first() == tiers.last();
    if shares && is_single_tier {
        services.iter_mut().for_each(|service| service.tier = None);
    }
    let route = draft.route(name);
    route.services = services;
    route.balance = shares.then_some(tactic);
    route.affinity.clone_from(&settings.affinity);
    if !group.missing.is_empty() {
        route.remark = Some(format!("without {}", group.missing.join("; ")));
    }
}

/// Brings weights into the bounds of majordomo.
fn scale(services: &mut [DraftService]) {
    let most = services.iter().filter_map(|service| service.weight).max();
    let most = u64::from(most.unwrap_or(1));
    if most <= 10_000 {
        return;
    }
    for weight in services
        .iter_mut()
        .filter_map(|service| service.weight.as_mut())
    {
        let scaled = u64::from(*weight) * 10_000 / most;
        *weight = scaled.clamp(1, 10_000) as u32;
    }
}

/// `[{ group: [other, …] }, …]`, or one map.
fn read_list(
    field: &Field<'_>,
    note: Option<&str>,
    groups: &[Group],
    later: &mut Vec<(String, Vec<String>)>,
) {
    let maps = [
        field.entries(),
        field.items().iter().flat_map(Field::entries).collect(),
    ];
    for (key, list) in maps.into_iter().flatten() {
        let name = route_name(key);
        if !groups.iter().any(|group| group.name == name) {
            list.skipped("the file has no model group of this name");
            continue;
        }
        let found = names(&list, note, groups);
        match later.iter_mut().find(|(known, _)| *known == name) {
            Some((_, known)) => known.extend(found),
            None => later.push((name, found)),
        }
    }
}

/// The groups that a list names.
fn names(list: &Field<'_>, note: Option<&str>, groups: &[Group]) -> Vec<String> {
    let mut found = Vec::new();
    for field in list.items() {
        let name = field.text().map(route_name);
        let group = groups
            .iter()
            .find(|group| Some(&group.name) == name.as_ref());
        match (group, note) {
            (Some(group), _) if group.services.is_empty() => {
                field.skipped("majordomo cannot reach this group");
            }
            (Some(group), note) => {
                match note {
                    None => field.mapped("services of a later tier"),
                    Some(note) => field.approximated(note),
                }
                found.push(group.name.clone());
            }
            (None, _) => field.skipped("the file has no model group of this name"),
        }
    }
    found
}

/// `model_group_alias`: further names of groups.
fn aliases(root: &Field<'_>, groups: &[Group]) -> Vec<(String, String)> {
    let mut aliases = Vec::new();
    for section in ["router_settings", "litellm_settings"] {
        let entries = root.get(section).and_then(|it| it.get("model_group_alias"));
        for (alias, field) in entries.map(|it| it.entries()).unwrap_or_default() {
            let target = match field.get("model") {
                Some(model) => {
                    if let Some(hidden) = field.get("hidden") {
                        hidden.skipped("every route is listed");
                    }
                    model
                }
                None => field,
            };
            let wanted = target.text().map(route_name);
            let name = route_name(alias);
            let is_group = groups
                .iter()
                .any(|group| Some(&group.name) == wanted.as_ref());
            let is_taken =
                groups.iter().any(|group| group.name == name) || crate::secret::looks_secret(&name);
            match wanted.filter(|_| is_group && !is_taken && !name.is_empty()) {
                Some(wanted) => {
                    target.mapped("a route of its own with the same services");
                    aliases.push((name, wanted));
                }
                None => target.skipped("the file has no model group of this name, or two of one"),
            }
        }
    }
    aliases
}
