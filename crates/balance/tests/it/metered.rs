//! The measurements of a meter, and the assignment of seats.

use std::future::poll_fn;
use std::sync::Arc;
use std::time::Duration;

use majordomo::fake::{Beat, Fake, Step};
use majordomo::llm::AttemptOutcome;
use majordomo::{
    Class, ErrorKind, Event, EventStream, FinishReason, Model, ModelExt, Part, Provider, Request,
    Response, Result, Usage,
};
use majordomo_balance::{Metered, PoolConfig, ServiceConfig, ServiceStats, Tactic};

use crate::support::{TestGateway, metered, now, secs, status};

/// A metered model `m` of a fake, with its statistics.
fn model(fake: &Fake) -> (Metered, Arc<ServiceStats>) {
    let stats = Arc::new(ServiceStats::new(now()));
    let model = fake.model("m").expect("a fake has every model");
    (metered(model, &stats), stats)
}

fn usage(input: u64, output: u64, cache_read: u64) -> Usage {
    Usage::new(input, output).with_cache_read(cache_read)
}

/// Half a second of silence, then 101 tokens in two seconds.
fn paced() -> Step {
    let start = Event::Start {
        id: None,
        model: None,
    };
    Step::events([start])
        .then(Beat::Wait(Duration::from_millis(500)))
        .then(Beat::Event(Event::Text("a".into())))
        .then(Beat::Wait(secs(2)))
        .then(Beat::Event(Event::Text("b".into())))
        .then(Beat::Event(Event::Usage(usage(50, 101, 25))))
        .then(Beat::Event(Event::Finish(FinishReason::Stop)))
}

async fn next(events: &mut EventStream) -> Option<Result<Event>> {
    poll_fn(|cx| events.as_mut().poll_next(cx)).await
}

#[tokio::test(start_paused = true)]
async fn a_stream_records_first_token_speed_latency_tokens_and_cache_hits() {
    let fake = Fake::new("fp");
    fake.enqueue("m", [paced()]);
    let (model, stats) = model(&fake);
    let mut events = model.events(Request::user("hi")).await.unwrap();
    assert_eq!(stats.in_flight(), 1);
    while next(&mut events).await.is_some() {}
    assert_eq!(stats.in_flight(), 0);
    assert_eq!(stats.mean_first_token(), Some(500.0));
    assert_eq!(stats.mean_speed(), (Some(50.0), 1));
    assert_eq!(stats.mean_latency(), Some(2_500.0));
    assert!((stats.peak_latency(now()) - 2.5).abs() < 0.01);
    assert_eq!(stats.recent_tokens(now()), 151);
    assert_eq!(stats.cached_share(), Some(0.5));
    assert_eq!(stats.cache_hit_share(), Some(1.0));
}

#[tokio::test(start_paused = true)]
async fn a_complete_response_records_latency_and_tokens_but_no_first_token() {
    let fake = Fake::new("fp");
    let answer = Response::new(vec![Part::text("hello")]).with_usage(usage(10, 20, 0));
    fake.enqueue("m", [Step::respond(answer).after(secs(3))]);
    let (model, stats) = model(&fake);
    model.generate(Request::user("hi")).await.unwrap();
    assert_eq!(stats.mean_latency(), Some(3_000.0));
    assert_eq!(stats.recent_tokens(now()), 30);
    assert_eq!(stats.mean_first_token(), None);
    assert_eq!(stats.mean_speed(), (None, 0));
    assert_eq!(stats.in_flight(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_fast_failure_does_not_look_like_a_fast_response() {
    let fake = Fake::new("fp");
    fake.otherwise(|_| status(500));
    let (model, stats) = model(&fake);
    model.generate(Request::user("hi")).await.unwrap_err();
    let mut events = model.events(Request::user("hi")).await.unwrap();
    assert!(next(&mut events).await.unwrap().is_err());
    assert_eq!(stats.mean_latency(), None);
    assert_eq!(stats.in_flight(), 0, "also while the stream is still held");
}

#[tokio::test(start_paused = true)]
async fn a_stream_dropped_midway_frees_its_seat_and_counts_as_neither_success_nor_failure() {
    let fake = Fake::new("fp");
    fake.enqueue("m", [paced()]);
    let (model, stats) = model(&fake);
    let mut events = model.events(Request::user("hi")).await.unwrap();
    for _ in 0..2 {
        next(&mut events).await.unwrap().unwrap();
    }
    drop(events);
    assert_eq!(stats.in_flight(), 0);
    assert_eq!(stats.mean_first_token(), Some(500.0), "it had arrived");
    assert_eq!(stats.mean_latency(), None);
}

#[tokio::test(start_paused = true)]
async fn a_dropped_call_frees_its_seat() {
    let fake = Fake::new("fp");
    fake.enqueue("m", [Step::hang()]);
    let (model, stats) = model(&fake);
    let call = model.generate(Request::user("hi"));
    assert!(tokio::time::timeout(secs(1), call).await.is_err());
    assert_eq!(stats.in_flight(), 0);
}

fn one_seat(id: &str, tier: u32) -> ServiceConfig {
    ServiceConfig::new(id)
        .with_tier(tier)
        .with_capacity(Some(1))
}

fn one_seat_each() -> PoolConfig {
    PoolConfig::default()
        .with_services(vec![one_seat("up/top", 0), one_seat("up/low", 1)])
        .with_tactic(Tactic::Tier)
}

#[tokio::test(start_paused = true)]
async fn a_request_waits_for_a_seat_and_takes_it_when_it_is_freed() {
    let gateway = TestGateway::new();
    let pool = gateway.pool(one_seat_each());
    gateway.up.enqueue(
        "top",
        [Step::reply("slow").after(secs(4)), Step::reply("next")],
    );
    let (one, two) = tokio::join!(gateway.send(&pool), gateway.send(&pool));
    assert_eq!((&*one.served(), &*two.served()), ("up/top", "up/top"));
}

#[tokio::test(start_paused = true)]
async fn a_request_without_a_seat_in_time_fails_over_without_penalty() {
    let gateway = TestGateway::new();
    let pool = gateway.pool(one_seat_each());
    gateway
        .up
        .enqueue("top", [Step::reply("slow").after(secs(60))]);
    let began = now();
    let later = async {
        let outcome = gateway.send(&pool).await;
        (outcome, now() - began)
    };
    let (one, (two, waited)) = tokio::join!(gateway.send(&pool), later);
    assert_eq!((&*one.served(), &*two.served()), ("up/top", "up/low"));
    assert_eq!(waited, ServiceConfig::SEAT_WAIT);
    let health = gateway.health("up/top").unwrap();
    assert_eq!(
        (health.failures, health.rounds, health.benched_for),
        (0, 0, None)
    );
}

#[tokio::test(start_paused = true)]
async fn without_another_service_the_error_reports_the_full_seats() {
    let gateway = TestGateway::new();
    let pool = gateway.pool(PoolConfig::default().with_services(vec![one_seat("up/top", 0)]));
    gateway.up.enqueue("top", [Step::hang()]);
    let (chain, ..) = gateway.chain(&[&pool], None);
    let hangs = chain.generate(Request::user("hi"));
    let error = tokio::select! {
        biased;
        _ = hangs => panic!("it hangs"),
        outcome = gateway.send(&pool) => outcome.result.unwrap_err(),
    };
    let text = error.to_string();
    assert!(
        text.contains("all 1 seats of the service are in use"),
        "{text}"
    );
    let outcome = &error.attempt_log().attempts[0].outcome;
    let throttled =
        matches!(outcome, AttemptOutcome::Failed { class, .. } if *class == Class::RateLimited);
    assert!(throttled, "{outcome:?}");
    assert_eq!(gateway.up.call_count("top"), 1, "nothing was sent");
}

#[tokio::test(start_paused = true)]
async fn a_full_service_has_its_own_error_kind() {
    let gateway = TestGateway::new();
    let pool = gateway.pool(PoolConfig::default().with_services(vec![one_seat("up/top", 0)]));
    let (_, service) = pool.services().next().unwrap();
    let _seat = service.stats().try_seat().unwrap();
    let model = gateway
        .registry
        .provider("up")
        .unwrap()
        .model("top")
        .unwrap();
    let error = model.generate(Request::user("hi")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Busy);
}

#[tokio::test(start_paused = true)]
async fn all_targets_of_a_services_spec_share_its_seats_and_statistics() {
    let gateway = TestGateway::new();
    let stats = Arc::new(ServiceStats::new(now()));
    let of = |id| metered(gateway.up.model(id).unwrap(), &stats);
    let (one, other) = (of("a"), of("b"));
    one.generate(Request::user("hi")).await.unwrap();
    other.generate(Request::user("hi")).await.unwrap();
    assert_eq!(stats.latency().samples, 2);
}

#[tokio::test(start_paused = true)]
async fn the_snapshot_is_plain_json() {
    let gateway = TestGateway::new();
    let pool = gateway.pool(one_seat_each());
    gateway.send(&pool).await;
    let json = serde_json::to_value(pool.snapshot(now())).unwrap();
    assert_eq!(json["tactic"], "tier");
    let top = &json["services"][0];
    assert_eq!(top["id"], "up/top");
    assert_eq!((&top["picks"], &top["answers"]), (&1.into(), &1.into()));
    assert_eq!(top["recent_tokens"], 2);
    assert_eq!(top["first_token_ms"]["samples"], 0);
    assert!(top["first_token_ms"]["mean"].is_null());
}

/// A model whose embeddings take three seconds.
struct Embedder;

impl Model for Embedder {
    fn name(&self) -> &str {
        "fp/e"
    }

    fn capabilities(&self) -> Arc<majordomo::Capabilities> {
        Arc::default()
    }

    fn generate(&self, _: Request) -> majordomo::BoxFuture<'_, Result<Response>> {
        unreachable!("only embeddings are requested")
    }

    fn events(&self, _: Request) -> majordomo::BoxFuture<'_, Result<EventStream>> {
        unreachable!("only embeddings are requested")
    }

    fn extras(&self) -> Option<&dyn majordomo::llm::ModelExtras> {
        Some(self)
    }
}

impl majordomo::llm::ModelExtras for Embedder {
    fn own_embeddings<'a>(
        &'a self,
        _: &majordomo::llm::Dialect,
        body: bytes::Bytes,
        _: majordomo::llm::CallContext,
    ) -> majordomo::BoxFuture<'a, Result<bytes::Bytes>> {
        Box::pin(async move {
            tokio::time::sleep(secs(3)).await;
            Ok(body)
        })
    }
}

#[tokio::test(start_paused = true)]
async fn an_embedding_takes_a_seat_and_records_latency() {
    let stats = Arc::new(ServiceStats::new(now()));
    let model = metered(Arc::new(Embedder), &stats);
    let chat = majordomo::llm::Dialect::new("chat");
    let embed = model.forward_embeddings(&chat, "x".into(), Default::default());
    let (embedded, in_flight) = tokio::join!(embed, async {
        tokio::time::sleep(secs(1)).await;
        stats.in_flight()
    });
    assert_eq!((embedded.unwrap(), in_flight), ("x".into(), 1));
    assert_eq!(stats.mean_latency(), Some(3_000.0));
    assert_eq!(stats.in_flight(), 0);
}
