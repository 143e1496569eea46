//! PNG (W3C PNG specification; zlib and DEFLATE, RFC 1950 and RFC 1951).

mod decode;
mod encode;
mod palette;

pub(crate) use decode::decode;
pub(crate) use encode::encode;
