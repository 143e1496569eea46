//! Properties of endpoints that are known before a body is read.

use crate::fronts::{Endpoint, Front};
use crate::record::RequestKind;

/// The front of an endpoint; none for endpoints without a dialect.
pub(super) fn front_of(endpoint: &Endpoint) -> Option<Front> {
    match endpoint {
        Endpoint::Generate { front, .. }
        | Endpoint::Count { front, .. }
        | Endpoint::Models(front, _)
        | Endpoint::Model(front, _)
        | Endpoint::Embeddings(front)
        | Endpoint::Key(front)
        | Endpoint::NotFound(front, _) => Some(*front),
        Endpoint::Images(_) => Some(Front::Chat),
        Endpoint::Show | Endpoint::Version | Endpoint::Running => Some(Front::OllamaChat),
        Endpoint::Root | Endpoint::Healthz | Endpoint::Readyz | Endpoint::WrongMethod(_) => None,
    }
}

/// The kind as which a request to an endpoint is counted.
pub(super) fn kind_of(endpoint: &Endpoint) -> RequestKind {
    match endpoint {
        Endpoint::Generate { .. } => RequestKind::Generate,
        Endpoint::Count { .. } => RequestKind::CountTokens,
        Endpoint::Embeddings(_) => RequestKind::Embed,
        Endpoint::Images(_) => RequestKind::Image,
        _ => RequestKind::Other,
    }
}
