//! One handler per endpoint: decodes the body, plans, calls the chain, encodes the
//! response.
//!
//! Handlers know dialects only through [`Front`](crate::fronts::Front). May use
//! `admitted`, `clock`, `exchange`, `fronts`, `heavy_lane`, `keys`, `refusal`, `relay`,
//! `request_id`, `respond`, `response_body`, `response_headers`, `shapes` and `state`.

mod cheaper;
mod client_context;
mod count_tokens;
mod embeddings;
mod generate;
mod images;
mod load;
mod models;
#[cfg(test)]
mod tests;

pub(crate) use count_tokens::count_tokens;
pub(crate) use embeddings::embed;
pub(crate) use generate::generate;
pub(crate) use images::generate_images;
pub(crate) use models::{get_model, list_models, ollama_running, ollama_show, ollama_version};
