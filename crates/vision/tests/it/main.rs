//! The vision proxy over fake and HTTP describers.

mod caching;
mod describers;
mod dialects;
mod every_image;
mod forms_of_any_dialect;
mod hostile;
mod image_anywhere;
mod over_http;
mod properties;
mod recorded;
mod replacing;
mod support;
mod text_only;
