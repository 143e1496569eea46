//! Health through the public interface: by hand, by the clock, and one probe at a time.

use std::sync::Arc;
use std::time::Duration;

use crate::support::{Fixture, pass, secs, status};
use majordomo::chain::ChainConfig;
use majordomo::clock::{Clock, ManualClock};
use majordomo::fake::{Fake, Step};
use majordomo::health::{Health, HealthConfig};
use majordomo::{Capabilities, Chain, Part, Registry, Request, Response, Result};
use tokio::task::JoinHandle;

fn by_hand() -> (Health, Arc<ManualClock>) {
    let clock = Arc::new(ManualClock::new());
    let health = Health::new(
        HealthConfig::default(),
        Arc::clone(&clock) as Arc<dyn Clock>,
    );
    (health, clock)
}

#[test]
fn the_default_configuration_is_stable() {
    let config = HealthConfig::default();
    assert_eq!(config.threshold, 2);
    assert_eq!((config.base, config.max), (secs(5), secs(300)));
    assert_eq!(config.factor, 2.0);
    assert!(config.single_probe);
}

#[test]
fn a_bench_by_hand_shows_its_reason_and_expires() {
    let (health, clock) = by_hand();
    health.bench("fp/a", secs(60), "maintenance");
    clock.advance(secs(20));

    let shown = health.snapshot().remove(0);
    assert_eq!(shown.subject, "fp/a");
    assert_eq!(shown.until_usable, Some(secs(40)));
    assert_eq!(shown.benched_for, Some(secs(20)));
    assert_eq!(shown.cause.unwrap().to_string(), "maintenance");
    assert!(!shown.probing);

    clock.advance(secs(40));
    assert_eq!(health.snapshot()[0].until_usable, None);
}

#[test]
fn the_snapshot_is_ordered_by_name() {
    let (health, _) = by_hand();
    for subject in ["fp/b", "fp", "tail/x", "fp/a"] {
        health.bench(subject, secs(1), "maintenance");
    }
    let names: Vec<_> = health
        .snapshot()
        .into_iter()
        .map(|status| status.subject)
        .collect();
    assert_eq!(names, ["fp", "fp/a", "fp/b", "tail/x"]);
}

#[test]
fn a_bench_of_any_length_is_accepted() {
    let (health, _) = by_hand();
    health.bench("fp/a", Duration::MAX, "for good");
    assert!(health.snapshot()[0].until_usable > Some(secs(86_400 * 365)));
}

#[tokio::test(start_paused = true)]
async fn unbench_forgets_failures_and_backoff() {
    let fixture = Fixture::new();
    fixture.script("a", [status(500), status(500)]);
    fixture.send("fp/a,fp/b").await.unwrap();
    fixture.registry.health().unbench("fp/a");
    assert!(fixture.is_healthy("fp/a"));
    assert_eq!(fixture.served_by("fp/a,fp/b").await, "fp/a");
}

#[tokio::test(start_paused = true)]
async fn a_snapshot_shows_why_a_target_was_benched() {
    let fixture = Fixture::new();
    fixture.script("a", [status(500), status(502)]);
    fixture.send("fp/a,fp/b").await.unwrap();
    let shown = fixture.health("fp/a");
    assert_eq!((shown.failures, shown.rounds), (0, 1));
    assert_eq!(shown.cause.unwrap().to_string(), "HTTP 502");
}

#[tokio::test(start_paused = true)]
async fn health_is_tracked_per_target() {
    let fixture = Fixture::new();
    fixture.script("a", [status(500), status(500)]);
    fixture.send("fp/a,fp/b").await.unwrap();
    assert_eq!(fixture.served_by("tail/a").await, "tail/a");
    assert!(fixture.is_healthy("fp/b") && fixture.is_healthy("tail/a"));
}

#[tokio::test(start_paused = true)]
async fn chains_of_one_registry_share_its_health() {
    let fixture = Fixture::new();
    let (first, second) = (fixture.chain("fp/a,fp/b"), fixture.chain("fp/a,fp/c"));
    fixture.script("a", [status(500), status(500)]);
    first.generate(Request::user("hi")).await.unwrap();
    let reply = second.generate(Request::user("hi")).await.unwrap();
    assert_eq!(reply.model, "fp/c");
}

#[tokio::test(start_paused = true)]
async fn health_is_configurable() {
    let rules = HealthConfig::default()
        .with_threshold(3)
        .with_base(secs(10))
        .with_max(secs(25))
        .with_factor(1.5)
        .with_single_probe(false);
    let no_retries = ChainConfig::default().with_retries(0);
    let fixture = Fixture::with(no_retries, rules);
    fixture.fp.otherwise(|_| status(500));
    for expected in [0, 0, 10] {
        fixture.send("fp/a,tail/x").await.unwrap();
        assert_eq!(fixture.benched_secs("fp/a"), expected);
    }
    for expected in [15, 23, 25] {
        pass(30).await;
        for _ in 0..3 {
            fixture.send("fp/a,tail/x").await.unwrap();
        }
        assert_eq!(fixture.benched_secs("fp/a"), expected);
    }
}

#[tokio::test(start_paused = true)]
async fn a_factor_of_one_or_less_means_two() {
    for factor in [1.0, 0.0, -3.0, f64::NAN] {
        let rules = HealthConfig::default().with_factor(factor);
        let fixture = Fixture::with(ChainConfig::default(), rules);
        fixture.fp.otherwise(|_| status(500));
        fixture.send("fp/a,tail/x").await.unwrap();
        pass(5).await;
        fixture.send("fp/a,tail/x").await.unwrap();
        assert_eq!(fixture.benched_secs("fp/a"), 10, "{factor}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_clock_is_injected() {
    let clock = ManualClock::new();
    let registry = Registry::builder()
        .environment(Default::default())
        .clock(Arc::new(clock.clone()))
        .build();
    let fake = Fake::new("fp");
    fake.enqueue("a", [status(500), status(500)]);
    registry.register(fake);
    let chain = registry.model("fp/a,fp/b").unwrap();
    let server = async || chain.generate(Request::user("hi")).await.unwrap().model;

    assert_eq!(server().await, "fp/b");
    pass(3_600).await;
    assert_eq!(server().await, "fp/b", "the runtime's time is not used");
    clock.advance(secs(5));
    assert_eq!(server().await, "fp/a");
}

/// Starts a request in the background and waits until it is in flight.
async fn started(chain: &Chain) -> JoinHandle<Result<Response>> {
    let chain = chain.clone();
    let task = tokio::spawn(async move { chain.generate(Request::user("hi")).await });
    tokio::task::yield_now().await;
    task
}

/// A fixture whose `fp/a` was benched and is due for its probe.
async fn recovering(rules: HealthConfig, probe: Step) -> Fixture {
    let fixture = Fixture::with(ChainConfig::default(), rules);
    fixture.script("a", [status(500), status(500), probe]);
    fixture.send("fp/a,fp/b").await.expect("fp/b serves");
    pass(5).await;
    fixture
}

fn slow() -> Step {
    Step::reply("ok").after(secs(10))
}

#[tokio::test(start_paused = true)]
async fn after_a_bench_one_request_probes_while_the_others_skip_the_target() {
    let fixture = recovering(HealthConfig::default(), slow()).await;
    let chain = fixture.chain("fp/a,fp/b");

    let probe = started(&chain).await;
    assert!(fixture.health("fp/a").probing);
    assert_eq!(fixture.served_by("fp/a,fp/b").await, "fp/b");
    assert_eq!(probe.await.unwrap().unwrap().model, "fp/a");

    assert!(!fixture.health("fp/a").probing);
    assert_eq!(
        fixture.served_by("fp/a,fp/b").await,
        "fp/a",
        "everybody is back"
    );
}

#[tokio::test(start_paused = true)]
async fn a_failed_probe_benches_again_for_twice_as_long() {
    let fixture = recovering(HealthConfig::default(), status(500)).await;
    assert_eq!(fixture.served_by("fp/a,fp/b").await, "fp/b");
    assert_eq!(fixture.fp.call_count("a"), 3, "one probe, no retry");
    assert_eq!(fixture.benched_secs("fp/a"), 10);
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_probe_is_released_for_the_next_request() {
    let fixture = recovering(HealthConfig::default(), Step::hang()).await;
    let chain = fixture.chain("fp/a,fp/b");
    let probe = started(&chain).await;
    probe.abort();
    assert!(probe.await.unwrap_err().is_cancelled());
    assert!(!fixture.health("fp/a").probing);
    assert_eq!(fixture.served_by("fp/a,fp/b").await, "fp/a");
}

#[tokio::test(start_paused = true)]
async fn a_probe_without_a_verdict_is_released() {
    for undecided in [404, 400] {
        let fixture = recovering(HealthConfig::default(), status(undecided)).await;
        let _ = fixture.send("fp/a,fp/b").await;
        assert!(!fixture.health("fp/a").probing, "HTTP {undecided}");
        assert_eq!(fixture.served_by("fp/a,fp/b").await, "fp/a");
        assert!(fixture.is_healthy("fp/a"));
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_that_does_not_fit_is_not_a_probe() {
    let fixture = recovering(HealthConfig::default(), Step::reply("ok")).await;
    fixture
        .fp
        .set_model_capabilities("a", Capabilities::text_only());
    let picture = Request::user(Part::image("image/png", crate::support::PNG));
    fixture.chain("fp/a,fp/b").generate(picture).await.unwrap();
    assert!(!fixture.health("fp/a").probing);
    assert_eq!(fixture.served_by("fp/a,fp/b").await, "fp/a");
}

#[tokio::test(start_paused = true)]
async fn without_single_probe_all_requests_return_and_the_count_restarts() {
    let plain = HealthConfig::default().with_single_probe(false);
    let fixture = recovering(plain, slow()).await;
    let chain = fixture.chain("fp/a,fp/b");
    fixture.script("a", [slow()]);
    let (one, two) = (started(&chain).await, started(&chain).await);
    assert_eq!(one.await.unwrap().unwrap().model, "fp/a");
    assert_eq!(two.await.unwrap().unwrap().model, "fp/a");
}

#[tokio::test(start_paused = true)]
async fn without_single_probe_a_new_bench_needs_a_fresh_run_of_failures() {
    let plain = HealthConfig::default().with_single_probe(false);
    let fixture = recovering(plain, status(500)).await;
    assert_eq!(
        fixture.served_by("fp/a,fp/b").await,
        "fp/a",
        "retried and served"
    );
    assert!(fixture.is_healthy("fp/a"));
}

#[tokio::test(start_paused = true)]
async fn a_straggler_of_a_benched_target_does_not_lengthen_the_bench() {
    let fixture = Fixture::new();
    fixture.script("a", [status(500).after(secs(3)), status(500), status(500)]);
    let chain = fixture.chain("fp/a,fp/b");
    let straggler = started(&chain).await;
    fixture.send("fp/a,fp/b").await.unwrap();
    assert_eq!(fixture.benched_secs("fp/a"), 5);
    assert_eq!(straggler.await.unwrap().unwrap().model, "fp/b");
    assert_eq!(fixture.benched_secs("fp/a"), 2, "three seconds later");
    assert_eq!(fixture.fp.call_count("a"), 3, "and it is not retried there");
}

#[tokio::test(start_paused = true)]
async fn a_bench_by_hand_stays_although_the_last_resort_succeeds() {
    let fixture = Fixture::new();
    let health = fixture.registry.health();
    health.bench("fp/a", secs(600), "maintenance");
    for _ in 0..2 {
        assert_eq!(
            fixture.served_by("fp/a").await,
            "fp/a",
            "nothing else can serve"
        );
        assert!(
            !fixture.is_healthy("fp/a"),
            "only the operator or time ends it"
        );
    }
    assert_eq!(fixture.served_by("fp/a,fp/b").await, "fp/b");
    health.unbench("fp/a");
    assert_eq!(fixture.served_by("fp/a,fp/b").await, "fp/a");
}
