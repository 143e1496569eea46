//! What a gateway adds to the shaping of requests: things that a library's
//! caller never has.

mod remote_images;
mod stateful;

pub(crate) use remote_images::RemoteImages;
pub(crate) use stateful::Stateful;
