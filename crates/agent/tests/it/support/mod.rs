//! A scripted model and tools for tests.

#![allow(
    dead_code,
    clippy::unwrap_used,
    reason = "each test binary uses a part; a failed unwrap fails the test"
)]

pub(crate) mod mcp_server;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use majordomo::agent::{Agent, AgentBuilder, Function, NoArguments};
use majordomo::fake::{Fake, Step};
use majordomo::{Part, Provider, Response, ToolCall, Usage};
use serde_json::Value;

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

/// A response with these calls: id, name and arguments of each.
pub(crate) fn calls(calls: &[(&str, &str, &str)]) -> Step {
    let parts = calls
        .iter()
        .map(|(id, name, arguments)| Part::ToolCall(ToolCall::new(*id, *name, *arguments)));
    let usage = Usage::new(10, 2);
    Step::respond(Response::new(parts.collect()).with_usage(usage))
}

/// One call without arguments.
pub(crate) fn call(id: &str, name: &str) -> Step {
    calls(&[(id, name, "{}")])
}

/// Calls the tool `work` four times and a missing tool once in two steps, then replies
/// `done`. Each response depends only on the request, so that another process can
/// continue a run.
pub(crate) fn scripted() -> Fake {
    let fake = fake([]);
    fake.otherwise(|call| match call.request.prompt().messages.len() {
        1 => calls(&[
            ("aaaa", "work", ""),
            ("bb", "work", ""),
            ("c", "nothing", ""),
        ]),
        3 => calls(&[("d", "work", ""), ("eeeeee", "work", "")]),
        _ => Step::reply("done"),
    });
    fake
}

/// The calls of the tool `work` in that script.
pub(crate) const WORK: [&str; 4] = ["aaaa", "bb", "d", "eeeeee"];

/// Returns the ids of all calls whose results are in a saved checkpoint.
pub(crate) fn reported_in(checkpoint: &str) -> BTreeSet<String> {
    let mut ids = BTreeSet::new();
    collect_result_ids(&serde_json::from_str(checkpoint).unwrap(), &mut ids);
    ids
}

fn collect_result_ids(value: &Value, ids: &mut BTreeSet<String>) {
    match value {
        Value::Object(object) => {
            let id = object.get("call_id").and_then(Value::as_str);
            ids.extend(id.map(str::to_owned));
            object.values().for_each(|v| collect_result_ids(v, ids));
        }
        Value::Array(list) => list.iter().for_each(|v| collect_result_ids(v, ids)),
        _ => {}
    }
}

/// A tool that returns its name.
pub(crate) fn echo(name: &'static str) -> Function {
    Function::new(
        name,
        "Returns its name.",
        move |_: NoArguments| async move { Ok::<_, String>(name) },
    )
}

/// A list shared with closures.
#[derive(Clone)]
pub(crate) struct SharedLog<T>(Arc<Mutex<Vec<T>>>);

impl<T> Default for SharedLog<T> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<T: Clone> SharedLog<T> {
    pub(crate) fn push(&self, item: T) {
        self.0.lock().unwrap().push(item);
    }

    pub(crate) fn all(&self) -> Vec<T> {
        self.0.lock().unwrap().clone()
    }
}
