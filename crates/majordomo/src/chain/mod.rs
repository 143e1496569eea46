//! A chain of targets that is a model itself.
//!
//! Targets are tried in order. Each gets the request shaped for it, at each
//! attempt; what its failure means is decided by `llm::classify` alone. A chain
//! of one behaves like any other.

mod ask;
mod attempt;
mod compose;
mod config;
mod count;
mod executor;
mod fit;
mod images;
mod open;
mod preview;
mod relay;
mod shape;
mod shaping;
mod target;
mod typed;

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use majordomo_llm::{
    AttemptLog, BoxFuture, Capabilities, Dialect, EventStream, Model, RawChunkStream, Request,
    Response, ResponseStream, Result,
};

use ask::{Embed, Forward, Forwarded, Generate, Stream};
pub use config::{AllBenched, ChainConfig};
use executor::{Run, Served};
pub use images::FitImages;
use open::{Item, Items, Opened};
pub use preview::Preview;
use relay::Relay;
pub use shape::{Shape, Shaped, TargetView};
pub(crate) use target::Target;

use crate::observe::{Notice, Observers};
use crate::spec::TargetName;

/// A model spec, ready to answer.
///
/// ```
/// use majordomo::{Registry, Request};
/// use majordomo::fake::{Fake, Step};
/// use majordomo::Error;
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Error> {
/// let fake = Fake::new("fp");
/// fake.enqueue("big", [Step::fail(Error::provider(404, "no such model"))]);
///
/// let registry = Registry::empty();
/// registry.register(fake);
/// let chain = registry.parse("fp/big,fp/small")?;
/// let reply = chain.generate(Request::user("hi")).await?;
/// assert_eq!(reply.model, "fp/small");
/// assert_eq!(reply.ledger.attempts.len(), 2);
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Chain {
    name: Arc<str>,
    targets: Arc<[Target]>,
    config: Arc<ChainConfig>,
    observers: Observers,
}

/// A stream that has begun to answer.
pub struct OpenStream {
    /// The events, from the first on; health is told how it ends.
    pub events: EventStream,
    /// Who serves, as `provider/model`.
    pub target: String,
    /// Who was asked before.
    pub attempt_log: AttemptLog,
}

/// A stream that has begun to answer a client of one dialect.
pub struct Forwarding {
    /// The answer; health is told how it ends.
    pub answer: Answering,
    /// Who serves, as `provider/model`.
    pub target: String,
    /// Who was asked before.
    pub attempt_log: AttemptLog,
}

/// How a stream comes.
pub enum Answering {
    /// As events: the target speaks another dialect than the client.
    Events(EventStream),
    /// In the provider's own bytes: the client can have them as they are.
    Pieces(RawChunkStream),
}

impl Chain {
    /// The targets must not be empty; the registry sees to that.
    pub(crate) fn new(
        targets: Vec<Target>,
        config: Arc<ChainConfig>,
        observers: Observers,
    ) -> Self {
        let names: Vec<&str> = targets.iter().map(|t| t.name().as_str()).collect();
        Self {
            name: Arc::from(names.join(",")),
            targets: Arc::from(targets),
            config,
            observers,
        }
    }

    /// This chain by other rules; its targets and their health stay shared.
    ///
    /// ```
    /// use std::time::Duration;
    /// use majordomo::Registry;
    /// use majordomo::fake::Fake;
    ///
    /// let registry = Registry::empty();
    /// registry.register(Fake::new("fp"));
    /// let chain = registry.parse("fp/a,fp/b").unwrap();
    /// let hurried = chain.configured(|config| config.attempt = Some(Duration::from_secs(5)));
    /// assert_eq!(hurried.targets().len(), 2);
    /// ```
    #[must_use]
    pub fn configured(mut self, change: impl FnOnce(&mut ChainConfig)) -> Self {
        change(Arc::make_mut(&mut self.config));
        self
    }

    /// This chain with one more shape, before the others; for what belongs to a
    /// single request.
    #[must_use]
    pub fn shaped_by(self, shape: Arc<dyn Shape>) -> Self {
        self.configured(|config| config.shapes.insert(0, shape))
    }

    /// The targets in order, aliases expanded.
    pub fn targets(&self) -> impl ExactSizeIterator<Item = &TargetName> {
        self.targets.iter().map(Target::name)
    }

    /// Each target with what it can take, in order.
    pub fn describe(&self) -> impl ExactSizeIterator<Item = (&TargetName, Arc<Capabilities>)> {
        self.targets
            .iter()
            .map(|target| (target.name(), target.model().capabilities()))
    }

    /// Opens a stream and says who serves it. Failover is over when this returns:
    /// the first semantic event has come.
    pub async fn open(&self, request: Request) -> Result<OpenStream> {
        let mut served = Run::new(self, request, Stream).serve().await?;
        Ok(OpenStream {
            target: served.target.name().as_str().to_owned(),
            attempt_log: std::mem::take(&mut served.attempt_log),
            events: self.relay(served),
        })
    }

    /// Opens a stream for a client of a dialect: targets that speak it answer in
    /// their own bytes, the others in events.
    pub async fn forward(&self, request: Request, dialect: Dialect) -> Result<Forwarding> {
        let run = Run::new(self, request, Forward { dialect });
        let mut served = run.serve().await?;
        Ok(Forwarding {
            target: served.target.name().as_str().to_owned(),
            attempt_log: std::mem::take(&mut served.attempt_log),
            answer: self.answering(served),
        })
    }

    /// Embeddings from the first target that speaks the body's dialect and can
    /// serve; the body goes out as it came but for the model. Who served is in
    /// the ledger's last line.
    pub async fn embed(&self, dialect: Dialect, body: Bytes) -> Result<(Bytes, AttemptLog)> {
        let run = Run::new(self, Request::default(), Embed { dialect, body });
        let mut served = run.serve().await?;
        served.permit.succeed();
        Ok((served.answer, served.attempt_log))
    }

    fn answering(&self, served: Served<'_, Forwarded>) -> Answering {
        let (answer, rest) = served.replace(());
        match answer {
            Forwarded::Events(opened) => Answering::Events(self.relay(rest.replace(opened).1)),
            Forwarded::Pieces(opened) => Answering::Pieces(self.relay(rest.replace(opened).1)),
        }
    }

    fn relay<T: Item>(&self, mut served: Served<'_, Opened<T>>) -> Items<T> {
        served.permit.reopen();
        Box::pin(Relay::new(
            served.answer,
            served.permit,
            served.target.name().clone(),
            self.config.classify.clone(),
            self.observers.clone(),
            served.deadline,
        ))
    }

    /// One whole answer from the first target that can serve.
    pub async fn generate(&self, request: Request) -> Result<Response> {
        let accept = request.get_accept().cloned();
        let run = Run::new(self, request, Generate { accept });
        let mut served = run.serve().await?;
        let target = served.target.name().as_str();
        self.observers.tell(&Notice::Served { target });
        served.permit.succeed();
        let mut response = served.answer;
        response.usage += served.spent;
        response.model = served.target.name().as_str().to_owned();
        response.attempt_log = served.attempt_log;
        Ok(response)
    }

    /// The answer as text deltas, whole tool calls and a final [`Response`].
    pub async fn stream(&self, request: Request) -> Result<ResponseStream> {
        let first_call = request.next_call_number();
        let open = self.open(request).await?;
        let stream = ResponseStream::new(open.events, open.target, first_call);
        Ok(stream.with_attempt_log(open.attempt_log))
    }
}

impl Model for Chain {
    fn name(&self) -> &str {
        &self.name
    }

    /// The head's: a rare fallback must not constrain every request. A schema is
    /// always taken, since each target that cannot is told it in words.
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

    fn stream(&self, request: Request) -> BoxFuture<'_, Result<ResponseStream>> {
        Box::pin(Chain::stream(self, request))
    }

    fn estimate_tokens(&self, request: &Request) -> u64 {
        self.targets[0].model().estimate_tokens(request)
    }
}

impl fmt::Debug for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Chain").field(&self.name).finish()
    }
}
