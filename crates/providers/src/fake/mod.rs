//! A scriptable provider for tests.
//!
//! ```
//! use majordomo_llm::{Error, Provider, Request};
//! use majordomo_providers::fake::{Fake, Step};
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> majordomo_llm::Result<()> {
//! let fake = Fake::new("fp");
//! fake.enqueue("small", [Step::fail(Error::http(503, "busy")), Step::reply("hello")]);
//!
//! let model = fake.model("small")?;
//! assert_eq!(model.generate(Request::user("hi")).await.unwrap_err().status(), Some(503));
//! assert_eq!(model.generate(Request::user("hi")).await?.text(), "hello");
//! assert_eq!(fake.call_count("small"), 2);
//! # Ok(()) }
//! ```
//!
//! It also draws small pictures and embeds texts. Those calls take a step of the script, too:
//! a failure fails them; after any other step, their result depends only on the request.

mod model;
mod other_calls;
mod picture;
mod playback;
mod step;

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use majordomo_llm::{BoxFuture, Capabilities, Model, ModelInfo, Provider, Request, Result};

use model::FakeModel;
pub use picture::{picture, pictures};
pub use step::{Beat, Step};

/// Creates the step of an unscripted call.
type DefaultStep = Arc<dyn Fn(&FakeCall) -> Step + Send + Sync>;

/// A scriptable provider. Clones share the script and the recorded calls.
#[derive(Clone)]
pub struct Fake {
    name: Arc<str>,
    script: Arc<Mutex<Script>>,
}

/// A request that the fake received.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct FakeCall {
    /// The requested model.
    pub model: String,
    /// The request.
    pub request: Request,
    /// Whether a stream was requested.
    pub streamed: bool,
}

struct Script {
    queues: HashMap<String, VecDeque<Step>>,
    default: DefaultStep,
    capabilities: Arc<Capabilities>,
    overrides: HashMap<String, Arc<Capabilities>>,
    calls: Vec<FakeCall>,
}

impl Fake {
    /// Creates a fake that replies `ok` to everything.
    pub fn new(name: impl Into<String>) -> Self {
        let script = Script {
            queues: HashMap::new(),
            default: Arc::new(|_| Step::reply("ok")),
            capabilities: Arc::default(),
            overrides: HashMap::new(),
            calls: Vec::new(),
        };
        Self {
            name: Arc::from(name.into()),
            script: Arc::new(Mutex::new(script)),
        }
    }

    /// Appends steps to a model's queue; each call takes one.
    pub fn enqueue(&self, model: &str, steps: impl IntoIterator<Item = Step>) -> &Self {
        self.script()
            .queues
            .entry(model.to_owned())
            .or_default()
            .extend(steps);
        self
    }

    /// Sets the step of calls whose model has an empty queue.
    pub fn otherwise(&self, step: impl Fn(&FakeCall) -> Step + Send + Sync + 'static) -> &Self {
        self.script().default = Arc::new(step);
        self
    }

    /// Sets the capabilities of all models.
    pub fn set_capabilities(&self, capabilities: Capabilities) -> &Self {
        self.script().capabilities = Arc::new(capabilities);
        self
    }

    /// Sets the capabilities of one model.
    pub fn set_model_capabilities(&self, model: &str, capabilities: Capabilities) -> &Self {
        self.script()
            .overrides
            .insert(model.to_owned(), Arc::new(capabilities));
        self
    }

    /// All calls so far, in order.
    pub fn calls(&self) -> Vec<FakeCall> {
        self.script().calls.clone()
    }

    /// The number of calls to a model.
    pub fn call_count(&self, model: &str) -> usize {
        let calls = &self.script().calls;
        calls.iter().filter(|call| call.model == model).count()
    }

    /// Clears the recorded calls, for long-running programs.
    pub fn forget_calls(&self) {
        self.script().calls.clear();
    }

    fn next_step(&self, call: FakeCall) -> Step {
        let mut script = self.script();
        let queued = script
            .queues
            .get_mut(&call.model)
            .and_then(VecDeque::pop_front);
        let default = Arc::clone(&script.default);
        script.calls.push(call.clone());
        // `default` is the caller's code: the lock is released first.
        drop(script);
        queued.unwrap_or_else(|| default(&call))
    }

    fn capabilities_of(&self, model: &str) -> Arc<Capabilities> {
        let script = self.script();
        let own = script.overrides.get(model);
        Arc::clone(own.unwrap_or(&script.capabilities))
    }

    /// Ignores poisoning, so that a panic in `otherwise` leaves the script usable.
    fn script(&self) -> MutexGuard<'_, Script> {
        self.script.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Provider for Fake {
    fn name(&self) -> &str {
        &self.name
    }

    fn model(&self, id: &str) -> Result<Arc<dyn Model>> {
        Ok(Arc::new(FakeModel::new(self.clone(), id)))
    }

    fn models(&self) -> BoxFuture<'_, Result<Vec<ModelInfo>>> {
        let script = self.script();
        let mut ids: Vec<String> = script.queues.keys().cloned().collect();
        ids.extend(script.overrides.keys().cloned());
        drop(script);
        ids.sort();
        ids.dedup();
        let models = ids.into_iter().map(|id| ModelInfo {
            capabilities: Some((*self.capabilities_of(&id)).clone()),
            id,
        });
        Box::pin(std::future::ready(Ok(models.collect())))
    }
}
