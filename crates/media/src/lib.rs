//! Images fitted to each target.
//!
//! Every provider has its own limits on images, and the target is known only when it is
//! called. So images are fitted per target and attempt: one that fits is sent unchanged;
//! one that does not is downscaled, rotated, converted or compressed harder; one that
//! cannot fit is an error with the reason.
//!
//! A chain calls [`Fitter::fit`] for each target, and [`omit_oldest`] when no target accepts
//! as many images as the request has. The synchronous core does no I/O: [`sniff`] and
//! [`measure`] read the header, [`plan`](plan()) decides what a target requires, and
//! [`fit_image`](fit_image()) does it. It downscales with `downscale` of `majordomo-codecs`,
//! which knows no targets; `majordomo-image-header` parses headers.

mod bounds;
mod changes;
mod decoded;
mod decoded_cache;
mod fit_image;
mod fitter;
mod human;
mod images;
mod ladder;
mod plan;
mod problem;
mod terms;

pub use bounds::Bounds;
pub use majordomo_codecs::Stop;
pub use majordomo_image_header::{Format, Header, Orientation, sniff};

pub use fit_image::{Conversion, Fitted, fit_image};
pub use fitter::{Fitter, Stats};
pub use images::{OMITTED, omit_oldest};
pub use plan::{Plan, Reason, plan};
pub use problem::{Problem, measure};
pub use terms::Terms;
