//! claude-code-router's `config.json`.
//!
//! Its router becomes one route for the models that Claude Code requests, with a smart rule
//! for each purpose. The rules are in the order of the router's decisions.

mod server;

use crate::credentials::{api_key, header};
use crate::draft::{Connection, Draft, DraftRule, DraftService, is_address, spec};
use crate::secret::{OutputText, looks_secret, reference};
use crate::source::{Field, Source};

/// The models that Claude Code requests.
const MODELS: &str = "claude-*";
const DEFAULT_THRESHOLD: u32 = 60_000;
const STREAM: &str = "the client decides whether a response is streamed";

/// The equivalent of a transformer in majordomo.
const TRANSLATED: [&str; 9] = [
    "openrouter",
    "deepseek",
    "gemini",
    "groq",
    "Anthropic",
    "anthropic",
    "openai",
    "OpenAI",
    "cerebras",
];

pub(crate) fn import(source: &Source<'_>, draft: &mut Draft) {
    let root = source.root();
    let proxy = proxy(&root, draft);
    let mut names: Vec<(String, String)> = Vec::new();
    let lists = ["Providers", "providers"].map(|key| root.get(key));
    for entry in lists.into_iter().flatten().flat_map(|list| list.items()) {
        provider(&entry, proxy.as_ref(), &mut names, draft);
    }
    let router = ["Router", "router"]
        .into_iter()
        .find_map(|key| root.get(key));
    if let Some(router) = router {
        routes(&router, &names, draft);
    }
    server::read(&root, draft);
    draft.remarks.push(
        "Claude Code: ANTHROPIC_BASE_URL=http://127.0.0.1:4100; `/model provider/model` chooses a target, with `/` instead of `,`"
            .to_owned(),
    );
    for (note, keys) in [
        (
            "logging is configured when majordomo starts, not here",
            &["LOG", "LOG_LEVEL"][..],
        ),
        (STREAM, &["stream"]),
        (
            "majordomo never asks questions while it serves",
            &["NON_INTERACTIVE_MODE"],
        ),
        (
            "rules are in [[routes.smart]]; majordomo runs no scripts",
            &[
                "CUSTOM_ROUTER_PATH",
                "customRouterPath",
                "REWRITE_SYSTEM_PROMPT",
            ],
        ),
        (
            "majordomo translates between protocols itself and loads no scripts",
            &["transformers", "plugins"],
        ),
        (
            "a setting of claude-code-router's own programs",
            &["StatusLine", "CLAUDE_PATH", "tokenStats", "presets"],
        ),
        (
            "services of a route are tried one after another: add them to `services`",
            &["fallback"],
        ),
        (
            "images for text-only models: see describe in [[routes]]",
            &["forceUseImageAgent"],
        ),
    ] {
        for key in keys {
            if let Some(field) = root.get(key) {
                field.skipped(note);
            }
        }
    }
}

/// The proxy of all providers.
fn proxy(root: &Field<'_>, draft: &mut Draft) -> Option<OutputText> {
    let field = ["PROXY_URL", "HTTPS_PROXY", "https_proxy", "httpsProxy"]
        .into_iter()
        .find_map(|key| root.get(key))?;
    let Some(text) = field.text() else {
        field.skipped("no proxy is set");
        return None;
    };
    let plain = !text.contains('@') && is_address(text.trim_end_matches('/'));
    if !plain && reference(text).is_none() && !text.contains('@') {
        field.unusable("an address such as http://host:port");
        return None;
    }
    field.mapped("proxy of every provider");
    Some(match plain {
        true => OutputText::literal(text.trim_end_matches('/')),
        false => draft.secrets.text(text, "PROXY_URL", &field.path),
    })
}

fn provider(
    entry: &Field<'_>,
    proxy: Option<&OutputText>,
    names: &mut Vec<(String, String)>,
    draft: &mut Draft,
) {
    let Some(name) = entry.get("name") else {
        return;
    };
    let Some(wanted) = name.text().filter(|name| !looks_secret(name)) else {
        name.unusable("a name");
        return;
    };
    let uses = transformers(entry);
    let base = ["api_base_url", "baseUrl", "base_url"]
        .into_iter()
        .find_map(|key| entry.get(key));
    let Some((kind, url)) = base.as_ref().and_then(|field| address(field, &uses)) else {
        entry.skipped("not served: it has no address that majordomo can use");
        return;
    };
    let mut connection = Connection {
        kind: Some(kind),
        base_url: Some(url),
        proxy: proxy.cloned(),
        ..Connection::default()
    };
    let key = ["api_key", "apiKey"]
        .into_iter()
        .find_map(|key| entry.get(key));
    if let Some(field) = key {
        connection.api_key = api_key(&field, &format!("CCR_{wanted}_KEY"), draft);
    }
    for (header_name, field) in entry
        .get("headers")
        .map(|it| it.entries())
        .unwrap_or_default()
    {
        connection
            .headers
            .extend(header(header_name, &field, draft));
    }
    let provider = draft.provider(wanted, connection);
    match provider == wanted {
        true => name.mapped("the provider's name"),
        false => name.approximated(format!("the provider `{provider}`")),
    }
    let list = entry.get("models").map(|it| it.items()).unwrap_or_default();
    for field in &list {
        match field.text().and_then(|model| spec(&provider, model)) {
            Some(_) => field.mapped("served under provider/model"),
            None => field.unusable("a model"),
        }
    }
    limits(entry, &provider, &list, draft);
    for (key, note) in [
        ("type", "the kind follows from the address"),
        ("stream", STREAM),
    ] {
        if let Some(field) = entry.get(key) {
            field.skipped(note);
        }
    }
    names.push((wanted.to_owned(), provider));
}

/// The names of a provider's transformers.
fn transformers(entry: &Field<'_>) -> Vec<String> {
    let used = entry.get("transformer").and_then(|it| it.get("use"));
    let items = used.map(|it| it.items()).unwrap_or_default();
    let name = |item: &Field<'_>| {
        let first = item.items().into_iter().next();
        first.as_ref().unwrap_or(item).text().map(str::to_owned)
    };
    items.iter().filter_map(name).collect()
}

/// The protocol and base URL of an endpoint's address.
fn address(field: &Field<'_>, uses: &[String]) -> Option<(&'static str, OutputText)> {
    let text = field.text()?;
    let used = |name: &str| uses.iter().any(|it| it.eq_ignore_ascii_case(name));
    if let Some(variable) = reference(text) {
        field.approximated("the variable must hold the base, without `/chat/completions`");
        return Some(("openai", OutputText::variable(variable)));
    }
    if used("vertex-gemini") || used("vertex-claude") || used("gemini-cli") || used("qwen-cli") {
        field.skipped("not served: majordomo does not sign in for this service");
        return None;
    }
    let url = text.trim_end_matches('/');
    if looks_secret(url) || !is_address(url) {
        field.unusable("a plain address such as https://host/v1/chat/completions");
        return None;
    }
    let (kind, base) = if let Some(base) = url.strip_suffix("/chat/completions") {
        ("openai", base)
    } else if let Some(base) = url.strip_suffix("/responses") {
        ("openai-responses", base)
    } else if let Some(base) = url.strip_suffix("/v1/messages") {
        ("anthropic", base)
    } else if let Some(base) = url
        .strip_suffix("/models")
        .filter(|_| url.contains("/v1beta"))
    {
        ("google", base)
    } else if used("Anthropic") {
        ("anthropic", url)
    } else if used("gemini") {
        ("google", url)
    } else {
        ("openai", url)
    };
    field.mapped("kind and base_url");
    Some((kind, OutputText::literal(base)))
}

/// Transformers and what they limit.
fn limits(entry: &Field<'_>, provider: &str, models: &[Field<'_>], draft: &mut Draft) {
    let Some(transformer) = entry.get("transformer") else {
        return;
    };
    for (key, part) in transformer.entries() {
        let used = if key == "use" {
            Some(part)
        } else {
            part.get("use")
        };
        let Some(used) = used else {
            continue;
        };
        let ids: Vec<&str> = match key {
            "use" => models.iter().filter_map(Field::text).collect(),
            id => vec![id],
        };
        for item in used.items() {
            let parts = item.items();
            let name = parts.first().unwrap_or(&item);
            let options = parts.get(1);
            match name.text() {
                Some("maxtoken") => {
                    let most = options.and_then(|it| it.get("max_tokens"));
                    let tokens = most.as_ref().and_then(|field| field.whole(1, u32::MAX));
                    name.approximated("max_output of the models: requests for more go elsewhere");
                    if let (Some(field), Some(tokens)) = (most, tokens) {
                        field.approximated("max_output of the models");
                        for id in &ids {
                            draft.model(provider, id).max_output = Some(tokens);
                        }
                    }
                }
                Some(known) if TRANSLATED.contains(&known) => {
                    name.mapped("majordomo translates for this provider itself");
                    for option in options.iter().flat_map(|it| it.entries()) {
                        option.1.skipped("options of a transformer");
                    }
                }
                _ => {
                    name.skipped("majordomo translates between protocols itself");
                    if let Some(options) = options {
                        options.skipped("options of a transformer");
                    }
                }
            }
        }
    }
}

fn routes(router: &Field<'_>, names: &[(String, String)], draft: &mut Draft) {
    let target = |field: &Field<'_>| {
        let text = field.text()?;
        let (provider, model) = text.split_once(',')?;
        let known = names.iter().find(|(name, _)| name == provider.trim());
        spec(&known?.1, model)
    };
    let threshold = router.get("longContextThreshold");
    let tokens = threshold
        .as_ref()
        .and_then(|field| field.whole(1, u32::MAX));
    let has_long_context = router.get("longContext").is_some();
    if let Some(field) = threshold {
        match tokens {
            Some(_) if has_long_context => field.mapped("the rule's number of tokens"),
            _ => field.skipped("no model for long prompts, or no number of tokens"),
        }
    }
    let tokens = tokens.unwrap_or(DEFAULT_THRESHOLD);
    let mut rules = Vec::new();
    for (key, name, when) in [
        (
            "longContext",
            "long prompts",
            format!("{{ position = \"token\", op = \"gt\", value = {tokens} }}"),
        ),
        (
            "background",
            "background jobs",
            "{ position = \"model\", op = \"contains\", value = \"haiku\" }".to_owned(),
        ),
        (
            "webSearch",
            "web search",
            "{ position = \"tool\", op = \"contains\", value = \"web_search\" }".to_owned(),
        ),
        (
            "think",
            "thinking",
            "{ position = \"thinking\", op = \"enabled\" }".to_owned(),
        ),
        (
            "image",
            "images",
            "{ position = \"latest_user\", op = \"type\", value = \"image\" }".to_owned(),
        ),
    ] {
        let Some(field) = router.get(key) else {
            continue;
        };
        match target(&field) {
            Some(spec) => {
                field.mapped("a smart rule");
                rules.push(DraftRule { name, when, spec });
            }
            None if field.text().is_none() => field.skipped("no model is set"),
            None => field.skipped("the file has no such provider and model"),
        }
    }
    let Some(field) = router.get("default") else {
        if !rules.is_empty() {
            draft
                .remarks
                .push("Router.default is missing, so no route was written".to_owned());
        }
        return;
    };
    let Some(spec) = target(&field) else {
        field.skipped("the file has no such provider and model");
        return;
    };
    field.mapped(format!("the route `{MODELS}`"));
    let route = draft.route(MODELS);
    route.services.push(DraftService {
        spec,
        ..DraftService::default()
    });
    route.rules = rules;
}
