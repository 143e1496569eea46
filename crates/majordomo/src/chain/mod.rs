//! A chain of targets that is a model itself.
//!
//! Targets are tried in order. Each gets the request shaped for it, at each
//! attempt; what its failure means is decided by `llm::classify` alone. A chain
//! of one behaves like any other.

mod ask;
mod attempt;
mod config;
mod executor;
mod fit;
mod images;
mod open;
mod relay;
mod shape;
mod target;
mod typed;

use std::fmt;
use std::sync::Arc;

use majordomo_llm::{
    BoxFuture, Capabilities, EventStream, Ledger, Model, Request, Response, ResponseStream, Result,
};

use ask::{Generate, Stream};
pub use config::{AllBenched, ChainConfig};
use executor::Run;
pub use images::FitImages;
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
    pub ledger: Ledger,
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
        let run = Run::new(self, request, Stream);
        let mut served = run.serve().await?;
        served.permit.reopen();
        let relay = Relay::new(
            served.answer,
            served.permit,
            served.target.name().clone(),
            self.config.classify.clone(),
            self.observers.clone(),
            served.deadline,
        );
        Ok(OpenStream {
            events: Box::pin(relay),
            target: served.target.name().as_str().to_owned(),
            ledger: served.ledger,
        })
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
        response.ledger = served.ledger;
        Ok(response)
    }

    /// The answer as text deltas, whole tool calls and a final [`Response`].
    pub async fn stream(&self, request: Request) -> Result<ResponseStream> {
        let first_call = request.next_call_number();
        let open = self.open(request).await?;
        let stream = ResponseStream::new(open.events, open.target, first_call);
        Ok(stream.with_ledger(open.ledger))
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
