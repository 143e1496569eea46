//! Routes with their rules, services and live shares.

use majordomo_balance::{PoolSnapshot, ServiceSnapshot};
use majordomo_page::{RouteView, RoutesView, RuleBranch, Screen, ServiceView};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use super::PageContext;
use crate::config::{ConditionEntry, ConditionValue, RouteEntry, SmartRule};
use crate::routes::PartitionSnapshot;

/// Longest captured body that is put into a form.
const LONGEST_EXAMPLE: usize = 1 << 20;

pub(super) fn render(context: &PageContext<'_>) -> String {
    let snapshots = context.state.services();
    let config = context.state.config();
    let routes = config.routes.iter();
    let aliases = context.state.registry.aliases();
    let (example, sent, problem) = example(context);
    let view = RoutesView {
        routes: routes
            .map(|route| view(context, route, &snapshots))
            .collect(),
        aliases: aliases
            .into_iter()
            .map(|(name, spec)| (name, spec.to_string()))
            .collect(),
        example,
        sent,
        problem,
    };
    majordomo_page::routes(&context.frame(Screen::Routes), &view)
}

/// The initial contents of the dry run: a captured request with its path and key, or a short
/// one to a model.
fn example(context: &PageContext<'_>) -> (String, String, Option<&'static str>) {
    let id = context.parameter("capture");
    let captured = context.server.capture.find(&id);
    let problem = match &captured {
        Some(captured) if captured.body.len() > LONGEST_EXAMPLE => {
            Some("The captured body is too long to be shown here.")
        }
        None if !id.is_empty() => Some("The request is no longer captured."),
        _ => None,
    };
    let captured = captured.filter(|_| problem.is_none());
    if let Some(captured) = captured {
        let encode = |text: &str| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
        let path = captured.path.split('?').next().unwrap_or_default();
        let sent = format!("?path={}&as={}", encode(path), encode(&captured.key));
        return (
            String::from_utf8_lossy(&captured.body).into_owned(),
            sent,
            None,
        );
    }
    let (model, routes) = (context.parameter("model"), &context.state.config().routes);
    let first = || routes.first().map(|route| route.model.as_str());
    let model = Some(&*model).filter(|model| !model.is_empty());
    let example = serde_json::json!({
        "model": model.or_else(first).unwrap_or("demo/text"),
        "messages": [{ "role": "user", "content": "hello" }],
    });
    let example = serde_json::to_string_pretty(&example).unwrap_or_default();
    (example, String::new(), problem)
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
