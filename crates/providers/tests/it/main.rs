//! Integration tests of the providers and their transport.

mod cancellation;
mod connect;
mod discovery;
mod http1;
mod http2;
mod model_lists;
mod package_docs;
mod recorded_requests;
mod responses;
mod support;
mod timeouts;
mod wire;
