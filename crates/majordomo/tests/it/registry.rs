//! The registry: providers and dynamic aliases.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::support::secs;
use majordomo::fake::{Fake, Step};
use majordomo::registry::Resolver;
use majordomo::spec::SpecError;
use majordomo::{BoxFuture, Error, ErrorKind, Model, Provider, Registry, Request};

type Resolution = Result<Option<String>, Error>;

/// Resolves with a function and records the aliases.
struct RecordingResolver {
    resolve: fn(&str) -> Resolution,
    aliases_seen: Arc<Mutex<Vec<String>>>,
}

impl Resolver for RecordingResolver {
    fn resolve<'a>(&'a self, alias: &'a str) -> BoxFuture<'a, Resolution> {
        self.aliases_seen
            .lock()
            .expect("no resolver panics")
            .push(alias.to_owned());
        Box::pin(async move {
            tokio::time::sleep(Duration::from_millis(1)).await;
            (self.resolve)(alias)
        })
    }
}

fn registry() -> Registry {
    let registry = Registry::empty();
    registry.register(Fake::new("fp"));
    registry
}

/// Adds a resolver; returns the aliases that it receives.
fn resolving(registry: &Registry, resolve: fn(&str) -> Resolution) -> Arc<Mutex<Vec<String>>> {
    let aliases_seen = Arc::default();
    registry.resolver(RecordingResolver {
        resolve,
        aliases_seen: Arc::clone(&aliases_seen),
    });
    aliases_seen
}

async fn resolved(registry: &Registry, spec: &str) -> Vec<String> {
    match registry.resolve(spec).await {
        Ok(chain) => chain.targets().map(ToString::to_string).collect(),
        Err(error) => vec![error.to_string()],
    }
}

#[tokio::test(start_paused = true)]
async fn a_dynamic_alias_expands_like_a_static_one() {
    let registry = registry();
    registry.alias("still", "fp/s").unwrap();
    resolving(&registry, |alias| {
        Ok(match alias {
            "tier" => Some("fp/a,deeper,still".into()),
            "deeper" => Some("fp/b".into()),
            _ => None,
        })
    });
    assert_eq!(
        resolved(&registry, "fp/x,tier,fp/z").await,
        ["fp/x", "fp/a", "fp/b", "fp/s", "fp/z"]
    );
}

#[tokio::test(start_paused = true)]
async fn a_static_alias_shadows_a_dynamic_one() {
    let registry = registry();
    registry.alias("tier", "fp/static").unwrap();
    let aliases_seen = resolving(&registry, |_| Ok(Some("fp/dynamic".into())));
    assert_eq!(resolved(&registry, "tier").await, ["fp/static"]);
    assert!(
        aliases_seen.lock().unwrap().is_empty(),
        "no resolver was consulted"
    );
}

#[tokio::test(start_paused = true)]
async fn resolvers_are_consulted_in_order_of_registration() {
    let registry = registry();
    let first = resolving(&registry, |alias| {
        Ok((alias == "one").then(|| "fp/first".into()))
    });
    let second = resolving(&registry, |_| Ok(Some("fp/second".into())));
    assert_eq!(
        resolved(&registry, "one,two").await,
        ["fp/first", "fp/second"]
    );
    assert_eq!(*first.lock().unwrap(), ["one", "two"]);
    assert_eq!(*second.lock().unwrap(), ["two"]);
}

#[tokio::test(start_paused = true)]
async fn targets_are_not_passed_to_resolvers() {
    let registry = registry();
    let aliases_seen = resolving(&registry, |_| Ok(None));
    resolved(&registry, "fp/a,fp/b").await;
    assert!(aliases_seen.lock().unwrap().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_cycle_through_a_resolver_is_found() {
    let registry = registry();
    registry.alias("still", "moving").unwrap();
    resolving(&registry, |_| Ok(Some("still".into())));
    let error = registry.resolve("still").await.unwrap_err();
    assert!(matches!(error, SpecError::AliasCycle { .. }), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_failing_resolver_is_reported_with_its_alias() {
    let registry = registry();
    resolving(&registry, |_| {
        Err(Error::new(ErrorKind::Unknown, "the database is away"))
    });
    let text = registry.resolve("tier").await.unwrap_err().to_string();
    assert!(
        text.contains("tier") && text.contains("the database is away"),
        "{text}"
    );
}

#[tokio::test(start_paused = true)]
async fn an_alias_that_no_resolver_knows_is_unknown() {
    let registry = registry();
    registry.alias("thinking", "fp/a").unwrap();
    resolving(&registry, |_| Ok(None));
    let error = registry.resolve("thinkin").await.unwrap_err();
    let nearest = Some("thinking".to_owned());
    assert_eq!(
        error,
        SpecError::UnknownAlias {
            name: "thinkin".into(),
            nearest
        }
    );
}

#[tokio::test(start_paused = true)]
async fn parse_consults_no_resolver_and_points_to_resolve() {
    let registry = registry();
    let aliases_seen = resolving(&registry, |_| Ok(Some("fp/a".into())));
    let error = registry.model("tier").unwrap_err();
    assert_eq!(
        error,
        SpecError::NeedsResolver {
            name: "tier".into()
        }
    );
    assert!(error.to_string().contains("resolve"), "{error}");
    assert!(aliases_seen.lock().unwrap().is_empty());
}

/// Uses the registry while it resolves.
struct ReentrantResolver(Registry);

impl Resolver for ReentrantResolver {
    fn resolve<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Resolution> {
        Box::pin(async move {
            let registry = &self.0;
            registry.model("fp/inner")?;
            registry.register(Fake::new("found"));
            registry.alias("fresh", "found/it")?;
            registry.resolve("fresh").await?;
            assert_eq!(registry.providers(), ["found", "fp"]);
            registry.health().bench("found", secs(1), "no lock is held");
            Ok(Some("fresh".into()))
        })
    }
}

#[tokio::test(start_paused = true)]
async fn no_lock_is_held_while_a_resolver_runs() {
    let registry = registry();
    registry.resolver(ReentrantResolver(registry.clone()));
    let resolving = tokio::spawn(async move { resolved(&registry, "tier").await });
    let done = tokio::time::timeout(secs(60), resolving).await;
    assert_eq!(done.expect("no deadlock").unwrap(), ["found/it"]);
}

#[tokio::test(start_paused = true)]
async fn a_resolved_chain_serves() {
    let registry = registry();
    resolving(&registry, |_| Ok(Some("fp/a".into())));
    let chain = registry.resolve("tier").await.unwrap();
    let reply = chain.generate(Request::user("hi")).await.unwrap();
    assert_eq!(reply.model, "fp/a");
}

#[tokio::test(start_paused = true)]
async fn a_provider_of_the_same_name_replaces_the_earlier_one() {
    let registry = registry();
    let newer = Fake::new("fp");
    newer.enqueue("a", [Step::reply("from the newer one")]);
    registry.register(newer);
    let reply = registry
        .model("fp/a")
        .unwrap()
        .generate(Request::user("hi"))
        .await
        .unwrap();
    assert_eq!(reply.text(), "from the newer one");
    assert_eq!(registry.providers(), ["fp"]);
}

#[test]
fn a_shared_provider_is_found_by_name() {
    let registry = Registry::empty();
    let fake: Arc<dyn Provider> = Arc::new(Fake::new("shared"));
    registry.register_arc(Arc::clone(&fake));
    assert!(Arc::ptr_eq(&registry.provider("shared").unwrap(), &fake));
}

#[test]
fn the_aliases_are_listed() {
    let registry = registry();
    registry.alias("b", "fp/b").unwrap();
    registry.alias("a", "fp/a,b").unwrap();
    let mut aliases = registry.aliases();
    aliases.sort();
    let pair = |name: &str, spec: &str| (name.to_owned(), spec.to_owned());
    assert_eq!(aliases, [pair("a", "fp/a,b"), pair("b", "fp/b")]);
}

#[test]
fn registries_are_isolated_and_their_clones_are_not() {
    let (one, two) = (registry(), registry());
    one.clone().alias("tier", "fp/a").unwrap();
    assert!(one.model("tier").is_ok());
    assert!(two.model("tier").is_err());
}

#[test]
fn a_providers_rejection_of_a_model_is_passed_on() {
    struct NumericIds;
    impl Provider for NumericIds {
        fn name(&self) -> &str {
            "fussy"
        }
        fn model(&self, _: &str) -> majordomo::Result<Arc<dyn Model>> {
            Err(Error::new(ErrorKind::Spec, "ids are numbers here"))
        }
    }
    let registry = Registry::empty();
    registry.register(NumericIds);
    let text = registry.model("fussy/x").unwrap_err().to_string();
    assert!(text.contains("ids are numbers here"), "{text}");
}
