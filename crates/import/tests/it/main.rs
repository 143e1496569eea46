//! The importer, on samples of every format and on mutations of them.

mod litellm_keys;
mod mutations;
mod samples;
