//! A chain: targets tried in order, behind the interface of a single model.
//!
//! Each target receives the request shaped for it, at each attempt. Only `llm::classify`
//! interprets a failure. A chain of one target behaves like any other.
//!
//! - `walk` calls one target after another,
//! - `retry` decides whether a failed target is called again,
//! - `commit` decides when a stream commits, which ends failover,
//! - `gate` admits attempts and learns how they ended,
//! - `target` reports outcomes to `health`, which benches targets,
//! - `generate_images` and `embed` walk the chain for images and for vectors,
//! - `shaping`, `fit` and `fit_output` adapt a request to one target,
//! - `outlook` says whether and when retrying an exhausted request may help.
//!
//! May use `clock`, `health`, `keys`, `observe` and `spec`.

mod attempt_log;
mod capability_check;
mod commit;
mod compose;
mod config;
mod count_tokens;
mod embed;
#[cfg(feature = "images")]
mod fit_images;
mod fit_output;
mod gate;
mod generate_images;
mod operation;
mod outlook;
mod preview;
mod relay;
mod retry;
mod served;
mod shape;
mod shaping;
mod target;
#[cfg(feature = "agent")]
mod typed;
mod walk;

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use majordomo_llm::{
    AttemptLog, BoxFuture, CallContext, Capabilities, Dialect, EventStream, Model, ModelExt,
    ModelExtras, RawChunkStream, Request, Response, ResponseStream, Result,
};

use commit::{Committed, Items, StreamElement};
pub use config::{AllBenched, ChainConfig};
pub use count_tokens::TokenCount;
#[cfg(feature = "images")]
pub use fit_images::FitImages;
pub use gate::{
    AttemptEnd, AttemptGate, AttemptKind, AttemptPermit, AttemptReport, GateDecision, GatePass,
    GateRefusal, PendingAttempt,
};
use operation::{Forward, ForwardEmbeddings, ForwardOutput, Generate, StreamEvents};
pub use preview::Preview;
use relay::Relay;
use served::Served;
pub use shape::{Shape, Shaped, TargetView};
pub(crate) use target::ChainTarget;
use walk::Walk;

use crate::observe::{Notice, Observers};
use crate::spec::TargetName;

/// A resolved spec: targets tried in order until one serves the request.
///
/// ```
/// use majordomo::{Registry, Request};
/// use majordomo::fake::{Fake, Step};
/// use majordomo::Error;
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Error> {
/// let fake = Fake::new("fp");
/// fake.enqueue("big", [Step::fail(Error::http(404, "no such model"))]);
///
/// let registry = Registry::empty();
/// registry.register(fake);
/// let chain = registry.model("fp/big,fp/small")?;
/// let reply = chain.generate(Request::user("hi")).await?;
/// assert_eq!(reply.model, "fp/small");
/// assert_eq!(reply.attempt_log.attempts.len(), 2);
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Chain {
    name: Arc<str>,
    targets: Arc<[ChainTarget]>,
    config: Arc<ChainConfig>,
    observers: Observers,
    gate: Option<Arc<dyn AttemptGate>>,
}

/// A committed stream of events.
#[non_exhaustive]
pub struct OpenStream {
    /// The events, from the first; its end is reported to health.
    pub events: EventStream,
    /// The serving target, `provider/model`.
    pub target: String,
    /// The attempts so far, the serving one included.
    pub attempt_log: AttemptLog,
}

/// A committed stream for a client of one dialect.
pub struct Forwarding {
    /// The stream; its end is reported to health.
    pub stream: ForwardedStream,
    /// The serving target, `provider/model`.
    pub target: String,
    /// The attempts so far, the serving one included.
    pub attempt_log: AttemptLog,
}

/// The items of a forwarded stream.
pub enum ForwardedStream {
    /// Events: the target speaks another dialect than the client.
    Events(EventStream),
    /// The provider's raw bytes, which the client understands as they are.
    Pieces(RawChunkStream),
}

impl Chain {
    /// The registry guarantees that `targets` is not empty.
    pub(crate) fn new(
        targets: Vec<ChainTarget>,
        config: Arc<ChainConfig>,
        observers: Observers,
    ) -> Self {
        let names: Vec<&str> = targets.iter().map(|t| t.name().as_str()).collect();
        Self {
            name: Arc::from(names.join(",")),
            targets: Arc::from(targets),
            config,
            observers,
            gate: None,
        }
    }

    /// Consults this gate before every attempt, instead of any earlier gate.
    #[must_use]
    pub fn gated_by(mut self, gate: Arc<dyn AttemptGate>) -> Self {
        self.gate = Some(gate);
        self
    }

    /// Changes the configuration; targets and their health stay shared.
    ///
    /// ```
    /// use std::time::Duration;
    /// use majordomo::Registry;
    /// use majordomo::fake::Fake;
    ///
    /// let registry = Registry::empty();
    /// registry.register(Fake::new("fp"));
    /// let chain = registry.model("fp/a,fp/b").unwrap();
    /// let hurried = chain.configured(|config| config.attempt = Some(Duration::from_secs(5)));
    /// assert_eq!(hurried.targets().len(), 2);
    /// ```
    #[must_use]
    pub fn configured(mut self, change: impl FnOnce(&mut ChainConfig)) -> Self {
        change(Arc::make_mut(&mut self.config));
        self
    }

    /// Adds a shape in front of the configured ones, for a single request.
    #[must_use]
    pub fn shaped_by(self, shape: Arc<dyn Shape>) -> Self {
        self.configured(|config| config.shapes.insert(0, shape))
    }

    /// The targets in order, with aliases expanded.
    pub fn targets(&self) -> impl ExactSizeIterator<Item = &TargetName> {
        self.targets.iter().map(ChainTarget::name)
    }

    /// The targets and their capabilities, in order.
    pub fn describe(&self) -> impl ExactSizeIterator<Item = (&TargetName, Arc<Capabilities>)> {
        self.targets
            .iter()
            .map(|target| (target.name(), target.model().capabilities()))
    }

    /// Whether every target speaks this dialect, so that its responses are never translated.
    pub fn speaks(&self, dialect: &Dialect) -> bool {
        let mut targets = self.targets.iter();
        targets.all(|target| target.model().dialect().as_ref() == Some(dialect))
    }

    /// Opens a stream up to its commit point, normally the first semantic event. Failover
    /// ends when this returns.
    pub async fn open(&self, request: Request) -> Result<OpenStream> {
        let mut served = Walk::new(self, request, StreamEvents).serve().await?;
        Ok(OpenStream {
            target: served.target.name().as_str().to_owned(),
            attempt_log: std::mem::take(&mut served.attempt_log),
            events: self.relay(served),
        })
    }

    /// Opens a stream for a client of a dialect: targets that speak it return their raw bytes,
    /// all others events.
    pub async fn forward(&self, request: Request, dialect: Dialect) -> Result<Forwarding> {
        let walk = Walk::new(self, request, Forward { dialect });
        let mut served = walk.serve().await?;
        Ok(Forwarding {
            target: served.target.name().as_str().to_owned(),
            attempt_log: std::mem::take(&mut served.attempt_log),
            stream: self.forwarded(served),
        })
    }

    /// Embeddings from the first target that speaks the body's dialect and can serve. Only
    /// the model is replaced in the body. The last attempt of the log names the target.
    /// `context` is what the calls carry on behalf of a client.
    pub async fn forward_embeddings(
        &self,
        dialect: Dialect,
        body: Bytes,
        context: CallContext,
    ) -> Result<(Bytes, AttemptLog)> {
        let walked = context.add_to(Request::default());
        let operation = ForwardEmbeddings {
            dialect,
            body,
            context,
        };
        let walk = Walk::new(self, walked, operation);
        let mut served = walk.serve().await?;
        served.permit.succeed();
        served.attempt.settle(AttemptEnd::Served);
        Ok((served.output, served.attempt_log))
    }

    fn forwarded(&self, served: Served<'_, ForwardOutput>) -> ForwardedStream {
        let (output, rest) = served.replace(());
        match output {
            ForwardOutput::Events(committed) => {
                ForwardedStream::Events(self.relay(rest.replace(committed).1))
            }
            ForwardOutput::Pieces(committed) => {
                ForwardedStream::Pieces(self.relay(rest.replace(committed).1))
            }
        }
    }

    fn relay<T: StreamElement>(&self, mut served: Served<'_, Committed<T>>) -> Items<T> {
        served.permit.reopen();
        Box::pin(Relay::new(
            served.output,
            served.permit,
            served.attempt,
            served.target.name().clone(),
            self.config.classify.clone(),
            self.observers.clone(),
            served.deadline,
        ))
    }

    /// A whole response from the first target that can serve.
    pub async fn generate(&self, request: Request) -> Result<Response> {
        let accept = request.options().accept.clone();
        let walk = Walk::new(self, request, Generate { accept });
        let mut served = walk.serve().await?;
        let target = served.target.name().as_str();
        self.observers.notify(&Notice::Served { target });
        served.permit.succeed();
        served.attempt.settle(AttemptEnd::Served);
        let mut response = served.output;
        response.usage += served.spent;
        response.model = served.target.name().as_str().to_owned();
        response.attempt_log = served.attempt_log;
        Ok(response)
    }

    /// The response as text deltas, whole tool calls and a final [`Response`].
    pub async fn stream(&self, request: Request) -> Result<ResponseStream> {
        let first_call = request.prompt().next_call_number();
        let (request, raw) = request.recording_raw();
        let open = self.open(request).await?;
        let stream = ResponseStream::new(open.events, open.target, first_call).with_raw(raw);
        Ok(stream.with_attempt_log(open.attempt_log))
    }
}

impl Model for Chain {
    fn name(&self) -> &str {
        &self.name
    }

    /// The capabilities of the first target: a rare fallback must not constrain every request.
    /// Schemas are always supported: targets that lack them receive the schema as
    /// instructions.
    fn capabilities(&self) -> Arc<Capabilities> {
        let mut capabilities = self.targets[0].model().capabilities();
        if !capabilities.structured {
            Arc::make_mut(&mut capabilities).structured = true;
        }
        capabilities
    }

    fn generate(&self, request: Request) -> BoxFuture<'_, Result<Response>> {
        Box::pin(Chain::generate(self, request))
    }

    fn events(&self, request: Request) -> BoxFuture<'_, Result<EventStream>> {
        Box::pin(async move { Ok(self.open(request).await?.events) })
    }

    fn extras(&self) -> Option<&dyn ModelExtras> {
        Some(self)
    }
}

impl ModelExtras for Chain {
    fn own_stream(&self, request: Request) -> BoxFuture<'_, Result<ResponseStream>> {
        Box::pin(Chain::stream(self, request))
    }

    fn own_estimate(&self, request: &Request) -> u64 {
        self.targets[0].model().estimate_tokens(request)
    }
}

impl fmt::Debug for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Chain").field(&self.name).finish()
    }
}
