//! The importer, on samples of every format and on mutations of them.

mod bifrost;
mod litellm_keys;
mod litellm_names;
mod mutations;
mod prices;
mod samples;
