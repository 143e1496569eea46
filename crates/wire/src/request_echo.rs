//! The parts of a request that its response repeats.

use std::sync::Arc;

use majordomo_llm::Json;

use crate::declared_tool::{DeclaredTool, DeclaredTools};

/// The parts of a request that its response depends on: fields that the dialect's
/// responses repeat, and how the client declared its tools.
///
/// Created by [`Codec::echo`](crate::Codec::echo). Cheap to clone, and independent of the
/// request, which may be large.
#[derive(Clone, Debug, Default)]
pub struct RequestEcho(Option<Arc<EchoedRequest>>);

#[derive(Debug)]
struct EchoedRequest {
    fields: Vec<(&'static str, Json)>,
    tools: DeclaredTools,
}

impl RequestEcho {
    pub(crate) fn new(fields: Vec<(&'static str, Json)>, tools: DeclaredTools) -> Self {
        Self(Some(Arc::new(EchoedRequest { fields, tools })))
    }

    /// The value of a field of the request.
    pub(crate) fn field(&self, name: &str) -> Option<&Json> {
        let fields = &self.0.as_deref()?.fields;
        let found = fields.iter().find(|(field, _)| *field == name);
        found.map(|(_, value)| value)
    }

    /// The client's declaration of the tool that models know by this name; `None` for a plain
    /// function.
    pub(crate) fn tool(&self, name: &str) -> Option<&DeclaredTool> {
        self.0.as_deref()?.tools.get(name)
    }
}
