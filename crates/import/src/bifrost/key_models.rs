//! The models of a provider's keys: a route where several keys serve one, or where it has
//! another name.

use std::collections::HashMap;

use crate::draft::{Draft, DraftService, route_name, spec};
use crate::secret::looks_secret;
use crate::source::Field;

/// A model that a key serves.
pub(super) struct KeyModel {
    /// As clients name it.
    name: String,
    service: DraftService,
    /// Whether the provider knows it by another name.
    is_alias: bool,
}

/// The models that a key of this provider lists.
pub(super) fn key_models(key: &Field<'_>, provider: &str, weight: Option<u32>) -> Vec<KeyModel> {
    let aliases = key.get("aliases");
    let aliases = aliases.map(|it| it.entries()).unwrap_or_default();
    let mut listed = Vec::new();
    let mut serves_all = false;
    let mut models = Vec::new();
    let mut serve = |name: &str, model: &str, is_alias: bool| {
        let service = DraftService {
            spec: spec(provider, model)?,
            weight,
            ..DraftService::default()
        };
        models.push(KeyModel {
            name: route_name(name),
            service,
            is_alias,
        });
        Some(())
    };
    for field in key.get("models").map(|it| it.items()).unwrap_or_default() {
        let Some(model) = field.text().filter(|model| !looks_secret(model)) else {
            field.unusable("a model");
            continue;
        };
        listed.push(model);
        if model == "*" {
            serves_all = true;
            field.approximated(format!("request `{provider}/…`: every model of the key"));
        } else if let Some((_, alias)) = aliases.iter().find(|(name, _)| *name == model) {
            match target(alias) {
                Some(_) => field.mapped("a route to what its alias names"),
                None => field.skipped("its alias names no model"),
            }
        } else if serve(model, model, false).is_some() {
            field.mapped("a model of the provider; a route if several keys serve it");
        } else {
            field.unusable("a model that a spec can hold");
        }
    }
    for (name, field) in &aliases {
        let model = target(field);
        let is_served = serves_all || listed.is_empty() || listed.contains(name);
        match model {
            _ if !is_served => field.skipped("the key does not list this model"),
            Some(model) if !looks_secret(name) && serve(name, model, true).is_some() => {
                field.mapped("a route to the model that it names");
            }
            _ => field.unusable("a model that a spec can hold"),
        }
    }
    models
}

/// The model that an alias names, directly or as its `model_id`.
fn target<'a>(alias: &Field<'a>) -> Option<&'a str> {
    let id = alias.get("model_id");
    let model = alias.text().or_else(|| id.as_ref().and_then(Field::text))?;
    (!looks_secret(model)).then_some(model)
}

/// Routes for what clients cannot ask the provider for directly.
pub(super) fn routes(provider: &str, served: Vec<KeyModel>, draft: &mut Draft) {
    // Names that several keys serve count more than once, and so do aliases.
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for model in &served {
        *counts.entry(&model.name).or_default() += 1 + usize::from(model.is_alias);
    }
    let is_needed = |model: &&KeyModel| counts.get(model.name.as_str()).is_some_and(|it| *it > 1);
    for model in served.iter().filter(is_needed) {
        let route = draft.route(&format!("{provider}/{}", model.name));
        route.services.push(model.service.clone());
        match route.services.len() > 1 {
            true => route.balance = Some("random"),
            false => route.balance = None,
        }
    }
}
