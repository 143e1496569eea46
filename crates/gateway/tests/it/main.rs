//! Integration tests of the gateway that can share a process.

mod balance_default;
mod config_secrets;
mod config_watch;
mod demo;
mod fetch;
mod guide;
mod mistakes;
mod mutations;
mod provider_options;
mod providers;
mod serve;
mod whole_file;
