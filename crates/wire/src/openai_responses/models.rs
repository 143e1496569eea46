//! Model lists: the same endpoint as in Chat Completions.

pub(super) use crate::openai_chat::models::{read_models, write_models};
