//! The live suite: each provider does what we rely on. `tests/live/run` calls real providers;
//! here, the same cases run against a scripted stand-in.

mod cases;
mod providers;
mod stand_in;

use cases::{CASES, run_case};
use majordomo::Registry;
use majordomo::transport::{Proxies, Transport, TransportConfig};
use providers::{LIVE_PROVIDERS, LiveProvider};

/// Set by `tests/live/run`.
const SWITCH: &str = "MAJORDOMO_LIVE";

/// The value of a variable that is set and not empty.
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// Runs all cases of a provider and returns what failed.
async fn run(provider: &LiveProvider, registry: &Registry) -> Vec<String> {
    let mut failures = Vec::new();
    for case in CASES {
        let name = format!("{} {}", provider.name, case.name());
        match run_case(case, provider, registry).await {
            None => println!("skipped {name}: it is not offered"),
            Some(Ok(detail)) => println!("ok      {name}: {detail}"),
            Some(Err(error)) => {
                println!("FAILED  {name}: {error}");
                failures.push(name);
            }
        }
    }
    failures
}

#[tokio::test]
async fn every_provider_with_a_key() {
    if variable(SWITCH).is_none() {
        println!("skipped: run tests/live/run");
        return;
    }
    let mut failures = Vec::new();
    for provider in LIVE_PROVIDERS {
        let provider = provider.with_variables(variable);
        match provider.build(Transport::new(TransportConfig::default()), variable) {
            Err(why) => println!("skipped {}: {why}", provider.name),
            Ok(built) => {
                let registry = Registry::empty();
                registry.register(built);
                failures.extend(run(&provider, &registry).await);
            }
        }
    }
    assert!(failures.is_empty(), "{failures:?}");
}

#[tokio::test]
async fn a_provider_without_a_key_is_skipped_by_name() {
    for provider in LIVE_PROVIDERS {
        let transport = Transport::new(TransportConfig::default());
        let why = provider.build(transport, |_| None).err();
        let why = why.unwrap_or_else(|| panic!("{} is built without anything", provider.name));
        let needed = provider.needs();
        assert_eq!(why, format!("{needed} is not set"));
    }
}

#[tokio::test]
async fn every_case_passes_against_a_stand_in() {
    for provider in LIVE_PROVIDERS {
        let stand_in = stand_in::start(provider).await;
        let url = format!("http://{}{}", stand_in.address(), provider.base_path);
        let transport = Transport::new(TransportConfig::default().proxies(Proxies::Direct));
        let set = |name: &str| {
            let is_url = name.ends_with("_URL");
            Some(if is_url {
                url.clone()
            } else {
                "CANARY".to_owned()
            })
        };
        let built = provider
            .build(transport, set)
            .expect("it has what it needs");
        let registry = Registry::empty();
        registry.register(built);
        let failures = run(provider, &registry).await;
        assert!(failures.is_empty(), "{failures:?}");
    }
}

#[tokio::test]
async fn a_failure_is_reported_with_provider_and_case() {
    let provider = &LIVE_PROVIDERS[0];
    let stand_in = stand_in::broken().await;
    let url = format!("http://{}{}", stand_in.address(), provider.base_path);
    let transport = Transport::new(TransportConfig::default().proxies(Proxies::Direct));
    let built = provider
        .build(transport, |_| Some(url.clone()))
        .expect("built");
    let registry = Registry::empty();
    registry.register(built);
    let failures = run(provider, &registry).await;
    assert_eq!(failures.len(), CASES.len());
    assert_eq!(failures[0], "openai chat");
}
