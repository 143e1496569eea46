//! A chain of two: `head/m` over a socket, and the healthy fake `tail/m`.

use std::sync::Arc;
use std::time::Duration;

use majordomo::chain::ChainConfig;
use majordomo::clock::ManualClock;
use majordomo::fake::Fake;
use majordomo::llm::{AttemptLog, AttemptOutcome};
use majordomo::providers::{ProviderKind, Settings};
use majordomo::transport::{Proxies, Timeouts, Transport, TransportConfig};
use majordomo::{Chain, Class, Registry, Request, Response, ResponseStream, Result};
use majordomo_testkit::{Script, Upstream};

/// Long enough for a busy machine, short enough for a test.
pub(crate) const SOON: Duration = Duration::from_secs(5);

/// The registry, its manual clock, and the healthy tail.
pub(crate) struct FaultHarness {
    pub(crate) registry: Registry,
    pub(crate) clock: ManualClock,
    pub(crate) tail: Fake,
}

/// How the head is reached.
pub(crate) struct Head {
    url: String,
    kind: ProviderKind,
    timeouts: Timeouts,
    config: TransportConfig,
}

impl Head {
    /// Chat Completions at this address.
    pub(crate) fn at(url: impl ToString) -> Self {
        Self {
            url: url.to_string(),
            kind: ProviderKind::OpenAi,
            timeouts: Timeouts::default(),
            config: config(),
        }
    }

    pub(crate) fn kind(mut self, kind: ProviderKind) -> Self {
        self.kind = kind;
        self
    }

    pub(crate) fn timeouts(mut self, timeouts: Timeouts) -> Self {
        self.timeouts = timeouts;
        self
    }

    pub(crate) fn config(mut self, config: TransportConfig) -> Self {
        self.config = config;
        self
    }

    pub(crate) fn harness(self) -> FaultHarness {
        self.harness_with(ChainConfig::default())
    }

    pub(crate) fn harness_with(self, chain: ChainConfig) -> FaultHarness {
        let clock = ManualClock::new();
        let registry = Registry::builder()
            .environment(Default::default())
            .clock(Arc::new(clock.clone()))
            .chain(chain)
            .build();
        let mut settings = Settings::new("head", Transport::new(self.config))
            .base_url(self.url)
            .key(Some("canary".to_owned().into()));
        settings.timeouts = Some(self.timeouts);
        let head = self.kind.provider(settings);
        registry.register(head.expect("the address of a test"));
        let tail = Fake::new("tail");
        registry.register(tail.clone());
        FaultHarness {
            registry,
            clock,
            tail,
        }
    }
}

/// A configuration that ignores the environment.
pub(crate) fn config() -> TransportConfig {
    TransportConfig::default().proxies(Proxies::Direct)
}

/// The outcome of a request for the head.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct After {
    /// Calls of the head.
    pub(crate) calls: usize,
    pub(crate) served_by: &'static str,
    /// The class of the head's last failure.
    pub(crate) class: Option<Class>,
    pub(crate) failures: u32,
    pub(crate) benched: Duration,
    pub(crate) credential: Duration,
}

/// One call, no penalty, and the tail served.
pub(crate) const FREE: After = After {
    calls: 1,
    served_by: "tail/m",
    class: None,
    failures: 0,
    benched: Duration::ZERO,
    credential: Duration::ZERO,
};

/// Transient: two calls, which bench it, and the tail served.
pub(crate) const RETRIED: After = After {
    calls: 2,
    class: Some(Class::Transient),
    benched: Duration::from_secs(5),
    ..FREE
};

/// A bad response: one call, one failure counted, and the tail served.
pub(crate) const UNUSABLE: After = After {
    class: Some(Class::BadResponse),
    failures: 1,
    ..FREE
};

/// Served by the head, no penalty.
pub(crate) const SERVED: After = After {
    served_by: "head/m",
    ..FREE
};

impl FaultHarness {
    /// A head that plays these scripts, one per connection.
    pub(crate) async fn playing(scripts: impl IntoIterator<Item = Script>) -> (Upstream, Self) {
        let upstream = Upstream::start(scripts).await;
        let harness = Head::at(upstream.uri("")).harness();
        (upstream, harness)
    }

    pub(crate) fn chain(&self, spec: &str) -> Chain {
        self.registry.model(spec).expect("the spec of a test")
    }

    /// Sends a request to `head/m,tail/m`.
    pub(crate) async fn send(&self) -> After {
        let chain = self.chain("head/m,tail/m");
        self.after(chain.generate(Request::user("hi")).await)
    }

    /// Sends a streamed request and reads it to its end.
    pub(crate) async fn send_streaming(&self) -> After {
        let stream = match self.open().await {
            Ok(stream) => stream.finish().await,
            Err(error) => Err(error),
        };
        self.after(stream)
    }

    /// Opens a stream.
    pub(crate) async fn open(&self) -> Result<ResponseStream> {
        let chain = self.chain("head/m,tail/m");
        chain.stream(Request::user("hi")).await
    }

    pub(crate) fn after(&self, result: Result<Response>) -> After {
        let (served_by, attempt_log) = match &result {
            Ok(reply) if reply.model == "head/m" => ("head/m", &reply.attempt_log),
            Ok(reply) => ("tail/m", &reply.attempt_log),
            Err(error) => ("none", error.attempt_log()),
        };
        let (calls, class) = head_calls(attempt_log);
        After {
            calls,
            served_by,
            class,
            failures: self.failures(),
            benched: self.benched("head/m"),
            credential: self.benched("head"),
        }
    }

    pub(crate) fn failures(&self) -> u32 {
        let all = self.registry.health().snapshot();
        let head = all.into_iter().find(|status| status.subject == "head/m");
        head.map_or(0, |status| status.failures)
    }

    /// How long a target or credential stays benched.
    pub(crate) fn benched(&self, subject: &str) -> Duration {
        let all = self.registry.health().snapshot();
        let status = all.into_iter().find(|status| status.subject == subject);
        status.and_then(|it| it.until_usable).unwrap_or_default()
    }
}

fn head_calls(attempt_log: &AttemptLog) -> (usize, Option<Class>) {
    let head = attempt_log
        .attempts
        .iter()
        .filter(|it| it.target == "head/m");
    let sent = head.filter(|it| !matches!(it.outcome, AttemptOutcome::Skipped { .. }));
    let class = |outcome: &AttemptOutcome| match outcome {
        AttemptOutcome::Failed { class, .. } => Some(*class),
        _ => None,
    };
    sent.fold((0, None), |(calls, last), attempt| {
        (calls + 1, class(&attempt.outcome).or(last))
    })
}

/// Responds with a body labeled as JSON.
pub(crate) fn json(status: u16, body: impl Into<String>) -> Script {
    let script = Script::new().read_request();
    script.respond(status, "application/json", body.into())
}

/// Responds with these headers and an empty object.
pub(crate) fn with_headers(status: u16, headers: &[&str]) -> Script {
    let headers: String = headers.iter().map(|line| format!("{line}\r\n")).collect();
    let head = format!("HTTP/1.1 {status} Scripted\r\n{headers}content-length: 2\r\n\r\n{{}}");
    Script::new().read_request().send(head)
}

/// Responds with a whole event stream.
pub(crate) fn events(body: impl AsRef<[u8]>) -> Script {
    let script = Script::new().read_request().stream_head();
    script.chunk(body).last_chunk()
}

/// A valid response of Chat Completions.
pub(crate) const HELLO: &str = r#"{"id":"c1","object":"chat.completion","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"hello"},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":2}}"#;

/// A chunk of Chat Completions with this delta.
pub(crate) fn chunk(delta: &str) -> String {
    format!(
        "data: {{\"id\":\"c1\",\"model\":\"m\",\"choices\":[{{\"index\":0,\"delta\":{delta}}}]}}\n\n"
    )
}

/// The last two chunks of a valid stream.
pub(crate) const DONE: &str = "data: {\"id\":\"c1\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
