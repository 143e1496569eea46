//! Any bytes after the magic bytes of a PNG: an error, or a picture that fits.
#![no_main]

mod open;

libfuzzer_sys::fuzz_target!(|data: &[u8]| open::open(b"\x89PNG\r\n\x1A\n", data));
