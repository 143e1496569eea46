//! Pixels: decoding, downscaling and encoding of JPEG, PNG, GIF and WebP.
//!
//! The files that nearly all programs write are decoded and encoded by code in this crate:
//! JPEG, 8-bit PNG, WebP. Everything else, and every unusual file, goes to a general crate
//! (`zune-jpeg`, `png`, `gif`, `image-webp`). Each format has its own module; `fallback`
//! modules hold the general crate. ADR 0040 records the reasons.
//!
//! All input is untrusted. Every buffer is counted against the [`Memory`] of its [`Job`]
//! before it is allocated, weights and tables included (ADR 0045). There is no clock and no
//! I/O: work ends early when a [`Stop`] is set. There is no unsafe code: loops are compiled for each SIMD instruction set and
//! selected at run time by `fearless_simd`.

mod budgeted_writer;
mod canvas;
mod color;
mod decode;
mod downscale;
mod encode;
mod error;
mod gif;
mod job;
mod jpeg;
mod memory;
mod picture;
mod plane;
mod png;
mod rotate;
pub mod scale;
mod simd_level;
mod size_hint;
mod stop;
mod webp;

pub use color::{color_profile, to_srgb};
pub use decode::{decode, decode_upright};
pub use downscale::{downscale, downscale_decoded};
pub use encode::{Encoding, encode};
pub use error::CodecError;
pub use job::Job;
pub use jpeg::estimate_jpeg_size;
pub use memory::{Buffer, Memory};
pub use picture::{ChromaSize, Layout, Picture};
pub use plane::Chroma;
pub use size_hint::{DecodedSize, SizeHint, decoded_size};
pub use stop::Stop;
