//! `model_list`: deployments become services of the route of their group.

use super::pricing;
use super::providers::{Counterpart, named};
use super::service::{service, timeouts};
use super::settings::Settings;
use crate::built_in::{complete, usual_variable};
use crate::credentials::{api_key, header};
use crate::draft::{Connection, Draft, DraftService, is_address, is_pattern, route_name, spec};
use crate::secret::{OutputText, looks_secret, reference};
use crate::source::Field;
use crate::tree::Node;

/// The deployments of one `model_name`.
#[derive(Debug, Default, Clone)]
pub(super) struct Group {
    pub(super) name: String,
    pub(super) services: Vec<DraftService>,
    /// Deployments that majordomo cannot reach.
    pub(super) missing: Vec<String>,
}

pub(super) fn read(root: &Field<'_>, draft: &mut Draft, settings: &Settings) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    let Some(list) = root.get("model_list") else {
        return groups;
    };
    for entry in list.items() {
        reserve_built_in(&entry, draft);
    }
    for entry in list.items() {
        let Some(field) = entry.get("model_name") else {
            continue;
        };
        let Some(written) = field.written().filter(|name| !looks_secret(name)) else {
            field.unusable("a name");
            continue;
        };
        let name = route_name(written);
        match name == written {
            true => field.mapped("the route's model"),
            false => field.approximated("a route's name has no spaces or commas"),
        }
        let at = groups.iter().position(|group| group.name == name);
        let at = at.unwrap_or_else(|| {
            groups.push(Group {
                name: name.clone(),
                ..Group::default()
            });
            groups.len() - 1
        });
        let Some(parameters) = entry.get("litellm_params") else {
            continue;
        };
        match deployment(root, &parameters, &entry, &name, draft, settings) {
            Ok(service) => groups[at].services.push(service),
            Err(why) => groups[at].missing.push(why),
        }
    }
    groups
}

/// Reserves the name of a built-in provider that the deployment uses unmodified, independently
/// of the order of the list.
fn reserve_built_in(entry: &Field<'_>, draft: &mut Draft) {
    let Some(parameters) = entry.get("litellm_params") else {
        return;
    };
    let is_set = |key: &str| parameters.get(key).is_some();
    let own = [
        "api_base",
        "base_url",
        "litellm_credential_name",
        "timeout",
        "extra_headers",
    ];
    let key = parameters.get("api_key");
    let variable = key.as_ref().and_then(Field::text).and_then(reference);
    let is_own = own.iter().any(|key| is_set(key));
    let model = parameters.get("model");
    let given = parameters.get("custom_llm_provider");
    let named = model.as_ref().and_then(Field::text);
    let named = named.and_then(|model| named_provider(model, given.as_ref().and_then(Field::text)));
    if let Some(Counterpart::BuiltIn(name, _)) = named
        && !is_own
        && variable.is_none_or(|variable| usual_variable(name) == Some(variable))
    {
        draft.reserve(name);
    }
}

fn named_provider(model: &str, given: Option<&str>) -> Option<Counterpart> {
    named(model, given).map(|named| named.counterpart)
}

/// A deployment as a service, or why it cannot be one.
fn deployment(
    root: &Field<'_>,
    parameters: &Field<'_>,
    entry: &Field<'_>,
    group: &str,
    draft: &mut Draft,
    settings: &Settings,
) -> Result<DraftService, String> {
    let Some(field) = parameters.get("model") else {
        return Err("a deployment without a model".to_owned());
    };
    let Some(model) = field.text().filter(|model| !looks_secret(model)) else {
        field.unusable("a model");
        return Err("a deployment without a model".to_owned());
    };
    let given = parameters.get("custom_llm_provider");
    let given_name = given.as_ref().and_then(Field::text);
    // A credential of `credential_list` supplies the settings that the deployment does not
    // set.
    let credential = credential(root, parameters);
    let get = |key: &str| {
        let own = parameters.get(key);
        own.or_else(|| credential.as_ref().and_then(|values| values.get(key)))
    };
    if let Some(variable) = reference(model) {
        field.approximated("the variable must hold a target of majordomo, provider/model");
        for key in ["api_base", "base_url", "api_key"] {
            if let Some(field) = parameters.get(key) {
                field.skipped("add a provider with these settings, whose kind depends on the model in the variable");
            }
        }
        return Ok(service(
            OutputText::variable(variable).0,
            parameters,
            settings,
        ));
    }
    let base = get("api_base").or_else(|| get("base_url"));
    let named = named(model, given_name);
    let (prefix, id, counterpart) = match &named {
        Some(named) => (named.prefix, named.model, named.counterpart),
        None if base.is_some() => ("server", model, Counterpart::OwnServer),
        None => {
            field.skipped("majordomo has no provider of this name");
            if let Some(given) = &given {
                given.skipped("majordomo has no provider of this name");
            }
            return Err(format!("{model}: no such provider"));
        }
    };
    if let Some(given) = &given {
        match named.is_some() {
            true => given.mapped("the provider of the spec"),
            false => given.approximated("taken for a server that speaks Chat Completions"),
        }
    }
    let is_unreachable = counterpart == Counterpart::Unsupported
        || (base.is_none() && matches!(counterpart, Counterpart::OwnServer | Counterpart::Azure));
    if is_unreachable {
        let why = match counterpart {
            Counterpart::Unsupported => "majordomo does not speak this provider's protocol",
            _ => "it has no `api_base`",
        };
        field.skipped(format!("not served: {why}"));
        return Err(format!("{model}: {why}"));
    }
    let mut connection = Connection::default();
    if let Some(base) = &base {
        connection.base_url = address(base, counterpart);
        if connection.base_url.is_none() {
            field.skipped("not served: its `api_base` cannot be used");
            return Err(format!("{model}: its api_base cannot be used"));
        }
    }
    let (wanted, variable) = match counterpart {
        Counterpart::BuiltIn(name, variable) => (name, variable),
        Counterpart::Compatible(url, variable) => {
            let url = OutputText::literal(url);
            connection.base_url.get_or_insert(url);
            (prefix, Some(variable))
        }
        _ => (prefix, None),
    };
    let usual = usual_variable(wanted).or(variable);
    // A usual variable may hold the vendor's own key, which another server must not get.
    let host = base.as_ref().and_then(Field::text).and_then(host);
    let key_name = match (host, usual) {
        (Some(host), _) => format!("{host}_KEY"),
        (None, Some(name)) => name.to_owned(),
        (None, None) => format!("{prefix}_API_KEY"),
    };
    if let Some(key) = get("api_key") {
        connection.api_key = api_key(&key, &key_name, draft);
    }
    headers(parameters, &mut connection, counterpart, draft);
    timeouts(parameters, &mut connection, settings);
    let wanted = match own_kind(counterpart, id) {
        // The built-in provider needs no key if LiteLLM's variable is its usual one.
        None => {
            let is_usual = connection.api_key == usual_variable(wanted).map(OutputText::variable);
            if is_usual && connection.base_url.is_none() && connection.api_key.is_some() {
                connection.api_key = None;
            }
            if connection.api_key.is_none()
                && connection.base_url.is_none()
                && let Some(variable) = variable
            {
                connection.api_key = Some(OutputText::variable(variable));
            }
            wanted.to_owned()
        }
        Some(kind) => {
            connection.kind = Some(kind);
            if connection.api_key.is_none() && matches!(counterpart, Counterpart::Compatible(..)) {
                connection.api_key = usual.map(OutputText::variable);
            }
            prefix.replace('_', "-")
        }
    };
    // A built-in provider with another address needs its kind only if its name changes.
    if let Counterpart::BuiltIn(name, _) = counterpart
        && connection != Connection::default()
    {
        complete(name, &mut connection);
    }
    let id = id.strip_prefix("responses/").unwrap_or(id);
    let target = target(&wanted, id, group, connection, draft);
    let Some((provider, spec)) = target else {
        field.skipped("not served: this model's name cannot be part of a spec");
        return Err("a model whose name cannot be part of a spec".to_owned());
    };
    match counterpart {
        Counterpart::Azure => {
            field.approximated("served by Azure's v1 API, under the deployment's name");
        }
        _ => field.mapped("the service's spec"),
    }
    if !is_pattern(id) {
        pricing::model_info(parameters, entry, &provider, id, draft);
    }
    Ok(service(spec, parameters, settings))
}

/// The provider and the spec of a deployment. With a wildcard, the requested name is the
/// spec, so the provider gets the name that clients use.
fn target(
    wanted: &str,
    id: &str,
    group: &str,
    connection: Connection,
    draft: &mut Draft,
) -> Option<(String, String)> {
    if !is_pattern(id) {
        let provider = draft.provider(wanted, connection);
        let spec = spec(&provider, id)?;
        return Some((provider, spec));
    }
    if id != "*" {
        return None;
    }
    if group == "*" {
        let provider = draft.provider(wanted, connection);
        let spec = format!("{provider}/{{model}}");
        return Some((provider, spec));
    }
    let prefix = group
        .strip_suffix("/*")
        .filter(|prefix| !prefix.contains(['/', '*', '?']))?;
    let mut connection = connection;
    if prefix != wanted && connection.kind.is_none() {
        complete(wanted, &mut connection);
    }
    let provider = draft.provider(prefix, connection);
    (provider == prefix).then(|| (provider, "{model}".to_owned()))
}

/// The kind of a provider that is not built in.
fn own_kind(counterpart: Counterpart, model: &str) -> Option<&'static str> {
    match counterpart {
        Counterpart::BuiltIn(..) if !model.starts_with("responses/") => None,
        _ if model.starts_with("responses/") => Some("openai-responses"),
        _ => Some("openai"),
    }
}

/// The host of an address.
fn host(url: &str) -> Option<&str> {
    let (_, rest) = url.split_once("://")?;
    rest.split(['/', ':', '?', '@'])
        .next()
        .filter(|host| !host.is_empty())
}

fn credential<'a>(root: &Field<'a>, parameters: &Field<'a>) -> Option<Field<'a>> {
    let name = parameters.get("litellm_credential_name")?;
    let wanted = name.text();
    let list = root.get("credential_list");
    let found = list.and_then(|list| {
        list.item(|credential| {
            let name = credential.get("credential_name");
            matches!(name, Some(Node::Text(text)) if wanted == Some(text.trim()))
        })
    });
    let values = found.and_then(|credential| credential.get("credential_values"));
    match values {
        Some(_) => name.mapped("its values are in the provider"),
        None => name.skipped("no credential of this name is in the file"),
    }
    values
}

fn address(field: &Field<'_>, counterpart: Counterpart) -> Option<OutputText> {
    let Some(text) = field.text() else {
        field.unusable("an address");
        return None;
    };
    if let Some(variable) = reference(text) {
        match counterpart {
            Counterpart::Azure => {
                let note = "the variable must hold the address with `/openai/v1` at its end";
                field.approximated(note);
            }
            _ => field.mapped("base_url"),
        }
        return Some(OutputText::variable(variable));
    }
    let url = text.trim_end_matches('/');
    if looks_secret(url) || !is_address(url) {
        field.unusable("a plain address such as https://host/path");
        return None;
    }
    let url = url.trim_end_matches("/chat/completions");
    let path = url.splitn(4, '/').nth(3).unwrap_or_default();
    if counterpart == Counterpart::Azure && !path.starts_with("openai") {
        field.approximated("base_url, with `/openai/v1` of Azure's v1 API");
        return Some(OutputText::literal(&format!("{url}/openai/v1")));
    }
    field.mapped("base_url");
    Some(OutputText::literal(url))
}

fn headers(
    parameters: &Field<'_>,
    connection: &mut Connection,
    counterpart: Counterpart,
    draft: &mut Draft,
) {
    for key in ["extra_headers", "headers"] {
        for (name, field) in parameters
            .get(key)
            .map(|it| it.entries())
            .unwrap_or_default()
        {
            if let Some(header) = header(name, &field, draft) {
                connection.headers.push(header);
            }
        }
    }
    if let Some(field) = parameters.get("organization") {
        match field.text() {
            Some(text) => {
                let value = draft.secrets.text(text, "OPENAI_ORGANIZATION", &field.path);
                connection
                    .headers
                    .push(("openai-organization".to_owned(), value));
                field.mapped("the header openai-organization");
            }
            None => field.unusable("a text"),
        }
    }
    if let Some(field) = parameters.get("api_version") {
        match counterpart {
            Counterpart::Azure => field.approximated("Azure's v1 API needs no version"),
            _ => field.skipped("only Azure has versions of this kind"),
        }
    }
    // Azure takes its keys in a separate header.
    if counterpart == Counterpart::Azure
        && let Some(key) = connection.api_key.clone()
    {
        connection.headers.push(("api-key".to_owned(), key));
    }
    connection.headers.sort();
    connection
        .headers
        .dedup_by(|one, other| one.0.eq_ignore_ascii_case(&other.0));
}
