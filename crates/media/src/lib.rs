//! Images made to fit each target.
//!
//! Every provider has its own rules for images and the target is only known when
//! it is asked, so an image is fitted per target and attempt: an image that fits
//! goes out untouched, one that does not is downscaled, turned, converted or
//! packed tighter, and one that cannot fit is an error that says why.
//!
//! A chain calls [`Fitter::fit`] for each target and [`omit_oldest`] when no
//! target takes as many images as there are. The core below is synchronous and
//! does no I/O: [`sniff`], [`measure`], [`plan`] and [`fit_image`].

mod bounds;
mod changes;
mod color;
mod decode;
mod encode;
mod fit;
mod fitter;
mod format;
mod header;
mod images;
mod ladder;
mod level;
mod orientation;
mod picture;
mod plan;
mod problem;
mod resize;
mod shelf;
mod stop;
mod strip;
mod terms;
mod text;
mod zigzag;

pub use bounds::Bounds;
pub use fit::{Fitted, Made, fit_image};
pub use fitter::{Fitter, Stats};
pub use format::{Format, sniff};
pub use header::{Header, measure};
pub use images::{OMITTED, omit_oldest};
pub use orientation::Orientation;
pub use plan::{Plan, Reason, plan};
pub use problem::Problem;
pub use stop::Stop;
pub use terms::Terms;
