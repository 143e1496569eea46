//! The chains of recent specs are reused, and never outlive a change of the registry.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use majordomo::fake::Fake;
use majordomo::llm::Fingerprint;
use majordomo::registry::Resolver;
use majordomo::{BoxFuture, Error, Model, Provider, Registry, Result};

/// Counts the models that it makes.
#[derive(Clone)]
struct CountingProvider {
    fake: Fake,
    made: Arc<AtomicUsize>,
    identity: Option<Fingerprint>,
}

impl CountingProvider {
    fn new(identity: &str) -> Self {
        Self {
            fake: Fake::new("fp"),
            made: Arc::default(),
            identity: Some(Fingerprint::of(identity)),
        }
    }

    fn made(&self) -> usize {
        self.made.load(Ordering::Relaxed)
    }
}

impl Provider for CountingProvider {
    fn name(&self) -> &str {
        "fp"
    }

    fn model(&self, id: &str) -> Result<Arc<dyn Model>> {
        self.made.fetch_add(1, Ordering::Relaxed);
        self.fake.model(id)
    }

    fn fingerprint(&self) -> Option<Fingerprint> {
        self.identity
    }
}

fn targets(registry: &Registry, spec: &str) -> Vec<String> {
    let chain = registry.model(spec).expect("the spec is valid");
    chain.targets().map(ToString::to_string).collect()
}

#[test]
fn a_spec_that_is_named_again_builds_nothing() {
    let registry = Registry::empty();
    let provider = CountingProvider::new("a");
    registry.register(provider.clone());
    registry.alias("tier", "fp/a,fp/b").unwrap();
    for _ in 0..3 {
        assert_eq!(targets(&registry, "tier"), ["fp/a", "fp/b"]);
    }
    assert_eq!(provider.made(), 2);
}

#[test]
fn another_provider_of_the_name_serves_at_once() {
    let registry = Registry::empty();
    let (old, new) = (CountingProvider::new("old"), CountingProvider::new("new"));
    registry.register(old.clone());
    targets(&registry, "fp/a");
    registry.register(new.clone());
    targets(&registry, "fp/a");
    assert_eq!((old.made(), new.made()), (1, 1));
}

#[test]
fn an_alias_that_is_named_anew_has_its_new_targets() {
    let registry = Registry::empty();
    registry.register(CountingProvider::new("a"));
    registry.alias("tier", "fp/a").unwrap();
    assert_eq!(targets(&registry, "tier"), ["fp/a"]);
    registry.alias("tier", "fp/b").unwrap();
    assert_eq!(targets(&registry, "tier"), ["fp/b"]);
}

#[test]
fn a_spec_too_long_to_be_a_name_is_not_kept() {
    let registry = Registry::empty();
    let provider = CountingProvider::new("a");
    registry.register(provider.clone());
    let spec = format!("fp/{}", "x".repeat(300));
    targets(&registry, &spec);
    targets(&registry, &spec);
    assert_eq!(provider.made(), 2);
}

/// Gives another spec each time.
#[derive(Default)]
struct Rotating(AtomicUsize);

impl Resolver for Rotating {
    fn resolve<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Option<String>, Error>> {
        let number = self.0.fetch_add(1, Ordering::Relaxed);
        Box::pin(async move { Ok(Some(format!("fp/{number}"))) })
    }
}

#[tokio::test(start_paused = true)]
async fn a_dynamic_alias_is_resolved_anew() {
    let registry = Registry::empty();
    registry.register(CountingProvider::new("a"));
    registry.resolver(Rotating::default());
    for expected in ["fp/0", "fp/1"] {
        let chain = registry.resolve("tier").await.unwrap();
        let names: Vec<_> = chain.targets().map(ToString::to_string).collect();
        assert_eq!(names, [expected]);
    }
}

#[test]
fn a_kept_chain_has_the_health_of_the_table_after_a_provider_changed() {
    let earlier = Registry::empty();
    earlier.register(CountingProvider::new("old"));
    targets(&earlier, "fp/a");
    let registry = Registry::builder().environment(BTreeMap::new());
    let registry = registry.inheriting_health(&earlier).build();
    registry.register(CountingProvider::new("old"));
    let before = registry.model("fp/a").unwrap();
    registry
        .health()
        .bench("fp/a", Duration::from_secs(60), "by hand");
    registry.register(CountingProvider::new("new"));
    registry.forget_changed_providers();
    let status = |registry: &Registry| registry.health().status("fp/a");
    assert!(status(&registry).is_none_or(|status| status.until_usable.is_none()));
    targets(&registry, "fp/a");
    assert!(status(&registry).is_some_and(|status| status.until_usable.is_none()));
    drop(before);
}
