//! A fixture with two scripted providers, shared by the tests.

use std::future::poll_fn;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use majordomo::chain::ChainConfig;
use majordomo::fake::{Fake, Step};
use majordomo::health::{HealthConfig, HealthStatus};
use majordomo::llm::{Attempt, AttemptLog, AttemptOutcome};
use majordomo::observe::Notice;
use majordomo::{
    Chain, Class, Error, ErrorKind, Event, EventStream, Registry, Request, Response, Result,
};

/// A registry with the providers `fp` and `tail`, which reply `ok` unless scripted. They share
/// nothing, not even a credential.
pub(crate) struct Fixture {
    pub(crate) registry: Registry,
    pub(crate) fp: Fake,
    pub(crate) tail: Fake,
    pub(crate) notices: Notices,
}

impl Fixture {
    /// The default configuration.
    pub(crate) fn new() -> Self {
        Self::with(ChainConfig::default(), HealthConfig::default())
    }

    /// Configures chains.
    pub(crate) fn chained(config: ChainConfig) -> Self {
        Self::with(config, HealthConfig::default())
    }

    /// Configures chains and health.
    pub(crate) fn with(chain: ChainConfig, health: HealthConfig) -> Self {
        let notices = Notices::default();
        let registry = Registry::builder()
            .environment(Default::default())
            .chain(chain)
            .health(health)
            .observer(notices.observer())
            .build();
        let (fp, tail) = (Fake::new("fp"), Fake::new("tail"));
        registry.register(fp.clone());
        registry.register(tail.clone());
        Self {
            registry,
            fp,
            tail,
            notices,
        }
    }

    /// Scripts a model of `fp`.
    pub(crate) fn script(&self, model: &str, steps: impl IntoIterator<Item = Step>) -> &Self {
        self.fp.enqueue(model, steps);
        self
    }

    pub(crate) fn chain(&self, spec: &str) -> Chain {
        self.registry.model(spec).expect("the spec of a test")
    }

    /// Sends a plain request.
    pub(crate) async fn send(&self, spec: &str) -> Result<Response> {
        self.chain(spec).generate(Request::user("hi")).await
    }

    /// The target that serves a plain request.
    pub(crate) async fn served_by(&self, spec: &str) -> String {
        match self.send(spec).await {
            Ok(response) => response.model,
            Err(error) => format!("none: {error}"),
        }
    }

    /// The error of a plain request that no target serves.
    pub(crate) async fn refused(&self, spec: &str) -> Error {
        match self.send(spec).await {
            Ok(response) => panic!("{} served", response.model),
            Err(error) => error,
        }
    }

    /// The models of `fp` that were called, in order.
    pub(crate) fn calls(&self) -> Vec<String> {
        self.fp.calls().into_iter().map(|call| call.model).collect()
    }

    /// The health of a target or credential; an unknown one is healthy.
    pub(crate) fn health(&self, subject: &str) -> HealthStatus {
        let mut all = self.registry.health().snapshot().into_iter();
        all.find(|status| status.subject == subject)
            .unwrap_or_else(|| HealthStatus {
                subject: subject.to_owned(),
                failures: 0,
                rounds: 0,
                until_usable: None,
                benched_for: None,
                cause: None,
                closed: false,
                probing: false,
                on_trial: false,
                declared: false,
                quota: None,
            })
    }

    /// How many seconds it stays benched; 0 if it may be used.
    pub(crate) fn benched_secs(&self, subject: &str) -> u64 {
        let wait = self.health(subject).until_usable;
        wait.map_or(0, |wait| wait.as_secs_f64().ceil() as u64)
    }

    /// Whether it has no failures and no benches.
    pub(crate) fn is_healthy(&self, subject: &str) -> bool {
        let health = self.health(subject);
        health.failures == 0 && health.rounds == 0 && health.until_usable.is_none()
    }
}

/// Every notice, as a line.
#[derive(Clone, Default)]
pub(crate) struct Notices(Arc<Mutex<Vec<String>>>);

impl Notices {
    pub(crate) fn observer(&self) -> Arc<dyn majordomo::observe::Observer> {
        let lines = Arc::clone(&self.0);
        Arc::new(move |notice: &Notice<'_>| {
            let line = match notice {
                Notice::Served { target } => format!("served {target}"),
                Notice::Failed { target, class, .. } => format!("failed {target} {class:?}"),
                Notice::Skipped { target, .. } => format!("skipped {target}"),
                Notice::Benched { subject, wait, .. } => {
                    format!("benched {subject} {}s", wait.as_secs())
                }
                Notice::Recovered { subject } => format!("recovered {subject}"),
                other => format!("{other:?}"),
            };
            lines.lock().expect("no observer panics").push(line);
        })
    }

    /// The notices since the last call.
    pub(crate) fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().expect("no observer panics"))
    }
}

pub(crate) fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// Advances virtual time.
pub(crate) async fn pass(seconds: u64) {
    tokio::time::advance(secs(seconds)).await;
}

pub(crate) fn status(status: u16) -> Step {
    Step::fail(Error::http(status, "scripted"))
}

pub(crate) fn status_after(status: u16, retry_after: u64) -> Step {
    let error = Error::http(status, "scripted");
    Step::fail(error.with_retry_after(Some(secs(retry_after))))
}

pub(crate) fn kind(kind: ErrorKind) -> Step {
    Step::fail(Error::new(kind, "scripted"))
}

pub(crate) fn coded(status: u16, code: &str) -> Step {
    Step::fail(Error::http(status, "scripted").with_code(code))
}

/// An attempt log with one line per attempt: `fp/a failed Transient`.
pub(crate) fn lines(attempt_log: &AttemptLog) -> Vec<String> {
    attempt_log.attempts.iter().map(line).collect()
}

fn line(attempt: &Attempt) -> String {
    match &attempt.outcome {
        AttemptOutcome::Served => format!("{} served", attempt.target),
        AttemptOutcome::Skipped { .. } => format!("{} skipped", attempt.target),
        AttemptOutcome::Failed { class, .. } => format!("{} failed {class:?}", attempt.target),
    }
}

/// The class of the last failure in an attempt log.
pub(crate) fn last_class(attempt_log: &AttemptLog) -> Option<Class> {
    attempt_log
        .attempts
        .iter()
        .rev()
        .find_map(|a| match a.outcome {
            AttemptOutcome::Failed { class, .. } => Some(class),
            _ => None,
        })
}

/// The next event of a stream.
pub(crate) async fn next(events: &mut EventStream) -> Option<Result<Event>> {
    poll_fn(|cx| events.as_mut().poll_next(cx)).await
}

/// Every event, including the final error.
pub(crate) async fn drain(events: &mut EventStream) -> Vec<Result<Event>> {
    let mut all = Vec::new();
    while let Some(event) = next(events).await {
        all.push(event);
    }
    all
}

/// One gray pixel.
pub(crate) const PNG: &[u8] = &[
    137, 80, 78, 71, 13, 10, 26, 10, 0, 0, 0, 13, 73, 72, 68, 82, 0, 0, 0, 1, 0, 0, 0, 1, 8, 0, 0,
    0, 0, 58, 126, 155, 85, 0, 0, 0, 10, 73, 68, 65, 84, 120, 156, 99, 104, 0, 0, 0, 130, 0, 129,
    119, 205, 114, 182, 0, 0, 0, 0, 73, 69, 78, 68, 174, 66, 96, 130,
];
