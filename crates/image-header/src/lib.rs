//! Image formats and dimensions, read from the first bytes of a file.
//!
//! [`sniff`] identifies a format by its magic bytes; [`measure`] reads the header of a JPEG,
//! PNG, GIF or WebP. Nothing is decoded and nothing is allocated, so both take microseconds,
//! whatever the size of the image. All input is untrusted: every offset is checked, and no
//! pointer inside a file is followed more than once.
//!
//! The modules [`jpeg`], [`png`] and [`webp`] iterate over the segments and chunks of
//! a file, for decoders.

mod endian;
mod error;
mod exif;
mod format;
mod gif;
mod header;
pub mod jpeg;
mod measure;
mod orientation;
pub mod png;
pub mod webp;

pub use error::HeaderError;
pub use format::{Format, sniff};
pub use header::{Compression, Header};
pub use measure::{end, measure};
pub use orientation::Orientation;
