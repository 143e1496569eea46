//! Which targets count tokens, and for how long.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use majordomo::llm::ModelExtras;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use crate::support::{Fixture, secs};
use majordomo::chain::ChainConfig;
use majordomo::{
    BoxFuture, Capabilities, Chain, Error, ErrorKind, EventStream, Model, Provider, Registry,
    Request, Response, Result,
};

/// The next results of the counting endpoint of the provider `counter`.
type Counts = Arc<Mutex<VecDeque<Result<u64, Error>>>>;

/// A provider that returns scripted counts, and then hangs.
struct Counter {
    counts: Counts,
    calls: Arc<Mutex<usize>>,
}

struct CountingModel {
    counts: Counts,
    calls: Arc<Mutex<usize>>,
    name: String,
}

impl Provider for Counter {
    fn name(&self) -> &str {
        "counter"
    }

    fn model(&self, id: &str) -> Result<Arc<dyn Model>> {
        Ok(Arc::new(CountingModel {
            counts: Arc::clone(&self.counts),
            calls: Arc::clone(&self.calls),
            name: format!("counter/{id}"),
        }))
    }
}

impl Model for CountingModel {
    fn name(&self) -> &str {
        &self.name
    }

    fn capabilities(&self) -> Arc<Capabilities> {
        Arc::default()
    }

    fn generate(&self, _: Request) -> BoxFuture<'_, Result<Response>> {
        let counted = self.counts.lock().expect("not poisoned").pop_front();
        let failed = counted.and_then(Result::err).expect("a scripted failure");
        Box::pin(std::future::ready(Err(failed)))
    }

    fn events(&self, _: Request) -> BoxFuture<'_, Result<EventStream>> {
        unreachable!("no test streams")
    }

    fn extras(&self) -> Option<&dyn ModelExtras> {
        Some(self)
    }
}

impl ModelExtras for CountingModel {
    fn own_estimate(&self, _: &Request) -> u64 {
        7
    }

    fn own_token_count(&self, _: Request) -> BoxFuture<'_, Result<u64>> {
        *self.calls.lock().expect("not poisoned") += 1;
        let counted = self.counts.lock().expect("not poisoned").pop_front();
        Box::pin(async move {
            match counted {
                Some(counted) => counted,
                None => std::future::pending().await,
            }
        })
    }
}

struct CountingFixture {
    registry: Registry,
    counts: Counts,
    calls: Arc<Mutex<usize>>,
    fixture: Fixture,
}

impl CountingFixture {
    fn new(config: ChainConfig) -> Self {
        let fixture = Fixture::chained(config);
        let (counts, calls) = (Counts::default(), Arc::default());
        fixture.registry.register(Counter {
            counts: Arc::clone(&counts),
            calls: Arc::clone(&calls),
        });
        Self {
            registry: fixture.registry.clone(),
            counts,
            calls,
            fixture,
        }
    }

    fn chain(&self) -> Chain {
        self.registry.model("counter/m").expect("a spec")
    }

    async fn count(&self, counted: Result<u64, Error>) -> u64 {
        self.counts.lock().expect("not poisoned").push_back(counted);
        self.chain().count_tokens(Request::user("hi")).await
    }

    /// Fails a generation, so that health records it.
    async fn fail(&self, error: Error) {
        let times = 10;
        self.counts
            .lock()
            .expect("not poisoned")
            .extend((0..times).map(|_| Err(error.clone())));
        let _ = self.chain().generate(Request::user("hi")).await;
        self.counts.lock().expect("not poisoned").clear();
    }

    fn calls(&self) -> usize {
        *self.calls.lock().expect("not poisoned")
    }
}

#[tokio::test(start_paused = true)]
async fn a_target_that_counts_is_called() {
    let counting = CountingFixture::new(ChainConfig::default());
    assert_eq!(counting.count(Ok(41)).await, 41);
    assert_eq!(counting.calls(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_benched_target_and_a_rejected_key_are_not_called() {
    for error in [
        Error::http(429, "slow down").with_retry_after(Some(secs(30))),
        Error::http(401, "no such key").with_code("invalid_api_key"),
    ] {
        let counting = CountingFixture::new(ChainConfig::default());
        counting.fail(error).await;
        assert_eq!(counting.count(Ok(41)).await, 7);
        assert_eq!(counting.calls(), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn a_count_that_exceeds_the_deadline_is_estimated() {
    let counting = CountingFixture::new(ChainConfig::default().with_deadline(secs(5)));
    let began = tokio::time::Instant::now();
    assert_eq!(counting.chain().count_tokens(Request::user("hi")).await, 7);
    assert_eq!(began.elapsed(), secs(5));
    let limited = Request::user("hi").timeout(secs(1));
    assert_eq!(counting.chain().count_tokens(limited).await, 7);
    assert_eq!(began.elapsed(), secs(6));
}

#[tokio::test(start_paused = true)]
async fn a_status_of_the_counting_endpoint_does_not_affect_health() {
    let counting = CountingFixture::new(ChainConfig::default());
    for status in [404, 429, 500, 503] {
        for _ in 0..5 {
            let error = Error::http(status, "not here").with_retry_after(Some(secs(60)));
            assert_eq!(counting.count(Err(error)).await, 7);
        }
    }
    assert!(counting.fixture.is_healthy("counter/m") && counting.fixture.is_healthy("counter"));
}

#[tokio::test(start_paused = true)]
async fn an_unreachable_server_is_benched_by_failed_counts() {
    let counting = CountingFixture::new(ChainConfig::default());
    for _ in 0..20 {
        counting
            .count(Err(Error::new(ErrorKind::Connect, "refused")))
            .await;
    }
    assert!(counting.calls() < 10, "{} times", counting.calls());
}
