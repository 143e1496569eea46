//! Model lists: the same endpoint as in Chat Completions.

pub(super) use crate::chat::models::{read_models, write_models};
