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
mod decoded_cache;
mod fit;
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

pub use fit::{Conversion, Fitted, fit_image};
pub use fitter::{Fitter, Stats};
pub use images::{OMITTED, omit_oldest};
pub use plan::{Plan, Reason, plan};
pub use problem::{Problem, measure};
pub use terms::Terms;
