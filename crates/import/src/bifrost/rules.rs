//! Routing rules: one that only compares the model's name becomes a route.

use crate::draft::{Draft, DraftRoute, DraftService, is_pattern, route_name, spec};
use crate::secret::looks_secret;
use crate::source::Field;

const NO_ROUTE: &str = "only rules of the form model == 'name' become routes, see [[routes.smart]]";

/// A provider of the result, which serves models of a provider of the file.
pub(super) struct Upstream {
    pub(super) name: String,
    pub(super) provider: String,
    /// Models of the key; every model if there are none.
    pub(super) models: Vec<String>,
}

impl Upstream {
    fn serves(&self, name: &str, model: &str) -> bool {
        let is_listed = |known: &String| known == "*" || known == model;
        self.name == name && (self.models.is_empty() || self.models.iter().any(is_listed))
    }
}

pub(super) fn read(governance: &Field<'_>, upstreams: &[Upstream], draft: &mut Draft) {
    let rules = governance.get("routing_rules").map(|it| it.items());
    for rule in rules.unwrap_or_default() {
        if let Err(reason) = route(&rule, upstreams, draft) {
            rule.skipped(reason);
        }
    }
}

/// Adds the route of a rule, or says why there is none.
fn route(rule: &Field<'_>, upstreams: &[Upstream], draft: &mut Draft) -> Result<(), &'static str> {
    if rule.get("enabled").and_then(|field| field.flag()) == Some(false) {
        return Err("it is not enabled");
    }
    let scope = rule.get("scope");
    if scope.as_ref().and_then(Field::text).unwrap_or("global") != "global" {
        return Err("it applies to some callers only, see `models` in [[keys]]");
    }
    let condition = rule.get("cel_expression").ok_or(NO_ROUTE)?;
    let name = condition.text().and_then(compared).ok_or(NO_ROUTE)?;
    if draft.routes.iter().any(|route| route.model == name) {
        return Err("an earlier rule or model has this name");
    }
    let targets = rule.get("targets").map(|it| it.items()).unwrap_or_default();
    let mut services: Vec<DraftService> = targets
        .iter()
        .flat_map(|target| services(target, name, upstreams))
        .collect();
    if services.is_empty() {
        return Err("no key of the file serves its targets");
    }
    let shares = services.len() > 1;
    let fallbacks = rule.get("fallbacks").map(|it| it.items());
    for (at, field) in fallbacks.unwrap_or_default().iter().enumerate() {
        let target = field.text().and_then(|text| text.split_once('/'));
        let found = target.map(|(provider, model)| specs(provider, model, upstreams));
        let found = found.unwrap_or_default();
        match found.is_empty() {
            true => field.skipped("no key of the file serves it"),
            false => field.mapped("services of a later tier"),
        }
        services.extend(found.into_iter().map(|spec| DraftService {
            spec,
            tier: Some(at as u32 + 1),
            ..DraftService::default()
        }));
    }
    let later = services.iter().any(|service| service.tier.is_some());
    if later {
        let first = services.iter_mut().filter(|service| service.tier.is_none());
        first.for_each(|service| service.tier = Some(0));
    }
    draft.routes.push(DraftRoute {
        model: name.to_owned(),
        services,
        balance: (shares || later).then_some("random"),
        ..DraftRoute::default()
    });
    condition.approximated("a route of this name; requests for provider/model do not take it");
    for key in ["name", "id", "description", "enabled", "scope", "priority"] {
        if let Some(field) = rule.get(key) {
            field.mapped("the route applies to everyone, by its name");
        }
    }
    Ok(())
}

/// The name in `model == 'name'`.
fn compared(condition: &str) -> Option<&str> {
    let rest = condition.trim().strip_prefix("model")?.trim_start();
    let value = rest.strip_prefix("==")?.trim();
    let quote = value.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
    let name = value.strip_prefix(quote)?.strip_suffix(quote)?;
    let plain = !name.contains(['\'', '"', '\\', '{', '}', '$']) && route_name(name) == name;
    (plain && !name.is_empty() && !is_pattern(name) && !looks_secret(name)).then_some(name)
}

/// A target's services: one for each key that serves it, which share its weight.
fn services(target: &Field<'_>, asked: &str, upstreams: &[Upstream]) -> Vec<DraftService> {
    let (provider, model) = (target.get("provider"), target.get("model"));
    let name = provider.as_ref().and_then(Field::text);
    let wanted = model.as_ref().and_then(Field::text).unwrap_or(asked);
    let found = name.map(|name| specs(name, wanted, upstreams));
    let found = found.unwrap_or_default();
    for field in [&provider, &model].into_iter().flatten() {
        match found.is_empty() {
            true => field.skipped("no key of the file serves it"),
            false => field.mapped("services of the route"),
        }
    }
    let weight = target.get("weight");
    let share = weight.as_ref().and_then(Field::number).map(|share| {
        let share = share * 100.0 / found.len().max(1) as f64;
        share.round().clamp(1.0, 10_000.0) as u32
    });
    if let Some(field) = weight {
        match (share, found.is_empty()) {
            (Some(_), false) => field.mapped("weight"),
            (Some(_), true) => field.skipped("no key of the file serves it"),
            (None, _) => field.unusable("a number"),
        }
    }
    let service = |spec| DraftService {
        spec,
        weight: share,
        ..DraftService::default()
    };
    found.into_iter().map(service).collect()
}

fn specs(name: &str, model: &str, upstreams: &[Upstream]) -> Vec<String> {
    let serving = upstreams.iter().filter(|it| it.serves(name, model));
    serving.filter_map(|it| spec(&it.provider, model)).collect()
}
