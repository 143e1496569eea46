//! U-46 to U-50: many requests and sick targets, in virtual time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use majordomo::fake::Step;
use majordomo::{ErrorKind, Request};

use crate::support::{House, pass, secs, status, status_after};

const TENTH: Duration = Duration::from_millis(100);
const HUNDREDTH: Duration = Duration::from_millis(10);

/// A coin that falls the same way in every run.
struct Coin(u64);

impl Coin {
    fn heads(&mut self) -> bool {
        // The constants of Knuth's MMIX generator.
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005);
        self.0 = self.0.wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 63 == 0
    }
}

#[tokio::test(start_paused = true)]
async fn u46_a_target_that_fails_half_the_time_costs_no_request_and_few_calls() {
    let house = House::new();
    let coin = std::sync::Mutex::new(Coin(46));
    house
        .fp
        .otherwise(move |_| match coin.lock().unwrap().heads() {
            true => status(500),
            false => Step::reply("ok"),
        });
    for _ in 0..1_000 {
        assert!(house.ask("fp/a,tail/x").await.is_ok());
        tokio::time::advance(TENTH).await;
    }
    let calls = house.fp.call_count("a");
    assert!(calls <= 1_250, "{calls} calls of the sick one");
    assert!(house.tail.call_count("x") > 0, "it was benched at times");
}

#[tokio::test(start_paused = true)]
async fn u47_targets_that_are_all_down_get_no_storm_and_are_found_again_at_once() {
    let house = House::new();
    let well = Arc::new(AtomicBool::new(false));
    for fake in [&house.fp, &house.tail] {
        let well = Arc::clone(&well);
        fake.otherwise(move |_| match well.load(Ordering::Relaxed) {
            true => Step::reply("ok"),
            false => status(500),
        });
    }
    let mut asked = 0;
    let began = tokio::time::Instant::now();
    while began.elapsed() < secs(60) {
        let before = tokio::time::Instant::now();
        assert!(house.ask("fp/a,tail/x").await.is_err());
        assert!(before.elapsed() < secs(1), "nobody waits for the dead");
        asked += 1;
        tokio::time::advance(HUNDREDTH).await;
    }
    let calls = house.fp.call_count("a") + house.tail.call_count("x");
    assert!(
        calls <= asked + asked / 5,
        "{calls} calls for {asked} requests"
    );

    well.store(true, Ordering::Relaxed);
    assert!(
        house.ask("fp/a,tail/x").await.is_ok(),
        "the last resort finds it"
    );
}

/// A house whose `fp/a` was benched for 5 s, which are over now.
async fn due() -> House {
    let house = House::new();
    house.script("a", [status(500), status(500)]);
    assert_eq!(house.served_by("fp/a,tail/x").await, "tail/x");
    pass(5).await;
    house
}

#[tokio::test(start_paused = true)]
async fn u48_a_probe_that_is_cancelled_frees_its_place() {
    let house = due().await;
    house.script("a", [Step::hang()]);
    let chain = house.chain("fp/a,tail/x");
    let probe = chain.generate(Request::user("hi"));
    assert!(tokio::time::timeout(secs(1), probe).await.is_err());
    assert!(!house.health("fp/a").probing);
    assert_eq!(house.served_by("fp/a,tail/x").await, "fp/a");
}

#[tokio::test(start_paused = true)]
async fn u48_a_probe_that_hangs_ends_with_its_deadline_and_frees_its_place() {
    let house = due().await;
    house.script("a", [Step::hang()]);
    let hurried = Request::user("hi").timeout(secs(1));
    let error = house
        .chain("fp/a,tail/x")
        .generate(hurried)
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Deadline);
    assert_eq!(house.served_by("fp/a,tail/x").await, "fp/a");
}

#[tokio::test(start_paused = true)]
async fn u48_a_probe_that_is_throttled_benches_again() {
    let house = due().await;
    house.script("a", [status_after(429, 7)]);
    assert_eq!(house.served_by("fp/a,tail/x").await, "tail/x");
    assert_eq!(house.benched_secs("fp/a"), 7);
}

#[tokio::test(start_paused = true)]
async fn u49_of_a_thousand_that_come_when_a_bench_ends_one_probes() {
    let house = due().await;
    let probes = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&probes);
    house.fp.otherwise(move |_| {
        seen.fetch_add(1, Ordering::Relaxed);
        Step::reply("ok").after(secs(1))
    });
    let mut asking = tokio::task::JoinSet::new();
    for _ in 0..1_000 {
        let chain = house.chain("fp/a,tail/x");
        asking.spawn(async move { chain.generate(Request::user("hi")).await.unwrap().model });
    }
    let served = asking.join_all().await;
    assert_eq!(probes.load(Ordering::Relaxed), 1);
    assert_eq!(served.iter().filter(|model| *model == "fp/a").count(), 1);
}

#[tokio::test(start_paused = true)]
async fn u50_when_all_are_benched_the_nearest_is_tried_once_and_the_error_says_when() {
    let house = House::new();
    let health = house.registry.health();
    health.bench("fp/a", secs(30), "sick");
    health.bench("tail/x", secs(20), "sick");
    house.tail.enqueue("x", [status(500)]);
    let error = house.refused("fp/a,tail/x").await;
    assert_eq!(error.kind(), ErrorKind::Exhausted);
    assert_eq!(error.retry_after(), Some(secs(20)));
    assert_eq!(
        (house.fp.call_count("a"), house.tail.call_count("x")),
        (0, 1)
    );
}
