//! Shapes that only a gateway needs, in addition to the library's.
//!
//! May use `fetch`.

mod remote_images;
mod stateful;

pub(crate) use remote_images::RemoteImages;
pub(crate) use stateful::{Stateful, lacks_conversation};
