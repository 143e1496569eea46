//! Any bytes: reading their image header never panics.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let _ = majordomo_image_header::measure(data);
});
