//! Providers, their keys and the models that several keys serve.

use super::key_models::{KeyModel, key_models, routes};
use super::network::{base_url, network, proxy};
use super::rules::Upstream;
use crate::credentials::api_key;
use crate::draft::{Connection, Draft};
use crate::secret::{OutputText, looks_secret};
use crate::source::Field;

/// Providers that majordomo has built in, with their kind.
pub(super) const NAMES: [(&str, &str, &str); 9] = [
    ("openai", "openai", "openai"),
    ("anthropic", "anthropic", "anthropic"),
    ("gemini", "google", "google"),
    ("groq", "groq", "openai"),
    ("mistral", "mistral", "openai"),
    ("openrouter", "openrouter", "openai"),
    ("xai", "xai", "openai"),
    ("ollama", "ollama", "ollama"),
    ("vllm", "vllm", "openai"),
];

/// Services of a known address that speak Chat Completions.
const COMPATIBLE: [(&str, &str); 5] = [
    ("cerebras", "https://api.cerebras.ai/v1"),
    ("perplexity", "https://api.perplexity.ai"),
    ("nebius", "https://api.studio.nebius.ai/v1"),
    ("parasail", "https://api.parasail.io/v1"),
    ("huggingface", "https://router.huggingface.co/v1"),
];

/// Settings of a key that hold the address of a server.
const ADDRESSES: [&str; 3] = ["ollama_key_config", "vllm_key_config", "sgl_key_config"];

const UNSUPPORTED: &str = "not served: majordomo does not speak this provider's protocol";

pub(super) fn provider(
    name: &str,
    entry: &Field<'_>,
    upstreams: &mut Vec<Upstream>,
    draft: &mut Draft,
) {
    let custom = entry.get("custom_provider_config");
    let base_type = custom.as_ref().and_then(|it| it.get("base_provider_type"));
    if let Some(field) = &base_type {
        field.mapped("kind of the provider");
    }
    let effective = base_type.as_ref().and_then(Field::text).unwrap_or(name);
    let built_in = NAMES.iter().find(|row| row.0 == effective);
    let compatible = COMPATIBLE.iter().find(|row| row.0 == effective);
    let kind = built_in.map_or("openai", |row| row.2);
    let mut connection = Connection::default();
    network(entry, kind, &mut connection, draft);
    proxy(entry, &mut connection, draft);
    let wanted = if base_type.is_some() {
        name
    } else {
        built_in.map_or(name, |row| row.1)
    };
    let keys = entry.get("keys").map(|it| it.items()).unwrap_or_default();
    let has_own_address = |key: &Field<'_>| {
        let mut configs = ADDRESSES.iter().filter_map(|config| key.get(config));
        configs.any(|config| config.get("url").is_some())
    };
    let is_reachable = built_in.is_some()
        || compatible.is_some()
        || connection.base_url.is_some()
        || keys.iter().any(has_own_address);
    if !is_reachable || looks_secret(name) {
        entry.skipped(UNSUPPORTED);
        return;
    }
    if let Some((_, url)) = compatible {
        connection.base_url.get_or_insert(OutputText::literal(url));
    }
    // The unmodified built-in provider needs neither a kind nor an address.
    let is_own = base_type.is_some() || compatible.is_some() || built_in.is_none();
    let is_own = is_own || connection != Connection::default();
    if is_own {
        connection.kind = Some(kind);
        let service = built_in.map_or(name, |row| row.1);
        complete_address(service, &mut connection);
    }
    let mut served: Vec<KeyModel> = Vec::new();
    let mut count = 0;
    for key in &keys {
        let is_only = keys.len() == 1;
        if let Some((provider, models)) =
            upstream_key(name, wanted, kind, key, &connection, is_only, draft)
        {
            count += 1;
            served.extend(models);
            let listed = key.get("models").map(|it| it.items());
            let listed = listed.unwrap_or_default();
            let models = listed.iter().filter_map(Field::text).map(str::to_owned);
            upstreams.push(Upstream {
                name: name.to_owned(),
                provider,
                models: models.collect(),
            });
        }
    }
    if keys.is_empty() || count == 0 {
        draft.provider(wanted, connection);
    }
    routes(wanted, served, draft);
    if let Some(custom) = &custom {
        for (key, note) in [
            (
                "allowed_requests",
                "a provider serves every request that its protocol has",
            ),
            ("is_key_less", "a provider without `api_key` needs none"),
            (
                "request_path_overrides",
                "the provider has no address of its own",
            ),
        ] {
            if let Some(field) = custom.get(key).filter(|field| !field.is_reported()) {
                field.skipped(note);
            }
        }
    }
    for (note, keys) in [
        (
            "capacity is a setting of a service",
            &["concurrency_and_buffer_size"][..],
        ),
        (
            "a provider's responses are never altered without a listed change",
            &[
                "send_back_raw_response",
                "send_back_raw_request",
                "store_raw_request_response",
            ],
        ),
        (
            "a setting of Bifrost's own",
            &[
                "description",
                "config_hash",
                "status",
                "openai_config",
                "pricing_overrides",
            ],
        ),
    ] {
        for key in keys {
            if let Some(field) = entry.get(key) {
                field.skipped(note);
            }
        }
    }
}

/// A key of a provider as a provider; its name and the models that it serves.
fn upstream_key(
    name: &str,
    wanted: &str,
    kind: &'static str,
    key: &Field<'_>,
    connection: &Connection,
    is_only: bool,
    draft: &mut Draft,
) -> Option<(String, Vec<KeyModel>)> {
    if let Some(field) = key.get("enabled") {
        field.mapped("a key that is not enabled is left out");
        if field.flag() == Some(false) {
            key.skipped("it is not enabled");
            return None;
        }
    }
    let mut connection = connection.clone();
    if let Some(field) = key.get("value") {
        connection.api_key = api_key(&field, &format!("BIFROST_{name}_KEY"), draft);
    }
    if connection.api_key.is_some() {
        connection.kind = Some(kind);
        complete_address(wanted, &mut connection);
    }
    for config in ADDRESSES.iter().filter_map(|config| key.get(config)) {
        if let Some(field) = config.get("url") {
            connection.base_url = base_url(&field, kind, None).or(connection.base_url);
            connection.kind = Some(kind);
        }
        if let Some(field) = config.get("model_name") {
            field.skipped("a key serves what its `models` list");
        }
    }
    for cloud in [
        "azure_key_config",
        "vertex_key_config",
        "bedrock_key_config",
        "bedrock_mantle_key_config",
    ] {
        if let Some(field) = key.get(cloud) {
            field.skipped(UNSUPPORTED);
        }
    }
    let usual = OutputText::variable(&format!("{}_API_KEY", wanted.to_ascii_uppercase()));
    let is_usual = is_only && connection.api_key.as_ref() == Some(&usual);
    let is_bare = connection.base_url.is_none()
        && connection.headers.is_empty()
        && connection.timeout.is_none()
        && connection.proxy.is_none();
    if is_usual && is_bare && NAMES.iter().any(|row| row.1 == wanted) {
        connection = Connection::default();
    }
    let provider = draft.provider(wanted, connection);
    for label in ["name", "id"] {
        if let Some(field) = key.get(label) {
            field.approximated(format!("the provider `{provider}`"));
        }
    }
    let weight = key.get("weight");
    let share = weight.as_ref().and_then(Field::number).map(|weight| {
        let scaled = if weight <= 1.0 {
            weight * 100.0
        } else {
            weight
        };
        scaled.round().clamp(0.0, 10_000.0) as u32
    });
    if let Some(field) = &weight {
        match share {
            Some(_) => field.mapped("weight of the service, if several keys serve a model"),
            None => field.unusable("a number"),
        }
    }
    let served = key_models(key, &provider, share);
    for (note, keys) in [
        (
            "a key serves what its `models` list",
            &["blacklisted_models"][..],
        ),
        ("majordomo serves no batches", &["use_for_batch_api"]),
        (
            "a setting of Bifrost's own",
            &["description", "config_hash", "status"],
        ),
    ] {
        for name in keys {
            if let Some(field) = key.get(name) {
                field.skipped(note);
            }
        }
    }
    Some((provider, served))
}

/// The address of a well-known service, if none is set.
fn complete_address(name: &str, connection: &mut Connection) {
    let url = crate::built_in::BUILT_IN
        .iter()
        .find(|row| row.0 == name)
        .and_then(|row| row.2);
    if let Some(url) = url {
        connection.base_url.get_or_insert(OutputText::literal(url));
    }
}
