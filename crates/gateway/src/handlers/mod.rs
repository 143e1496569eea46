//! One handler per endpoint: reads the body, plans, calls the chain, writes the response.
//!
//! Handlers know every dialect through [`Front`](crate::fronts::Front) alone.

mod count_tokens;
mod embeddings;
mod generate;
mod models;

pub(crate) use count_tokens::count;
pub(crate) use embeddings::embed;
pub(crate) use generate::ask;
pub(crate) use models::{list, one, show, tags, version};
