//! What observers are notified of, and that they cannot break a request.

use std::sync::{Arc, OnceLock};

use crate::support::{Fixture, Notices, pass, secs, status, status_after};
use majordomo::clock::ManualClock;
use majordomo::fake::{Fake, Step};
use majordomo::health::{Health, HealthConfig};
use majordomo::observe::Notice;
use majordomo::{Capabilities, Event, Part, Registry, Request};

#[tokio::test(start_paused = true)]
async fn attempts_benches_skips_and_recoveries_are_notified_in_order() {
    let fixture = Fixture::new();
    fixture.script("a", [status(500), status(500)]);

    fixture.send("fp/a,fp/b").await.unwrap();
    assert_eq!(
        fixture.notices.take(),
        [
            "failed fp/a Transient",
            "failed fp/a Transient",
            "benched fp/a 5s",
            "served fp/b",
        ]
    );

    fixture.send("fp/a,fp/b").await.unwrap();
    assert_eq!(fixture.notices.take(), ["skipped fp/a", "served fp/b"]);

    pass(5).await;
    fixture.send("fp/a,fp/b").await.unwrap();
    let mut notices = fixture.notices.take();
    notices.sort();
    assert_eq!(notices, ["recovered fp/a", "served fp/a"]);
}

#[tokio::test(start_paused = true)]
async fn a_rejected_key_is_notified_under_the_name_of_its_provider() {
    let fixture = Fixture::new();
    fixture.script("a", [status(401)]);
    fixture.send("fp/a,fp/b,tail/x").await.unwrap();
    assert_eq!(
        fixture.notices.take(),
        [
            "failed fp/a Auth",
            "benched fp 60s",
            "skipped fp/b",
            "served tail/x"
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn throttling_is_notified_with_the_providers_retry_after() {
    let fixture = Fixture::new();
    fixture.script("a", [status_after(429, 40)]);
    fixture.send("fp/a,fp/b").await.unwrap();
    assert!(
        fixture
            .notices
            .take()
            .contains(&"benched fp/a 40s".to_owned())
    );
}

#[tokio::test(start_paused = true)]
async fn an_incapable_target_is_notified_as_skipped() {
    let fixture = Fixture::new();
    fixture
        .fp
        .set_model_capabilities("blind", Capabilities::text_only());
    let picture = Request::user(Part::image("image/png", crate::support::PNG));
    fixture
        .chain("fp/blind,fp/b")
        .generate(picture)
        .await
        .unwrap();
    assert_eq!(fixture.notices.take(), ["skipped fp/blind", "served fp/b"]);
}

#[tokio::test(start_paused = true)]
async fn benches_and_recoveries_by_hand_are_notified() {
    let notices = Notices::default();
    let clock = Arc::new(ManualClock::new());
    let health = Health::new(HealthConfig::default(), clock).observed_by(notices.observer());
    health.bench("fp/a", secs(60), "maintenance");
    health.unbench("fp/a");
    health.unbench("fp/a");
    assert_eq!(notices.take(), ["benched fp/a 60s", "recovered fp/a"]);
}

#[tokio::test(start_paused = true)]
async fn all_observers_are_notified() {
    let (one, two) = (Notices::default(), Notices::default());
    let registry = Registry::builder()
        .environment(Default::default())
        .observer(one.observer())
        .observer(two.observer())
        .build();
    registry.register(Fake::new("fp"));
    let chain = registry.model("fp/a").unwrap();
    chain.generate(Request::user("hi")).await.unwrap();
    assert_eq!(one.take(), ["served fp/a"]);
    assert_eq!(two.take(), ["served fp/a"]);
}

#[tokio::test(start_paused = true)]
async fn an_observer_may_use_the_registry_and_its_health() {
    let registry: Arc<OnceLock<Registry>> = Arc::default();
    let own = Arc::clone(&registry);
    let listener = move |notice: &Notice<'_>| {
        let registry = own.get().expect("set before the first request");
        if let Notice::Benched { subject, .. } = notice {
            registry.alias("spare", "fp/b").expect("a good alias");
            registry.model("spare").expect("a known alias");
            assert_eq!(registry.health().snapshot()[0].subject, "fp");
            registry.health().unbench(subject);
        }
    };
    let built = Registry::builder()
        .environment(Default::default())
        .observer(Arc::new(listener))
        .build();
    let fake = Fake::new("fp");
    fake.enqueue("a", [status(500), status(500)]);
    built.register(fake);
    let registry = registry.get_or_init(|| built);

    let chain = registry.model("fp/a,fp/b").unwrap();
    chain.generate(Request::user("hi")).await.unwrap();

    let healthy = |status: &majordomo::health::HealthStatus| status.until_usable.is_none();
    assert!(registry.health().snapshot().iter().all(healthy));
}

#[tokio::test(start_paused = true)]
async fn a_panicking_observer_leaves_everything_usable() {
    let registry = Registry::builder()
        .environment(Default::default())
        .observer(Arc::new(|notice: &Notice<'_>| {
            assert!(
                !matches!(notice, Notice::Benched { .. }),
                "a listener's own bug"
            );
        }))
        .build();
    let fake = Fake::new("fp");
    fake.enqueue("a", [status(500), status(500), Step::reply("ok")]);
    registry.register(fake);
    let chain = registry.model("fp/a").unwrap();

    let unlucky = tokio::spawn({
        let chain = chain.clone();
        async move { chain.generate(Request::user("hi")).await }
    });
    assert!(unlucky.await.unwrap_err().is_panic());

    pass(5).await;
    assert!(chain.generate(Request::user("hi")).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_stream_is_notified_once_when_it_ends() {
    let broken = Step::events([Event::Text("hel".into())]);
    let rows = [
        (Step::reply("hello"), "served fp/a"),
        (broken, "failed fp/a BadResponse"),
    ];
    for (step, expected) in rows {
        let fixture = Fixture::new();
        fixture.script("a", [step]);
        let stream = fixture
            .chain("fp/a")
            .stream(Request::user("hi"))
            .await
            .unwrap();
        assert!(fixture.notices.take().is_empty(), "no notice yet");
        let _ = stream.finish().await;
        assert_eq!(fixture.notices.take(), [expected]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_dropped_stream_is_not_notified() {
    let fixture = Fixture::new();
    let stream = fixture
        .chain("fp/a")
        .stream(Request::user("hi"))
        .await
        .unwrap();
    drop(stream);
    assert!(fixture.notices.take().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_providers_error_text_reaches_only_its_own_caller() {
    const SECRET: &str = "my password is hunter2";
    let failure = |status| Step::fail(majordomo::Error::http(status, SECRET).with_code(SECRET));
    for (first, then) in [(failure(500), failure(500)), (failure(401), failure(401))] {
        let received: Arc<std::sync::Mutex<Vec<String>>> = Arc::default();
        let own = Arc::clone(&received);
        let registry = Registry::builder()
            .environment(Default::default())
            .observer(Arc::new(move |notice: &Notice<'_>| {
                // The notice of a failure belongs to the request that failed.
                if !matches!(notice, Notice::Failed { .. }) {
                    own.lock().unwrap().push(format!("{notice:?}"));
                }
            }))
            .chain(
                majordomo::chain::ChainConfig::default()
                    .with_all_benched(majordomo::chain::AllBenched::Fail),
            )
            .build();
        let fake = Fake::new("fp");
        fake.enqueue("a", [first, then]);
        registry.register(fake);
        let ask = async |spec: &str| {
            let chain = registry.model(spec).unwrap();
            let error = chain.generate(Request::user("hi")).await.unwrap_err();
            format!("{error} {error:?} {:?}", error.attempt_log())
        };

        assert!(
            ask("fp/a").await.contains(SECRET),
            "its own caller receives it"
        );

        let other = ask("fp/a").await;
        assert!(!other.contains(SECRET), "{other}");
        let shown = format!("{:?}", registry.health().snapshot());
        assert!(!shown.contains(SECRET), "{shown}");
        let received = received.lock().unwrap().join("\n");
        assert!(
            received.contains("Benched") && !received.contains(SECRET),
            "{received}"
        );
    }
}
