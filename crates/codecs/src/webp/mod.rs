//! WebP (RFC 9649). Lossy opaque images are decoded by [`vp8`], everything else by the
//! `image-webp` crate.

mod decode;
mod encode;
mod fallback;
mod vp8;

pub(crate) use decode::decode;
pub(crate) use encode::encode;
#[cfg(test)]
pub(crate) use vp8::tests::files as lossy_webps;
