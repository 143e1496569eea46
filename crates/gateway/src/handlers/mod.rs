//! One handler per endpoint: decodes the body, plans, calls the chain, encodes the
//! response.
//!
//! Handlers know dialects only through [`Front`](crate::fronts::Front). May use
//! `admitted`, `exchange`, `fronts`, `heavy_lane`, `relay`, `state` and the `response*`
//! modules.

mod count_tokens;
mod embeddings;
mod generate;
mod models;

pub(crate) use count_tokens::count;
pub(crate) use embeddings::embed;
pub(crate) use generate::ask;
pub(crate) use models::{list, one, show, tags, version};
