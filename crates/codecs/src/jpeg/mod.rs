//! JPEG (ITU T.81, JFIF).

mod decode;
mod encode;
mod marker;
mod transpose;
mod zigzag;

pub(crate) use decode::{decode, decoded_size};
pub(crate) use encode::encode;
pub use encode::estimate_jpeg_size;
