//! Who is asked to count tokens, and for how long.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use majordomo::{
    BoxFuture, Capabilities, Chain, ChainConfig, Error, ErrorKind, EventStream, Model, Provider,
    Registry, Request, Response, Result,
};
use support::{House, secs};

/// What the counting endpoint of the provider `counter` says next.
type Counts = Arc<Mutex<VecDeque<Result<u64, Error>>>>;

/// A provider that counts what it is told to, and then never answers again.
struct Counter {
    counts: Counts,
    asked: Arc<Mutex<usize>>,
}

struct CountingModel {
    counts: Counts,
    asked: Arc<Mutex<usize>>,
    name: String,
}

impl Provider for Counter {
    fn name(&self) -> &str {
        "counter"
    }

    fn model(&self, id: &str) -> Result<Arc<dyn Model>> {
        Ok(Arc::new(CountingModel {
            counts: Arc::clone(&self.counts),
            asked: Arc::clone(&self.asked),
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
        let counted = self
            .counts
            .lock()
            .expect("nobody panics with it")
            .pop_front();
        let failed = counted.and_then(Result::err).expect("a failure was told");
        Box::pin(std::future::ready(Err(failed)))
    }

    fn events(&self, _: Request) -> BoxFuture<'_, Result<EventStream>> {
        unreachable!("no test streams")
    }

    fn estimate_tokens(&self, _: &Request) -> u64 {
        7
    }

    fn count_tokens(&self, _: Request) -> BoxFuture<'_, Result<u64>> {
        *self.asked.lock().expect("nobody panics with it") += 1;
        let counted = self
            .counts
            .lock()
            .expect("nobody panics with it")
            .pop_front();
        Box::pin(async move {
            match counted {
                Some(counted) => counted,
                None => std::future::pending().await,
            }
        })
    }
}

struct Stage {
    registry: Registry,
    counts: Counts,
    asked: Arc<Mutex<usize>>,
    house: House,
}

impl Stage {
    fn new(config: ChainConfig) -> Self {
        let house = House::chained(config);
        let (counts, asked) = (Counts::default(), Arc::default());
        house.registry.register(Counter {
            counts: Arc::clone(&counts),
            asked: Arc::clone(&asked),
        });
        Self {
            registry: house.registry.clone(),
            counts,
            asked,
            house,
        }
    }

    fn chain(&self) -> Chain {
        self.registry.parse("counter/m").expect("a spec")
    }

    async fn count(&self, said: Result<u64, Error>) -> u64 {
        self.counts
            .lock()
            .expect("nobody panics with it")
            .push_back(said);
        self.chain().count_tokens(Request::user("hi")).await
    }

    /// Lets an answer fail, so that health hears of it.
    async fn fail(&self, error: Error) {
        let times = 10;
        self.counts
            .lock()
            .expect("nobody panics with it")
            .extend((0..times).map(|_| Err(error.clone())));
        let _ = self.chain().generate(Request::user("hi")).await;
        self.counts.lock().expect("nobody panics with it").clear();
    }

    fn asked(&self) -> usize {
        *self.asked.lock().expect("nobody panics with it")
    }
}

#[tokio::test(start_paused = true)]
async fn a_target_that_counts_is_asked() {
    let stage = Stage::new(ChainConfig::default());
    assert_eq!(stage.count(Ok(41)).await, 41);
    assert_eq!(stage.asked(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_benched_target_and_a_refused_key_are_not_asked() {
    for error in [
        Error::provider(429, "slow down").with_retry_after(Some(secs(30))),
        Error::provider(401, "no such key").with_code("invalid_api_key"),
    ] {
        let stage = Stage::new(ChainConfig::default());
        stage.fail(error).await;
        assert_eq!(stage.count(Ok(41)).await, 7);
        assert_eq!(stage.asked(), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn a_count_ends_with_the_deadline_and_is_estimated_then() {
    let stage = Stage::new(ChainConfig {
        deadline: Some(secs(5)),
        ..ChainConfig::default()
    });
    let began = tokio::time::Instant::now();
    assert_eq!(stage.chain().count_tokens(Request::user("hi")).await, 7);
    assert_eq!(began.elapsed(), secs(5));
    let hurried = Request::user("hi").timeout(secs(1));
    assert_eq!(stage.chain().count_tokens(hurried).await, 7);
    assert_eq!(began.elapsed(), secs(6));
}

#[tokio::test(start_paused = true)]
async fn what_the_counting_endpoint_says_of_itself_is_not_held_against_answers() {
    let stage = Stage::new(ChainConfig::default());
    for status in [404, 429, 500, 503] {
        for _ in 0..5 {
            let error = Error::provider(status, "not here").with_retry_after(Some(secs(60)));
            assert_eq!(stage.count(Err(error)).await, 7);
        }
    }
    assert!(stage.house.is_spotless("counter/m") && stage.house.is_spotless("counter"));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_not_there_is_not_asked_for_ever() {
    let stage = Stage::new(ChainConfig::default());
    for _ in 0..20 {
        stage
            .count(Err(Error::new(ErrorKind::Connect, "refused")))
            .await;
    }
    assert!(stage.asked() < 10, "{} times", stage.asked());
}
