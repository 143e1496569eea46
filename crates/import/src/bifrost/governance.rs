//! Virtual keys and teams.

use super::limits::limits;
use super::upstreams::NAMES;
use crate::draft::{Draft, DraftKey, DraftTeam};
use crate::secret::{looks_secret, reference};
use crate::source::Field;

pub(super) fn read(governance: &Field<'_>, draft: &mut Draft) {
    let list = |key: &str| governance.get(key).map(|it| it.items()).unwrap_or_default();
    let budgets = list("budgets");
    let rates = list("rate_limits");
    let mut teams: Vec<(String, String)> = Vec::new();
    for team in list("teams") {
        let Some(name) = unique_name(&team, |name| {
            draft.teams.iter().any(|team| team.name == name)
        }) else {
            continue;
        };
        let id = team.get("id");
        if let Some(id) = &id {
            id.mapped("the team's name");
        }
        teams.push((
            id.as_ref()
                .and_then(Field::text)
                .unwrap_or(&name)
                .to_owned(),
            name.clone(),
        ));
        let limits = limits(&team, "team_id", &budgets, &rates);
        draft.teams.push(DraftTeam { name, limits });
        if let Some(field) = team.get("customer_id") {
            field.skipped("majordomo has no level above teams");
        }
    }
    for key in list("virtual_keys") {
        virtual_key(&key, &teams, &budgets, &rates, draft);
    }
    for field in budgets.iter().chain(&rates) {
        for (key, value) in field.entries() {
            if !value.is_reported() {
                match key {
                    "id" => value.mapped("part of what refers to it"),
                    _ => value.skipped("nothing in the file refers to it, or it is state"),
                }
            }
        }
    }
    for (note, keys) in [
        ("majordomo has no level above teams", &["customers"][..]),
        ("roles of keys replace logins", &["auth_config"]),
        (
            "limits belong to keys, teams and everyone",
            &["model_configs", "providers", "pricing_overrides"],
        ),
    ] {
        for key in keys {
            if let Some(field) = governance.get(key) {
                field.skipped(note);
            }
        }
    }
}

/// The name of an entry, or its id; made unique.
fn unique_name(entry: &Field<'_>, is_taken: impl Fn(&str) -> bool) -> Option<String> {
    let name = entry.get("name");
    let text = name
        .as_ref()
        .and_then(Field::text)
        .filter(|text| !looks_secret(text));
    let Some(text) = text else {
        entry.skipped("it has no name");
        return None;
    };
    let numbered = (2..).map(|number| format!("{text} {number}"));
    let mut names = [text.to_owned()].into_iter().chain(numbered);
    if let Some(name) = name {
        name.mapped("name");
    }
    names.find(|name| !is_taken(name))
}

fn virtual_key(
    entry: &Field<'_>,
    teams: &[(String, String)],
    budgets: &[Field<'_>],
    rates: &[Field<'_>],
    draft: &mut Draft,
) {
    if let Some(field) = entry.get("is_active") {
        field.mapped("a key that is not active is left out");
        if field.flag() == Some(false) {
            entry.skipped("it is not active");
            return;
        }
    }
    if let Some(field) = entry.get("allow_all_providers") {
        let configs = entry.get("provider_configs").map(|it| it.items());
        if field.flag() == Some(false) && configs.unwrap_or_default().is_empty() {
            entry.skipped("it may use no provider: every model, if it were imported");
            return;
        }
        field.mapped("`models` of the key; every model without them");
    }
    let Some(value) = entry.get("value") else {
        entry.skipped(
            "its value is in Bifrost's database: create a new one with `majordomo key new`",
        );
        return;
    };
    let Some(text) = value.written() else {
        value.unusable("a key");
        return;
    };
    let Some(name) = unique_name(entry, |name| draft.keys.iter().any(|key| key.name == name))
    else {
        return;
    };
    let key = draft
        .secrets
        .text(text, &format!("BIFROST_KEY_{name}"), &value.path);
    match reference(text) {
        Some(_) => value.mapped("key"),
        None => value.approximated(format!("key = \"{}\": set this variable", key.0)),
    }
    let team = entry.get("team_id");
    let found = team.as_ref().and_then(Field::text);
    let found = found.and_then(|id| teams.iter().find(|(known, _)| known == id));
    if let Some(field) = &team {
        match found {
            Some(_) => field.mapped("team"),
            None => field.skipped("the file has no such team"),
        }
    }
    let models = models(entry);
    let limits = limits(entry, "virtual_key_id", budgets, rates);
    draft.keys.push(DraftKey {
        name,
        key,
        role: None,
        team: found.map(|(_, name)| name.clone()),
        models,
        limits,
    });
    for (note, keys) in [
        (
            "Bifrost's own metadata",
            &["id", "description", "customer_id", "calendar_aligned"][..],
        ),
        ("majordomo is not an MCP gateway", &["mcp_configs"]),
    ] {
        for key in keys {
            if let Some(field) = entry.get(key) {
                field.skipped(note);
            }
        }
    }
}

/// The models that a key may use.
fn models(entry: &Field<'_>) -> Vec<String> {
    let mut models = Vec::new();
    for config in entry
        .get("provider_configs")
        .map(|it| it.items())
        .unwrap_or_default()
    {
        let Some(field) = config.get("provider") else {
            continue;
        };
        let Some(name) = field.text().filter(|name| !looks_secret(name)) else {
            field.unusable("a provider");
            continue;
        };
        let provider = NAMES
            .iter()
            .find(|row| row.0 == name)
            .map_or(name, |row| row.1);
        field.mapped("part of the key's models");
        let allowed = config
            .get("allowed_models")
            .map(|it| it.items())
            .unwrap_or_default();
        for field in &allowed {
            match field.text().filter(|model| !looks_secret(model)) {
                Some(model) => {
                    models.push(format!("{provider}/{model}"));
                    field.mapped("part of the key's models");
                }
                None => field.unusable("a model"),
            }
        }
        if allowed.is_empty() {
            models.push(format!("{provider}/*"));
        }
        for (_, field) in config.entries() {
            if !field.is_reported() && !field.path.ends_with("allowed_models") {
                field.skipped("limits belong to the whole key, and weights to routes");
            }
        }
    }
    models.dedup();
    models
}
