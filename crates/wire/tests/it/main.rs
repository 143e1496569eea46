//! Integration tests of the codecs, in one binary.

mod client_requests;
mod matrix;
mod recordings;
