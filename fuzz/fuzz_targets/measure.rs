//! Any bytes: their header is read without a panic.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let _ = majordomo_image_header::measure(data);
});
