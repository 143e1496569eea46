//! Any bytes after the magic bytes of a GIF: an error, or a picture that fits.
#![no_main]

mod open;

libfuzzer_sys::fuzz_target!(|data: &[u8]| open::open(b"GIF89a", data));
