//! Integration tests of the codecs, in one binary.

mod client_requests;
mod emptiness;
mod matrix;
mod open_responses;
mod recordings;
