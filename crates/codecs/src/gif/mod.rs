//! GIF89a, by the `gif` crate.

mod decode;
mod encode;

pub(crate) use decode::decode;
pub(crate) use encode::encode;
