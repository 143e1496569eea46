//! The vision proxy: text in the place of images, for models that cannot see.
//!
//! One engine, [`Vision`], with two switches: a processor calls
//! [`Vision::describe`] for a whole request, and [`DescribeForBlind`] is the
//! shape of a chain that does it only for the targets that take no images.
//!
//! The images of the last message are described and each is replaced in place by
//! `[image: <description>]`; earlier ones become `[image: (omitted from
//! history)]`; whatever fails becomes `[image: (description unavailable)]`. No
//! image is ever left.

mod blind;
mod config;
mod describer;
mod engine;
mod fetch;
mod flight;
mod marker;
mod memory;
mod objects;
mod opaque;
mod outcome;
mod picture;
mod places;
mod plan;
mod preview;
mod questions;
mod scope;

pub use blind::{DescribeForBlind, Describers};
pub use config::{DEFAULT_PROMPT, History, Latest, OnFailure, VisionConfig};
pub use engine::Vision;
pub use fetch::FetchImage;
pub use marker::{LONGEST, OMITTED, UNAVAILABLE};
pub use outcome::{DescribeCall, Described, FROM_CACHE, Fate, ImageOutcome};
pub use scope::Scope;
