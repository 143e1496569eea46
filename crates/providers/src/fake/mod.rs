//! A provider that does what a script says.
//!
//! ```
//! use majordomo_llm::{Error, Provider, Request};
//! use majordomo_providers::fake::{Fake, Step};
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> majordomo_llm::Result<()> {
//! let fake = Fake::new("fp");
//! fake.enqueue("small", [Step::fail(Error::provider(503, "busy")), Step::reply("hello")]);
//!
//! let model = fake.model("small")?;
//! assert_eq!(model.generate(Request::user("hi")).await.unwrap_err().status(), Some(503));
//! assert_eq!(model.generate(Request::user("hi")).await?.text(), "hello");
//! assert_eq!(fake.call_count("small"), 2);
//! # Ok(()) }
//! ```

mod model;
mod playback;
mod step;

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use majordomo_llm::{BoxFuture, Capabilities, Model, ModelInfo, Provider, Request, Result};

use model::FakeModel;
pub use step::{Beat, Step};

/// What an unscripted call gets.
type DefaultStep = Arc<dyn Fn(&Call) -> Step + Send + Sync>;

/// A scriptable provider. Clones share one script and one record.
#[derive(Clone)]
pub struct Fake {
    name: Arc<str>,
    script: Arc<Mutex<Script>>,
}

/// A request that reached the fake.
#[derive(Clone, Debug)]
pub struct Call {
    /// The model that was asked.
    pub model: String,
    /// What was asked.
    pub request: Request,
    /// Whether a stream was asked for.
    pub streamed: bool,
}

struct Script {
    queues: HashMap<String, VecDeque<Step>>,
    default: DefaultStep,
    capabilities: Arc<Capabilities>,
    overrides: HashMap<String, Arc<Capabilities>>,
    calls: Vec<Call>,
}

impl Fake {
    /// A fake that answers everything with `ok`.
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

    /// Adds steps to a model's queue; each call takes one.
    pub fn enqueue(&self, model: &str, steps: impl IntoIterator<Item = Step>) -> &Self {
        self.script()
            .queues
            .entry(model.to_owned())
            .or_default()
            .extend(steps);
        self
    }

    /// Says what a call gets when its model's queue is empty.
    pub fn otherwise(&self, step: impl Fn(&Call) -> Step + Send + Sync + 'static) -> &Self {
        self.script().default = Arc::new(step);
        self
    }

    /// What every model of this fake can take.
    pub fn set_capabilities(&self, capabilities: Capabilities) -> &Self {
        self.script().capabilities = Arc::new(capabilities);
        self
    }

    /// What one model can take.
    pub fn set_model_capabilities(&self, model: &str, capabilities: Capabilities) -> &Self {
        self.script()
            .overrides
            .insert(model.to_owned(), Arc::new(capabilities));
        self
    }

    /// Every call so far, in order.
    pub fn calls(&self) -> Vec<Call> {
        self.script().calls.clone()
    }

    /// How often a model was called.
    pub fn call_count(&self, model: &str) -> usize {
        let calls = &self.script().calls;
        calls.iter().filter(|call| call.model == model).count()
    }

    /// Forgets the calls so far; for programs that run for long.
    pub fn forget_calls(&self) {
        self.script().calls.clear();
    }

    fn next_step(&self, call: Call) -> Step {
        let mut script = self.script();
        let queued = script
            .queues
            .get_mut(&call.model)
            .and_then(VecDeque::pop_front);
        let default = Arc::clone(&script.default);
        script.calls.push(call.clone());
        // The default is the caller's code: it runs without our lock.
        drop(script);
        queued.unwrap_or_else(|| default(&call))
    }

    fn capabilities_of(&self, model: &str) -> Arc<Capabilities> {
        let script = self.script();
        let own = script.overrides.get(model);
        Arc::clone(own.unwrap_or(&script.capabilities))
    }

    /// A caller's panic in `otherwise` leaves the script usable.
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
