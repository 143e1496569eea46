//! A scripted model and tools to try an agent on.

#![allow(
    dead_code,
    clippy::unwrap_used,
    reason = "each test file uses its own part"
)]

use std::sync::{Arc, Mutex};

use majordomo::agent::{Agent, AgentBuilder, Function, NoArguments};
use majordomo::fake::{Fake, Step};
use majordomo::{Part, Provider, Response, ToolCall, Usage};

/// A fake whose model `m` plays these steps.
pub(crate) fn fake(steps: impl IntoIterator<Item = Step>) -> Fake {
    let fake = Fake::new("fp");
    fake.enqueue("m", steps);
    fake
}

/// An agent on the fake's model `m`.
pub(crate) fn on(fake: &Fake) -> AgentBuilder {
    Agent::builder_on(fake.model("m").unwrap())
}

/// The model calls tools: id, name and arguments of each.
pub(crate) fn calls(calls: &[(&str, &str, &str)]) -> Step {
    let parts = calls
        .iter()
        .map(|(id, name, arguments)| Part::ToolCall(ToolCall::new(*id, *name, *arguments)));
    let usage = Usage {
        input: 10,
        output: 2,
        ..Usage::default()
    };
    Step::respond(Response {
        usage,
        ..Response::new(parts.collect())
    })
}

/// One call without arguments.
pub(crate) fn call(id: &str, name: &str) -> Step {
    calls(&[(id, name, "{}")])
}

/// A tool that says its name.
pub(crate) fn echo(name: &'static str) -> Function {
    Function::new(name, "Says its name.", move |_: NoArguments| async move {
        Ok::<_, String>(name)
    })
}

/// A list that closures can write to.
#[derive(Clone)]
pub(crate) struct Log<T>(Arc<Mutex<Vec<T>>>);

impl<T> Default for Log<T> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<T: Clone> Log<T> {
    pub(crate) fn push(&self, item: T) {
        self.0.lock().unwrap().push(item);
    }

    pub(crate) fn all(&self) -> Vec<T> {
        self.0.lock().unwrap().clone()
    }
}
