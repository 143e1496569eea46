//! WebP (RFC 9649): lossy images ([`vp8`]), their alpha, and lossless ones ([`vp8l`]).

mod alpha;
mod decode;
mod encode;
mod fallback;
mod vp8;
mod vp8l;

pub(crate) use decode::decode;
pub(crate) use encode::encode;
#[cfg(test)]
pub(crate) use vp8::tests::files as lossy_webps;
