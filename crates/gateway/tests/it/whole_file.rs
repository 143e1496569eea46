//! A file with every setting, parsed.

use std::collections::BTreeMap;
use std::time::Duration;

use majordomo::chain::AllBenched;
use majordomo_gateway::config::{
    ConditionEntry, ConditionValue, Config, DeclaredKind, History, ImageSupport, KeyRole,
    KeySecret, Latest, LogFormat, MaxCounts, OnFailure, ProviderSource, Tactic,
};

const WHOLE: &str = include_str!("../whole.toml");

fn environment() -> BTreeMap<String, String> {
    BTreeMap::from([("GROQ_API_KEY".to_owned(), "canary".to_owned())])
}

fn whole() -> Config {
    Config::parse("whole.toml", WHOLE, &environment())
        .unwrap_or_else(|problems| panic!("{problems}"))
}

#[test]
fn the_server_section_and_keys_are_parsed() {
    let config = whole();
    assert_eq!(config.server.listen.port(), 4200);
    assert_eq!(config.server.max_body, 32 << 20);
    assert_eq!(config.server.traces, 50);
    let most = MaxCounts {
        messages: 10_000,
        parts: 50_000,
        images: 1_000,
        tools: 500,
        stops: 16,
        fields: 1_000,
        values: 40_000,
    };
    assert_eq!(config.server.max_counts, most);
    assert_eq!(config.server.trace_bytes, 1 << 20);
    assert_eq!(config.server.keepalive, Some(Duration::from_secs(15)));
    assert!(config.server.tls.is_some() && config.fetch.enabled);
    assert!(!config.server.origins.is_empty());
    assert_eq!(config.keys[0].role, KeyRole::Viewer);
    assert_eq!(config.keys[1].role, KeyRole::Client);
    assert!(matches!(
        config.keys[0].secret,
        KeySecret::Sha256([0x2c, 0x26, ..])
    ));
    assert!(matches!(config.keys[1].secret, KeySecret::Plain(_)));
    assert_eq!(config.keys[1].models, None);
    let [laptop, phone] = &*config.keys else {
        panic!("two keys");
    };
    assert_eq!(laptop.team.as_deref(), Some("search"));
    assert_eq!(laptop.expires_millis, Some(1_801_440_000_000));
    assert!(laptop.sees_all && !laptop.asserts_users);
    assert!(phone.asserts_users && phone.team.is_none());
    assert_eq!(config.teams[0].name, "search");
}

#[test]
fn providers_keep_the_order_of_the_file() {
    let config = whole();
    let names: Vec<&str> = config.providers.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["groq", "m5", "deepseek"]);
    assert!(matches!(config.providers[1].origin, ProviderSource::Dsn(_)));
    let ProviderSource::Declared { kind, .. } = &config.providers[2].origin else {
        panic!("deepseek is known by name");
    };
    assert!(matches!(kind, DeclaredKind::Service(service) if service.name == "deepseek"));
    let limits = ImageSupport::Within {
        max: Some(5),
        max_bytes: Some(4_000_000),
        max_px: Some(2_000),
        types: Some(vec!["image/png".into(), "image/jpeg".into()]),
    };
    assert_eq!(config.providers[0].models[0].images, Some(limits));
}

#[test]
fn routes_are_parsed_with_services_and_conditions() {
    let config = whole();
    assert_eq!(config.version, Some(1));
    let [coder, gpt] = &config.routes[..] else {
        panic!("two routes");
    };
    assert_eq!(
        (coder.balance, coder.within),
        (Some(Tactic::Tier), Some(Tactic::Random))
    );
    assert_eq!(coder.affinity, Some(Duration::from_secs(1_800)));
    assert_eq!(
        (coder.services[0].weight, coder.services[1].capacity),
        (Some(3), Some(2))
    );
    assert_eq!((gpt.balance, gpt.affinity), (None, None));
    assert_eq!(gpt.services[0].spec.text, "openai/{model}");

    let [
        ConditionEntry::Leaf(tokens),
        ConditionEntry::Any { conditions, .. },
        ConditionEntry::Leaf(time),
    ] = &coder.smart[1].when[..]
    else {
        panic!("two leaves around a group");
    };
    assert_eq!(tokens.value, Some(ConditionValue::Integer(60_000)));
    assert_eq!(&WHOLE[tokens.value_span.clone()], "60000");
    assert!(WHOLE[tokens.span.clone()].starts_with("{ position = \"token\""));
    let ConditionEntry::Not { condition, .. } = &conditions[0] else {
        panic!("a not");
    };
    assert!(
        matches!(&**condition, ConditionEntry::Leaf(leaf) if leaf.name.as_deref() == Some("x-team"))
    );
    let Some(ConditionValue::Table(hours)) = &time.value else {
        panic!("a table");
    };
    assert_eq!(
        hours.iter().find(|(key, _)| key == "outside").unwrap().1,
        ConditionValue::Flag(false)
    );
}

#[test]
fn vision_health_and_chain_are_parsed() {
    let config = whole();
    let vision = &config.vision;
    assert_eq!(
        (vision.history, vision.latest),
        (History::Cached, Latest::Turn)
    );
    assert_eq!(
        (vision.per_request, vision.total, vision.max_tokens),
        (2, 8, 64)
    );
    assert_eq!(
        (vision.on_failure, vision.question),
        (OnFailure::Fail, true)
    );
    assert_eq!((config.health.threshold, config.health.factor), (3, 1.5));
    assert_eq!((config.chain.retries, config.chain.deadline), (0, None));
    assert_eq!(config.chain.all_benched, AllBenched::Fail);
}

#[test]
fn an_empty_file_equals_the_defaults() {
    let parsed = Config::parse("empty.toml", "", &BTreeMap::new()).unwrap();
    let plain = Config::empty();
    assert_eq!(parsed.server.listen, plain.server.listen);
    assert_eq!(
        (parsed.vision, parsed.chain, parsed.fetch),
        (plain.vision, plain.chain, plain.fetch)
    );
}

#[test]
fn the_log_section_is_parsed() {
    let log = whole().log;
    assert_eq!(log.format, LogFormat::Json);
    assert_eq!(log.level, tracing::level_filters::LevelFilter::DEBUG);
    assert_eq!(Config::empty().log.format, LogFormat::Text);
}
