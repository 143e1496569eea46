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

pub(crate) use count_tokens::count_tokens;
pub(crate) use embeddings::embed;
pub(crate) use generate::generate;
pub(crate) use models::{get_model, list_models, ollama_show, ollama_tags, ollama_version};
