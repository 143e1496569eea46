//! Routes with their rules, services and live shares.

use majordomo_balance::{PoolSnapshot, ServiceSnapshot};
use majordomo_page::{RouteView, RoutesView, RuleBranch, Screen, ServiceView};

use super::PageContext;
use crate::config::{ConditionEntry, ConditionValue, RouteEntry, SmartRule};
use crate::routes::PartitionSnapshot;

pub(super) fn render(context: &PageContext<'_>) -> String {
    let snapshots = context.state.services();
    let config = context.state.config();
    let routes = config.routes.iter();
    let aliases = context.state.registry.aliases();
    let model = context.parameter("model");
    let model = match model.is_empty() {
        true => config
            .routes
            .first()
            .map_or("demo/text", |route| &route.model),
        false => &model,
    };
    let example = serde_json::json!({
        "model": model,
        "messages": [{ "role": "user", "content": "hello" }],
    });
    let view = RoutesView {
        routes: routes
            .map(|route| view(context, route, &snapshots))
            .collect(),
        aliases: aliases
            .into_iter()
            .map(|(name, spec)| (name, spec.to_string()))
            .collect(),
        example: serde_json::to_string_pretty(&example).unwrap_or_default(),
    };
    majordomo_page::routes(&context.frame(Screen::Routes), &view)
}

fn view(context: &PageContext<'_>, route: &RouteEntry, all: &[PartitionSnapshot]) -> RouteView {
    let own: Vec<&PartitionSnapshot> = all.iter().filter(|it| *it.route == *route.model).collect();
    let base = own.iter().find(|it| it.rule.is_none()).map(|it| &it.pool);
    RouteView {
        name: route.model.clone(),
        rules: route
            .smart
            .iter()
            .map(|rule| {
                let pool = own.iter().find(|it| it.rule.as_deref() == Some(&rule.name));
                branch(context, &route.model, rule, pool.map(|it| &it.pool))
            })
            .collect(),
        services: base.map(services).unwrap_or_default(),
        tactic: base.map_or(String::new(), |pool| pool.tactic.to_owned()),
        sessions: base
            .and_then(|pool| pool.sessions)
            .map(|pinned| pinned as u64),
    }
}

fn branch(
    context: &PageContext<'_>,
    route: &str,
    rule: &SmartRule,
    pool: Option<&PoolSnapshot>,
) -> RuleBranch {
    RuleBranch {
        name: rule.name.clone(),
        conditions: rule.when.iter().map(condition).collect(),
        processor: context.state.routes.is_processed(route, &rule.name),
        services: pool.map(services).unwrap_or_default(),
        matches: context.server.live.rules.of(route, &rule.name),
    }
}

fn services(pool: &PoolSnapshot) -> Vec<ServiceView> {
    let all = &pool.services;
    let differ = |value: fn(&ServiceSnapshot) -> u32| {
        let first = all.first().map(value);
        all.iter().any(|service| Some(value(service)) != first)
    };
    let (tiers, weights) = (differ(|it| it.tier), differ(|it| it.weight));
    let view = |service: &ServiceSnapshot| ServiceView {
        spec: service.id.clone(),
        tier: tiers.then_some(service.tier),
        weight: weights.then_some(service.weight),
        in_flight: service.in_flight as u64,
        capacity: service.capacity.map(|seats| seats as u64),
        picks: service.picks,
        answers: service.answers,
        failures: service.failures,
        active: service.active,
    };
    all.iter().map(view).collect()
}

/// A condition in the words of the file, shortened: `token ge 60000`.
fn condition(entry: &ConditionEntry) -> String {
    match entry {
        ConditionEntry::Leaf(leaf) => {
            let name = leaf.name.iter().cloned();
            let value = leaf.value.as_ref().map(value).into_iter();
            let words = [leaf.position.clone(), leaf.op.clone()].into_iter();
            let words = words
                .filter(|word| !word.is_empty())
                .chain(name)
                .chain(value);
            words.collect::<Vec<_>>().join(" ")
        }
        ConditionEntry::Any { conditions, .. } => {
            let members: Vec<String> = conditions.iter().map(condition).collect();
            format!("any of ({})", members.join(", "))
        }
        ConditionEntry::Not { condition: not, .. } => format!("not ({})", condition(not)),
    }
}

fn value(value: &ConditionValue) -> String {
    match value {
        ConditionValue::Text(text) => format!("\"{text}\""),
        ConditionValue::Integer(number) => number.to_string(),
        ConditionValue::Decimal(number) => number.to_string(),
        ConditionValue::Flag(flag) => flag.to_string(),
        ConditionValue::List(list) => {
            let members: Vec<String> = list.iter().map(self::value).collect();
            format!("[{}]", members.join(", "))
        }
        ConditionValue::Table(fields) => {
            let fields = fields.iter();
            let fields: Vec<String> = fields
                .map(|(k, v)| format!("{k} = {}", self::value(v)))
                .collect();
            format!("{{ {} }}", fields.join(", "))
        }
    }
}
