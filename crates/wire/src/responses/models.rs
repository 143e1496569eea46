//! Model lists: the same endpoint as that of Chat Completions.

pub(super) use crate::chat::models::{read_models, write_models};
