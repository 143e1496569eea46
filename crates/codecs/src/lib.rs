//! Pixels: decoding, downscaling and encoding of JPEG, PNG, GIF and WebP.
//!
//! The files that nearly all programs write are decoded and encoded by code in this
//! crate: sequential JPEG, 8-bit PNG, lossy WebP. Everything else, and every file with
//! something unusual about it, goes to a general crate (`zune-jpeg`, `png`, `gif`,
//! `image-webp`). Each format has its own module; `fallback` modules hold the general
//! crate. ADR 0040 records the reasons.
//!
//! All input is untrusted. The caller checks the header against its own limits on
//! pixels and memory before it calls [`decode`]; no decoder allocates more than the
//! header implies. There is no clock and no I/O: work ends early when a [`Stop`] is
//! set. There is no unsafe code: loops are compiled for each SIMD instruction set and
//! selected at run time by `fearless_simd`.

mod canvas;
mod color;
mod decode;
mod downscale;
mod encode;
mod error;
mod gif;
mod jpeg;
mod picture;
mod png;
mod rotate;
pub mod scale;
mod simd_level;
mod size_hint;
mod stop;
mod webp;

pub use color::{color_profile, to_srgb};
pub use decode::decode;
pub use downscale::downscale;
pub use encode::{Encoding, encode};
pub use error::CodecError;
pub use jpeg::estimate_jpeg_size;
pub use picture::{ChromaSize, Layout, Picture};
pub use size_hint::SizeHint;
pub use stop::Stop;
