//! Any bytes, read as every kind of body that Gemini has.
#![no_main]

#[path = "wire.rs"]
mod wire;

libfuzzer_sys::fuzz_target!(|data: &[u8]| wire::read(majordomo_wire::Protocol::Gemini, data));
