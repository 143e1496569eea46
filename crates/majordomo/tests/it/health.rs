//! Health as users see it: by hand, by the clock, and one probe at a time.

mod support;

use std::sync::Arc;
use std::time::Duration;

use majordomo::fake::{Fake, Step};
use majordomo::{
    Capabilities, Chain, ChainConfig, Clock, Health, HealthConfig, ManualClock, Part, Registry,
    Request, Response, Result,
};
use support::{House, pass, secs, status};
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
fn the_defaults_are_the_originals() {
    let config = HealthConfig::default();
    assert_eq!(config.threshold, 2);
    assert_eq!((config.base, config.max), (secs(5), secs(300)));
    assert_eq!(config.factor, 2.0);
    assert!(config.single_probe);
}

#[test]
fn a_bench_by_hand_shows_its_reason_and_runs_out_by_the_clock() {
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
fn any_length_of_bench_is_taken() {
    let (health, _) = by_hand();
    health.bench("fp/a", Duration::MAX, "for good");
    assert!(health.snapshot()[0].until_usable > Some(secs(86_400 * 365)));
}

#[tokio::test(start_paused = true)]
async fn unbench_forgets_failures_and_backoff() {
    let house = House::new();
    house.script("a", [status(500), status(500)]);
    house.ask("fp/a,fp/b").await.unwrap();
    house.registry.health().unbench("fp/a");
    assert!(house.is_spotless("fp/a"));
    assert_eq!(house.served_by("fp/a,fp/b").await, "fp/a");
}

#[tokio::test(start_paused = true)]
async fn a_snapshot_shows_why_a_target_was_benched() {
    let house = House::new();
    house.script("a", [status(500), status(502)]);
    house.ask("fp/a,fp/b").await.unwrap();
    let shown = house.health("fp/a");
    assert_eq!((shown.failures, shown.rounds), (0, 1));
    assert_eq!(shown.cause.unwrap().to_string(), "HTTP 502");
}

#[tokio::test(start_paused = true)]
async fn health_is_kept_for_each_target_by_itself() {
    let house = House::new();
    house.script("a", [status(500), status(500)]);
    house.ask("fp/a,fp/b").await.unwrap();
    assert_eq!(house.served_by("tail/a").await, "tail/a");
    assert!(house.is_spotless("fp/b") && house.is_spotless("tail/a"));
}

#[tokio::test(start_paused = true)]
async fn chains_of_one_registry_share_its_health() {
    let house = House::new();
    let (first, second) = (house.chain("fp/a,fp/b"), house.chain("fp/a,fp/c"));
    house.script("a", [status(500), status(500)]);
    first.generate(Request::user("hi")).await.unwrap();
    let reply = second.generate(Request::user("hi")).await.unwrap();
    assert_eq!(reply.model, "fp/c");
}

#[tokio::test(start_paused = true)]
async fn the_rules_can_be_changed() {
    let rules = HealthConfig {
        threshold: 3,
        base: secs(10),
        max: secs(25),
        factor: 1.5,
        single_probe: false,
    };
    let no_retries = ChainConfig {
        retries: 0,
        ..ChainConfig::default()
    };
    let house = House::with(no_retries, rules);
    house.fp.otherwise(|_| status(500));
    for expected in [0, 0, 10] {
        house.ask("fp/a,tail/x").await.unwrap();
        assert_eq!(house.benched_secs("fp/a"), expected);
    }
    for expected in [15, 23, 25] {
        pass(30).await;
        for _ in 0..3 {
            house.ask("fp/a,tail/x").await.unwrap();
        }
        assert_eq!(house.benched_secs("fp/a"), expected);
    }
}

#[tokio::test(start_paused = true)]
async fn a_factor_of_one_or_less_is_taken_as_two() {
    for factor in [1.0, 0.0, -3.0, f64::NAN] {
        let rules = HealthConfig {
            factor,
            ..HealthConfig::default()
        };
        let house = House::with(ChainConfig::default(), rules);
        house.fp.otherwise(|_| status(500));
        house.ask("fp/a,tail/x").await.unwrap();
        pass(5).await;
        house.ask("fp/a,tail/x").await.unwrap();
        assert_eq!(house.benched_secs("fp/a"), 10, "{factor}");
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
    let chain = registry.parse("fp/a,fp/b").unwrap();
    let server = async || chain.generate(Request::user("hi")).await.unwrap().model;

    assert_eq!(server().await, "fp/b");
    pass(3_600).await;
    assert_eq!(server().await, "fp/b", "the runtime's time is not asked");
    clock.advance(secs(5));
    assert_eq!(server().await, "fp/a");
}

/// Asks in the background, and lets the request get under way.
async fn started(chain: &Chain) -> JoinHandle<Result<Response>> {
    let chain = chain.clone();
    let task = tokio::spawn(async move { chain.generate(Request::user("hi")).await });
    tokio::task::yield_now().await;
    task
}

/// A house whose `fp/a` was benched and may be probed now.
async fn recovering(rules: HealthConfig, probe: Step) -> House {
    let house = House::with(ChainConfig::default(), rules);
    house.script("a", [status(500), status(500), probe]);
    house.ask("fp/a,fp/b").await.expect("fp/b serves");
    pass(5).await;
    house
}

fn slow() -> Step {
    Step::reply("ok").after(secs(10))
}

#[tokio::test(start_paused = true)]
async fn after_a_bench_one_request_probes_while_the_others_stay_away() {
    let house = recovering(HealthConfig::default(), slow()).await;
    let chain = house.chain("fp/a,fp/b");

    let probe = started(&chain).await;
    assert!(house.health("fp/a").probing);
    assert_eq!(house.served_by("fp/a,fp/b").await, "fp/b");
    assert_eq!(probe.await.unwrap().unwrap().model, "fp/a");

    assert!(!house.health("fp/a").probing);
    assert_eq!(
        house.served_by("fp/a,fp/b").await,
        "fp/a",
        "everybody is back"
    );
}

#[tokio::test(start_paused = true)]
async fn a_failed_probe_benches_again_for_twice_as_long() {
    let house = recovering(HealthConfig::default(), status(500)).await;
    assert_eq!(house.served_by("fp/a,fp/b").await, "fp/b");
    assert_eq!(house.fp.call_count("a"), 3, "one try, no retry");
    assert_eq!(house.benched_secs("fp/a"), 10);
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_probe_frees_its_place_for_the_next_request() {
    let house = recovering(HealthConfig::default(), Step::hang()).await;
    let chain = house.chain("fp/a,fp/b");
    let probe = started(&chain).await;
    probe.abort();
    assert!(probe.await.unwrap_err().is_cancelled());
    assert!(!house.health("fp/a").probing);
    assert_eq!(house.served_by("fp/a,fp/b").await, "fp/a");
}

#[tokio::test(start_paused = true)]
async fn a_probe_that_says_nothing_about_health_leaves_the_question_open() {
    for undecided in [404, 400] {
        let house = recovering(HealthConfig::default(), status(undecided)).await;
        let _ = house.ask("fp/a,fp/b").await;
        assert!(!house.health("fp/a").probing, "HTTP {undecided}");
        assert_eq!(house.served_by("fp/a,fp/b").await, "fp/a");
        assert!(house.is_spotless("fp/a"));
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_that_does_not_fit_is_no_probe() {
    let house = recovering(HealthConfig::default(), Step::reply("ok")).await;
    house
        .fp
        .set_model_capabilities("a", Capabilities::text_only());
    let picture = Request::user(Part::image("image/png", support::PNG));
    house.chain("fp/a,fp/b").generate(picture).await.unwrap();
    assert!(!house.health("fp/a").probing);
    assert_eq!(house.served_by("fp/a,fp/b").await, "fp/a");
}

#[tokio::test(start_paused = true)]
async fn without_the_single_probe_everybody_comes_back_and_the_count_starts_anew() {
    let plain = HealthConfig {
        single_probe: false,
        ..HealthConfig::default()
    };
    let house = recovering(plain, slow()).await;
    let chain = house.chain("fp/a,fp/b");
    house.script("a", [slow()]);
    let (one, two) = (started(&chain).await, started(&chain).await);
    assert_eq!(one.await.unwrap().unwrap().model, "fp/a");
    assert_eq!(two.await.unwrap().unwrap().model, "fp/a");
}

#[tokio::test(start_paused = true)]
async fn without_the_single_probe_a_new_bench_needs_a_fresh_run_of_failures() {
    let plain = HealthConfig {
        single_probe: false,
        ..HealthConfig::default()
    };
    let house = recovering(plain, status(500)).await;
    assert_eq!(
        house.served_by("fp/a,fp/b").await,
        "fp/a",
        "retried and served"
    );
    assert!(house.is_spotless("fp/a"));
}

#[tokio::test(start_paused = true)]
async fn a_straggler_of_a_benched_target_does_not_lengthen_the_bench() {
    let house = House::new();
    house.script("a", [status(500).after(secs(3)), status(500), status(500)]);
    let chain = house.chain("fp/a,fp/b");
    let straggler = started(&chain).await;
    house.ask("fp/a,fp/b").await.unwrap();
    assert_eq!(house.benched_secs("fp/a"), 5);
    assert_eq!(straggler.await.unwrap().unwrap().model, "fp/b");
    assert_eq!(house.benched_secs("fp/a"), 2, "three seconds later");
    assert_eq!(house.fp.call_count("a"), 3, "and it is not retried there");
}
